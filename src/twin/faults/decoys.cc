// Benign oddities that look like faults. Nothing may be isolated for them.
#include <algorithm>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

// A worker 10 % slower all run long, from before the first step: an offset is not an event (alibaba/clusterdata).
void offset(State& s, Active& a) {
  s.cards[static_cast<std::size_t>(s.card_of(a.target.device))].knobs.slow *= 1 + std::min(0.12, 0.06 * a.magnitude);
}
WEFT_REGISTER(faults(), {"decoy_constant_offset",
                         "a card a little slower all run long",
                         Sits::kCard,
                         Shows::kStep,
                         {},
                         offset,
                         nullptr,
                         nullptr,
                         nullptr,
                         false,
                         true});

// A few uncorrectable code words left from bring-up on several ports (sonic-net/sonic-utilities#4124).
void residue_begin(State& s, Active& a) {
  const fabric::Link& link = s.built.link(a.target.link);
  s.ports[link.a.v].uncorrectable += 4, s.ports[link.b.v].uncorrectable += 3;
}
void residue(State&, Active&) {}
WEFT_REGISTER(faults(), {"decoy_residual_uncorrectable",
                         "residue of link bring-up in the FEC counters",
                         Sits::kLink,
                         Shows::kExporter,
                         {},
                         residue,
                         residue_begin,
                         nullptr,
                         nullptr,
                         false,
                         true});

// One single flap of a link with siblings: most of a site's thousands of flaps a day are harmless (Alibaba HPN).
void blip(State& s, Active& a) {
  if (a.age < 1.5) s.links[a.target.link.v].state = fabric::LinkState::kDown;
}
bool ethernet(const State& s, const Target& t) { return s.ethernet(t.link); }
WEFT_REGISTER(faults(), {"decoy_single_flap",
                         "one short flap that heals by itself",
                         Sits::kLink,
                         Shows::kAtOnce,
                         {},
                         blip,
                         nullptr,
                         nullptr,
                         ethernet,
                         false,
                         true});

// All series of a node stop while its job runs on: the exporter is dead, not the node.
void exporter(State& s, Active& a) { s.nodes[static_cast<std::size_t>(s.index_of(a.target.device))].knobs.exporter_dead = true; }
WEFT_REGISTER(faults(), {"decoy_exporter_dead",
                         "a node's exporters stop answering",
                         Sits::kNode,
                         Shows::kHost,
                         {"service_restart", "node_reboot", "work_order"},
                         exporter,
                         nullptr,
                         nullptr,
                         nullptr,
                         false,
                         true});

// Host load comes and goes (cron, scrape): some CPU, nothing else.
void cron(State& s, Active& a) {
  if (static_cast<int>(a.age) % 60 < 8) s.nodes[static_cast<std::size_t>(s.index_of(a.target.device))].knobs.cpu_busy += 0.2;
}
WEFT_REGISTER(faults(),
              {"decoy_cron_load", "periodic host load", Sits::kNode, Shows::kHost, {}, cron, nullptr, nullptr, nullptr, false, true});

}  // namespace
}  // namespace weft::twin
