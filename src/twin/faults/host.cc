// Hosts and their software: crash, wrong governor, other driver, a process that should not be there.
#include <algorithm>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

namespace fact = telemetry::fact;
Node& node_of(State& s, const Active& a) { return s.nodes[static_cast<std::size_t>(s.index_of(a.target.device))]; }
bool has_cards(const State& s, const Target& t) { return !s.nodes[static_cast<std::size_t>(s.index_of(t.device))].cards.empty(); }

void crash(State& s, Active& a) {
  node_of(s, a).knobs.down = true;
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"node_crash", "node goes down", Sits::kNode, Shows::kHost, {"node_reboot", "work_order"}, crash, nullptr, nullptr, has_cards});

// Host clock 0.8 to 2 GHz instead of 3 and more; all ranks of the node a little late, every step; GPU clocks and network normal.
void governor_begin(State& s, Active& a) { s.set_fact(a.target.name, fact::kGovernor, "powersave"); }
void governor(State& s, Active& a) {
  if (s.fact(a.target.name, fact::kGovernor) == s.baseline(a.target.name, fact::kGovernor)) {
    a.cured = true;
    return;
  }
  Node& n = node_of(s, a);
  n.knobs.cpu_clock = std::clamp(1 - s.parameters->get("cpu_governor.clock_loss") * a.magnitude, 0.24, 0.7);
  for (int c : n.cards) s.cards[static_cast<std::size_t>(c)].knobs.slow *= 1 + s.parameters->get("cpu_governor.slow") * a.magnitude;
  a.showing = true;
}
void governor_end(State& s, Active& a) { s.set_fact(a.target.name, fact::kGovernor, s.baseline(a.target.name, fact::kGovernor)); }
WEFT_REGISTER(faults(), {"cpu_governor",
                         "CPU governor of a node left at powersave",
                         Sits::kNode,
                         Shows::kHost,
                         {},
                         governor,
                         governor_begin,
                         governor_end,
                         has_cards});

// After a partial rollout: the odd node takes a slower path, the library chooses another algorithm for the groups through it.
void driver_begin(State& s, Active& a) {
  s.set_fact(a.target.name, fact::kDriver, "565.57.01");
  if (a.random.chance(0.5)) s.set_fact(a.target.name, fact::kCommLibrary, "2.21.5");
}
void driver(State& s, Active& a) {
  if (s.fact(a.target.name, fact::kDriver) == s.baseline(a.target.name, fact::kDriver)) {
    a.cured = true;
    return;
  }
  node_of(s, a).knobs.comm = 1 + s.parameters->get("driver_mismatch.comm") * a.magnitude;
  for (const std::string& job : s.job_names)
    if (!s.fact(job, fact::kAlgorithm).empty()) s.set_fact(job, fact::kAlgorithm, "all-reduce=ring (NVLS not available on all nodes)");
  a.showing = true;
}
void driver_end(State& s, Active& a) {
  for (std::string_view key : {fact::kDriver, fact::kCommLibrary}) s.set_fact(a.target.name, key, s.baseline(a.target.name, key));
  for (const std::string& job : s.job_names)
    if (!s.fact(job, fact::kAlgorithm).empty()) s.set_fact(job, fact::kAlgorithm, "auto");
}
WEFT_REGISTER(
    faults(),
    {"driver_mismatch", "driver or library of a node differs", Sits::kNode, Shows::kHost, {}, driver, driver_begin, driver_end, has_cards});

// Memory in use that no job owns, activity beside the job's; all ranks of the node late (Mycroft injects exactly this).
void stray(State& s, Active& a) {
  Node& n = node_of(s, a);
  double share = std::min(0.5, s.parameters->get("stray_process.share") * a.magnitude);
  for (int c : n.cards) s.cards[static_cast<std::size_t>(c)].knobs.stray = share;
  n.knobs.cpu_busy = 0.06;
  a.showing = true;
}
WEFT_REGISTER(faults(), {"stray_process",
                         "foreign process on a node's cards",
                         Sits::kNode,
                         Shows::kExporter,
                         {"service_restart", "config_apply", "node_reboot", "work_order"},
                         stray,
                         nullptr,
                         nullptr,
                         has_cards});

}  // namespace
}  // namespace weft::twin
