// Settings that went wrong at one end of an Ethernet fabric. Each heals when its setting is back at baseline.
#include <algorithm>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

namespace fact = telemetry::fact;
Nic& nic_of(State& s, const Active& a) { return s.nics[static_cast<std::size_t>(s.index_of(a.target.device))]; }

void healed(State& s, Active& a, std::string_view key) {
  if (s.fact(a.target.name, key) == s.baseline(a.target.name, key)) a.cured = true;
}
void restore(State& s, Active& a, std::string_view key) { s.set_fact(a.target.name, key, s.baseline(a.target.name, key)); }

// The switch marks, the receiver sends no notification: pause becomes the only brake (provandal/protoviz#30).
void ecn_begin(State& s, Active& a) { s.set_fact(a.target.name, fact::kEcn, "false"); }
void ecn(State& s, Active& a) {
  healed(s, a, fact::kEcn);
  if (a.cured) return;
  Nic& n = nic_of(s, a);
  n.knobs.no_cnp = true;
  n.knobs.tx_pause = 0.03 * a.magnitude;
  for (int q : n.ports) {
    const Port& port = s.ports[static_cast<std::size_t>(q)];
    Port& peer = s.ports[s.built.peer(port.id).v];
    peer.knobs.ecn = s.parameters->get("ecn_one_end.marks_per_s") * a.magnitude, peer.knobs.pfc_rx = 120 * a.magnitude,
    peer.knobs.pfc_tx = 150 * a.magnitude, peer.knobs.queue = 1e6;
    s.links[s.built.port(port.id).link.v].rate = std::max(0.4, 1 - s.parameters->get("ecn_one_end.rate_loss") * a.magnitude);
  }
  a.showing = true;
}
void ecn_end(State& s, Active& a) { restore(s, a, fact::kEcn); }
WEFT_REGISTER(faults(), {"ecn_one_end", "ECN configured at one end only", Sits::kNic, Shows::kHost, {}, ecn, ecn_begin, ecn_end});

// All RoCE bytes on priority 0, priority 3 exactly silent; drops in the lossy queue (from the reboot of that host on).
void trust_begin(State& s, Active& a) { s.set_fact(a.target.name, fact::kTrust, "pcp"); }
void trust(State& s, Active& a) {
  healed(s, a, fact::kTrust);
  if (a.cured) return;
  Nic& n = nic_of(s, a);
  n.knobs.prio0 = true;
  n.knobs.out_of_sequence = 60 * a.magnitude, n.knobs.ack_timeout = 4 * a.magnitude;
  for (int q : n.ports) {
    const Port& port = s.ports[static_cast<std::size_t>(q)];
    s.ports[s.built.peer(port.id).v].knobs.discards = 200 * a.magnitude;
    s.links[s.built.port(port.id).link.v].rate = std::max(0.2, 1 - s.parameters->get("qos_trust_lost.rate_loss") * a.magnitude);
  }
  a.showing = true;
}
void trust_end(State& s, Active& a) { restore(s, a, fact::kTrust); }
WEFT_REGISTER(faults(), {"qos_trust_lost", "DSCP trust lost after a reboot", Sits::kNic, Shows::kHost, {}, trust, trust_begin, trust_end});

// Small messages pass, large ones never arrive; link, ping and BER are fine (NVIDIA/nccl#2135, #709, #1524).
void mtu_begin(State& s, Active& a) { s.set_fact(a.target.name, fact::kMtu, "1500"); }
void mtu(State& s, Active& a) {
  healed(s, a, fact::kMtu);
  if (a.cured) return;
  Nic& n = nic_of(s, a);
  n.knobs.ack_timeout = 8 * a.magnitude;
  for (int q : n.ports) s.links[s.built.port(s.ports[static_cast<std::size_t>(q)].id).link.v].black_hole = true;
  a.showing = true;
}
void mtu_end(State& s, Active& a) { restore(s, a, fact::kMtu); }
WEFT_REGISTER(faults(),
              {"mtu_black_hole", "MTU smaller at one end: large messages vanish", Sits::kNic, Shows::kHost, {}, mtu, mtu_begin, mtu_end});

}  // namespace
}  // namespace weft::twin
