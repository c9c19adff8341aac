// Water and air: flow loss of a loop, a leak, a warm room, a dead fan.
#include <algorithm>
#include <cmath>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

namespace event = telemetry::event;

bool feeds_cards(const State& s, const Target& t) { return !s.cdus[static_cast<std::size_t>(s.index_of(t.device))].cards.empty(); }
bool liquid_rack(const State& s, const Target& t) { return s.racks[static_cast<std::size_t>(s.index_of(t.device))].liquid; }
bool has_nodes(const State& s, const Target& t) { return !s.racks[static_cast<std::size_t>(s.index_of(t.device))].nodes.empty(); }
bool card_node(const State& s, const Target& t) { return !s.nodes[static_cast<std::size_t>(s.index_of(t.device))].cards.empty(); }

// Flow and pressure lead by seconds, supply-return rises, then every cold plate of the loop together (J. Electronic Packaging 140(2) 020902).
void flow(State& s, Active& a) {
  Cdu& c = s.cdus[static_cast<std::size_t>(s.index_of(a.target.device))];
  c.knobs.flow = std::clamp(1 - s.parameters->get("coolant_flow_loss.share") * std::sqrt(a.magnitude), 0.12, 0.8);
  c.knobs.pump_failed = a.magnitude > 1.2;
  if (c.knobs.pump_failed && a.memory[0] == 0)
    a.memory[0] = 1, s.log(a.target.name, event::kPump, "", telemetry::Severity::kError, "pump 1 tripped: motor overload");
  a.showing = true;
}
WEFT_REGISTER(faults(), {"coolant_flow_loss",
                         "coolant flow lost, the whole loop warms up",
                         Sits::kCdu,
                         Shows::kExporter,
                         {"work_order"},
                         flow,
                         nullptr,
                         nullptr,
                         feeds_cards});

// Detector warns, pressure drifts before; then the rack is powered off in an orderly way: hosts vanish without an Xid.
void leak(State& s, Active& a) {
  Rack& r = s.racks[static_cast<std::size_t>(s.index_of(a.target.device))];
  r.knobs.leak = true;
  for (Cdu& c : s.cdus) {
    bool mine = std::any_of(c.cards.begin(), c.cards.end(),
                            [&](int i) { return s.cards[static_cast<std::size_t>(i)].rack == s.index_of(a.target.device); });
    if (mine) c.knobs.flow = std::min(c.knobs.flow, 0.95);
  }
  if (a.age > s.parameters->get("leak.power_off_s") / a.magnitude)
    for (int n : r.nodes) s.nodes[static_cast<std::size_t>(n)].knobs.down = true;
  a.showing = true;
}
void leak_begin(State& s, Active& a) {
  s.log(a.target.name, event::kLeak, "", telemetry::Severity::kError, "leak detector: Critical (rope sensor, rear manifold)");
}
WEFT_REGISTER(faults(), {"leak", "coolant leak", Sits::kRack, Shows::kAtOnce, {"work_order"}, leak, leak_begin, nullptr, liquid_rack});

// Inlets of a row rise together over minutes, fans work harder, clocks sink smoothly, the hottest card throttles first.
void inlet(State& s, Active& a) {
  Rack& r = s.racks[static_cast<std::size_t>(s.index_of(a.target.device))];
  double rise = s.parameters->get("inlet_temp_rise.k") * a.magnitude * std::min(1.0, a.age / s.parameters->get("inlet_temp_rise.ramp_s"));
  for (int n : r.nodes) s.nodes[static_cast<std::size_t>(n)].knobs.inlet += rise;
  a.showing = rise > 2;
}
WEFT_REGISTER(
    faults(),
    {"inlet_temp_rise", "air inlets of a rack warm up", Sits::kRack, Shows::kExporter, {"work_order"}, inlet, nullptr, nullptr, has_nodes});

// Where cold plates carry most of the heat, a fan still cools memory, NICs and the air the node breathes.
void fan(State& s, Active& a) {
  Node& n = s.nodes[static_cast<std::size_t>(s.index_of(a.target.device))];
  n.knobs.fan = std::clamp(1 - s.parameters->get("fan_failed.share") * a.magnitude, 0.4, 0.9);
  a.showing = true;
}
WEFT_REGISTER(faults(),
              {"fan_failed", "a fan of a node stops", Sits::kNode, Shows::kExporter, {"work_order"}, fan, nullptr, nullptr, card_node});

}  // namespace
}  // namespace weft::twin
