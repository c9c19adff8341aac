// Cards: Xid lines and the Xid gauge as an edge, memory errors, slowdown flags, heat and clock against own offset to the peers, power
// limit against the fleet, PCIe width, memory taken by strangers, scale-up links and their errors.
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;

// NVIDIA's Xid catalogue, by what it says about the part. Application codes are nobody's hardware.
void xid(Context& c, std::string_view entity, int code, Instant at, const std::string& text) {
  std::string_view sign = "xid_other";
  double strength = 0.4;
  switch (code) {
    case 79: sign = "xid_off_bus", strength = 1; break;
    case 48:
    case 94:
    case 95: sign = "xid_memory", strength = 1; break;
    case 63:
    case 64: sign = "xid_row_remap", strength = 0.6; break;
    case 74:
    case 144:
    case 145:
    case 146:
    case 147:
    case 148:
    case 149:
    case 150: sign = "xid_nvlink", strength = 0.8; break;
    case 119:
    case 120: sign = "xid_gsp", strength = 1; break;
    case 8:
    case 11:
    case 13:
    case 25:
    case 31:
    case 32:
    case 43:
    case 45:
    case 68:
    case 69: sign = "xid_application", strength = 0.1; break;
    default: break;
  }
  std::string what = text.empty() ? fmt::format("Xid {}", code) : text;
  c.raise(sign, entity, Layer::kCard, strength, minutes(10), at,
          {{std::string(metric::kXid), std::string(entity), static_cast<double>(code), 0, what, at, at}});
}

void on_xid(Context& c, const telemetry::Event& e) {
  int code = 0;
  for (char ch : e.code) code = ch >= '0' && ch <= '9' && code < 100000 ? code * 10 + (ch - '0') : code;
  if (e.kind == event::kSxid) {
    c.raise("sxid", e.entity, Layer::kNetwork, 1, minutes(10), e.at,
            {{e.kind, e.entity, static_cast<double>(code), 0, e.text, e.at, e.at}});
    return;
  }
  xid(c, e.entity, code, e.at, e.text);
}

void arm_xid(Context& c, SeriesId id) { c.windows.set_wire(id, kNone, 0.5); }
void examine_xid(Context& c, SeriesId id) {  // never clears: only a change counts, and the first value may be years old
  std::vector<Point> p = c.windows.last_points(id, 6);
  for (std::size_t i = 1; i < p.size(); ++i)
    if (p[i].value != p[i - 1].value && p[i].value > 0 && c.log.of(c.table.entity(id), event::kXid, p[i].at - minutes(1)).empty())
      xid(c, c.table.entity(id), static_cast<int>(p[i].value), p[i].at, "");
}

void arm_zero(Context& c, SeriesId id) { c.windows.set_wire(id, kNone, 0); }
void examine_dbe(Context& c, SeriesId id) {
  telemetry::Increase inc = c.windows.increase(id, c.now - minutes(5), c.now);
  if (!inc.known || inc.value < 1) return;
  Instant since = c.now;
  for (const Point& p : c.windows.points(id, c.now - minutes(5), c.now))
    if (p.value > 0) since = std::min(since, p.at);
  c.raise("ecc_uncorrectable", c.table.entity(id), Layer::kCard, 1, minutes(10), since,
          {c.evidence(id, inc.value, 0, fmt::format("{:.0f} new uncorrectable memory errors", inc.value), since)});
}

// A total is no rate: what grew in ten minutes, against own history.
void examine_sbe(Context& c, SeriesId id) {
  telemetry::Increase inc = c.windows.increase(id, c.now - minutes(10), c.now);
  if (!inc.known || inc.value < c.rules["ecc_correctable_10min"]) return;
  std::vector<Point> p = c.windows.points(id, c.now - minutes(10), c.now);
  int hits = 0;
  Instant since = c.now;
  for (const Point& q : p)
    if (q.value > 0) ++hits, since = std::min(since, q.at);
  if (hits < 4) return;  // one burst is one event
  Baseline b = c.windows.minute_baseline(id, c.now - hours(2), c.now - minutes(12));
  double usual = b.samples ? b.median * 600 : 0;
  if (inc.value < usual * c.rules["ecc_own_factor"]) return;
  if (const Finding* old = c.findings.find("ecc_storm", c.table.entity(id))) since = old->since;
  c.raise("ecc_storm", c.table.entity(id), Layer::kCard,
          std::min(1.0, 0.5 + 0.2 * std::log10(inc.value / c.rules["ecc_correctable_10min"])), minutes(3), since,
          {c.evidence(id, inc.value, usual, fmt::format("{:.0f} correctable errors in 10 min, usually {:.1f}", inc.value, usual), since)});
}

