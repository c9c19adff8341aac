// Cards, nodes and what sits in them: cordoned with owner and reason, the job saved and resumed on a spare in the same domain (else elsewhere), a
// work order; back only after a measured retest.
#include "heal/parts.h"

namespace weft::heal {
namespace {

using fabric::DeviceKind;

bool applies(const diagnose::Cause& c, const Context&) {
  const diagnose::FaultClass* k = diagnose::find_fault_class(c.fault);
  return k && (k->remedy == "card" || k->remedy == "node" || k->remedy == "reset");
}

ActionPlan plan(const diagnose::Cause& cause, const Context& x) {
  ActionPlan p;
  const fabric::Snapshot& s = *x.snapshot;
  auto device = s.find_device(cause.entity);
  if (!device) {
    p.reason = "the part is not in the site file",
    p.report = "Cause " + cause.fault + " names '" + cause.entity + "', which the site file does not know.";
    return p;
  }
  const diagnose::FaultClass* k = diagnose::find_fault_class(cause.fault);
  fabric::DeviceId part = *device;
  if (k->remedy == "node") part = s.container(part, DeviceKind::kNode);
  if (!part.ok()) part = *device;
  const fabric::DeviceHealth& now = s.health(part);
  if (now.cordoned && now.owner != p.owner) {
    p.reason = s.name(part) + " is already isolated by " + (now.owner.empty() ? "somebody" : now.owner),
    p.report = p.reason + "; nothing was changed.";
    return p;
  }
  if (now.cordoned && jobs_on(x, part).empty()) {
    p.reason = s.name(part) + " is already isolated and no job is on it", p.report = p.reason + ".";
    return p;
  }
  std::string why = cause.fault + " of " + cause.entity;
  bool stopped = false;
  for (const auto& i : cause.impact) stopped = stopped || i.tail == diagnose::Tail::kStop;
  std::vector<const JobView*> jobs = jobs_on(x, part);
  // Agreed beforehand: go on degraded when the job still runs and loses little.
  for (const JobView* j : jobs) {
    double slow = 0;
    for (const auto& i : cause.impact) slow = std::max(slow, i.slowdown);
    if (!stopped && j->running && j->job.policy.on_fault == workload::Policy::OnFault::kContinueDegraded &&
        slow <= j->job.policy.degraded_limit) {
      p.reason = j->job.name + " goes on degraded, as its policy says";
      p.report = why + ": repair when " + j->job.name + " ends.";
      p.actions.push_back(work_order(cause.entity, why));
      return p;
    }
  }
  p.actions.push_back(cordon(s, part, p.owner, why));
  std::string missing;
  for (const JobView* j : jobs)
    if (!move_job(x, *j, {part}, p, missing))
      p.report += (p.report.empty() ? "" : " ") + std::string("No place for ") + j->job.name + " without " + s.name(part) + ": " + missing;
  p.actions.push_back(work_order(cause.entity, why + ": repair or replace"));
  p.reason = jobs.empty() ? "no job is on it" : "the job moves to healthy cards and resumes from its checkpoint";
  for (const JobView* j : jobs) {
    Json cards = Json::array();
    for (const Action& a : p.actions)
      if (a.kind == action::kJobStart && a.target == "job/" + j->job.name) cards = a.parameters->at("cards");
    if (cards.empty()) continue;
    p.retest = probe(action::kProbeCollective, "job/" + j->job.name, "bus_bandwidth_ratio", 0.7);
    p.retest.parameters = Json{{"cards", cards}, {"kind", "all-reduce"}, {"bytes", 256 << 20}};
  }
  p.release_when = "work_order";
  p.release_test = s.device(part).kind == DeviceKind::kCard ? probe(action::kProbeCard, s.name(part), "gemm_ratio", 0.95)
                                                            : probe(action::kProbeNode, s.name(part), "gemm_ratio", 0.95);
  return p;
}

WEFT_REGISTER(policies(), {"part", "cordon, move the job to a spare, work order, release after a measured retest", 30, applies, plan});

}  // namespace
}  // namespace weft::heal
