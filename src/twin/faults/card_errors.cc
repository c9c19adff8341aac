// Cards that break: off the bus, uncorrectable memory, a storm of correctable errors, a rank that hangs without a word.
#include <algorithm>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

namespace event = telemetry::event;
using telemetry::Severity;
Card& card_of(State& s, const Active& a) { return s.cards[static_cast<std::size_t>(s.card_of(a.target.device))]; }

// Xid 79 once, every series of the card stops, its process dies; links that face it complain seconds later (decoy, T4).
void off_begin(State& s, Active& a) {
  s.log(a.target.name, event::kXid, "79", Severity::kFatal, "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.");
  card_of(s, a).replay += static_cast<double>(a.random.integer(0, 40));
}
void off(State& s, Active& a) {
  card_of(s, a).knobs.gone = true;
  if (a.age >= 3 && a.memory[0] == 0) {
    a.memory[0] = 1;
    // Louder than the cause: neighbours in the node report link errors towards it.
    const Card& c = card_of(s, a);
    if (c.node >= 0)
      for (int other : s.nodes[static_cast<std::size_t>(c.node)].cards)
        if (s.cards[static_cast<std::size_t>(other)].id != c.id && a.random.chance(0.4)) {
          s.cards[static_cast<std::size_t>(other)].xid = 45;
          s.log(s.built.name(s.cards[static_cast<std::size_t>(other)].id), event::kXid, "45", Severity::kWarning,
                "NVRM: Xid 45, Ch 00000008, preemptive channel removal");
        }
  }
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"card_off_bus", "card falls off the bus (Xid 79)", Sits::kCard, Shows::kAtOnce, {"node_reboot", "work_order"}, off, off_begin});

// DRAM uncorrectable, row remap pending until the reset; the rank dies, the card stays visible (stas00/ml-engineering).
void hbm_begin(State& s, Active& a) {
  Card& c = card_of(s, a);
  c.dbe += static_cast<double>(a.random.integer(1, 3)), c.remap_pending = 1, c.xid = a.random.chance(0.7) ? 94 : 95;
  s.log(a.target.name, event::kXid, "48", Severity::kError, "NVRM: Xid 48, DBE (double bit error) ECC error");
  s.log(a.target.name, event::kXid, "63", Severity::kWarning,
        "NVRM: Xid 63, row remapper: new row marked for remapping, reset GPU to activate");
  s.log(a.target.name, event::kXid, std::to_string(c.xid), Severity::kFatal,
        c.xid == 94 ? "NVRM: Xid 94, contained ECC error" : "NVRM: Xid 95, uncontained ECC error");
}
void hbm(State& s, Active& a) {
  Card& c = card_of(s, a);
  c.knobs.dead = true;
  a.showing = true;
}
void hbm_end(State& s, Active& a) { card_of(s, a).remap_pending = 0; }
WEFT_REGISTER(faults(), {"hbm_uncorrectable",
                         "uncorrectable memory error (Xid 48/63/94/95)",
                         Sits::kCard,
                         Shows::kAtOnce,
                         {"card_reset", "node_reboot", "work_order"},
                         hbm,
                         hbm_begin,
                         hbm_end});

// Corrected count climbs 10 to 1000 times over its own base; step time does not move.
void storm(State& s, Active& a) {
  card_of(s, a).knobs.sbe = s.parameters->get("ecc_storm.per_s") * a.magnitude;
  a.showing = a.age >= 20;
}
WEFT_REGISTER(faults(), {"ecc_storm",
                         "correctable memory errors rise",
                         Sits::kCard,
                         Shows::kExporter,
                         {"card_reset", "work_order"},
                         storm,
                         nullptr,
                         nullptr,
                         nullptr,
                         false});

// One rank launches no further collective; everybody else waits. No hardware signal at all (Mycroft, SOSP'25; BLOOM chronicle).
void hung(State& s, Active& a) {
  card_of(s, a).knobs.hung = true;
  a.showing = true;
}
void hung_end(State&, Active&) {}
WEFT_REGISTER(faults(), {"rank_hung",
                         "one rank hangs silently",
                         Sits::kCard,
                         Shows::kExporter,
                         {"service_restart", "card_reset", "node_reboot", "job_stop", "work_order"},
                         hung,
                         nullptr,
                         hung_end});

}  // namespace
}  // namespace weft::twin