void arm_flag(Context& c, SeriesId id) { c.windows.set_wire(id, kNone, 0.5); }
void examine_remap(Context& c, SeriesId id) {
  if (!(c.windows.last(id) > 0.5)) return;
  // Pending since before we looked: to be drained some day, no event.
  bool fresh = false;
  for (const Point& p : c.windows.last_points(id, 640)) fresh |= p.value < 0.5;
  c.raise("row_remap_pending", c.table.entity(id), Layer::kCard, fresh ? 0.7 : 0.2, minutes(5), c.now,
          {c.evidence(id, 1, 0, "row remap pending: reset needed before the next job", c.now)});
}

void arm_throttle(Context& c, SeriesId id) { c.windows.set_wire(id, kNone, 7.5); }
void examine_throttle(Context& c, SeriesId id) {
  std::string_view entity = c.table.entity(id);
  auto bits = [](double v) { return v >= 0 && v < 1e9 ? static_cast<unsigned>(v) : 0u; };
  auto raise = [&](std::string_view sign, unsigned mask, const char* text, Layer layer) {
    // A card scraped every ten seconds need not say it three times, nor one that is known to be hot.
    int need = mask & 0x60 && alive(c, "card_hot", entity) ? 1 : c.windows.interval(id) > seconds(4) ? 2 : 3;
    Instant since;
    if (count_last(
            c, id, 10, [&](double v) { return bits(v) & mask; }, &since) < need)
      return;
    const Finding* old = c.findings.find(sign, entity);
    // The flags come in waves with fans and pumps: held for a while.
    c.raise(sign, entity, layer, 1, seconds(45), old ? old->since : since, {c.evidence(id, c.windows.last(id), 0, text, since)});
  };
  raise("thermal_throttle", 0x20 | 0x40, "thermal slowdown flag", Layer::kCard);
  raise("power_brake", 0x80, "hardware power brake flag", Layer::kPower);
  unsigned now = bits(c.windows.last(id));
  if (now & 0x8 && !(now & 0xe0)) raise("hw_slowdown", 0x8, "hardware slowdown flag", Layer::kCard);
}

// ---- against the peers: cards of the same job (same load), each with its own usual offset --------------------------------------
struct Seen {
  DeviceId card, node;
  int rank = 0;
  SeriesId id;
  double now = NAN, before = NAN;  // medians of the last 15 s, and of own history
};

// Own level over a span: minutes when there are enough of them, else samples.
Baseline past_level(const Context& c, SeriesId id, Instant from, Instant to) {
  Baseline b = c.windows.minute_baseline(id, from, to - seconds(45));
  if (b.samples < 4) b = c.windows.baseline(id, std::max(from, c.now - minutes(10)), to);
  return b;
}

// Cards of one job with their levels. History: minutes since the job's load began, or native when young.
std::vector<Seen> levels(const Context& c, const RunningJob& job, std::string_view m) {
  std::vector<Seen> out;
  Instant since = job.since + seconds(60);
  for (std::size_t r = 0; r < job.placement.cards.size(); ++r) {
    DeviceId d = job.placement.cards[r];
    SeriesId id = c.table.find(m, c.machine.snapshot().name(d));
    if (id.v == UINT32_MAX || !c.windows.has(id) || c.windows.stale(id, c.now)) continue;
    Seen s{d, c.machine.node_of(d), static_cast<int>(r), id};
    std::vector<double> v;
    for (const Point& p : c.windows.points(id, c.now - seconds(15), c.now)) v.push_back(p.value);
    s.now = telemetry::median(v);
    Baseline b = c.windows.minute_baseline(id, std::max(since, c.now - hours(2)), c.now - minutes(2));
    if (b.samples < 4) b = c.windows.baseline(id, std::max(since, c.now - minutes(10)), c.now - seconds(30));
    if (b.samples >= 4) s.before = b.median;
    out.push_back(s);
  }
  return out;
}

