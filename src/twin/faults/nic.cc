// The host's end of the network: a NIC that is gone, one that pauses its port for ever, and one whose host path is slow.
#include <algorithm>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

Nic& nic_of(State& s, const Active& a) { return s.nics[static_cast<std::size_t>(s.index_of(a.target.device))]; }
template <class F>
void each_port(State& s, const Nic& n, F f) {
  for (int q : n.ports)
    f(s.ports[static_cast<std::size_t>(q)], s.ports[s.built.peer(s.ports[static_cast<std::size_t>(q)].id).v],
      s.built.port(s.ports[static_cast<std::size_t>(q)].id).link);
}

void gone(State& s, Active& a) {
  nic_of(s, a).knobs.gone = true;
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"nic_failed", "NIC firmware crash: device gone, port down", Sits::kNic, Shows::kAtOnce, {"node_reboot", "work_order"}, gone});

// "RDMA over Commodity Ethernet at Scale": the NIC sends pause without end; its port receives PFC; pause spreads to the ports that feed it.
void storm(State& s, Active& a) {
  Nic& n = nic_of(s, a);
  n.knobs.tx_pause = s.parameters->get("pfc_storm.pause_share");
  n.knobs.discards = 5;
  double frames = s.parameters->get("pfc_storm.frames_per_s") * a.magnitude;
  each_port(s, n, [&](Port&, Port& peer, fabric::LinkId l) {
    peer.knobs.pfc_rx = frames, peer.knobs.queue = 4e6, peer.knobs.discards = 40 * a.magnitude;
    s.links[l.v].rate = 0.02;
    // The switch pauses those who feed it, innocent NICs among them (R11).
    for (fabric::PortId q : s.built.ports_of(s.built.port(peer.id).device)) {
      Port& other = s.ports[q.v];
      if (!other.exports || !other.ethernet || q == peer.id) continue;
      other.knobs.pfc_tx = frames * 0.2, other.knobs.queue = 1e6;
      fabric::DeviceId d = s.built.port(s.built.peer(q)).device;
      if (s.built.device(d).kind == fabric::DeviceKind::kNic) s.nics[static_cast<std::size_t>(s.index_of(d))].knobs.rx_pause = 0.15;
      s.links[s.built.port(q).link.v].rate = std::min(s.links[s.built.port(q).link.v].rate, 0.6);
    }
    if (static_cast<int>(a.age) % 20 == 2 && a.age - a.memory[0] > 5) {
      a.memory[0] = a.age;
      s.log(s.built.name(peer.id), telemetry::event::kPfcStorm, "", telemetry::Severity::kError, "PFC watchdog: storm detected on queue 3");
    }
  });
  a.showing = true;
}
WEFT_REGISTER(faults(), {"pfc_storm", "NIC sends pause without end", Sits::kNic, Shows::kHost, {"node_reboot", "work_order"}, storm});

// Thousands of pause frames a second from an otherwise working host; level follows the traffic.
void slow(State& s, Active& a) {
  Nic& n = nic_of(s, a);
  n.knobs.tx_pause = std::min(0.55, s.parameters->get("slow_receiver.pause_share") * a.magnitude);
  n.knobs.rx_errors = 0;
  each_port(s, n, [&](Port&, Port& peer, fabric::LinkId l) {
    peer.knobs.pfc_rx = s.parameters->get("slow_receiver.frames_per_s") * a.magnitude, peer.knobs.queue = 1.5e6;
    s.links[l.v].rate = std::max(0.25, 1 - s.parameters->get("slow_receiver.rate_loss") * a.magnitude);
  });
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"slow_receiver", "host path behind a NIC slower than the wire", Sits::kNic, Shows::kHost, {"node_reboot", "work_order"}, slow});

}  // namespace
}  // namespace weft::twin
