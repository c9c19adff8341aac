// Cards, nodes and what sits in them: cordoned with owner and reason, the job saved and resumed on a spare in the same domain (else elsewhere), a
// work order; back only after a measured retest.
#include <algorithm>

#include "fabric/routes.h"
#include "heal/parts.h"

namespace weft::heal {
namespace {

using fabric::DeviceKind;

bool applies(const diagnose::Cause& c, const Context&) {
  const diagnose::FaultClass* k = diagnose::find_fault_class(c.fault);
  return k && (k->remedy == "card" || k->remedy == "node" || k->remedy == "reset");
}

// Jobs whose groups lose a way, or fall to another network, when the part is out of service.
std::vector<const JobView*> jobs_across(const Context& x, fabric::DeviceId part) {
  fabric::DeviceHealth out = x.snapshot->health(part);
  out.cordoned = true;
  std::vector<std::pair<fabric::DeviceId, fabric::DeviceHealth>> change{{part, out}};
  fabric::Routes routes(without_switches(x.snapshot->with_health({}, change))), before(*x.snapshot);
  std::vector<const JobView*> hit;
  for (const JobView& j : x.jobs) {
    bool crosses = false;
    for (const workload::Group& g : j.placement.groups)
      for (std::size_t i = 0; i < g.ranks.size() && !crosses; ++i) {
        fabric::DeviceId a = j.placement.cards[static_cast<std::size_t>(g.ranks[i])],
                         b = j.placement.cards[static_cast<std::size_t>(g.ranks[(i + 1) % g.ranks.size()])];
        crosses = a != b && (!routes.best(a, b).reachable || routes.best_network(a, b) != before.best_network(a, b));
      }
    if (crosses) hit.push_back(&j);
  }
  return hit;
}

// A link of a switch that can be measured when people have worked on it.
std::string link_to_measure(const fabric::Snapshot& s, fabric::DeviceId part) {
  for (fabric::PortId q : s.ports_of(part))
    if (s.port(q).link.ok() && s.health(s.port(q).link).in_service) return s.name(s.port(q).link);
  return {};
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
  bool is_switch = s.device(part).kind == DeviceKind::kSwitch;
  std::vector<const JobView*> jobs = is_switch ? jobs_across(x, part) : jobs_on(x, part);
  for (const JobView* j : jobs_of(x, cause, jobs))
    if (makes_no_step(*j)) jobs.push_back(j);
  if (now.cordoned && jobs.empty()) {
    p.reason = s.name(part) + " is already isolated and no job is on it", p.report = p.reason + ".";
    return p;
  }
  std::string why = cause.fault + " of " + cause.entity;
  bool stopped = false;
  for (const auto& i : cause.impact) stopped = stopped || i.tail == diagnose::Tail::kStop;
  // Agreed beforehand: go on degraded when the job still runs and loses little.
  for (const JobView* j : jobs) {
    double slow = 0;
    for (const auto& i : cause.impact) slow = std::max(slow, i.slowdown);
    if (!stopped && !takes_rank(cause.fault) && !is_switch && !makes_no_step(*j) &&
        j->job.policy.on_fault == workload::Policy::OnFault::kContinueDegraded && slow <= j->job.policy.degraded_limit) {
      p.reason = j->job.name + " goes on degraded, as its policy says";
      p.report = why + ": repair when " + j->job.name + " ends.";
      p.actions.push_back(work_order(cause.entity, why));
      p.proves.push_back("job/" + j->job.name);  // when it makes no step the next plan sees it
      return p;
    }
  }
  p.actions.push_back(cordon(s, part, p.owner, why));
  std::string missing;
  for (const JobView* j : jobs)
    if (!move_job(x, *j, {part}, p, missing)) {
      p.report += (p.report.empty() ? "" : " ") + std::string("No place for ") + j->job.name + " without " + s.name(part) + ": " + missing;
      if (takes_rank(cause.fault) || makes_no_step(*j)) {
        stop_job(*j, "no place without " + s.name(part) + ": " + missing, p);
        p.report += ". " + j->job.name + " is stopped until cards are free or repaired";
      }
    }
  p.actions.push_back(work_order(cause.entity, why + ": repair or replace"));
  p.reason = jobs.empty() ? "no job is on it" : "the job moves to healthy cards and resumes from its checkpoint";
  for (const JobView* j : jobs) {
    bool started = std::any_of(p.actions.begin(), p.actions.end(),
                               [&](const Action& a) { return a.kind == action::kJobStart && a.target == "job/" + j->job.name; });
    // Without the switch: at the bandwidth that is left.
    if (started) p.retest = collective(s, *j, p, is_switch ? 0.01 : 0.7);
  }
  p.release_when = "work_order";
  if (is_switch) {
    // Jobs that keep other ways within the domain go on without a restart.
    if (auto rest = jobs_of(x, cause, jobs); p.retest.kind.empty() && !rest.empty()) p.retest = collective(s, *rest[0], p, 0.25);
    if (!jobs.empty()) p.reason = "the jobs across the switch resume from their checkpoints over what is left";
    p.release_test = probe(action::kProbeLink, link_to_measure(s, part), "bandwidth_ratio", 0.95);
    return p;
  }
  p.release_test = s.device(part).kind == DeviceKind::kCard ? probe(action::kProbeCard, s.name(part), "gemm_ratio", 0.95)
                                                            : probe(action::kProbeNode, s.name(part), "gemm_ratio", 0.95);
  return p;
}

WEFT_REGISTER(policies(), {"part", "cordon, move the job to a spare, work order, release after a measured retest", 30, applies, plan});

}  // namespace
}  // namespace weft::heal
