// Nodes, their software and settings; power, water and air.
#include "diagnose/cause.h"
#include "telemetry/names.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceKind;

bool is(const Case& c, DeviceKind kind) {
  return c.part().device.ok() && c.context().machine.snapshot().device(c.part().device).kind == kind;
}
double node_only(const Case& c) { return is(c, DeviceKind::kNode) ? 0 : -1000; }

// The scrape fails, yet the job steps on and its ports are up: only the exporter.
double judge_crash(const Case& c) {
  if (!is(c, DeviceKind::kNode)) return -1000;
  const Context& x = c.context();
  bool links = !c.found("link_down", Where::kInside).empty();
  bool stepping = false;
  for (int j : x.machine.jobs_of(c.part())) {
    std::string e = x.machine.name(Part{.job = j});
    telemetry::SeriesId id = x.table.find(telemetry::metric::kStepSeconds, e);
    Instant since = x.now;
    for (const Finding* f : c.found("node_down", Where::kSame)) since = std::min(since, f->since);
    if (id.v != UINT32_MAX && x.windows.has(id) && x.windows.last_at(id) > since + seconds(3)) stepping = true;
  }
  // A leak powers the tray off in good order: hosts vanish without any Xid.
  bool leak = !c.found("leak", Where::kFeeds).empty() || !c.found("leak", Where::kSame).empty();
  return (links ? 1.5 : 0) + (stepping && !links ? -6.0 : 0) + (leak ? -5.0 : 0);
}

std::size_t hot_cards(const Case& c, Where where) {
  return std::max(c.found("card_hot", where).size(), c.found("thermal_throttle", where).size());
}
double judge_fan(const Case& c) { return is(c, DeviceKind::kNode) ? 0 : -1000; }

// The room: several nodes of the rack warm up together.
double judge_inlet(const Case& c) {
  if (!is(c, DeviceKind::kRack)) return -1000;
  const Machine& m = c.context().machine;
  std::set<fabric::DeviceId> all, hot;
  for (fabric::DeviceId card : m.cards_of(c.part().device))
    if (fabric::DeviceId n = m.node_of(card); n.ok()) all.insert(n);
  for (const Finding* f : c.found("inlet_hot", Where::kFed)) hot.insert(m.node_of(m.part(f->entity).device));
  for (const Finding* f : c.found("inlet_hot", Where::kSame)) return f->strength;
  if (all.empty()) return -2;
  double share = static_cast<double>(hot.size()) / static_cast<double>(all.size());
  return share >= 0.5 ? 1.0 : -2.0;
}
double judge_flow(const Case& c) { return (is(c, DeviceKind::kCdu) ? 0 : -1000) + (hot_cards(c, Where::kFed) >= 3 ? 1.5 : 0); }
double judge_rack(const Case& c) { return is(c, DeviceKind::kRack) ? 0 : -1000; }

// Where the wet sensor sits decides what leaks; a CDU's sensor speaks for the racks it cools only if theirs are silent.
double judge_leak(const Case& c) { return is(c, DeviceKind::kRack) || is(c, DeviceKind::kCdu) ? 0 : -1000; }

// Extra work on the node: all its ranks late; memory or CPU taken.
double judge_stray(const Case& c) {
  if (!is(c, DeviceKind::kNode)) return -1000;
  std::size_t taken = c.found("memory_taken", Where::kInside).size();
  return taken >= 2 ? 1.0 : taken == 1 ? 0.3 : -1.0;
}
double judge_driver(const Case& c) {
  if (!is(c, DeviceKind::kNode)) return -1000;
  return 0;
}

const char* kNode = "GPU clock flags, CPU clock, PCIe width of that node; stress it alone";

WEFT_REGISTER(causes(), {"node_crash",
                         "node down",
                         {{"node_down", Lift::kSame}},
                         {{"node_down", Where::kSame, 5.5},
                          {"link_down", Where::kInside, 0.5},
                          {"link_flapped", Where::kInside, 0},
                          {"nic_gone", Where::kInside, 0.1},
                          {"card_silent", Where::kInside, 0.1},
                          {"rank_behind", Where::kInside, 0.2},
                          {"node_rebooted", Where::kSame, 0.5},
                          {"psu_lost", Where::kSame, 0.1}},
                         "does it answer out of band? BMC log; job heartbeat against the scrape",
                         3,
                         nullptr,
                         judge_crash});

