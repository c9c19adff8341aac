// Cards: lost, hot, slow, with bad memory, capped, on a narrow slot; ranks that hang.
#include "diagnose/cause.h"
#include "telemetry/names.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceKind;

bool is_card(const Case& c) {
  return c.part().device.ok() && c.context().machine.snapshot().device(c.part().device).kind == DeviceKind::kCard;
}
double card_only(const Case& c) { return is_card(c) ? 0 : -1000; }

bool liquid(const Case& c) {
  const Machine& m = c.context().machine;
  const fabric::DeviceModel* model = m.snapshot().model_of(c.part().device);
  return (model && model->cooling == "liquid") || !m.feeds_of(c.part().device, DeviceKind::kCdu).empty();
}

// How many of the node's other cards show the same?
std::size_t companions(const Case& c, std::string_view sign) {
  std::size_t n = 0;
  for (const Finding* f : c.found(sign, Where::kNode)) n += f->entity != c.context().machine.name(c.part());
  return n;
}

// A blocked plate costs 5 to 20 C over the peers at the same power. Far beyond that, at the limit where clocks give way, it is the card.
double beyond_plate(const Case& c) {
  for (const Finding* f : c.found("card_hot", Where::kSame))
    if (!f->evidence.empty() && f->evidence[0].value - f->evidence[0].baseline > 20 &&
        f->evidence[0].value > c.context().rules["card_temperature"] - 1)
      return 2.5;
  return 0;
}
// On its way to the limit a throttling card looks like a blocked plate: has it stopped getting hotter?
bool heat_settled(const Case& c) {
  const Context& x = c.context();
  telemetry::SeriesId id = x.table.find(telemetry::metric::kGpuTemp, x.machine.name(c.part()));
  if (id.v == UINT32_MAX || !x.windows.has(id)) return true;
  telemetry::Baseline now = x.windows.baseline(id, x.now - seconds(35), x.now),
                      before = x.windows.baseline(id, x.now - seconds(95), x.now - seconds(60));
  return now.samples == 0 || before.samples == 0 || now.median - before.median < 2.5;
}

// One card alone. Several: what they share is the fault.
double judge_thermal(const Case& c) {
  if (!is_card(c)) return -1000;
  std::size_t others = std::max(companions(c, "thermal_throttle"), companions(c, "card_hot"));
  return beyond_plate(c) + (others == 0 ? 0.5 : -2.5 * static_cast<double>(std::min<std::size_t>(others, 3)));
}
double judge_cold_plate(const Case& c) {
  if (!is_card(c)) return -1000;
  // Heat that rises while the clock is still held: thermal resistance, seen before any flag.
  bool flagged = !c.found("thermal_throttle", Where::kSame).empty();
  std::size_t others = companions(c, "card_hot");
  return (liquid(c) ? 1.0 : -4.0) - beyond_plate(c) + (flagged ? -1.5 : 1.0) - 2.5 * static_cast<double>(std::min<std::size_t>(others, 3));
}
// Lateness shows within steps, flags and widths at the exporter's pace: have they been read since?
bool flags_seen(const Case& c) {
  const Context& x = c.context();
  Instant onset = x.now;
  for (const Finding* f : c.found("rank_late", Where::kSame)) onset = std::min(onset, f->since);
  std::string name = x.machine.name(c.part());
  for (std::string_view m : {telemetry::metric::kPcieWidth, telemetry::metric::kThrottle, telemetry::metric::kPowerLimit,
                             telemetry::metric::kGpuTemp, telemetry::metric::kFbUsed}) {
    telemetry::SeriesId id = x.table.find(m, name);
    if (id.v != UINT32_MAX && x.windows.has(id) && !x.windows.stale(id, x.now) && x.windows.last_at(id) < onset + seconds(4)) return false;
  }
  return true;
}

double judge_silent(const Case& c) {
  if (!is_card(c)) return -1000;
  return companions(c, "rank_late") >= 2 ? -4.0 : 0;
}
// One script sets a whole node: then the first card is as good as any, but the node's story is told once per card.
double judge_cap(const Case& c) { return card_only(c); }
double judge_hung(const Case& c) {
  if (!is_card(c)) return -1000;
  const Machine& m = c.context().machine;
  // Its node dead or its card lost: that is the story.
  fabric::DeviceId node = m.node_of(c.part().device);
  return node.ok() && c.context().findings.find("node_down", m.snapshot().name(node)) ? -6 : 0;
}

