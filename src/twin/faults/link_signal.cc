// Signal faults of optical links: ageing laser, dirty connector, bad lock after a restart, one bad direction.
#include <algorithm>
#include <cmath>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

bool optical(const State& s, const Target& t) { return s.ethernet(t.link) && s.ports[s.built.link(t.link).a.v].optical; }
bool network(const State& s, const Target& t) { return s.ethernet(t.link); }

// Which end receives badly: drawn once. memory[3]: 1 = end a receives, 2 = end b.
Port& receiver(State& s, Active& a) {
  if (a.memory[3] == 0) a.memory[3] = a.random.chance(0.5) ? 1 : 2;
  const fabric::Link& link = s.built.link(a.target.link);
  return s.ports[(a.memory[3] == 1 ? link.a : link.b).v];
}
Port& sender(State& s, Active& a) { return s.ports[s.built.peer(receiver(s, a).id).v]; }

// Past the FEC limit, code words are lost, retries cost bandwidth, CRC errors show (Juniper and VeEX FEC notes: uncorrectable is never normal).
void beyond_fec(State& s, Active& a, Port& q, double ber) {
  double over = std::log10(ber / s.parameters->get("optic.fec_limit"));
  if (over <= 0) return;
  q.knobs.uncorrectable = std::min(1e4, 2 * std::pow(10, 2 * over));
  q.knobs.crc = q.knobs.uncorrectable / 4, q.knobs.retries = q.knobs.uncorrectable * 5;
  s.links[a.target.link.v].rate = std::max(0.3, 1 - 0.2 * over);
}

// Slope, not a step: pre-FEC BER climbs, faster at the end; bias up, later Tx power down; all lanes of the module. Time is compressed: the
// last days of an optic, as a rate in decades an hour.
void ageing(State& s, Active& a) {
  Port& rx = receiver(s, a);
  Port& tx = sender(s, a);
  double rate = s.parameters->get("optic_ageing.decades_per_hour") * a.magnitude, hours = a.age / 3600;
  double decades = std::min(6.0, rate * hours * (1 + 0.5 * hours));
  rx.knobs.ber = std::pow(10, decades);
  tx.knobs.bias = 1 + std::min(0.5, s.parameters->get("optic_ageing.bias_per_decade") * decades);
  tx.knobs.tx_db = -std::min(3.0, 0.5 * std::max(0.0, decades - 1.5)), rx.knobs.rx_db = tx.knobs.tx_db;
  beyond_fec(s, a, rx, std::pow(10, rx.log_ber) * rx.knobs.ber);
  a.showing = decades >= 0.5;
}
WEFT_REGISTER(faults(), {"optic_ageing",
                         "laser wears out: error rate drifts up over hours",
                         Sits::kLink,
                         Shows::kExporter,
                         {"work_order"},
                         ageing,
                         nullptr,
                         nullptr,
                         optical,
                         false});

// NVIDIA UFM Cable Validation: received light low at one end only, raw BER at least ten times up, a step that then stays; steady corruption,
// independent of load (CorrOpt, SIGCOMM'17). Tx power and bias of the far end stay.
void dirty(State& s, Active& a) {
  Port& rx = receiver(s, a);
  double db = std::clamp(s.parameters->get("connector_dirty.rx_db") * a.magnitude, 1.0, 4.5);
  rx.knobs.rx_db = -db;
  rx.knobs.ber = std::pow(10, s.parameters->get("connector_dirty.decades") * (0.7 + 0.3 * a.magnitude));
  rx.knobs.crc = s.parameters->get("connector_dirty.crc_per_s") * a.magnitude, rx.knobs.retries = rx.knobs.crc * 4,
  rx.knobs.uncorrectable = rx.knobs.crc * 0.5;
  s.links[a.target.link.v].rate = std::max(0.5, 1 - s.parameters->get("connector_dirty.rate_loss") * a.magnitude);
  a.showing = true;
}
WEFT_REGISTER(faults(), {"connector_dirty",
                         "dirty connector at the receiving end",
                         Sits::kLink,
                         Shows::kExporter,
                         {"work_order"},
                         dirty,
                         nullptr,
                         nullptr,
                         optical});

// sonic-net/sonic-mgmt#26555: after a flap the link is up, BER one to two decades worse, state and neighbour all pass. Re-toggling helps.
void bad_lock(State& s, Active& a) {
  if (a.age < 4) {
    s.links[a.target.link.v].state = fabric::LinkState::kDown;
    return;
  }
  Port& rx = receiver(s, a);
  rx.knobs.ber = std::pow(10, std::clamp(s.parameters->get("link_bad_lock.decades") * a.magnitude, 1.0, 3.0));
  a.showing = true;
}
void restarted(State& s, Active& a) {
  const fabric::Link& link = s.built.link(a.target.link);
  fabric::DeviceId end = s.built.port(s.ports[link.b.v].at_switch ? link.b : link.a).device;
  s.log(s.built.name(end), telemetry::event::kSwitchRestart, "", telemetry::Severity::kWarning,
        "port group restarted after a software update");
}
WEFT_REGISTER(faults(), {"link_bad_lock",
                         "link comes back badly locked after a restart",
                         Sits::kLink,
                         Shows::kExporter,
                         {"link_restore", "work_order"},
                         bad_lock,
                         restarted,
                         nullptr,
                         network,
                         false});

// Alibaba HPN: NIC to switch bad, switch to NIC good; the switch counts errors, the NIC stays up and sees nothing of its own.
void one_sided(State& s, Active& a) {
  if (a.memory[3] == 0) {
    const fabric::Link& link = s.built.link(a.target.link);
    a.memory[3] = s.ports[link.a.v].at_switch && !s.ports[link.b.v].at_switch   ? 1
                  : s.ports[link.b.v].at_switch && !s.ports[link.a.v].at_switch ? 2
                                                                                : 0;
  }
  Port& rx = receiver(s, a);
  Port& tx = sender(s, a);
  rx.knobs.crc = s.parameters->get("link_one_sided.crc_per_s") * a.magnitude;
  rx.knobs.ber = std::pow(10, s.parameters->get("link_one_sided.decades"));
  rx.knobs.uncorrectable = rx.knobs.crc;
  s.links[a.target.link.v].rate = std::max(0.15, 1 - s.parameters->get("link_one_sided.rate_loss") * std::min(a.magnitude, 1.5));
  // Whoever receives what is retransmitted notices gaps; the sender's own Rx stays clean.
  fabric::DeviceId d = s.built.port(tx.id).device;
  if (s.built.device(d).kind == fabric::DeviceKind::kNic)
    s.nics[static_cast<std::size_t>(s.index_of(d))].knobs.ack_timeout = 3 * a.magnitude;
  a.showing = true;
}
WEFT_REGISTER(faults(), {"link_one_sided",
                         "link loses much in one direction",
                         Sits::kLink,
                         Shows::kHost,
                         {"work_order"},
                         one_sided,
                         nullptr,
                         nullptr,
                         network});

}  // namespace
}  // namespace weft::twin