WEFT_REGISTER(causes(), {"cpu_governor",
                         "host CPU governor or power profile wrong",
                         {{"fact_governor", Lift::kNode}, {"cpu_clock_low", Lift::kNode}},
                         {{"fact_governor", Where::kSame, 4.5},
                          {"cpu_clock_low", Where::kSame, 3.5},
                          {"node_late", Where::kSame, 1.0},
                          {"rank_late", Where::kInside, 0.3},
                          {"config_changed", Where::kSame, 0.3},
                          {"node_rebooted", Where::kSame, 0.2}},
                         kNode,
                         10,
                         nullptr,
                         node_only});

WEFT_REGISTER(causes(), {"driver_mismatch",
                         "driver or library differs from the other nodes",
                         {{"fact_driver", Lift::kNode}, {"fact_comm_library", Lift::kNode}, {"fact_kernel", Lift::kNode}},
                         {{"fact_driver", Where::kSame, 4.5},
                          {"fact_comm_library", Where::kSame, 4.5},
                          {"fact_kernel", Where::kSame, 1.0},
                          {"fact_firmware", Where::kInside, 0.3},
                          {"algorithm_changed", Where::kJob, 1.5},
                          {"config_changed", Where::kSame, 0.3},
                          {"node_late", Where::kSame, 0.2},
                          {"node_rebooted", Where::kSame, 0.2}},
                         "diff the inventory; the library's log names algorithm and transport per node",
                         8,
                         nullptr,
                         judge_driver});

WEFT_REGISTER(causes(), {"stray_process",
                         "stray process on a node's cards",
                         {{"memory_taken", Lift::kNode}, {"node_late", Lift::kNode}, {"cpu_busy", Lift::kNode}},
                         {{"memory_taken", Where::kInside, 3.0},
                          {"node_late", Where::kSame, 2.5},
                          {"rank_late", Where::kInside, 1.0},
                          {"cpu_busy", Where::kSame, 1.0},
                          {"fact_governor", Where::kSame, -4.0},
                          {"cpu_clock_low", Where::kSame, -3.0},
                          {"clock_low", Where::kInside, -2.0},
                          {"thermal_throttle", Where::kInside, -4.0},
                          {"power_brake", Where::kInside, -5.0},
                          {"psu_lost", Where::kSame, -4.0},
                          {"power_limit_low", Where::kInside, -5.0},
                          {"pcie_width_low", Where::kInside, -4.0},
                          {"fact_driver", Where::kSame, -3.0},
                          {"fan_low", Where::kSame, -3.0},
                          {"inlet_hot", Where::kSame, -2.0},
                          {"rack_cap_lowered", Where::kFeeds, -4.0},
                          {"rack_at_cap", Where::kFeeds, -3.0},
                          {"flow_low", Where::kFeeds, -4.0}},
                         "list the processes on that node's cards; the lateness ends when they do",
                         15,
                         nullptr,
                         judge_stray});

WEFT_REGISTER(causes(), {"fan_failed",
                         "node fan failed",
                         {{"fan_low", Lift::kNode}},
                         {{"fan_low", Where::kSame, 4.5},
                          {"card_hot", Where::kInside, 1.0},
                          {"thermal_throttle", Where::kInside, 0.5},
                          {"clock_low", Where::kInside, 0.2},
                          {"hw_slowdown", Where::kInside, 0.1},
                          {"rank_late", Where::kInside, 0.2},
                          {"node_late", Where::kSame, 0.2},
                          {"module_hot", Where::kInside, 0.1},
                          {"inlet_hot", Where::kSame, -2.0}},
                         "read every fan of the node; the others run faster",
                         8,
                         nullptr,
                         judge_fan});

WEFT_REGISTER(causes(), {"psu_failed",
                         "power supply lost, power brake",
                         {{"psu_lost", Lift::kNode}, {"power_brake", Lift::kNode}},
                         {{"psu_lost", Where::kSame, 5.0, 2.0},
                          {"psu_lost", Where::kInside, 4.0},
                          {"power_brake", Where::kInside, 1.5},
                          {"hw_slowdown", Where::kInside, 0.2},
                          {"clock_low", Where::kInside, 0.5},
                          {"rank_late", Where::kInside, 0.2},
                          {"node_late", Where::kSame, 0.2},
                          {"thermal_throttle", Where::kInside, -1.5}},
                         "supply state and event at the same second; cool cards mean brake, hot ones thermal",
                         4,
                         nullptr,
                         node_only});