const char* kLate = "exchange nodes: does the lateness follow the card, the node, or the stage? stress that card alone";
const char* kHot = "how many cards are hot, in what shape? (T - inlet) / power; what moved first, flow or fan or this card";

WEFT_REGISTER(causes(), {"card_off_bus",
                         "card fell off the bus",
                         {{"xid_off_bus", Lift::kSame}, {"card_silent", Lift::kSame}, {"xid_gsp", Lift::kSame}},
                         {{"xid_off_bus", Where::kSame, 6.0},
                          {"card_silent", Where::kSame, 4.0},
                          {"xid_gsp", Where::kSame, 1.0},
                          {"xid_other", Where::kSame, 0.2},
                          {"xid_nvlink", Where::kNode, 0.2},
                          {"pcie_replay", Where::kSame, 0.3},
                          {"link_down", Where::kEnd, 0.3},
                          {"scale_up_links_missing", Where::kEnd, 0.2},
                          {"rank_behind", Where::kSame, 0.5},
                          {"card_hot", Where::kSame, 0},
                          {"node_down", Where::kNode, -8.0}},
                         "a bus scan lacks the device; only a cold start brings it back",
                         2,
                         nullptr,
                         card_only});

WEFT_REGISTER(causes(), {"hbm_uncorrectable",
                         "uncorrectable memory error",
                         {{"xid_memory", Lift::kSame}, {"ecc_uncorrectable", Lift::kSame}},
                         {{"xid_memory", Where::kSame, 4.5},
                          {"ecc_uncorrectable", Where::kSame, 4.0},
                          {"xid_row_remap", Where::kSame, 1.0},
                          {"row_remap_pending", Where::kSame, 1.5},
                          {"ecc_storm", Where::kSame, 0.2},
                          {"xid_application", Where::kSame, 0},
                          {"rank_behind", Where::kSame, 0.2},
                          {"xid_off_bus", Where::kSame, -3.0}},
                         "volatile against aggregate counters; field diagnostic after a reset",
                         2,
                         nullptr,
                         card_only});

WEFT_REGISTER(causes(), {"ecc_storm",
                         "correctable memory errors rising",
                         {{"ecc_storm", Lift::kSame}},
                         {{"ecc_storm", Where::kSame, 5.0},
                          {"xid_row_remap", Where::kSame, 0.5},
                          {"xid_memory", Where::kSame, -4.0},
                          {"ecc_uncorrectable", Where::kSame, -4.0}},
                         "errors per hour on the volatile counter, by memory row",
                         20,
                         nullptr,
                         card_only});

WEFT_REGISTER(causes(), {"card_thermal",
                         "one card throttles thermally",
                         {{"thermal_throttle", Lift::kSame}, {"card_hot", Lift::kSame}},
                         {{"thermal_throttle", Where::kSame, 3.5, 0.5},
                          {"card_hot", Where::kSame, 2.0, 0.5},
                          {"clock_low", Where::kSame, 1.2},
                          {"hw_slowdown", Where::kSame, 0.3},
                          {"rank_late", Where::kSame, 0.7},
                          {"power_brake", Where::kSame, -4.0},
                          {"flow_low", Where::kFeeds, -4.0},
                          {"pump_failed", Where::kFeeds, -4.0},
                          {"fan_low", Where::kNode, -4.0},
                          {"inlet_hot", Where::kNode, -3.5},
                          {"supply_hot", Where::kFeeds, -3.0}},
                         kHot,
                         12,
                         nullptr,
                         judge_thermal});

WEFT_REGISTER(causes(), {"cold_plate_blocked",
                         "cold plate of one card blocked or with trapped air",
                         {{"card_hot", Lift::kSame}},
                         {{"card_hot", Where::kSame, 3.0, 2.0},
                          {"thermal_throttle", Where::kSame, 0.3},
                          {"clock_low", Where::kSame, -1.0},  // gives way in a step: the limit is reached
                          {"hw_slowdown", Where::kSame, 0.1},
                          {"rank_late", Where::kSame, 0.3},
                          {"power_brake", Where::kSame, -4.0},
                          {"flow_low", Where::kFeeds, -4.0},
                          {"pump_failed", Where::kFeeds, -4.0},
                          {"fan_low", Where::kNode, -4.0},
                          {"inlet_hot", Where::kNode, -3.0},
                          {"supply_hot", Where::kFeeds, -3.0}},
                         kHot,
                         90,
                         heat_settled,
                         judge_cold_plate});

