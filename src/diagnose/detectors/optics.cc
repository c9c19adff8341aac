// Light and bits on every port: pre-FEC error rate against the port's own history (ports that share a box differ by three decades), step
// or slope; received and sent power, bias, temperature; uncorrectable code words, CRC errors, link-layer retries.
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

double decades(double ber) { return std::log10(std::max(ber, 1e-16)); }

// log10 of the error rate over own history: median and deviation.
Baseline ber_history(const Context& c, SeriesId id) {
  std::vector<double> v;
  std::vector<Point> p = c.windows.points(id, c.now - minutes(10), c.now - seconds(30));
  for (std::size_t i = 0; i < p.size(); i += std::max<std::size_t>(1, p.size() / 96)) v.push_back(decades(p[i].value));
  return telemetry::robust(v);
}

// Errors or a flap at this link: then fewer samples decide, since a slow exporter must not hold up the answer.
bool suspect(const Context& c, std::string_view entity) {
  if (!c.machine.ready()) return false;
  fabric::LinkId link = c.machine.link_of(c.machine.part(entity));
  if (!link.ok()) return false;
  bool found = false;
  for (std::string_view sign : {"rx_errors", "fec_uncorrectable", "link_flapped", "link_flap", "link_retries"})
    each_alive(c, sign, [&](const Finding& f) { found |= c.machine.link_of(c.machine.part(f.entity)) == link; });
  return found;
}

double ber_limit(const Context& c, const Baseline& b) {
  return b.median + std::max(c.rules["ber_step_decades"], c.rules["ber_noise_factor"] * b.mad / std::sqrt(5.0));
}

// The newest error rate, or the newest received light, of the same port: two instruments that jump in the same scrape need no third sample.
bool ber_jumped(const Context& c, std::string_view entity) {
  SeriesId id = c.table.find(metric::kPreFecBer, entity);
  if (id.v == UINT32_MAX || !c.windows.has(id) || c.windows.stale(id, c.now)) return false;
  Baseline b = ber_history(c, id);
  return b.samples >= 12 && decades(c.windows.last(id)) > ber_limit(c, b) && c.now - c.windows.last_at(id) <= c.windows.interval(id);
}
bool light_fell(const Context& c, std::string_view entity) {
  SeriesId id = c.table.find(metric::kRxPower, entity);
  if (id.v == UINT32_MAX || !c.windows.has(id) || c.windows.stale(id, c.now)) return false;
  Baseline b = long_history(c, id);
  double v = c.windows.last(id);
  return b.samples >= 12 && v > -30 && v < b.median - c.rules["rx_power_drop_db"] - 3 * b.mad &&
         c.now - c.windows.last_at(id) <= c.windows.interval(id);
}

void arm_ber(Context& c, SeriesId id) {
  if (alive(c, "ber_step", c.table.entity(id))) return;  // its history is the faulty one by now
  Baseline b = ber_history(c, id);
  if (b.samples < 12) return;
  c.windows.set_wire(id, kNone, std::pow(10, ber_limit(c, b)));
}

// Two levels: the last points stand above what was before. The median of ten decides, so single bursts do not.
void examine_ber(Context& c, SeriesId id) {
  std::string_view entity = c.table.entity(id);
  std::vector<Point> p = c.windows.last_points(id, 640);
  if (p.size() < 16) return;
  for (Point& q : p) q.value = decades(q.value);
  std::vector<double> now;
  bool slow_exporter = c.windows.interval(id) > seconds(4), quick = suspect(c, entity) || light_fell(c, entity);
  std::size_t recent = slow_exporter ? (quick ? 1 : 2) : quick ? 2 : 8;
  for (std::size_t i = p.size() - recent; i < p.size(); ++i) now.push_back(p[i].value);
  double level = recent <= 2 ? *std::min_element(now.begin(), now.end()) : telemetry::median(now);
  const Finding* old = c.findings.find("ber_step", entity);
  if (old && !old->evidence.empty()) {
    double before = decades(old->evidence[0].baseline);
    if (level > before + 0.6 * c.rules["ber_step_decades"])
      c.raise("ber_step", entity, Layer::kNetwork, std::min(1.0, 0.4 + 0.4 * (level - before)), minutes(5), old->since,
              {c.evidence(id, std::pow(10, level), old->evidence[0].baseline, old->evidence[0].text, old->since)});
    else c.drop("ber_step", entity);
    return;
  }
  telemetry::ChangePoint cp = telemetry::change_point(p, recent);
  Baseline before;
  std::vector<double> first;
  for (std::size_t i = 0; i < cp.index; ++i) first.push_back(p[i].value);
  before = telemetry::robust(first);
  if (before.samples < 12 || level < ber_limit(c, before)) return;
  if (cp.line_error < cp.step_error) return;  // a slope: the slow look below names it
  Instant since = p[cp.index].at;
  double rise = level - before.median;
  c.raise("ber_step", entity, Layer::kNetwork, std::min(1.0, 0.4 + 0.4 * rise), minutes(5), since,
          {c.evidence(id, std::pow(10, level), std::pow(10, before.median),
                      fmt::format("pre-FEC BER {:.1e}, own baseline {:.1e} (x{:.0f}), since a step", std::pow(10, level),
                                  std::pow(10, before.median), std::pow(10, rise)),
                      since)});
}

