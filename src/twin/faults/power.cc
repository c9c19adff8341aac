// Power: a supply lost with the brake pulled, a rack under a cap.
#include <algorithm>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

bool has_supplies(const State& s, const Target& t) {
  const Node& n = s.nodes[static_cast<std::size_t>(s.index_of(t.device))];
  return n.supplies > 0 && !n.cards.empty();
}
bool has_nodes(const State& s, const Target& t) { return !s.racks[static_cast<std::size_t>(s.index_of(t.device))].nodes.empty(); }

// Below the supplies it needs, the node pulls the brake on all its cards in the same second; they cool down (NVIDIA DCGM field constants).
void psu(State& s, Active& a) {
  Node& n = s.nodes[static_cast<std::size_t>(s.index_of(a.target.device))];
  n.knobs.supplies_lost = a.magnitude > 1.3 ? 2 : 1;
  for (int c : n.cards) s.cards[static_cast<std::size_t>(c)].knobs.brake = true;
  a.showing = true;
}
void psu_begin(State& s, Active& a) {
  s.log(a.target.name, telemetry::event::kPsu, "", telemetry::Severity::kError, "power supply 2: AC lost, redundancy lost");
}
WEFT_REGISTER(
    faults(),
    {"psu_failed", "power supply lost, power brake", Sits::kNode, Shows::kAtOnce, {"work_order"}, psu, psu_begin, nullptr, has_supplies});

// Input power flat at the cap, all cards of the rack slower alike: no rank stands out within it.
void cap(State& s, Active& a) {
  Rack& r = s.racks[static_cast<std::size_t>(s.index_of(a.target.device))];
  double full = 0;
  for (int n : r.nodes) {
    full += s.nodes[static_cast<std::size_t>(n)].host_w;
    for (int c : s.nodes[static_cast<std::size_t>(n)].cards) full += s.cards[static_cast<std::size_t>(c)].max_w;
  }
  r.knobs.cap_w = full * std::max(0.3, 1 - s.parameters->get("rack_power_cap.depth") * a.magnitude);
  a.showing = true;
}
WEFT_REGISTER(faults(), {"rack_power_cap",
                         "rack power is capped",
                         Sits::kRack,
                         Shows::kExporter,
                         {"work_order", "config_apply"},
                         cap,
                         nullptr,
                         nullptr,
                         has_nodes});

}  // namespace
}  // namespace weft::twin