double median_of(const std::vector<Seen>& all, double Seen::*field, DeviceId not_node) {
  std::vector<double> v;
  for (const Seen& s : all)
    if (!not_node.ok() || s.node != not_node) v.push_back(s.*field);
  return telemetry::median(v);
}

// What carries a card's heat away, as it is now and as it was over `from` … `to`: the loop's water, else the node's air. NaN when unknown.
struct Inlet {
  double now = NAN, before = NAN;
};
Inlet inlet_of(const Context& c, DeviceId card, Instant from, Instant to) {
  std::vector<std::pair<std::string, std::string_view>> sources;
  for (DeviceId cdu : c.machine.feeds_of(card, DeviceKind::kCdu))
    for (std::string_view m : {metric::kCoolantSupply, metric::kCoolantReturn}) sources.emplace_back(c.machine.snapshot().name(cdu), m);
  if (sources.empty())
    if (DeviceId n = c.machine.node_of(card); n.ok()) sources.emplace_back(c.machine.snapshot().name(n), metric::kInletTemp);
  Inlet out;
  double now = 0, before = 0, n = 0;
  for (const auto& [entity, m] : sources) {
    SeriesId id = c.table.find(m, entity);
    if (id.v == UINT32_MAX || !c.windows.has(id) || c.windows.stale(id, c.now)) continue;
    Baseline recent = c.windows.baseline(id, c.now - seconds(65), c.now), past = past_level(c, id, from, to);
    if (recent.samples < 2 || past.samples < 2) continue;
    now += recent.median, before += past.median, ++n;
  }
  if (n > 0) out.now = now / n, out.before = before / n;
  return out;
}

// Load moves temperatures by tens of degrees, so each card is held against itself: how far it stands above what its own past says for
// the power it draws now and the water or air it gets now ((T - Tin) / P), beyond what its peers stand above theirs. The last minute's
// median, so that no wave of fans or load decides.
void judge_heat(Context& c, const RunningJob& job, const std::vector<Seen>& temp) {
  struct Rise {
    const Seen* seen;
    double now, expected, rise;
  };
  std::vector<Rise> rises;
  Instant from = std::max(job.since + seconds(60), c.now - hours(2));
  for (const Seen& s : temp) {
    // Its past ends where its trouble began.
    const Finding* old = c.findings.find("card_hot", c.machine.snapshot().name(s.card));
    Instant to = old ? std::min(old->since, c.now) - seconds(45) : c.now - seconds(75);
    Rise r{&s, NAN, NAN, NAN};
    Baseline recent = c.windows.baseline(s.id, c.now - seconds(65), c.now), past = past_level(c, s.id, from, to);
    SeriesId watts = c.table.find(metric::kPower, c.machine.snapshot().name(s.card));
    bool power = watts.v != UINT32_MAX && c.windows.has(watts) && !c.windows.stale(watts, c.now);
    if (recent.samples >= 3 && past.samples >= 4) {
      r.now = recent.median;
      r.expected = past.median;
      Inlet in = inlet_of(c, s.card, from, to);
      if (power && std::isfinite(in.now)) {
        double p = c.windows.baseline(watts, c.now - seconds(65), c.now).median, was = past_level(c, watts, from, to).median;
        // At far another load (idle, start) even this says little.
        if (p > 0.6 * was && p < 1.6 * was) r.expected = in.now + (past.median - in.before) * p / was;
        else r.expected = NAN;
      }
      r.rise = r.now - r.expected;
    }
    rises.push_back(r);
  }
  std::vector<double> known;
  for (const Rise& r : rises)
    if (std::isfinite(r.rise)) known.push_back(r.rise);
  double common = known.size() >= 4 ? telemetry::median(known) : NAN;
  double limit = c.rules[c.now - job.since < minutes(12) ? "card_hot_over_peers_young" : "card_hot_over_peers"];
  for (const Rise& r : rises) {
    double excess = r.rise - common;
    std::string name = c.machine.snapshot().name(r.seen->card);
    const Finding* old = c.findings.find("card_hot", name);
    bool hot = std::isfinite(excess) && excess > (old ? 0.7 : 1) * limit;
    bool over = r.seen->now >= c.rules["card_temperature"];
    if (!hot && !over) continue;
    double t = over && !std::isfinite(r.now) ? r.seen->now : r.now, expected = std::isfinite(excess) ? t - excess : r.seen->before;
    c.raise("card_hot", name, Layer::kWater, std::min(1.0, 0.5 + std::max(excess, r.seen->now - 80) / 30), seconds(45),
            old ? old->since : c.now - seconds(30),
            {c.evidence(r.seen->id, t, expected,
                        fmt::format("{:.0f} C where its own past and its peers say {:.0f} C at this power and inlet", t, expected),
                        c.now - seconds(60))});
  }
}

