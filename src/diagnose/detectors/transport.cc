// Ends of a conversation and the queues between: retransmits, discards, pause and its direction, marks without answers, priorities,
// uplinks that carry too much while their siblings idle.
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::Network;

double level_of(const std::vector<Point>& p) {
  std::vector<double> v;
  for (const Point& q : p) v.push_back(q.value);
  return telemetry::median(v);
}

// A rate that jumped above own history and stays: median of the last eight samples.
void arm_jump(Context& c, SeriesId id, std::string_view sign, double floor, double factor) {
  if (alive(c, sign, c.table.entity(id))) return;
  Baseline b = history(c, id);
  if (b.samples < 15) {
    c.windows.set_wire(id, kNone, kNone);
    return;
  }
  c.windows.set_wire(id, kNone, b.median * factor + 6 * b.mad + floor);
}
bool examine_jump(Context& c, SeriesId id, std::string_view sign, Layer layer, double floor, double factor, double strength,
                  const char* unit) {
  std::vector<Point> p = c.windows.last_points(id, 8);
  const Finding* old = c.findings.find(sign, c.table.entity(id));
  double before;
  if (old) {
    before = old->evidence[0].baseline;
  } else {
    Baseline b = c.windows.baseline(id, std::max(c.now - minutes(10), load_since(c)), p.empty() ? c.now : p.front().at - nanoseconds(1));
    if (b.samples < 10) return false;
    before = b.median;
  }
  double level = level_of(p);
  if (p.size() < 6 || !(level > before * factor + floor)) return false;
  return c.raise(sign, c.table.entity(id), layer, strength, std::max(hold_of(c, id, 8), seconds(20)), old ? old->since : p.front().at,
                 {c.evidence(id, level, before, fmt::format("{:.3g} {}, own baseline {:.3g}", level, unit, before), p.front().at)});
}

void arm_retransmits(Context& c, SeriesId id) { arm_jump(c, id, "retransmits", c.rules["retransmits_per_second"], 2); }
void examine_retransmits(Context& c, SeriesId id) {
  examine_jump(c, id, "retransmits", Layer::kNetwork, c.rules["retransmits_per_second"], 2, 0.8, "/s");
}
void arm_timeouts(Context& c, SeriesId id) { arm_jump(c, id, "ack_timeouts", 1, 2); }
void examine_timeouts(Context& c, SeriesId id) { examine_jump(c, id, "ack_timeouts", Layer::kNetwork, 1, 2, 0.8, "/s"); }
void arm_discards(Context& c, SeriesId id) { arm_jump(c, id, "discards", c.rules["discards_per_second"], 2); }
void examine_discards(Context& c, SeriesId id) {
  examine_jump(c, id, "discards", Layer::kNetwork, c.rules["discards_per_second"], 2, 0.7, "/s");
}
void arm_marks(Context& c, SeriesId id) { arm_jump(c, id, "congestion", c.rules["ecn_marked_per_second"], c.rules["congestion_factor"]); }
void examine_marks(Context& c, SeriesId id) {
  examine_jump(c, id, "congestion", Layer::kNetwork, c.rules["ecn_marked_per_second"], c.rules["congestion_factor"], 0.4, "marks/s");
}
void arm_queue(Context& c, SeriesId id) { arm_jump(c, id, "queue_high", 2e5, c.rules["congestion_factor"]); }
void examine_queue(Context& c, SeriesId id) {
  examine_jump(c, id, "queue_high", Layer::kNetwork, 2e5, c.rules["congestion_factor"], 0.4, "B");
}
void arm_paused(Context& c, SeriesId id) { arm_jump(c, id, "paused", 0.05, 3); }
void examine_paused(Context& c, SeriesId id) { examine_jump(c, id, "paused", Layer::kNetwork, 0.05, 3, 0.3, "of the time paused"); }
void arm_pfc_rx(Context& c, SeriesId id) { arm_jump(c, id, "pause_received", 200, 4); }
void examine_pfc_rx(Context& c, SeriesId id) { examine_jump(c, id, "pause_received", Layer::kNetwork, 200, 4, 0.4, "pause frames/s"); }
void arm_pfc_tx(Context& c, SeriesId id) { arm_jump(c, id, "pause_spread", 200, 4); }
void examine_pfc_tx(Context& c, SeriesId id) { examine_jump(c, id, "pause_spread", Layer::kNetwork, 200, 4, 0.3, "pause frames/s"); }

