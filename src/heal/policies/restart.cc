// Jobs that make no step although they should, and the last resort when the plans for a cause failed: from the checkpoint on other cards.
// When that failed too, or no place is left, the job is stopped and the operator told.
#include <algorithm>

#include "heal/parts.h"

namespace weft::heal {
namespace {

bool applies(const diagnose::Cause& c, const Context&) { return c.fault == "no_progress"; }

// The cards a cause lies on: a part itself, the cards (or the cards of the NICs) at the ends of a link.
std::vector<fabric::DeviceId> parts_of(const fabric::Snapshot& s, const std::string& entity) {
  std::vector<fabric::DeviceId> out;
  if (auto device = s.find_device(entity)) out.push_back(*device);
  if (auto link = s.find_link(entity))
    for (fabric::PortId q : {s.link(*link).a, s.link(*link).b}) {
      fabric::DeviceId end = s.port(q).device;
      if (s.device(end).kind == fabric::DeviceKind::kCard) out.push_back(end);
      if (s.device(end).kind == fabric::DeviceKind::kNic) out.push_back(s.device(end).parent);
    }
  return out;
}

ActionPlan plan(const diagnose::Cause& cause, const Context& x) {
  ActionPlan p;
  p.release_when = "never";
  std::vector<const JobView*> jobs = jobs_of(x, cause);
  std::erase_if(jobs, [&](const JobView* j) { return !makes_no_step(*j); });
  if (jobs.empty()) {
    p.reason = "every job makes steps";
    p.report = "Nothing automatic is left for " + cause.fault + " of " + cause.entity + ": decide by hand. The jobs make steps.";
    return p;
  }
  std::vector<fabric::DeviceId> avoid = parts_of(*x.snapshot, cause.entity);
  for (const JobView* j : jobs) {
    std::string missing = "restarting did not help", name = "job/" + j->job.name;
    bool moved = false;
    if (!x.give_up) {
      // The first restart may keep its cards; the next takes others where there are any.
      std::vector<fabric::DeviceId> others = avoid;
      if (x.plans_tried > 0)
        for (fabric::DeviceId c : j->placement.cards) {
          fabric::DeviceId node = x.snapshot->container(c, fabric::DeviceKind::kNode);
          others.push_back(node.ok() ? node : c);
        }
      moved = move_job(x, *j, others, p, missing);
      if (!moved && others.size() > avoid.size()) moved = move_job(x, *j, avoid, p, missing);
    }
    if (moved) continue;
    stop_job(*j, missing, p);
    p.report += (p.report.empty() ? "" : " ") + name + " is stopped (" + missing + "). Its last checkpoint is of step " +
                std::to_string(j->last_checkpoint_step) + "; free or repair cards, it is started again as soon as it fits.";
  }
  p.reason =
      x.give_up ? "the restart did not help either" : "no step for too long: from the checkpoint, on cards that nothing is said against";
  return p;
}

WEFT_REGISTER(policies(),
              {"restart", "a job that makes no step: checkpoint restart on other cards, else stopped and reported", 10, applies, plan});

}  // namespace
}  // namespace weft::heal