void sweep_peers(Context& c) {
  if (!c.machine.ready()) return;
  for (const RunningJob& job : c.machine.jobs()) {
    if (!job.running || c.now - job.since < minutes(2)) continue;
    std::vector<Seen> temp = levels(c, job, metric::kGpuTemp), clock = levels(c, job, metric::kSmClock);
    if (temp.size() >= 4) {
      judge_heat(c, job, temp);
      // Everything warmer together, whatever the cause.
      double now = median_of(temp, &Seen::now, {}), before = median_of(temp, &Seen::before, {});
      if (now - before > 5)
        c.raise("cards_warmer", "job/" + job.job.name, Layer::kWater, std::min(1.0, 0.3 + (now - before) / 30), seconds(45),
                c.now - seconds(15),
                {{std::string(metric::kGpuTemp), job.job.name, now, before,
                  fmt::format("median of all cards {:.0f} C, before {:.0f} C", now, before), c.now - seconds(15), c.now}});
    }
    if (clock.size() >= 4) {
      double now = median_of(clock, &Seen::now, {}), before = median_of(clock, &Seen::before, {});
      for (const Seen& s : clock) {
        double own = s.now / s.before, all = now / before;
        bool fell = std::isfinite(own) && own < c.rules["clock_low_share"] * std::max(1.0, all);
        bool low = !std::isfinite(own) && s.now < 0.85 * now;  // from the start: beyond any silicon spread
        if (!fell && !low) continue;
        std::string name = c.machine.snapshot().name(s.card);
        const Finding* old = c.findings.find("clock_low", name);
        double base = std::isfinite(s.before) ? s.before : now;
        c.raise("clock_low", name, Layer::kCard, std::min(1.0, 0.5 + (1 - s.now / base)), seconds(30),
                old ? old->since : c.now - seconds(15),
                {c.evidence(s.id, s.now, base, fmt::format("SM clock {:.0f} MHz, usually {:.0f}, peers {:.0f}", s.now, base, now),
                            c.now - seconds(15))});
      }
    }
  }
}

// ---- settings and widths: against the model's own, else the fleet's majority -----------------------------------------------------
double majority(const Context& c, std::string_view m) {
  std::map<double, int> votes;
  for (SeriesId id : c.table.of_metric(m))
    if (c.windows.has(id)) ++votes[std::round(c.windows.last(id))];
  double best = NAN;
  int most = 0;
  for (auto [v, n] : votes)
    if (n > most) most = n, best = v;
  return most >= 3 ? best : NAN;
}