// Pause is normal on lossless Ethernet, alike on all rails; the sick one sends it an order above its peers.
void arm_pause(Context& c, SeriesId id) { c.windows.set_wire(id, kNone, c.rules["pause_share"]); }
void examine_pause(Context& c, SeriesId id) {
  std::string_view entity = c.table.entity(id);
  std::vector<Point> p = c.windows.last_points(id, 8);
  if (p.size() < 5) return;
  double share = level_of(p);
  std::vector<double> peers;
  for (SeriesId other : c.table.of_metric(metric::kTxPauseSeconds))
    if (other != id && c.windows.has(other) && !c.windows.stale(other, c.now)) peers.push_back(level_of(c.windows.last_points(other, 8)));
  double usual = peers.size() >= 3 ? telemetry::median(peers) : 0;
  if (share < c.rules["pause_share"] || share < c.rules["pause_peers_factor"] * usual) return;
  bool storm = share >= c.rules["pause_storm_share"];
  std::string text = fmt::format("keeps its switch paused {:.0f} % of the time, peers {:.1f} %", 100 * share, 100 * usual);
  const Finding* old = c.findings.find("pause_sent", entity);
  Instant since = old ? old->since : p.front().at;
  c.raise("pause_sent", entity, Layer::kHost, std::min(1.0, 0.6 + share), seconds(20), since, {c.evidence(id, share, usual, text, since)});
  if (storm) c.raise("pause_storm", entity, Layer::kNetwork, 1, seconds(20), since, {c.evidence(id, share, usual, text, since)});
}
void on_pfc_watchdog(Context& c, const telemetry::Event& e) {
  c.raise("pfc_watchdog", e.entity, Layer::kNetwork, 1, minutes(2), e.at, {{e.kind, e.entity, 1, 0, e.text, e.at, e.at}});
}

// Marks arrive, but no notification leaves; notifications arrive, but the sender does not slow down.
void sweep_ecn(Context& c) {
  std::size_t answering = 0;
  std::vector<std::tuple<std::string, double, double, SeriesId>> mute;
  for (SeriesId marked : c.table.of_metric(metric::kEcnMarkedRx)) {
    SeriesId sent = c.table.find(metric::kCnpSent, c.table.entity(marked));
    if (sent.v == UINT32_MAX || !c.windows.has(sent) || !c.windows.has(marked) || c.windows.stale(marked, c.now) ||
        c.windows.stale(sent, c.now))
      continue;
    Instant from = c.now - seconds(60);
    telemetry::Increase m = c.windows.increase(marked, from, c.now), s = c.windows.increase(sent, from, c.now);
    if (!m.known || !s.known || m.value < 60 * c.rules["ecn_marked_per_second"]) continue;
    // Marks in at least half of the last ten samples: not one burst.
    if (count_last(c, marked, 10, [](double v) { return v > 0; }) < 4) continue;
    if (s.value > 0) ++answering;
    else mute.emplace_back(std::string(c.table.entity(marked)), m.value, s.value, marked);
  }
  // Nobody answers anywhere: not configured, a choice of the site. One or few do not: a fault.
  if (mute.empty() || (answering == 0 && mute.size() > 1)) return;
  for (const auto& [entity, m, s, id] : mute)
    c.raise(
        "ecn_no_cnp", entity, Layer::kNetwork, 0.9, seconds(40), c.now - seconds(60),
        {c.evidence(id, m, s, fmt::format("{:.0f} marked packets received in 60 s, no notification sent; {} peers answer", m, answering),
                    c.now - seconds(60))});
}

// RDMA bytes on the lossy priority while peers use the lossless one.
void sweep_priority(Context& c) {
  std::vector<std::pair<std::string, std::pair<double, double>>> all;
  std::size_t lossless = 0;
  for (SeriesId p3 : c.table.of_metric(metric::kPrio3Tx)) {
    SeriesId p0 = c.table.find(metric::kPrio0Tx, c.table.entity(p3));
    if (p0.v == UINT32_MAX || !c.windows.has(p0) || !c.windows.has(p3) || c.windows.stale(p3, c.now) || c.windows.stale(p0, c.now))
      continue;
    telemetry::Increase a = c.windows.increase(p0, c.now - seconds(20), c.now), b = c.windows.increase(p3, c.now - seconds(20), c.now);
    if (!a.known || !b.known) continue;
    lossless += b.value > 1e6;
    all.push_back({std::string(c.table.entity(p3)), {a.value, b.value}});
  }
  for (const auto& [entity, v] : all) {
    if (v.second > 0 || v.first < 2e8) continue;  // below 10 MB/s: management traffic
    bool used_it = false;
    SeriesId p3 = c.table.find(metric::kPrio3Tx, entity);
    for (const Point& p : c.windows.points(p3, c.now - minutes(10), c.now)) used_it |= p.value > 1e6;
    if (!used_it && lossless == 0) continue;
    c.raise("prio3_silent", entity, Layer::kNetwork, 1, seconds(25), c.now - seconds(20),
            {c.evidence(p3, v.second, v.first, fmt::format("{:.1f} GB in 20 s on priority 0, nothing on priority 3", v.first / 1e9),
                        c.now - seconds(20))});
  }
}

