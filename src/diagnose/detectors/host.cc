// Hosts, their power supplies and fans, the room, racks, coolant and storage: mostly against own history of hours, since a room or a pump
// does not follow the load.
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

// Sample beyond own history's share or offset; `need` of the last `of` samples; frozen while alive.
struct Level {
  std::string_view metric, sign;
  Layer layer;
  double share;   // of the median; 0 = not used
  double offset;  // added; sign says the direction
  int need, of;
  const char* text;
};

// A room warms slowly and independently of the load: the earliest third of the last two hours is the past that the rise has not touched.
Baseline early_history(const Context& c, SeriesId id) {
  Instant from = std::max(c.now - hours(2), c.windows.first_at(id) + minutes(1));
  Duration third = (c.now - from) / 3;
  Baseline b = c.windows.minute_baseline(id, from, from + std::max(third, minutes(3)));
  b.mad = std::min(b.mad, 0.5);
  return b;
}

double limit_of(const Context& c, const Level& l, double median, double mad) {
  (void)c;
  bool low = l.share != 0 ? l.share < 1 : l.offset < 0;
  double limit = l.share != 0 ? median * l.share : median + l.offset;
  return low ? std::min(limit, median - 5 * mad) : std::max(limit, median + 5 * mad);
}
bool is_low(const Level& l) { return l.share != 0 ? l.share < 1 : l.offset < 0; }

void arm_level(Context& c, SeriesId id, const Level& l) {
  if (alive(c, l.sign, c.table.entity(id))) return;
  bool room = l.sign == "inlet_hot";
  Baseline b = room ? early_history(c, id) : long_history(c, id);
  if (b.samples < (room ? 2 : 8)) return;
  double limit = limit_of(c, l, b.median, b.mad);
  if (is_low(l)) c.windows.set_wire(id, limit, kNone);
  else c.windows.set_wire(id, kNone, limit);
}

void examine_level(Context& c, SeriesId id, const Level& l) {
  std::string_view entity = c.table.entity(id);
  const Finding* old = c.findings.find(l.sign, entity);
  Baseline b;
  if (old) b.median = old->evidence[0].baseline, b.samples = 99;
  else if (l.sign == "inlet_hot") {
    b = early_history(c, id);
    if (b.samples < 2) return;
    b.samples = 99;
  } else {
    // Before the samples under judgement.
    std::vector<Point> recent = c.windows.last_points(id, static_cast<std::size_t>(l.of));
    Instant end = recent.empty() ? c.now : recent.front().at - nanoseconds(1);
    b = c.windows.minute_baseline(id, c.now - hours(2), end - minutes(1));
    if (b.samples < 5) b = c.windows.baseline(id, c.now - minutes(10), end);
  }
  if (b.samples < 8 && !(b.samples >= 5)) return;
  double limit = limit_of(c, l, b.median, old ? 0 : b.mad);
  auto beyond = [&](double v) { return is_low(l) ? v < limit : v > limit; };
  Instant since;
  if (count_last(c, id, static_cast<std::size_t>(l.of), beyond, &since) < l.need) return;
  count_last(c, id, 640, beyond, &since);
  double v = c.windows.last(id), depth = b.median != 0 ? std::abs(v / b.median - 1) : 1;
  c.raise(l.sign, entity, l.layer, std::min(1.0, 0.65 + depth / 2), std::max(hold_of(c, id, 5), seconds(20)), old ? old->since : since,
          {c.evidence(id, v, b.median, fmt::format("{} {:.4g}, usually {:.4g}", l.text, v, b.median), since)});
}

Level cpu_clock(const Context& c) {
  return {metric::kCpuClock, "cpu_clock_low", Layer::kHost, c.rules["cpu_clock_share"], 0, 8, 10, "CPU clock (Hz)"};
}
Level inlet(const Context& c) {
  return {metric::kInletTemp, "inlet_hot", Layer::kWater, 0, c.rules["inlet_rise"], 8, 10, "inlet temperature (C)"};
}
Level fan(const Context& c) { return {metric::kFanRpm, "fan_low", Layer::kWater, c.rules["fan_share"], 0, 4, 5, "slowest fan (rpm)"}; }
Level flow(const Context& c) {
  return {metric::kCoolantFlow, "flow_low", Layer::kWater, c.rules["flow_share"], 0, 4, 5, "coolant flow (l/min)"};
}
Level pressure(const Context& c) {
  return {metric::kCoolantPressure, "pressure_low", Layer::kWater, c.rules["pressure_share"], 0, 4, 5, "coolant pressure (kPa)"};
}
Level pump(const Context& c) { return {metric::kPumpRpm, "pump_low", Layer::kWater, c.rules["pump_share"], 0, 4, 5, "pump (rpm)"}; }
Level supply(const Context& c) {
  return {metric::kCoolantSupply, "supply_hot", Layer::kWater, 0, c.rules["supply_rise"], 8, 10, "coolant supply (C)"};
}
Level back(const Context& c) {
  return {metric::kCoolantReturn, "return_hot", Layer::kWater, 0, c.rules["return_rise"], 8, 10, "coolant return (C)"};
}
Level latency(const Context& c) {
  return {metric::kStorageReadLatency, "storage_slow", Layer::kStorage, c.rules["storage_latency_factor"], 0, 8, 12, "read latency (s)"};
}
Level busy(const Context&) { return {metric::kCpuBusy, "cpu_busy", Layer::kHost, 0, 0.25, 8, 10, "CPU busy (share)"}; }
Level iowait(const Context&) { return {metric::kIoWait, "io_wait", Layer::kHost, 0, 0.2, 8, 10, "waiting for I/O (share)"}; }