void sweep_limits(Context& c) {
  double limit = majority(c, metric::kPowerLimit), width = majority(c, metric::kPcieWidth), links = majority(c, metric::kScaleUpLinks);
  for (SeriesId id : c.table.of_metric(metric::kPowerLimit)) {
    if (!c.windows.has(id) || c.windows.stale(id, c.now)) continue;
    double v = c.windows.last(id), usual = limit;
    if (!std::isfinite(usual) && c.machine.ready()) {
      const Part& p = c.machine.part(c.table.entity(id));
      const fabric::DeviceModel* model = p.device.ok() ? c.machine.snapshot().model_of(p.device) : nullptr;
      if (model && model->power) usual = model->power->value();
    }
    if (!std::isfinite(usual) || v >= c.rules["power_limit_share"] * usual) continue;
    Instant since;
    count_last(
        c, id, 640, [&](double x) { return x < c.rules["power_limit_share"] * usual; }, &since);
    c.raise("power_limit_low", c.table.entity(id), Layer::kPower, std::min(1.0, 0.8 + (1 - v / usual)), seconds(25), since,
            {c.evidence(id, v, usual, fmt::format("power limit {:.0f} W, fleet {:.0f} W", v, usual), since)});
  }
  for (SeriesId id : c.table.of_metric(metric::kPcieWidth)) {
    if (!c.windows.has(id) || c.windows.stale(id, c.now)) continue;
    double v = c.windows.last(id), usual = width;
    if (!std::isfinite(usual))
      for (const Point& p : c.windows.last_points(id, 64)) usual = std::isfinite(usual) ? std::max(usual, p.value) : p.value;
    if (!(v > 0) || v >= usual - 0.5) continue;
    Instant since;
    if (count_last(
            c, id, 640, [&](double x) { return x < usual - 0.5; }, &since) < 2)
      continue;
    c.raise("pcie_width_low", c.table.entity(id), Layer::kHost, 1, seconds(25), since,
            {c.evidence(id, v, usual, fmt::format("PCIe x{:.0f}, should be x{:.0f}", v, usual), since)});
  }
  for (SeriesId id : c.table.of_metric(metric::kScaleUpLinks)) {
    if (!c.windows.has(id) || c.windows.stale(id, c.now)) continue;
    double v = c.windows.last(id), usual = links;  // by the fleet: some models have fewer by design
    if (!std::isfinite(usual))
      for (const Point& p : c.windows.last_points(id, 64)) usual = std::isfinite(usual) ? std::max(usual, p.value) : p.value;
    if (v >= usual - 0.5) continue;
    Instant since;
    if (count_last(
            c, id, 640, [&](double x) { return x < usual - 0.5; }, &since) < 2)
      continue;
    c.raise("scale_up_links_missing", c.table.entity(id), Layer::kNetwork, 1, seconds(15), since,
            {c.evidence(id, v, usual, fmt::format("{:.0f} of {:.0f} scale-up links in use", v, usual), since)});
  }
}

void arm_replay(Context& c, SeriesId id) {
  Baseline b = history(c, id, seconds(40), false);
  if (b.samples < 15) return;
  c.windows.set_wire(id, kNone, b.median * 4 + 8 * b.mad + 0.5);  // DCGM: 31 a minute is the limit of gen 5 x16
}
void examine_replay(Context& c, SeriesId id) {
  telemetry::Increase inc = c.windows.increase(id, c.now - seconds(60), c.now);
  if (!inc.known || inc.value < 31) return;
  c.raise("pcie_replay", c.table.entity(id), Layer::kHost, 0.5, minutes(2), c.now - seconds(60),
          {c.evidence(id, inc.value, 0, fmt::format("{:.0f} PCIe replays in a minute", inc.value), c.now - seconds(60))});
}

// Errors on a card's scale-up links: minutes with a delta, out of the last five, above own history.
void arm_nvlink(Context& c, SeriesId id) {
  Baseline b = history(c, id, seconds(40), false);
  if (b.samples < 15 || alive(c, "nvlink_errors", c.table.entity(id))) return;
  c.windows.set_wire(id, kNone, b.median * 3 + 8 * b.mad + 0.2);
}
void examine_nvlink(Context& c, SeriesId id) {
  std::string_view entity = c.table.entity(id);
  const Finding* old = c.findings.find("nvlink_errors", entity);
  std::vector<Point> p = c.windows.points(id, c.now - seconds(60), c.now);
  int hits = 0;
  double sum = 0;
  for (const Point& q : p) hits += q.value > 0, sum += q.value;
  Baseline b = c.windows.minute_baseline(id, c.now - hours(2), c.now - minutes(2));
  double usual = old ? old->evidence[0].baseline : b.samples ? b.median : 0;
  double rate = p.empty() ? 0 : sum / static_cast<double>(p.size());
  if (hits < 6 || rate < 3 * usual + c.rules["nvlink_errors_10min"] / 600) return;
  Instant since = old ? old->since : p.front().at;
  if (!old)
    for (auto q = p.rbegin(); q != p.rend(); ++q)
      if (q->value > 0) since = q->at;
  c.raise("nvlink_errors", entity, Layer::kNetwork, std::min(1.0, 0.6 + 0.1 * std::log10(1 + rate)), seconds(60), since,
          {c.evidence(id, rate, usual, fmt::format("{:.2f} scale-up link errors a second, usually {:.2f}", rate, usual), since)});
}