// Ways from one switch to the next, last 30 s: one full, siblings idle. Upwards that is enough; downwards traffic is as uneven as the jobs
// lie, so there the full way must show a queue or marks as well (growth on aggregation downlinks, Alibaba HPN).
void sweep_uplinks(Context& c) {
  if (!c.machine.ready()) return;
  const fabric::Snapshot& s = c.machine.snapshot();
  constexpr auto kData = fabric::bit(Network::kScaleOut) | fabric::bit(Network::kStorage);
  for (DeviceId d : s.of_kind(DeviceKind::kSwitch)) {
    double sum = 0, busiest = 0;
    std::size_t ways = 0;
    std::string busy_port;
    for (fabric::PortId p : s.ports_of(d)) {
      fabric::LinkId l = s.port(p).link;
      if (!l.ok() || !s.health(l).in_service || s.link(l).spare || !(s.link(l).networks & kData)) continue;
      fabric::PortId far = s.peer(p);
      if (!far.ok() || s.device(s.port(far).device).kind != DeviceKind::kSwitch) continue;
      std::string name = s.name(p);
      SeriesId tx = c.table.find(metric::kSwTx, name);
      if (tx.v == UINT32_MAX || !c.windows.has(tx) || c.windows.stale(tx, c.now)) continue;
      std::vector<double> v;
      for (const Point& q : c.windows.points(tx, c.now - seconds(30), c.now)) v.push_back(q.value);
      if (v.size() < 3 || s.link(l).rate.value() <= 0) continue;
      // Bursts of steps: compare what the busy moments reach.
      double u = telemetry::quantile(v, 0.9) * 8 / s.link(l).rate.value();
      sum += u, ++ways;
      bool counts = s.device(d).tier == 0 || alive(c, "congestion", name) || alive(c, "queue_high", name);
      if (counts && u > busiest) busiest = u, busy_port = name;
    }
    if (ways < 2) continue;
    double siblings = (sum - busiest) / static_cast<double>(ways - 1);
    if (busiest < c.rules["uplink_busy"] || busiest < c.rules["uplink_uneven"] * siblings) continue;
    const Finding* old = c.findings.find("uplinks_uneven", s.name(d));
    Instant since = old ? old->since : c.now - seconds(30);
    c.raise(
        "uplinks_uneven", s.name(d), Layer::kNetwork, std::min(1.0, 0.4 + busiest / std::max(siblings, 0.05) / 10), seconds(45), since,
        {{std::string(metric::kSwTx), busy_port, busiest, siblings,
          fmt::format("busiest way at {:.0f} %, mean of its {} siblings {:.0f} %", 100 * std::min(1.0, busiest), ways - 1, 100 * siblings),
          since, c.now}});
  }
}

