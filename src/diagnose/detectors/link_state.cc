// Links up, down, flapping, at less than their rate; switches that lose their ports together. From states, counters and log lines.
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceKind;

bool down_value(const Context& c, SeriesId id, double v) { return c.table.metric(id) == metric::kSwState ? v != 1 : v < 3.5; }

// States have a series at this entity (else only the log tells when it comes back).
bool has_state(const Context& c, std::string_view entity) {
  for (std::string_view m : {metric::kIbState, metric::kSwState})
    if (SeriesId id = c.table.find(m, entity); id.v != UINT32_MAX && c.windows.has(id) && !c.windows.stale(id, c.now)) return true;
  return false;
}

void arm_state(Context& c, SeriesId id) {
  if (c.table.metric(id) == metric::kSwState) c.windows.set_wire(id, 0.5, 1.5);
  else c.windows.set_wire(id, 3.5, kNone);
}

void flaps(Context& c, std::string_view entity) {
  Instant from = c.now - seconds(c.rules["flap_window"]);
  std::size_t downs = c.log.of(entity, event::kLinkDown, from).size();
  SeriesId counter = c.table.find(metric::kIbDowned, entity);
  if (counter.v != UINT32_MAX)
    if (auto inc = c.windows.increase(counter, from, c.now); inc.known && !inc.at_least)
      downs = std::max(downs, static_cast<std::size_t>(inc.value));
  for (std::string_view m : {metric::kIbState, metric::kSwState})
    if (SeriesId id = c.table.find(m, entity); id.v != UINT32_MAX && c.windows.has(id)) {
      std::size_t edges = 0;
      bool before = false;
      for (const Point& p : c.windows.points(id, from, c.now)) {
        bool down = down_value(c, id, p.value);
        edges += down && !before;
        before = down;
      }
      downs = std::max(downs, edges);
    }
  if (downs < static_cast<std::size_t>(c.rules["flap_downs"])) {
    if (downs > 0)
      c.raise("link_flapped", entity, Layer::kNetwork, 0.2, minutes(10), c.now,
              {{"link_downed", std::string(entity), static_cast<double>(downs), 0, "went down once", from, c.now}});
    return;
  }
  c.raise("link_flap", entity, Layer::kNetwork, std::min(1.0, 0.7 + 0.1 * static_cast<double>(downs)), minutes(2), c.now,
          {{"link_downed", std::string(entity), static_cast<double>(downs), 0,
            fmt::format("down {} times in {:.0f} s", downs, c.rules["flap_window"]), from, c.now}});
}

void examine_state(Context& c, SeriesId id) {
  std::string_view entity = c.table.entity(id);
  if (down_value(c, id, c.windows.last(id))) {
    Instant since;
    count_last(
        c, id, 64, [&](double v) { return down_value(c, id, v); }, &since);
    c.raise("link_down", entity, Layer::kNetwork, 1, hold_of(c, id), since,
            {c.evidence(id, c.windows.last(id), c.table.metric(id) == metric::kSwState ? 1 : 4, "port is down", since)});
  } else {
    c.drop("link_down", entity);
  }
  flaps(c, entity);
}

void arm_downed(Context& c, SeriesId id) { c.windows.set_wire(id, kNone, 0); }
void examine_downed(Context& c, SeriesId id) { flaps(c, c.table.entity(id)); }

void on_event(Context& c, const telemetry::Event& e) {
  if (e.kind == event::kLinkUp) {
    c.drop("link_down", e.entity);
    return;
  }
  if (e.kind == event::kSwitchRestart) {
    c.raise("switch_restarted", e.entity, Layer::kNetwork, 1, minutes(10), e.at, {{e.kind, e.entity, 1, 0, e.text, e.at, e.at}});
    return;
  }
  Duration hold = has_state(c, e.entity) ? seconds(12) : minutes(10);
  c.raise("link_down", e.entity, Layer::kNetwork, 1, hold, e.at,
          {{e.kind, e.entity, 1, 0, e.text.empty() ? "link went down" : e.text, e.at, e.at}});
  flaps(c, e.entity);
}