// Memory that jumps while the job is steady and its ranks' neighbours do not: a stranger on the card.
void arm_memory(Context& c, SeriesId id) {
  if (alive(c, "memory_taken", c.table.entity(id))) return;
  Baseline b = history(c, id);
  if (b.samples < 15) {
    c.windows.set_wire(id, kNone, kNone);
    return;
  }
  c.windows.set_wire(id, kNone, b.median + 6 * b.mad + c.rules["fb_jump"]);
}
void examine_memory(Context& c, SeriesId id) {
  std::string_view entity = c.table.entity(id);
  const Finding* old = c.findings.find("memory_taken", entity);
  std::vector<Point> p = c.windows.last_points(id, 6);
  if (p.size() < 5) return;
  Baseline b = c.windows.baseline(id, std::max(load_since(c), c.now - minutes(10)), p.front().at - nanoseconds(1));
  if (!old && b.samples < 10) return;
  double before = old ? old->evidence[0].baseline : b.median, now = c.windows.last(id);
  std::vector<double> v;
  for (const Point& q : p) v.push_back(q.value);
  if (telemetry::median(v) < before + c.rules["fb_jump"]) return;
  c.raise("memory_taken", entity, Layer::kSoftware, 0.8, seconds(60), old ? old->since : p.front().at,
          {c.evidence(id, now, before, fmt::format("{:.1f} GiB in use, before {:.1f}", now / 1024, before / 1024), p.front().at)});
}

WEFT_REGISTER(detectors(), {"xid",
                            "Xid and SXid lines, and the Xid gauge's edges",
                            {metric::kXid},
                            arm_xid,
                            true,
                            examine_xid,
                            {event::kXid, event::kSxid},
                            on_xid});
WEFT_REGISTER(detectors(), {"ecc_uncorrectable", "new uncorrectable memory errors", {metric::kEccDbe}, arm_zero, true, examine_dbe});
WEFT_REGISTER(detectors(), {"ecc_correctable", "correctable memory errors rising", {metric::kEccSbe}, arm_zero, true, examine_sbe});
WEFT_REGISTER(detectors(), {"row_remap", "row remap pending", {metric::kRowRemapPending}, arm_flag, true, examine_remap});
WEFT_REGISTER(detectors(),
              {"slowdown_flags", "thermal slowdown and power brake flags", {metric::kThrottle}, arm_throttle, true, examine_throttle});
WEFT_REGISTER(detectors(), {"card_peers",
                            "temperature and clock against own offset to the cards of the same job",
                            {},
                            nullptr,
                            false,
                            nullptr,
                            {},
                            nullptr,
                            seconds(10),
                            sweep_peers});
WEFT_REGISTER(detectors(), {"card_settings",
                            "power limit, PCIe width and scale-up links against the fleet",
                            {},
                            nullptr,
                            false,
                            nullptr,
                            {},
                            nullptr,
                            seconds(5),
                            sweep_limits});
WEFT_REGISTER(detectors(), {"pcie_replay", "PCIe replays", {metric::kPcieReplay}, arm_replay, false, examine_replay});
WEFT_REGISTER(detectors(), {"scale_up_errors",
                            "errors and replays on a card's scale-up links",
                            {metric::kNvlinkCrc, metric::kNvlinkReplay},
                            arm_nvlink,
                            false,
                            examine_nvlink});
WEFT_REGISTER(detectors(), {"card_memory", "memory taken by a stranger", {metric::kFbUsed}, arm_memory, false, examine_memory});

}  // namespace
}  // namespace weft::diagnose