// The refresh of a standing step: examine is called only when wires trip.
void sweep_ber(Context& c) {
  std::vector<std::string> entities;
  each_alive(c, "ber_step", [&](const Finding& f) { entities.push_back(f.entity); });
  for (const std::string& e : entities)
    if (SeriesId id = c.table.find(metric::kPreFecBer, e); id.v != UINT32_MAX) examine_ber(c, id);
}

// What a slow drift looks like: means of minutes or of ten minutes, monotonic, no single step.
struct Drift {
  double rise = 0, monotonic = 0, noise = 0, before = 0, after = 0;
  Instant since;
  bool found = false;
};
template <class Map>
Drift drift_of(const std::vector<Point>& points, Map map) {
  Drift d;
  if (points.size() < 24) return d;
  std::vector<Point> p = points;
  for (Point& q : p) q.value = map(q.value);
  telemetry::Trend t = telemetry::trend(p);
  telemetry::ChangePoint cp = telemetry::change_point(p, 4);
  d.rise = t.rise, d.monotonic = t.monotonic, d.noise = cp.noise, d.since = p.front().at;
  std::vector<double> head, tail;
  for (std::size_t i = 0; i < p.size() / 6; ++i) head.push_back(p[i].value), tail.push_back(p[p.size() - 1 - i].value);
  d.before = telemetry::median(head), d.after = telemetry::median(tail);
  d.found = std::abs(t.monotonic) > 0.5 && cp.line_error < cp.step_error;
  return d;
}
// The shortest window that shows it decides.
template <class Map, class Enough>
Drift drift(const Context& c, SeriesId id, Map map, Enough enough) {
  Drift best;
  for (double m : {40.0, 120.0}) {
    Drift d = drift_of(c.windows.minutes(id, c.now - minutes(m), c.now), map);
    if (d.found && enough(d)) return d;
  }
  for (double h : {12.0, 96.0}) {
    Drift d = drift_of(c.windows.ten_minutes(id, c.now - hours(h), c.now), map);
    if (d.found && enough(d)) return d;
  }
  best.found = false;
  return best;
}

void sweep_drift(Context& c) {
  for (SeriesId id : c.table.of_metric(metric::kPreFecBer)) {
    if (!c.windows.has(id) || c.windows.stale(id, c.now, minutes(2))) continue;
    std::string_view entity = c.table.entity(id);
    if (alive(c, "ber_step", entity)) continue;
    Drift d = drift(c, id, decades, [&](const Drift& x) { return x.rise > c.rules["ber_slope_decades"] && x.rise > 2.5 * x.noise; });
    if (!d.found) continue;
    c.raise("ber_slope", entity, Layer::kNetwork, std::min(1.0, 0.3 + d.rise), minutes(12), d.since,
            {c.evidence(id, std::pow(10, d.after), std::pow(10, d.before),
                        fmt::format("pre-FEC BER rose from {:.1e} to {:.1e} as a slope over {}", std::pow(10, d.before),
                                    std::pow(10, d.after), human(c.now - d.since)),
                        d.since)});
  }
  for (auto [m, sign, limit, relative] : {std::tuple(metric::kTxBias, "tx_bias_up", c.rules["tx_bias_rise"], true),
                                          std::tuple(metric::kTxPower, "tx_power_low", -c.rules["tx_power_drop_db"], false),
                                          std::tuple(metric::kRxPower, "rx_power_low", -c.rules["rx_power_drop_db"], false)}) {
    for (SeriesId id : c.table.of_metric(m)) {
      if (!c.windows.has(id) || c.windows.stale(id, c.now, minutes(2))) continue;
      Drift d = drift(
          c, id, [](double v) { return v; },
          [&, limit = limit, relative = relative](const Drift& x) {
            double move = relative ? (x.before > 0 ? x.rise / x.before : 0) : x.rise;
            return (limit > 0 ? move > limit : move < limit) && std::abs(x.rise) > 2.5 * x.noise;
          });
      if (!d.found) continue;
      c.raise(sign, c.table.entity(id), Layer::kNetwork, 0.8, minutes(12), d.since,
              {c.evidence(id, d.after, d.before,
                          fmt::format("moved from {:.2f} to {:.2f} over {}", d.before, d.after, human(c.now - d.since)), d.since)});
    }
  }
}