// Path probes that get lost, by the switch they crossed: lost over many of its ports and an order more than over all other ports together.
// A leaf that loses takes one port in many of a spine along, not most of them.
void sweep_probes(Context& c) {
  if (!c.machine.ready()) return;
  const fabric::Snapshot& s = c.machine.snapshot();
  struct Count {
    double lost = 0, sent = 0;
    std::map<fabric::LinkId, double> lossy;  // lost, by link
  };
  std::map<DeviceId, Count> switches;
  Count all;
  Instant from = c.now - seconds(c.rules["probe_window"]);
  for (SeriesId id : c.table.of_metric(metric::kPathProbeLoss)) {
    if (!c.windows.has(id) || c.windows.stale(id, c.now)) continue;
    const Part& part = c.machine.part(c.table.entity(id));
    if (!part.port.ok() || !part.link.ok() || c.machine.handled(part)) continue;
    double each = 10 * to_seconds(c.windows.interval(id)), lost = 0, sent = 0;
    for (const Point& p : c.windows.points(id, from, c.now)) lost += p.value * each, sent += each;
    if (sent <= 0) continue;
    all.lost += lost, all.sent += sent;
    for (fabric::PortId end : {s.link(part.link).a, s.link(part.link).b}) {
      DeviceId d = s.port(end).device;
      if (s.device(d).kind != DeviceKind::kSwitch) continue;
      Count& n = switches[d];
      n.lost += lost, n.sent += sent;
      if (lost > 0.5) n.lossy[part.link] += lost;
    }
  }
  for (const auto& [d, n] : switches) {
    double worst = 0;  // one bad link is not its switch
    for (const auto& [link, lost] : n.lossy) worst = std::max(worst, lost);
    if (n.lost < c.rules["probes_lost_min"] || n.lossy.size() < 3 || worst > 0.6 * n.lost) continue;
    double rate = n.lost / n.sent, rest = (all.lost - n.lost) / std::max(1.0, all.sent - n.sent);
    if (rate < 10 * rest + c.rules["probe_loss"]) continue;
    std::string name = s.name(d);
    const Finding* old = c.findings.find("probe_loss", name);
    c.raise("probe_loss", name, Layer::kNetwork, std::min(1.0, 0.7 + 0.05 * n.lost / c.rules["probes_lost_min"]), seconds(60),
            old ? old->since : from,
            {{std::string(metric::kPathProbeLoss), name, rate, rest,
              fmt::format("{:.0f} probes lost over {} of its {} links in {:.0f} s ({:.1e}), elsewhere {:.1e}", n.lost, n.lossy.size(),
                          c.machine.links_at(d).size(), c.rules["probe_window"], rate, rest),
              from, c.now}});
  }
}

WEFT_REGISTER(detectors(),
              {"retransmits", "packets out of sequence at a NIC", {metric::kOutOfSequence}, arm_retransmits, false, examine_retransmits});
WEFT_REGISTER(detectors(),
              {"ack_timeouts", "requests whose acknowledgement never came", {metric::kAckTimeout}, arm_timeouts, false, examine_timeouts});
WEFT_REGISTER(
    detectors(),
    {"discards", "packets a port could not send", {metric::kIbDiscards, metric::kSwDiscards}, arm_discards, false, examine_discards});
WEFT_REGISTER(detectors(),
              {"congestion", "marks above own history", {metric::kSwEcnMarked, metric::kEcnMarkedRx}, arm_marks, false, examine_marks});
WEFT_REGISTER(detectors(), {"queue", "queue watermark above own history", {metric::kSwQueue}, arm_queue, false, examine_queue});
WEFT_REGISTER(detectors(), {"paused", "NICs kept waiting by pause", {metric::kRxPauseSeconds}, arm_paused, false, examine_paused});
WEFT_REGISTER(detectors(),
              {"pause_received", "switch ports whose peer sends pause", {metric::kSwPfcRx}, arm_pfc_rx, false, examine_pfc_rx});
WEFT_REGISTER(detectors(), {"pause_spread", "switch ports that send pause on", {metric::kSwPfcTx}, arm_pfc_tx, false, examine_pfc_tx});
WEFT_REGISTER(detectors(), {"pause_sent",
                            "NICs that send pause far above their peers; storms",
                            {metric::kTxPauseSeconds},
                            arm_pause,
                            true,
                            examine_pause,
                            {event::kPfcStorm},
                            on_pfc_watchdog});
WEFT_REGISTER(detectors(), {"ecn_answers",
                            "marks received, no notification sent, while peers answer",
                            {},
                            nullptr,
                            false,
                            nullptr,
                            {},
                            nullptr,
                            seconds(10),
                            sweep_ecn});
WEFT_REGISTER(detectors(),
              {"priorities", "RDMA traffic on the lossy priority", {}, nullptr, false, nullptr, {}, nullptr, seconds(5), sweep_priority});
WEFT_REGISTER(
    detectors(),
    {"path_probes", "path probes lost, by the switch they crossed", {}, nullptr, false, nullptr, {}, nullptr, seconds(5), sweep_probes});
WEFT_REGISTER(detectors(),
              {"uplinks", "uplinks of a switch unevenly used", {}, nullptr, false, nullptr, {}, nullptr, seconds(10), sweep_uplinks});

}  // namespace
}  // namespace weft::diagnose
