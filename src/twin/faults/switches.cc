// Switches: crash and restart, colliding flows, silent loss inside the chip.
#include <algorithm>
#include <cmath>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

bool ethernet_switch(const State& s, const Target& t) {
  auto links = s.network_links(t.device);
  return std::any_of(links.begin(), links.end(), [&](fabric::LinkId l) { return s.ethernet(l); });
}
std::vector<fabric::LinkId> uplinks(const State& s, fabric::DeviceId d) {
  std::vector<fabric::LinkId> out;
  for (fabric::LinkId l : s.network_links(d))
    if (s.built.device(s.built.port(s.built.other_end(l, d)).device).kind == fabric::DeviceKind::kSwitch && !s.built.link(l).spare)
      out.push_back(l);
  return out;
}
bool has_uplinks(const State& s, const Target& t) { return ethernet_switch(s, t) && uplinks(s, t.device).size() >= 2; }

// All ports of one switch down in the same second; returns after minutes (reboot) unless it stays dead (magnitude > 1.4).
void crash(State& s, Active& a) {
  double back = s.parameters->get("switch_crash.reboot_s") * a.magnitude;
  bool stays = a.magnitude > 1.4;
  if (!stays && a.age > back) {
    s.log(a.target.name, telemetry::event::kSwitchRestart, "", telemetry::Severity::kWarning, "system restarted, cause: watchdog");
    a.cured = true;
    return;
  }
  for (fabric::LinkId l : s.network_links(a.target.device)) {
    s.links[l.v].state = fabric::LinkState::kDown;
    for (fabric::PortId q : {s.built.link(l).a, s.built.link(l).b})
      if (s.built.port(q).device == a.target.device) s.ports[q.v].knobs.dark = true;
  }
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"switch_crash", "switch crashes or reboots", Sits::kSwitch, Shows::kAtOnce, {"work_order"}, crash, nullptr, nullptr, ethernet_switch});

// A few uplinks run full while their siblings idle; queue and marks there; no error anywhere. Constant within a run of the job.
void collide(State& s, Active& a) {
  auto up = uplinks(s, a.target.device);
  std::size_t hot = std::max<std::size_t>(1, up.size() / 4);
  double loss = std::min(0.6, s.parameters->get("ecmp_collision.rate_loss") * a.magnitude);
  if (a.memory[0] == 0) a.memory[0] = static_cast<double>(a.random.integer(1, static_cast<std::int64_t>(up.size())));
  for (std::size_t i = 0; i < hot; ++i) {
    fabric::LinkId l = up[(static_cast<std::size_t>(a.memory[0]) - 1 + i) % up.size()];
    s.links[l.v].rate = 1 - loss;
    for (fabric::PortId q : {s.built.link(l).a, s.built.link(l).b})
      if (s.built.port(q).device == a.target.device) {
        Port& port = s.ports[q.v];
        port.knobs.ecn = s.parameters->get("ecmp_collision.marks_per_s") * a.magnitude, port.knobs.queue = 3e6,
        port.knobs.pfc_rx = 80 * a.magnitude;
        // What collides is carried here and missing on the siblings: the port runs near its rate.
        double full = s.built.link(l).rate.value() / 8 * 0.9 * a.dt;
        port.tx += full;
      }
  }
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"ecmp_collision", "flows collide on few uplinks", Sits::kSwitch, Shows::kHost, {"job_start"}, collide, nullptr, nullptr, has_uplinks});

// No drop counter moves; flows through the element see gaps and retransmit at a constant share (go-back-N makes 1e-3 cost tens of %).
void silent(State& s, Active& a) {
  for (fabric::LinkId l : s.network_links(a.target.device)) {
    if (!s.ethernet(l)) continue;
    s.links[l.v].rate = std::max(0.3, 1 - s.parameters->get("silent_drop.rate_loss") * a.magnitude);
    s.links[l.v].probe_loss = std::min(1e-2, s.parameters->get("silent_drop.probe_loss") * a.magnitude);
    // Those whose flows cross it notice: NICs at its own ports, and with a smaller part of their flows those one switch further down.
    auto notice = [&](fabric::DeviceId d, double part) {
      if (s.built.device(d).kind != fabric::DeviceKind::kNic) return;
      NicKnobs& k = s.nics[static_cast<std::size_t>(s.index_of(d))].knobs;
      k.out_of_sequence = std::max(k.out_of_sequence, part * s.parameters->get("silent_drop.gaps_per_s") * a.magnitude),
      k.ack_timeout = k.out_of_sequence / 10;
    };
    fabric::DeviceId far = s.built.port(s.built.other_end(l, a.target.device)).device;
    notice(far, 1);
    if (s.built.device(far).kind == fabric::DeviceKind::kSwitch)
      for (fabric::LinkId below : s.network_links(far)) notice(s.built.port(s.built.other_end(below, far)).device, 0.4);
  }
  a.showing = true;
}
WEFT_REGISTER(faults(), {"silent_drop",
                         "switch drops packets and counts nothing",
                         Sits::kSwitch,
                         Shows::kHost,
                         {"work_order"},
                         silent,
                         nullptr,
                         nullptr,
                         ethernet_switch});

}  // namespace
}  // namespace weft::twin