// Light that stepped: eight of the last ten beyond own history.
void arm_light(Context& c, SeriesId id) {
  std::string_view m = c.table.metric(id), e = c.table.entity(id);
  if (alive(c, "rx_power_low", e) || alive(c, "tx_power_low", e) || alive(c, "tx_bias_up", e)) return;
  Baseline b = long_history(c, id);
  if (b.samples < 12) return;
  if (m == metric::kTxBias) c.windows.set_wire(id, kNone, b.median * (1 + c.rules["tx_bias_rise"]) + 3 * b.mad);
  else if (m == metric::kTxPower) c.windows.set_wire(id, b.median - c.rules["tx_power_drop_db"] - 3 * b.mad, kNone);
  else c.windows.set_wire(id, b.median - c.rules["rx_power_drop_db"] - 3 * b.mad, kNone);
}
void examine_light(Context& c, SeriesId id) {
  std::string_view m = c.table.metric(id), e = c.table.entity(id);
  bool bias = m == metric::kTxBias;
  std::string_view sign = bias ? "tx_bias_up" : m == metric::kTxPower ? "tx_power_low" : "rx_power_low";
  Baseline b = c.windows.minute_baseline(id, c.now - hours(2), c.now - minutes(1));
  if (b.samples < 3) b = history(c, id, seconds(30), false);
  if (const Finding* old = c.findings.find(sign, e)) b.median = old->evidence[0].baseline;
  if (b.samples == 0) return;
  double limit = bias ? b.median * (1 + c.rules["tx_bias_rise"])
                      : b.median - (m == metric::kTxPower ? c.rules["tx_power_drop_db"] : c.rules["rx_power_drop_db"]);
  Instant since;
  auto beyond = [&](double v) { return bias ? v > limit : v < limit; };
  bool quick = suspect(c, e) || ber_jumped(c, e), slow_exporter = c.windows.interval(id) > seconds(4);
  std::size_t of = quick ? 1 : slow_exporter ? 3 : 10;
  if (count_last(c, id, of, beyond, &since) < (quick ? 1 : slow_exporter ? 3 : 8)) return;
  count_last(c, id, 640, beyond, &since);
  double v = c.windows.last(id);
  // A port that is down sends nothing: no light is its consequence.
  if (v < -30) return;
  c.raise(sign, e, Layer::kNetwork, std::min(1.0, 0.7 + 0.1 * std::abs(v - b.median)), std::max(hold_of(c, id), minutes(2)), since,
          {c.evidence(id, v, b.median, fmt::format("{:.2f}, own baseline {:.2f}", v, b.median), since)});
}

void arm_module(Context& c, SeriesId id) { c.windows.set_wire(id, kNone, c.rules["module_temperature"]); }
void examine_module(Context& c, SeriesId id) {
  Instant since;
  if (count_last(
          c, id, 10, [&](double v) { return v > c.rules["module_temperature"]; }, &since) < 8)
    return;
  c.raise(
      "module_hot", c.table.entity(id), Layer::kNetwork, 0.6, minutes(2), since,
      {c.evidence(id, c.windows.last(id), c.rules["module_temperature"], fmt::format("module at {:.0f} C", c.windows.last(id)), since)});
}

