// Cards that work, slower: heat, a hidden fault, a power limit left behind, a PCIe slot at half width.
#include <algorithm>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

Card& card_of(State& s, const Active& a) { return s.cards[static_cast<std::size_t>(s.card_of(a.target.device))]; }
// Power at full clocks under the present load (an idle card counts as half loaded), and the temperature without any load.
double unthrottled_w(const State& s, const Card& c) {
  double load = std::max(0.5, std::min(1.0, c.busy + s.parameters->get("card.spin_share") * c.wait));
  return c.idle_w + (c.max_w - c.idle_w) * load;
}
double base_c(const State& s, const Card& c) {
  if (c.liquid && c.cdu >= 0) {
    const Cdu& cdu = s.cdus[static_cast<std::size_t>(c.cdu)];
    return (cdu.supply_c + cdu.return_c) / 2 + c.offset_c;
  }
  return (c.node >= 0 ? s.nodes[static_cast<std::size_t>(c.node)].inlet : s.parameters->get("node.inlet_c")) + c.offset_c;
}
// How much hotter than the same card in order at the same power.
double hotter_c(const State& s, const Card& c) { return c.temp - base_c(s, c) - c.resistance * c.power; }
bool liquid(const State& s, const Target& t) { return s.cards[static_cast<std::size_t>(s.card_of(t.device))].liquid; }

// Heat sink or paste: resistance up, temperature to the limit, clock down step by step over minutes; neighbours stay.
void thermal(State& s, Active& a) {
  // So bad that full clocks at the present load would end this far beyond the limit.
  double beyond = s.parameters->get("card_thermal.beyond_c") * a.magnitude;
  Card& c = card_of(s, a);
  double factor = std::max(1.2, (s.parameters->get("card.throttle_c") + beyond - base_c(s, c)) / (c.resistance * unthrottled_w(s, c)));
  c.knobs.heat = 1 + (factor - 1) * std::min(1.0, a.age / s.parameters->get("card_thermal.ramp_s"));
  a.showing = a.showing || hotter_c(s, c) > 4;
}
WEFT_REGISTER(faults(), {"card_thermal", "one card throttles thermally", Sits::kCard, Shows::kExporter, {"work_order"}, thermal});

// A cold plate that is fouled or holds air: this card far above its peers at the same power, loop flow normal.
void plate(State& s, Active& a) {
  Card& c = card_of(s, a);
  double factor = 1 + s.parameters->get("cold_plate_blocked.over_c") * a.magnitude / (c.resistance * unthrottled_w(s, c));
  c.knobs.heat = 1 + (factor - 1) * std::min(1.0, a.age / s.parameters->get("cold_plate_blocked.ramp_s"));
  a.showing = a.showing || hotter_c(s, c) > 4;
}
WEFT_REGISTER(faults(), {"cold_plate_blocked",
                         "blocked or trapped-air cold plate of one card",
                         Sits::kCard,
                         Shows::kExporter,
                         {"work_order"},
                         plate,
                         nullptr,
                         nullptr,
                         liquid});

// BLOOM: over three steps the job lost 5.6 %, no flag, no error, temperature normal. It does not heal by itself (ByteRobust survey).
void silent(State& s, Active& a) {
  double slow = s.parameters->get("card_slow_silent.slow") * a.magnitude;
  card_of(s, a).knobs.slow = 1 + slow * std::min(1.0, a.age / s.parameters->get("card_slow_silent.ramp_s"));
  a.showing = a.age >= s.parameters->get("card_slow_silent.ramp_s") * 0.5;
}
WEFT_REGISTER(faults(), {"card_slow_silent", "slow card without any flag", Sits::kCard, Shows::kStep, {"work_order"}, silent});

// Enforced limit below the default: power flat at the cap, software power cap flag for ever, temperature low.
void cap(State& s, Active& a) {
  Card& c = card_of(s, a);
  c.knobs.limit = std::max(c.idle_w * 2, c.max_w * (1 - std::min(0.6, s.parameters->get("power_cap_wrong.depth") * a.magnitude)));
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"power_cap_wrong", "power limit left too low", Sits::kCard, Shows::kExporter, {"config_apply", "card_reset", "work_order"}, cap});

// Slot trains at x8: host copies at half speed, its rank late; NIC and errors quiet, some replays before (Mycroft: always finishes last).
void pcie(State& s, Active& a) {
  Card& c = card_of(s, a);
  c.knobs.lanes = a.magnitude > 1.2 ? 4 : 8;
  c.knobs.host_path = 16.0 / c.knobs.lanes;
  c.knobs.slow = 1 + s.parameters->get("pcie_downgrade.slow") * a.magnitude;
  if (a.age < 30) c.knobs.replay = 2;
  a.showing = true;
}
WEFT_REGISTER(faults(), {"pcie_downgrade", "PCIe width of a card falls", Sits::kCard, Shows::kExporter, {"work_order"}, pcie});

}  // namespace
}  // namespace weft::twin
