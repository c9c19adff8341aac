#include "twin/physics.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::twin {

double clock_for_power(double watts, double idle, double max, double load, double alpha) {
  double dynamic = (max - idle) * load;
  if (dynamic <= 0) return 1;
  return std::pow(std::clamp((watts - idle) / dynamic, 1e-4, 1.0), 1 / alpha);
}

void step_physics(State& s, Noise& noise, double dt, double day_share) {
  const Parameters& p = *s.parameters;
  const double alpha = p.get("card.power_exponent"), spin = p.get("card.spin_share"), throttle_at = p.get("card.throttle_c"),
               lowest = p.get("card.lowest_clock");
  const double tau_air = p.get("card.tau_air_s"), tau_liquid = p.get("card.tau_liquid_s"), sink = p.get("card.clock_per_c");
  const double day = p.get("node.day_swing_c") * std::sin(2 * std::numbers::pi * (day_share - 0.375));  // warmest in the afternoon (N11)
  for (Node& n : s.nodes) {
    double target = n.inlet_base + n.knobs.inlet + (noise.on() ? day : 0);
    n.inlet += (target - n.inlet) * (1 - std::exp(-dt / p.get("node.inlet_tau_s")));
  }
  // A coolant loop: what remains of the flow decides both how warm it gets and how well a plate passes heat on (h ~ flow^0.8).
  for (Cdu& cdu : s.cdus) {
    cdu.flow += (cdu.knobs.flow - cdu.flow) * (1 - std::exp(-dt / p.get("cdu.flow_tau_s")));
    cdu.heat_w = 0;
    for (int c : cdu.cards) cdu.heat_w += s.cards[static_cast<std::size_t>(c)].power;
    double kg_per_s = std::max(cdu.flow_lpm * cdu.flow, 1.0) / 60 * p.get("cdu.kg_per_l"),
           rise = cdu.heat_w / (kg_per_s * p.get("cdu.heat_capacity"));
    double target = cdu.supply_c + cdu.knobs.supply + rise;
    cdu.return_c += (target - cdu.return_c) * (1 - std::exp(-dt / p.get("cdu.return_tau_s")));
  }
  // A rack cap is met by lowering the clocks of all its cards alike.
  std::vector<double> rack_clock(s.racks.size(), 1.0);
  for (std::size_t r = 0; r < s.racks.size(); ++r) {
    Rack& rack = s.racks[r];
    if (rack.knobs.cap_w <= 0) continue;
    double fixed = 0, dynamic = 0;
    for (int n : rack.nodes) {
      const Node& node = s.nodes[static_cast<std::size_t>(n)];
      fixed += node.host_w;
      for (int c : node.cards) {
        const Card& card = s.cards[static_cast<std::size_t>(c)];
        double load = card.used ? std::min(1.0, card.busy + spin * card.wait) : 0;
        fixed += card.idle_w, dynamic += (card.max_w - card.idle_w) * load;
      }
    }
    if (fixed + dynamic > rack.knobs.cap_w)
      rack_clock[r] = std::max(lowest, std::pow(std::clamp((rack.knobs.cap_w - fixed) / dynamic, 1e-3, 1.0), 1 / alpha));
  }
  for (Card& c : s.cards) {
    CardKnobs& k = c.knobs;
    const Node* node = c.node >= 0 ? &s.nodes[static_cast<std::size_t>(c.node)] : nullptr;
    bool off = k.gone || (node && node->knobs.down);
    double inlet = node ? node->inlet : p.get("node.inlet_c"), resistance = c.resistance * k.heat, tau = tau_air;
    if (c.liquid) {
      tau = tau_liquid;
      if (c.cdu >= 0) {
        const Cdu& cdu = s.cdus[static_cast<std::size_t>(c.cdu)];
        inlet = (cdu.supply_c + cdu.knobs.supply + cdu.return_c) / 2;
        resistance *= std::pow(std::max(cdu.flow, 0.02), -0.8);
      } else {
        inlet = p.get("cdu.supply_c");
      }
      if (node) resistance *= std::pow(std::max(node->knobs.fan, 0.2), -p.get("node.fan_exponent_liquid"));
    } else if (node) {
      resistance *= std::pow(std::max(node->knobs.fan, 0.2), -p.get("node.fan_exponent"));
    }
    inlet += c.offset_c;
    double load = off ? 0 : c.used ? std::min(1.0, c.busy + spin * c.wait) : 0;
    load = std::min(1.0, load + k.stray * 0.8);
    unsigned flags = 0;
    double clock = 1 - sink * std::max(0.0, c.temp - p.get("card.reference_c"));  // clocks sink long before the limit (N8)
    if (load <= 0.001) flags |= 0x1;
    double limit = k.limit > 0 ? k.limit : c.max_w;
    if (double f = clock_for_power(limit, c.idle_w, c.max_w, load, alpha); f < clock) clock = f, flags |= 0x4;
    if (k.clock < clock) clock = k.clock;
    if (k.capped && load > 0.05) flags |= 0x4;
    if (c.rack >= 0 && rack_clock[static_cast<std::size_t>(c.rack)] < clock)
      clock = rack_clock[static_cast<std::size_t>(c.rack)], flags |= 0x4;
    if (k.brake) clock = std::min(clock, p.get("card.brake_clock")), flags |= 0x8 | 0x80;
    // Thermal: the clock that keeps the card at its limit, with the noise of a control loop.
    double settles = inlet + resistance * (c.idle_w + (c.max_w - c.idle_w) * load * std::pow(clock, alpha));
    if (settles > throttle_at && c.temp > throttle_at - 1) {
      double f = clock_for_power((throttle_at - inlet) / resistance, c.idle_w, c.max_w, load, alpha);
      clock = std::max(lowest, std::min(clock, f * (1 + 0.02 * noise.normal())));
      flags |= 0x8 | 0x40;
    }
    c.clock = off ? 0 : clock;
    c.throttle = flags;
    double power = off ? 0 : c.idle_w + (c.max_w - c.idle_w) * load * std::pow(clock, alpha);
    c.power = power;
    double target = inlet + resistance * power;
    c.temp = target + (c.temp - target) * std::exp(-dt / tau);
    double memory = c.temp + p.get("card.memory_over_core_c") * (0.3 + 0.7 * load);
    c.memory_temp = memory + (c.memory_temp - memory) * std::exp(-dt / (2 * tau));
    // What a job gets: clock, what a foreign process leaves, hidden slowness, host path.
    c.speed = off ? 1
                  : std::max(0.02, std::pow(clock / (1 - sink * std::max(0.0, p.get(c.liquid ? "card.liquid_full_c" : "card.air_full_c") -
                                                                                  p.get("card.reference_c"))),
                                            p.get("card.clock_to_speed")) *
                                       (1 - k.stray) / k.slow);
    // A new simulation for every ripple would tell nothing: jobs feel the smoothed speed, and a jump at once.
    c.smooth += (c.speed - c.smooth) * (1 - std::exp(-dt / 8));
    if (std::abs(std::log(c.speed / c.told)) > 0.15) c.smooth = c.told = c.speed;
    else if (std::abs(std::log(c.smooth / c.told)) > 0.02) c.told = c.smooth;
    c.sbe += k.sbe * dt, c.replay += k.replay * dt, c.crc += k.nvlink_crc * dt, c.nvl_replay += k.nvlink_replay * dt;
  }
  for (Rack& r : s.racks) r.power = 0;
  for (Node& n : s.nodes) {
    n.power = n.knobs.down ? 0 : n.host_w;
    for (int c : n.cards) n.power += s.cards[static_cast<std::size_t>(c)].power;
    n.power /= p.get("node.supply_efficiency");
    if (n.rack >= 0) s.racks[static_cast<std::size_t>(n.rack)].power += n.power;
  }
}

}  // namespace weft::twin