#define WEFT_LEVEL(name)                                                  \
  void arm_##name(Context& c, SeriesId id) { arm_level(c, id, name(c)); } \
  void examine_##name(Context& c, SeriesId id) { examine_level(c, id, name(c)); }
WEFT_LEVEL(cpu_clock)
WEFT_LEVEL(inlet)
WEFT_LEVEL(fan)
WEFT_LEVEL(flow)
WEFT_LEVEL(pressure)
WEFT_LEVEL(pump)
WEFT_LEVEL(supply)
WEFT_LEVEL(back)
WEFT_LEVEL(latency)
WEFT_LEVEL(busy)
WEFT_LEVEL(iowait)
#undef WEFT_LEVEL

// A clock that was low from the start: against the other hosts.
void sweep_hosts(Context& c) {
  std::vector<std::pair<SeriesId, double>> all;
  std::vector<double> values;
  for (SeriesId id : c.table.of_metric(metric::kCpuClock)) {
    if (!c.windows.has(id) || c.windows.stale(id, c.now)) continue;
    std::vector<double> v;
    for (const Point& p : c.windows.last_points(id, 10)) v.push_back(p.value);
    all.push_back({id, telemetry::median(v)});
    values.push_back(all.back().second);
  }
  if (all.size() < 3) return;
  double usual = telemetry::median(values);
  for (auto [id, v] : all) {
    if (v >= c.rules["cpu_clock_share"] * usual) continue;
    const Finding* old = c.findings.find("cpu_clock_low", c.table.entity(id));
    c.raise(
        "cpu_clock_low", c.table.entity(id), Layer::kHost, 0.9, seconds(25), old ? old->since : c.now - seconds(10),
        {c.evidence(id, v, usual, fmt::format("CPU at {:.2f} GHz, other hosts {:.2f} GHz", v / 1e9, usual / 1e9), c.now - seconds(10))});
  }
}

// Counts and flags.
void arm_psu(Context& c, SeriesId id) { c.windows.set_wire(id, INFINITY, kNone); }
void examine_psu(Context& c, SeriesId id) {
  double v = c.windows.last(id), most = 0;
  for (const Point& p : c.windows.last_points(id, 640)) most = std::max(most, p.value);
  std::map<double, int> votes;
  for (SeriesId other : c.table.of_metric(metric::kPsuHealthy))
    if (other != id && c.windows.has(other)) ++votes[c.windows.last(other)];
  int best = 0;
  for (auto [n, k] : votes)
    if (k > best && k >= 2) best = k, most = std::max(most, n);
  if (v >= most - 0.5) {
    c.windows.set_wire(id, most - 0.5, kNone);
    c.drop("psu_lost", c.table.entity(id));
    return;
  }
  Instant since;
  count_last(
      c, id, 640, [&](double x) { return x < most - 0.5; }, &since);
  c.raise("psu_lost", c.table.entity(id), Layer::kPower, 1, hold_of(c, id), since,
          {c.evidence(id, v, most, fmt::format("{:.0f} of {:.0f} power supplies healthy", v, most), since)});
}
void on_psu(Context& c, const telemetry::Event& e) {
  c.raise("psu_lost", e.entity, Layer::kPower, 1, minutes(1), e.at, {{e.kind, e.entity, 1, 0, e.text, e.at, e.at}});
}

void arm_leak(Context& c, SeriesId id) { c.windows.set_wire(id, kNone, 0.5); }
void examine_leak(Context& c, SeriesId id) {
  if (!(c.windows.last(id) > 0.5)) return;
  Instant since;
  count_last(
      c, id, 640, [](double v) { return v > 0.5; }, &since);
  c.raise("leak", c.table.entity(id), Layer::kWater, 1, hold_of(c, id), since, {c.evidence(id, 1, 0, "leak sensor is wet", since)});
}
void on_leak(Context& c, const telemetry::Event& e) {
  c.raise("leak", e.entity, Layer::kWater, 1, minutes(2), e.at, {{e.kind, e.entity, 1, 0, e.text, e.at, e.at}});
}
void on_pump(Context& c, const telemetry::Event& e) {
  c.raise("pump_failed", e.entity, Layer::kWater, 1, minutes(5), e.at, {{e.kind, e.entity, 1, 0, e.text, e.at, e.at}});
}