WEFT_REGISTER(causes(), {"card_slow_silent",
                         "slow card without any flag",
                         {{"rank_late", Lift::kSame}, {"rank_offset", Lift::kSame}},
                         {{"rank_late", Where::kSame, 4.0, 1.5},
                          {"rank_offset", Where::kSame, 1.5},
                          {"thermal_throttle", Where::kSame, -4.0},
                          {"power_brake", Where::kSame, -5.0},
                          {"hw_slowdown", Where::kSame, -3.0},
                          {"card_hot", Where::kSame, -3.0},
                          {"clock_low", Where::kSame, -3.0},
                          {"power_limit_low", Where::kSame, -5.0},
                          {"pcie_width_low", Where::kSame, -5.0},
                          {"memory_taken", Where::kSame, -4.0},
                          {"node_late", Where::kNode, -3.5},
                          {"cpu_clock_low", Where::kNode, -3.0},
                          {"fact_governor", Where::kNode, -3.0},
                          {"fact_driver", Where::kNode, -2.0},
                          {"cpu_busy", Where::kNode, -1.5},
                          {"nvlink_errors", Where::kSame, -2.0},
                          {"scale_up_links_missing", Where::kSame, -2.0},
                          {"ranks_late_changing", Where::kJob, -4.0},
                          {"imbalance_up", Where::kJob, -3.5},
                          {"ecc_storm", Where::kSame, -0.5},
                          {"rack_at_cap", Where::kFeeds, -3.0},
                          {"rack_cap_lowered", Where::kFeeds, -3.0},
                          {"inlet_hot", Where::kNode, -2.0},
                          {"flow_low", Where::kFeeds, -3.0}},
                         kLate,
                         20,
                         flags_seen,
                         judge_silent});

WEFT_REGISTER(causes(), {"power_cap_wrong",
                         "power limit or clock lock left wrong",
                         {{"power_limit_low", Lift::kSame}, {"clock_low", Lift::kSame}},
                         {{"power_limit_low", Where::kSame, 6.0, 1.5},
                          {"clock_low", Where::kSame, 1.0},
                          {"rank_late", Where::kSame, 0.7},
                          {"rank_offset", Where::kSame, 0.5},
                          {"config_changed", Where::kNode, 0.3},
                          {"thermal_throttle", Where::kSame, -3.0},
                          {"power_brake", Where::kSame, -4.0},
                          {"hw_slowdown", Where::kSame, -3.0},
                          {"card_hot", Where::kSame, -2.5},
                          {"rack_cap_lowered", Where::kFeeds, -4.0},
                          {"rack_at_cap", Where::kFeeds, -2.0},
                          {"flow_low", Where::kFeeds, -3.0},
                          {"inlet_hot", Where::kNode, -2.0},
                          {"fan_low", Where::kNode, -2.0},
                          {"psu_lost", Where::kNode, -3.0}},
                         "compare enforced limits and locked clocks with the fleet",
                         10,
                         nullptr,
                         judge_cap});

WEFT_REGISTER(causes(), {"pcie_downgrade",
                         "PCIe width or generation fell",
                         {{"pcie_width_low", Lift::kSame}},
                         {{"pcie_width_low", Where::kSame, 6.0},
                          {"pcie_replay", Where::kSame, 0.7},
                          {"pause_sent", Where::kNode, 0.7},
                          {"rank_late", Where::kSame, 0.5},
                          {"pause_storm", Where::kNode, 0},
                          {"pause_received", Where::kAnywhere, 0},
                          {"paused", Where::kAnywhere, 0}},
                         "link status under load; reseat",
                         6,
                         nullptr,
                         card_only});

WEFT_REGISTER(causes(), {"rank_hung",
                         "one rank hangs silently",
                         {{"rank_behind", Lift::kSame}},
                         {{"rank_behind", Where::kSame, 5.5},
                          {"xid_off_bus", Where::kSame, -5.0},
                          {"card_silent", Where::kSame, -5.0},
                          {"xid_memory", Where::kSame, -5.0},
                          {"ecc_uncorrectable", Where::kSame, -4.0},
                          {"xid_gsp", Where::kSame, -2.0},
                          {"link_down", Where::kJob, -1.5},
                          {"nic_gone", Where::kNode, -3.0},
                          {"switch_ports_down", Where::kAnywhere, -3.0}},
                         "which rank launched fewest collectives? kernel log and stacks of that silent rank",
                         6,
                         nullptr,
                         judge_hung});

}  // namespace
}  // namespace weft::diagnose
