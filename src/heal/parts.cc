#include "heal/parts.h"

#include <algorithm>

#include "place/place.h"

namespace weft::heal {

Action isolate_link(const fabric::Snapshot& s, fabric::LinkId link, const std::string& why) {
  Action a;
  a.kind = action::kLinkIsolate, a.target = s.name(link), a.why = why;
  a.undo_kind = action::kLinkRestore;
  a.timeout = seconds(10);
  fabric::LinkHealth h = s.health(link);
  h.in_service = false;
  a.effect = {{{link, h}}, {}, why};
  return a;
}

Action cordon(const fabric::Snapshot& s, fabric::DeviceId device, const std::string& owner, const std::string& why) {
  Action a;
  a.kind = action::kCordon, a.target = s.name(device), a.why = why;
  a.parameters = Json{{"owner", owner}, {"reason", why}};
  a.undo_kind = action::kUncordon;
  a.undo_parameters = Json{{"owner", owner}};
  a.timeout = seconds(20);
  fabric::DeviceHealth h = s.health(device);
  h.cordoned = true, h.owner = owner, h.reason = why;
  a.effect = {{}, {{device, h}}, why};
  return a;
}

fabric::Snapshot without_switches(const fabric::Snapshot& s) {
  std::vector<std::pair<fabric::LinkId, fabric::LinkHealth>> out;
  for (const auto& [device, h] : s.device_overlay())
    if (h.cordoned && s.device(device).kind == fabric::DeviceKind::kSwitch)
      for (fabric::PortId q : s.ports_of(device))
        if (fabric::LinkId l = s.port(q).link; l.ok() && s.health(l).in_service) {
          fabric::LinkHealth link = s.health(l);
          link.in_service = false;
          out.emplace_back(l, link);
        }
  return out.empty() ? s : s.with_health(out, {});
}

Action work_order(const std::string& target, const std::string& text) {
  Action a;
  a.kind = action::kWorkOrder, a.target = target, a.why = text;
  a.parameters = Json{{"deadline_s", 14400}, {"text", text}};
  a.timeout = hours(4);
  a.best_effort = true;
  return a;
}

Retest probe(std::string_view kind, const std::string& target, const std::string& measure, double at_least) {
  Retest r;
  r.kind = kind, r.target = target, r.measure = measure, r.at_least = at_least;
  return r;
}

std::vector<const JobView*> jobs_on(const Context& context, fabric::DeviceId part) {
  std::vector<const JobView*> out;
  const fabric::Snapshot& s = *context.snapshot;
  for (const JobView& j : context.jobs) {
    bool here = false;
    for (fabric::DeviceId c : j.placement.cards)
      for (fabric::DeviceId at = c; at.ok() && !here; at = s.device(at).parent) here = at == part;
    if (here) out.push_back(&j);
  }
  return out;
}

std::vector<const JobView*> jobs_of(const Context& context, const diagnose::Cause& cause, const std::vector<const JobView*>& known) {
  std::vector<const JobView*> out;
  for (const JobView& j : context.jobs) {
    bool hit = std::any_of(cause.impact.begin(), cause.impact.end(),
                           [&](const auto& i) { return i.job == j.job.name || i.job == "job/" + j.job.name; });
    if ((hit || cause.entity == "job/" + j.job.name) && std::find(known.begin(), known.end(), &j) == known.end()) out.push_back(&j);
  }
  return out;
}

bool takes_rank(std::string_view fault) {
  constexpr std::string_view kFaults[] = {"card_off_bus", "hbm_uncorrectable", "node_crash", "rank_hung"};
  return std::find(std::begin(kFaults), std::end(kFaults), fault) != std::end(kFaults);
}

bool makes_no_step(const JobView& job) { return job.aborted || job.stuck || !job.running; }

void stop_job(const JobView& job, const std::string& why, ActionPlan& plan) {
  Action stop;
  stop.kind = action::kJobStop, stop.target = "job/" + job.job.name, stop.why = why, stop.timeout = minutes(3);
  stop.parameters = Json{{"checkpoint", false}, {"reason", why}};
  plan.actions.push_back(stop);
}

Retest collective(const fabric::Snapshot& s, const JobView& job, const ActionPlan& plan, double at_least) {
  Json cards = Json::array();
  for (fabric::DeviceId c : job.placement.cards) cards.push_back(s.name(c));
  for (const Action& a : plan.actions)
    if (a.kind == action::kJobStart && a.target == "job/" + job.job.name) cards = a.parameters->at("cards");
  Retest r = probe(action::kProbeCollective, "job/" + job.job.name, "bus_bandwidth_ratio", at_least);
  r.parameters = Json{{"cards", cards}, {"kind", "all-reduce"}, {"bytes", 256 << 20}};
  if (cards.size() < 2) r = {};
  return r;
}

bool move_job(const Context& context, const JobView& job, const std::vector<fabric::DeviceId>& avoid, ActionPlan& plan, std::string& why) {
  // The machine as it will be once the plan's isolations are done.
  fabric::Delta isolated;
  for (const Action& a : plan.actions) {
    isolated.links.insert(isolated.links.end(), a.effect.links.begin(), a.effect.links.end());
    isolated.devices.insert(isolated.devices.end(), a.effect.devices.begin(), a.effect.devices.end());
  }
  auto then = fabric::apply(*context.snapshot, isolated);
  const fabric::Snapshot s = without_switches(then ? *then : *context.snapshot);
  place::Request request;
  request.job = job.job;
  request.avoid = avoid;
  request.avoid.insert(request.avoid.end(), context.bad.begin(), context.bad.end());
  request.keep = job.placement.cards;
  request.job.policy.spare_nodes = 0;  // spares are for exactly this
  place::Occupancy occupied;
  for (const JobView& other : context.jobs) {
    if (other.job.name == job.job.name) continue;
    if (!other.running) continue;  // stopped: its cards are free
    occupied.placements.push_back(other.placement);
    // Moved by this same plan: it will be on its new cards.
    for (const Action& a : plan.actions)
      if (a.kind == action::kJobStart && a.target == "job/" + other.job.name) {
        auto& cards = occupied.placements.back().cards;
        cards.clear();
        for (const Json& c : a.parameters->at("cards"))
          if (auto d = s.find_device(c.get<std::string>())) cards.push_back(*d);
      }
  }
  place::Answer answer = place::place(s, occupied, request);
  if (const auto* refused = std::get_if<place::Refusal>(&answer)) return why = refused->text, false;
  const auto& placement = std::get<workload::Placement>(answer);
  Action stop;
  stop.kind = action::kJobStop, stop.target = "job/" + job.job.name, stop.why = "move off the part at fault", stop.timeout = minutes(3);
  bool serving = job.job.kind == workload::JobKind::kInference;
  stop.parameters = Json{{"checkpoint", job.running && !job.aborted && !serving}};
  plan.actions.push_back(stop);
  Action start;
  start.kind = action::kJobStart, start.target = "job/" + job.job.name, start.timeout = minutes(5), start.attempts = 4;
  Json cards = Json::array();
  int moved = 0;
  for (std::size_t r = 0; r < placement.cards.size(); ++r) {
    cards.push_back(s.name(placement.cards[r]));
    moved += r >= job.placement.cards.size() || job.placement.cards[r] != placement.cards[r];
  }
  start.why = (serving ? "serve again, " : "resume from the checkpoint, ") + std::to_string(moved) + " of " +
              std::to_string(placement.cards.size()) + " ranks on other cards";
  start.parameters = Json{{"cards", cards}, {"resume", !serving}};
  plan.actions.push_back(start);
  return true;
}

}  // namespace weft::heal