// A cap that was lowered, and power lying flat against it.
void sweep_racks(Context& c) {
  for (SeriesId cap : c.table.of_metric(metric::kRackPowerCap)) {
    if (!c.windows.has(cap) || c.windows.stale(cap, c.now)) continue;
    std::string_view entity = c.table.entity(cap);
    double now = c.windows.last(cap), before = now;
    for (const Point& p : c.windows.last_points(cap, 640)) before = std::max(before, p.value);
    const Finding* old = c.findings.find("rack_cap_lowered", entity);
    if (old) before = std::max(before, old->evidence[0].baseline);
    if (now < 0.98 * before) {
      Instant since;
      count_last(
          c, cap, 640, [&](double v) { return v < 0.98 * before; }, &since);
      c.raise("rack_cap_lowered", entity, Layer::kPower, 1, seconds(30), old ? old->since : since,
              {c.evidence(cap, now, before, fmt::format("power cap {:.1f} kW, before {:.1f} kW", now / 1e3, before / 1e3), since)});
    }
    SeriesId power = c.table.find(metric::kRackPower, entity);
    if (power.v == UINT32_MAX || !c.windows.has(power) || !(now > 0)) continue;
    Instant since;
    if (count_last(
            c, power, 20, [&](double v) { return v >= c.rules["rack_at_cap"] * now; }, &since) >= 14)
      c.raise("rack_at_cap", entity, Layer::kPower, 0.7, seconds(30), since,
              {c.evidence(power, c.windows.last(power), now,
                          fmt::format("{:.1f} kW, flat at the cap of {:.1f} kW", c.windows.last(power) / 1e3, now / 1e3), since)});
  }
}

// Writes that outrun own history.
void arm_write(Context& c, SeriesId id) {
  Baseline b = c.windows.minute_baseline(id, c.now - hours(2), c.now - minutes(1));
  if (b.samples < 5) return;
  c.windows.set_wire(id, kNone, std::max(1e8, 4 * b.median + 6 * b.mad));
}
void examine_write(Context& c, SeriesId id) {
  std::vector<Point> p = c.windows.last_points(id, 10);
  Baseline b = c.windows.minute_baseline(id, c.now - hours(2), c.now - minutes(1));
  int hits = count_last(c, id, 10, [&](double v) { return v > std::max(1e8, 4 * b.median); });
  if (hits < 3) return;
  c.raise("storage_write_burst", c.table.entity(id), Layer::kStorage, 0.5, seconds(60), p.front().at,
          {c.evidence(id, c.windows.last(id), b.median,
                      fmt::format("writes {:.1f} GB/s, usually {:.1f}", c.windows.last(id) / 1e9, b.median / 1e9), p.front().at)});
}

WEFT_REGISTER(detectors(), {"cpu_clock",
                            "host CPU clock against own history",
                            {metric::kCpuClock},
                            arm_cpu_clock,
                            false,
                            examine_cpu_clock,
                            {},
                            nullptr,
                            seconds(10),
                            sweep_hosts});
WEFT_REGISTER(detectors(), {"cpu_busy", "host CPU busier than usual", {metric::kCpuBusy}, arm_busy, false, examine_busy});
WEFT_REGISTER(detectors(), {"io_wait", "host CPU waits for I/O", {metric::kIoWait}, arm_iowait, false, examine_iowait});
WEFT_REGISTER(detectors(), {"inlet", "inlet temperature above own history", {metric::kInletTemp}, arm_inlet, false, examine_inlet});
WEFT_REGISTER(detectors(), {"fan", "slowest fan far below own history", {metric::kFanRpm}, arm_fan, false, examine_fan});
WEFT_REGISTER(detectors(), {"psu", "power supplies lost", {metric::kPsuHealthy}, arm_psu, true, examine_psu, {event::kPsu}, on_psu});
WEFT_REGISTER(detectors(), {"coolant_flow", "coolant flow", {metric::kCoolantFlow}, arm_flow, false, examine_flow});
WEFT_REGISTER(detectors(), {"coolant_pressure", "coolant pressure", {metric::kCoolantPressure}, arm_pressure, false, examine_pressure});
WEFT_REGISTER(detectors(), {"pump", "pump speed and failures", {metric::kPumpRpm}, arm_pump, false, examine_pump, {event::kPump}, on_pump});
WEFT_REGISTER(detectors(), {"coolant_supply", "coolant supply temperature", {metric::kCoolantSupply}, arm_supply, false, examine_supply});
WEFT_REGISTER(detectors(), {"coolant_return", "coolant return temperature", {metric::kCoolantReturn}, arm_back, false, examine_back});
WEFT_REGISTER(detectors(),
              {"leak", "leak sensors and their alarms", {metric::kLeak}, arm_leak, true, examine_leak, {event::kLeak}, on_leak});
WEFT_REGISTER(detectors(),
              {"rack_power", "rack power flat at a cap, caps lowered", {}, nullptr, false, nullptr, {}, nullptr, seconds(5), sweep_racks});
WEFT_REGISTER(detectors(),
              {"storage_latency", "storage slower than usual", {metric::kStorageReadLatency}, arm_latency, false, examine_latency});
WEFT_REGISTER(detectors(), {"storage_writes", "bursts of writes", {metric::kStorageWrite}, arm_write, false, examine_write});

}  // namespace
}  // namespace weft::diagnose
