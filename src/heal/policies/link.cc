// Links: out of service so that traffic takes another way, a spare beside it into service if there is one, a work order for the hardware. A link
// without an alternative is not cut: its card's work moves instead.
#include <algorithm>

#include "fabric/routes.h"
#include "heal/parts.h"

namespace weft::heal {
namespace {

using fabric::DeviceKind;

bool applies(const diagnose::Cause& c, const Context&) {
  const diagnose::FaultClass* k = diagnose::find_fault_class(c.fault);
  return k && k->remedy == "link";
}

// Does a node with work keep a way to storage? Without one its jobs cannot read and stand still.
bool keeps_storage(const Context& x, fabric::LinkId link, const std::vector<fabric::LinkId>& in) {
  const fabric::Snapshot& s = *x.snapshot;
  for (fabric::PortId q : {s.link(link).a, s.link(link).b}) {
    if (!(s.port(q).networks & fabric::bit(fabric::Network::kStorage))) continue;
    fabric::DeviceId node = s.container(s.port(q).device, DeviceKind::kNode);
    if (!node.ok() || jobs_on(x, node).empty()) continue;
    bool other = false;
    auto look = [&](fabric::DeviceId device) {
      for (fabric::PortId p : s.ports_of(device)) {
        fabric::LinkId l = s.port(p).link;
        if (!l.ok() || l == link || !(s.port(p).networks & fabric::bit(fabric::Network::kStorage))) continue;
        other = other || (s.health(l).in_service && s.health(l).state != fabric::LinkState::kDown) ||
                std::find(in.begin(), in.end(), l) != in.end();
      }
    };
    look(node);
    for (fabric::DeviceId child : s.children(node)) look(child);
    if (!other) return false;
  }
  return true;
}

// Do all jobs' neighbours still reach each other with this link out of service?
bool survives(const Context& x, fabric::LinkId link, const std::vector<fabric::LinkId>& in) {
  std::vector<std::pair<fabric::LinkId, fabric::LinkHealth>> change{{link, {fabric::LinkState::kUp, 1, 0, false}}};
  for (fabric::LinkId l : in) change.emplace_back(l, fabric::LinkHealth{});
  fabric::Routes routes(x.snapshot->with_health(change, {})), before(*x.snapshot);
  for (const JobView& j : x.jobs)
    for (const workload::Group& g : j.placement.groups)
      for (std::size_t i = 0; i < g.ranks.size(); ++i) {
        fabric::DeviceId a = j.placement.cards[static_cast<std::size_t>(g.ranks[i])],
                         b = j.placement.cards[static_cast<std::size_t>(g.ranks[(i + 1) % g.ranks.size()])];
        // Falling from the scale-up domain to the scale-out network is no way to go on.
        if (a != b && (!routes.best(a, b).reachable || routes.best_network(a, b) != before.best_network(a, b))) return false;
      }
  return true;
}

ActionPlan plan(const diagnose::Cause& cause, const Context& x) {
  ActionPlan p;
  const fabric::Snapshot& s = *x.snapshot;
  std::vector<fabric::LinkId> links;
  if (auto link = s.find_link(cause.entity)) links.push_back(*link);
  else if (auto device = s.find_device(cause.entity); device && s.device(*device).kind == DeviceKind::kSwitch) {
    // A whole switch: traffic has already left it. Jobs that stopped go on over the other paths, then people are called.
    const JobView* hit = nullptr;
    std::string missing;
    for (const JobView& j : x.jobs)
      for (const auto& i : cause.impact)
        if ("job/" + j.job.name == i.job || j.job.name == i.job) {
          hit = &j;
          if ((makes_no_step(j) || i.tail == diagnose::Tail::kStop) && !move_job(x, j, {}, p, missing))
            p.report = "No place for " + j.job.name + ": " + missing;
        }
    p.actions.push_back(work_order(cause.entity, "switch " + cause.entity + ": " + cause.fault));
    p.reason = "routes avoid the switch; people are called";
    p.release_when = "never";
    fabric::DeviceId storage = s.of_kind(DeviceKind::kStorage).empty() ? fabric::DeviceId{} : s.of_kind(DeviceKind::kStorage)[0];
    bool carries_storage = false;
    for (fabric::PortId port : s.ports_of(*device))
      carries_storage = carries_storage || (s.port(port).networks & fabric::bit(fabric::Network::kStorage));
    // No job's traffic crosses it, storage does: reading again is the recovery.
    if (!hit && storage.ok() && carries_storage) p.retest = probe(action::kProbeStorage, s.name(storage), "read_ratio", 0.25);
    if (hit) {
      p.retest = collective(s, *hit, p, 0.25);  // service again, at the bandwidth that is left
    }
    return p;
  }
  if (links.empty()) {
    p.reason = "the link is not in the site file",
    p.report = "Cause " + cause.fault + " names '" + cause.entity + "', which the site file does not know.";
    return p;
  }
  fabric::LinkId link = links[0];
  const fabric::Link& l = s.link(link);
  // A spare between the same two devices.
  std::vector<fabric::LinkId> spare;
  fabric::DeviceId a = s.port(l.a).device, b = s.port(l.b).device;
  for (fabric::PortId port : s.ports_of(a)) {
    fabric::LinkId other = s.port(port).link;
    if (other.ok() && s.link(other).spare && !s.health(other).in_service && s.port(s.peer(port)).device == b &&
        s.health(other).state != fabric::LinkState::kDown) {
      spare.push_back(other);
      break;
    }
  }
  std::string why = cause.fault + " of " + cause.entity;
  if (survives(x, link, spare) && keeps_storage(x, link, spare)) {
    p.actions.push_back(isolate_link(s, link, why));
    if (!spare.empty()) {
      Action in;
      in.kind = action::kSpareLinkIn, in.target = s.name(spare[0]), in.why = "takes the place of " + cause.entity,
      in.undo_kind = action::kSpareLinkOut, in.timeout = seconds(10);
      in.effect = {{{spare[0], {fabric::LinkState::kUp, 1, 0, true}}}, {}, in.why};
      p.actions.push_back(in);
    }
    // What the fault has already ended does not come back with the link.
    std::string missing;
    for (const JobView* j : jobs_of(x, cause))
      if (j->aborted && !move_job(x, *j, {}, p, missing)) p.report = "No place for " + j->job.name + ": " + missing;
    p.retest = spare.empty() ? Retest{} : probe(action::kProbeLink, s.name(spare[0]), "bandwidth_ratio", 0.9);
    if (p.retest.kind.empty() && !x.jobs.empty()) {
      // Without a spare: the job that suffers measures a collective over its own cards.
      const JobView* job = &x.jobs[0];
      for (const JobView& j : x.jobs)
        for (const auto& i : cause.impact)
          if ("job/" + j.job.name == i.job || j.job.name == i.job) job = &j;
      p.retest = collective(s, *job, p, 0.7);
    }
    p.reason = spare.empty() ? "traffic takes the other links" : "a spare link takes over";
  } else {
    // The only way of some card: its work moves, then the link may be repaired.
    std::vector<fabric::DeviceId> cards;
    for (fabric::DeviceId end : {a, b}) {
      if (s.device(end).kind == DeviceKind::kCard) cards.push_back(end);
      if (s.device(end).kind == DeviceKind::kNic) cards.push_back(s.device(end).parent);
    }
    if (cards.empty()) {
      p.reason = "cutting the link would part jobs and no card can be moved",
      p.report = "Link " + cause.entity + " is at fault and has no alternative: repair it in a maintenance window.";
      p.actions.push_back(work_order(cause.entity, why));
      return p;
    }
    std::string missing;
    for (fabric::DeviceId c : cards) p.actions.push_back(cordon(s, c, p.owner, why));
    std::vector<const JobView*> moving;  // once each, off every part that is cordoned
    for (fabric::DeviceId c : cards)
      for (const JobView* j : jobs_on(x, c))
        if (std::find(moving.begin(), moving.end(), j) == moving.end()) moving.push_back(j);
    for (const JobView* j : moving)
      if (!move_job(x, *j, cards, p, missing)) p.report = "No place to move " + j->job.name + ": " + missing;
    for (const Action& a : p.actions)
      if (a.kind == action::kJobStart) {
        p.retest = probe(action::kProbeCollective, a.target, "bus_bandwidth_ratio", 0.7);
        p.retest.parameters = Json{{"cards", a.parameters->at("cards")}, {"kind", "all-reduce"}, {"bytes", 256 << 20}};
      }
    p.reason = "the link has no alternative, so the work moves";
  }
  p.actions.push_back(work_order(cause.entity, why + ": clean, reseat, change module or cable"));
  p.release_when = "work_order";
  p.release_test = probe(action::kProbeLink, cause.entity, "bandwidth_ratio", 0.95);
  return p;
}

WEFT_REGISTER(policies(), {"link", "re-route or spare link, work order, release after a clean probe", 20, applies, plan});

}  // namespace
}  // namespace weft::heal