// The rate a port should have: as built, else the highest of its own past.
double expected_rate(const Context& c, SeriesId id) {
  bool sw = c.table.metric(id) == metric::kSwSpeed;
  if (c.machine.ready()) {
    fabric::LinkId l = c.machine.link_of(c.machine.part(c.table.entity(id)));
    if (l.ok() && c.machine.snapshot().link(l).rate.value() > 0) {
      double bits = c.machine.snapshot().link(l).rate.value();
      return sw ? bits / 1e6 : bits / 8;
    }
  }
  double best = 0;
  for (const Point& p : c.windows.last_points(id, 64)) best = std::max(best, p.value);
  return best;
}

void arm_rate(Context& c, SeriesId id) {
  double expected = expected_rate(c, id);
  c.windows.set_wire(id, expected > 0 ? expected * c.rules["rate_share_min"] : kNone, kNone);
}

void examine_rate(Context& c, SeriesId id) {
  double expected = expected_rate(c, id), v = c.windows.last(id);
  if (expected <= 0 || v >= expected * c.rules["rate_share_min"] || v <= 0) return;  // 0: down, not slow
  Instant since;
  int n = count_last(
      c, id, 64, [&](double x) { return x < expected * c.rules["rate_share_min"]; }, &since);
  if (n < 2) return;
  c.raise("rate_low", c.table.entity(id), Layer::kNetwork, 1, hold_of(c, id), since,
          {c.evidence(id, v, expected, fmt::format("runs at {:.0f} % of its rate", 100 * v / expected), since)});
}

// One second, many ports: the switch, not its links. Counted over links whose both-end state is known down from either side.
void sweep_switches(Context& c) {
  if (!c.machine.ready()) return;
  std::map<fabric::DeviceId, std::set<fabric::LinkId>> down;
  std::map<fabric::DeviceId, Instant> since;
  const fabric::Snapshot& s = c.machine.snapshot();
  each_alive(c, "link_down", [&](const Finding& f) {
    fabric::LinkId l = c.machine.link_of(c.machine.part(f.entity));
    if (!l.ok()) return;
    for (fabric::PortId end : {s.link(l).a, s.link(l).b}) {
      fabric::DeviceId d = s.port(end).device;
      if (s.device(d).kind != DeviceKind::kSwitch) continue;
      down[d].insert(l);
      auto [at, fresh] = since.try_emplace(d, f.since);
      at->second = std::min(at->second, f.since);
    }
  });
  for (const auto& [d, links] : down) {
    std::size_t total = 0;
    for (fabric::LinkId l : c.machine.links_at(d)) total += !s.link(l).spare && s.health(l).in_service;
    if (links.size() < 3 || static_cast<double>(links.size()) < c.rules["switch_ports_share"] * static_cast<double>(total)) continue;
    std::string name = s.name(d);
    c.raise("switch_ports_down", name, Layer::kNetwork, 1, seconds(8), since[d],
            {{"link_down", name, static_cast<double>(links.size()), 0, fmt::format("{} of {} links down together", links.size(), total),
              since[d], c.now}});
  }
}

WEFT_REGISTER(detectors(), {"link_state",
                            "port state of NICs and switches, flaps from states and log lines",
                            {metric::kIbState, metric::kSwState},
                            arm_state,
                            true,
                            examine_state,
                            {event::kLinkDown, event::kLinkUp, event::kSwitchRestart},
                            on_event,
                            seconds(1),
                            sweep_switches});
WEFT_REGISTER(detectors(),
              {"link_downed", "the counter of link losses, with its 8-bit ceiling", {metric::kIbDowned}, arm_downed, true, examine_downed});
WEFT_REGISTER(
    detectors(),
    {"link_rate", "negotiated rate against the rate as built", {metric::kIbRate, metric::kSwSpeed}, arm_rate, false, examine_rate});

}  // namespace
}  // namespace weft::diagnose