// Counters that stay put on a healthy link.
void arm_quiet(Context& c, SeriesId id) { c.windows.set_wire(id, kNone, 0); }
void examine_errors(Context& c, SeriesId id) {
  bool fec = c.table.metric(id) == metric::kFecUncorrectable;
  Duration span = fec ? seconds(60) : seconds(20);
  std::vector<Point> p = c.windows.points(id, c.now - std::max(span, c.windows.interval(id) * 10), c.now);
  int hits = 0;
  Instant since = c.now;
  for (const Point& q : p)
    if (q.value > 0) ++hits, since = std::min(since, q.at);
  telemetry::Increase inc = c.windows.increase(id, c.now - span, c.now);
  if (hits < (fec ? c.rules["fec_uncorrectable_min"] : c.rules["rx_errors_samples"])) return;
  // A port that just went down or came up counts rubbish for a moment.
  if (alive(c, "link_down", c.table.entity(id))) return;
  std::string_view sign = fec ? "fec_uncorrectable" : "rx_errors";
  if (const Finding* old = c.findings.find(sign, c.table.entity(id))) since = old->since;
  c.raise(
      sign, c.table.entity(id), Layer::kNetwork, std::min(1.0, 0.6 + 0.05 * hits), seconds(60), since,
      {c.evidence(id, inc.value, 0,
                  fmt::format("{}{:.0f} in {:.0f} s, in {} samples", inc.at_least ? "at least " : "", inc.value, to_seconds(span), hits),
                  since)});
  if (c.machine.ready())  // what does the light say right now?
    if (fabric::LinkId l = c.machine.link_of(c.machine.part(c.table.entity(id))); l.ok())
      for (fabric::PortId end : {c.machine.snapshot().link(l).a, c.machine.snapshot().link(l).b})
        for (std::string_view m : {metric::kRxPower, metric::kTxPower, metric::kTxBias})
          if (SeriesId light = c.table.find(m, c.machine.snapshot().name(end)); light.v != UINT32_MAX && c.windows.has(light))
            examine_light(c, light);
}

void arm_retries(Context& c, SeriesId id) {
  if (alive(c, "link_retries", c.table.entity(id))) return;
  Baseline b = history(c, id, seconds(40), false);
  if (b.samples < 15) return;
  c.windows.set_wire(id, kNone, b.median * 2 + 8 * b.mad + c.rules["retries_per_second"]);
}
void examine_retries(Context& c, SeriesId id) {
  std::vector<Point> p = c.windows.last_points(id, 8);
  std::vector<double> v;
  for (const Point& q : p) v.push_back(q.value);
  Baseline b = c.windows.minute_baseline(id, c.now - hours(2), c.now - minutes(1));
  const Finding* old = c.findings.find("link_retries", c.table.entity(id));
  double before = old ? old->evidence[0].baseline : b.samples ? b.median : 0;
  double level = telemetry::median(v);
  if (p.size() < 6 || level < before * 2 + c.rules["retries_per_second"]) return;
  c.raise(
      "link_retries", c.table.entity(id), Layer::kNetwork, std::min(1.0, 0.5 + 0.1 * std::log10(1 + level)), seconds(30),
      old ? old->since : p.front().at,
      {c.evidence(id, level, before, fmt::format("{:.0f} link-layer retries a second, own baseline {:.0f}", level, before), p.front().at)});
}

WEFT_REGISTER(detectors(), {"pre_fec_ber",
                            "pre-FEC bit error rate against own history: a step",
                            {metric::kPreFecBer},
                            arm_ber,
                            false,
                            examine_ber,
                            {},
                            nullptr,
                            seconds(10),
                            sweep_ber});
WEFT_REGISTER(detectors(), {"optics_drift",
                            "slow drift of error rate, bias and light over hours and days",
                            {},
                            nullptr,
                            false,
                            nullptr,
                            {},
                            nullptr,
                            minutes(5),
                            sweep_drift});
WEFT_REGISTER(detectors(), {"optics_light",
                            "received and sent light, bias current: a step",
                            {metric::kRxPower, metric::kTxPower, metric::kTxBias},
                            arm_light,
                            false,
                            examine_light});
WEFT_REGISTER(detectors(), {"module_temperature", "optical modules too hot", {metric::kModuleTemp}, arm_module, true, examine_module});
WEFT_REGISTER(detectors(), {"link_errors",
                            "CRC errors and uncorrectable code words that grow",
                            {metric::kFecUncorrectable, metric::kIbRxErrors, metric::kSwRxErrors},
                            arm_quiet,
                            true,
                            examine_errors});
WEFT_REGISTER(detectors(),
              {"link_retries", "link-layer retries above own history", {metric::kLlrRetries}, arm_retries, false, examine_retries});

}  // namespace
}  // namespace weft::diagnose