WEFT_REGISTER(causes(), {"rack_power_cap",
                         "rack power capped",
                         {{"rack_cap_lowered", Lift::kSame}, {"rack_at_cap", Lift::kSame}},
                         {{"rack_cap_lowered", Where::kSame, 5.0},
                          {"rack_at_cap", Where::kSame, 2.5},
                          {"clock_low", Where::kFed, 0.7},
                          {"compute_slow", Where::kJob, 0.5},
                          {"rank_late", Where::kFed, 0.2},
                          {"node_late", Where::kFed, 0.2},
                          {"power_brake", Where::kFed, 0.3},
                          {"hw_slowdown", Where::kFed, 0.1},
                          {"psu_lost", Where::kFed, -2.0},
                          {"flow_low", Where::kFeeds, -2.0}},
                         "power against the cap over time; do other racks differ?",
                         10,
                         nullptr,
                         judge_rack});

WEFT_REGISTER(causes(), {"coolant_flow_loss",
                         "coolant flow lost, everything on the loop heats up",
                         {{"flow_low", Lift::kSame}, {"pump_failed", Lift::kSame}, {"pump_low", Lift::kSame}, {"pump_failed", Lift::kCdu}},
                         {{"flow_low", Where::kSame, 4.5, 1.0},
                          {"pump_failed", Where::kSame, 2.0},
                          {"pump_failed", Where::kInside, 2.0},
                          {"pump_low", Where::kSame, 1.5},
                          {"pump_low", Where::kInside, 1.5},
                          {"pressure_low", Where::kSame, 1.0},
                          {"return_hot", Where::kSame, 1.0},
                          {"card_hot", Where::kFed, 0.5},
                          {"cards_warmer", Where::kJob, 0.5},
                          {"thermal_throttle", Where::kFed, 0.7},
                          {"hw_slowdown", Where::kFed, 0.1},
                          {"clock_low", Where::kFed, 0.3},
                          {"rank_late", Where::kFed, 0.1},
                          {"node_late", Where::kFed, 0.1},
                          {"compute_slow", Where::kJob, 0.2},
                          {"leak", Where::kFed, -2.0},
                          {"leak", Where::kSame, -2.0}},
                         "did the CDU's flow fall before the cards heated? air-cooled parts hardly move",
                         8,
                         nullptr,
                         judge_flow});

WEFT_REGISTER(causes(), {"inlet_temp_rise",
                         "room or inlet temperature rises",
                         {{"inlet_hot", Lift::kRack}},
                         {{"inlet_hot", Where::kFed, 4.0},
                          {"inlet_hot", Where::kSame, 3.0},
                          {"card_hot", Where::kFed, 0.5},
                          {"cards_warmer", Where::kJob, 0.5},
                          {"thermal_throttle", Where::kFed, 0.3},
                          {"hw_slowdown", Where::kFed, 0.1},
                          {"clock_low", Where::kFed, 0.2},
                          {"module_hot", Where::kFed, 0.2},
                          {"rank_late", Where::kFed, 0.1},
                          {"node_late", Where::kFed, 0.1},
                          {"supply_hot", Where::kFeeds, 0.3},
                          {"fan_low", Where::kFed, -1.5}},
                         "facility log and the shape in space: neighbouring racks, top nodes first",
                         20,
                         nullptr,
                         judge_inlet});

WEFT_REGISTER(causes(), {"leak",
                         "coolant leak",
                         {{"leak", Lift::kSame}, {"leak", Lift::kRack}},
                         {{"leak", Where::kSame, 6.0},
                          {"leak", Where::kFed, 3.0},
                          {"pressure_low", Where::kFeeds, 0.5},
                          {"pressure_low", Where::kSame, 0.5},
                          {"flow_low", Where::kFeeds, 0.3},
                          {"flow_low", Where::kSame, 0.3},
                          {"node_down", Where::kFed, 0.3}},
                         "leak sensor, liquid level, pressure; then look under the tray",
                         3,
                         nullptr,
                         judge_leak});

}  // namespace
}  // namespace weft::diagnose
