#include "twin/emit.h"

#include <algorithm>
#include <cmath>

#include "telemetry/names.h"

namespace weft::twin {

namespace metric = telemetry::metric;
using fabric::LinkId;
using telemetry::MetricKind;
using telemetry::SeriesId;

namespace {

constexpr std::string_view kCard[] = {
    metric::kSmClock,      metric::kGpuTemp,         metric::kMemTemp,      metric::kPower,     metric::kPowerLimit,
    metric::kGpuUtil,      metric::kTensorActive,    metric::kThrottle,     metric::kXid,       metric::kEccSbe,
    metric::kEccDbe,       metric::kRowRemapPending, metric::kPcieReplay,   metric::kPcieWidth, metric::kNvlinkCrc,
    metric::kNvlinkReplay, metric::kNvlinkBandwidth, metric::kScaleUpLinks, metric::kFbUsed};
constexpr std::string_view kNic[] = {
    metric::kIbState,     metric::kIbRate,         metric::kIbDowned,       metric::kIbTx,       metric::kIbRx,    metric::kIbRxErrors,
    metric::kIbDiscards,  metric::kIbWait,         metric::kOutOfSequence,  metric::kAckTimeout, metric::kCnpSent, metric::kCnpHandled,
    metric::kEcnMarkedRx, metric::kTxPauseSeconds, metric::kRxPauseSeconds, metric::kPrio0Tx,    metric::kPrio3Tx};
constexpr std::string_view kLine[] = {metric::kPreFecBer, metric::kFecUncorrectable, metric::kLlrRetries, metric::kRxPower,
                                      metric::kTxPower,   metric::kTxBias,           metric::kModuleTemp};
constexpr std::string_view kSwitch[] = {metric::kSwState,     metric::kSwSpeed,    metric::kSwTx,         metric::kSwRx,
                                        metric::kSwRxErrors,  metric::kSwDiscards, metric::kSwPfcRx,      metric::kSwPfcTx,
                                        metric::kSwEcnMarked, metric::kSwQueue,    metric::kPathProbeLoss};
constexpr std::string_view kNode[] = {metric::kNodeUp,    metric::kCpuBusy, metric::kCpuClock,  metric::kIoWait,    metric::kMemAvailable,
                                      metric::kInletTemp, metric::kFanRpm,  metric::kNodePower, metric::kPsuHealthy};
constexpr std::string_view kRack[] = {metric::kRackPower, metric::kRackPowerCap, metric::kLeak};
constexpr std::string_view kCdu[] = {metric::kCoolantFlow,     metric::kCoolantSupply, metric::kCoolantReturn,
                                     metric::kCoolantPressure, metric::kPumpRpm,       metric::kLeak};
constexpr std::string_view kStorage[] = {metric::kStorageReadLatency, metric::kStorageRead, metric::kStorageWrite};

// Share of the probes of one scrape interval that got lost over this port: whole probes, and now and then one for no reason at all.
double probes_lost(const State& s, const Port& q, LinkId l, std::size_t port, std::uint64_t tick, std::uint64_t every, Noise& noise) {
  double sent = 10.0 * static_cast<double>(every);
  double loss = std::max(s.links[l.v].probe_loss, std::min(0.02, (q.knobs.crc + s.ports[s.built.peer(q.id).v].knobs.crc) * 1e-4));
  if (!noise.on()) return loss;
  double lost = mix(tick * s.ports.size() + port) % 20000 == 0 ? 1 : 0;
  if (loss > 0)  // Poisson, by products of uniforms
    for (double p = noise.random().uniform(), end = std::exp(-loss * sent); p > end; p *= noise.random().uniform()) ++lost;
  return std::min(1.0, lost / sent);
}

}  // namespace

Emit::Emit(const State& s, telemetry::SeriesTable& series) {
  auto name = [&](std::string_view metric, const std::string& entity) {
    const telemetry::MetricInfo* info = telemetry::find_metric(metric);
    ++count_;
    return series.intern(metric, entity, {}, info ? info->kind : MetricKind::kGauge);
  };
  auto all = [&](auto& ids, const auto& metrics, const std::string& entity) {
    for (std::size_t i = 0; i < std::size(metrics); ++i) ids[i] = name(metrics[i], entity);
  };
  cards_.resize(s.cards.size()), nics_.resize(s.nics.size()), ports_.resize(s.ports.size()), nodes_.resize(s.nodes.size());
  racks_.resize(s.racks.size()), cdus_.resize(s.cdus.size()), storages_.resize(s.storages.size());
  for (std::size_t i = 0; i < s.cards.size(); ++i) all(cards_[i].id, kCard, s.built.name(s.cards[i].id));
  for (std::size_t i = 0; i < s.nics.size(); ++i)
    if (!s.nics[i].ports.empty()) all(nics_[i].id, kNic, s.built.name(s.nics[i].id));
  for (std::size_t i = 0; i < s.ports.size(); ++i) {
    const Port& q = s.ports[i];
    if (!q.exports) continue;
    std::string entity = s.built.name(q.id);
    for (std::size_t m = 0; m < (q.optical ? 7 : 3); ++m) ports_[i].line[m] = name(kLine[m], entity);
    if (q.at_switch)
      for (std::size_t m = 0; m < (q.ethernet ? 11 : 6); ++m) ports_[i].sw[m] = name(kSwitch[m], entity);
  }
  for (std::size_t i = 0; i < s.nodes.size(); ++i) all(nodes_[i].id, kNode, s.built.name(s.nodes[i].id));
  for (std::size_t i = 0; i < s.racks.size(); ++i) {
    std::string entity = s.built.name(s.racks[i].id);
    for (std::size_t m = 0; m < (s.racks[i].liquid ? 3 : 2); ++m) racks_[i][m] = name(kRack[m], entity);
  }
  for (std::size_t i = 0; i < s.cdus.size(); ++i) all(cdus_[i], kCdu, s.built.name(s.cdus[i].id));
  for (std::size_t i = 0; i < s.storages.size(); ++i) all(storages_[i], kStorage, s.built.name(s.storages[i].id));
}

void Emit::samples(const State& s, const Traffic& traffic, const fabric::Snapshot& real, Noise& noise, std::uint64_t tick,
                   std::uint64_t every, telemetry::Batch& out) const {
  auto& to = out.samples;
  const Parameters& p = *s.parameters;
  const double spin = p.get("card.spin_share"), tensor = p.get("card.tensor_share");
  auto due = [&](int node) {
    return (tick + (node >= 0 ? static_cast<std::uint64_t>(s.nodes[static_cast<std::size_t>(node)].phase) : 0)) % every == 0;
  };
  auto at = [&](int node) { return node >= 0 ? s.now - s.nodes[static_cast<std::size_t>(node)].skew : s.now; };
  auto silent = [&](int node) {
    return node >= 0 && (s.nodes[static_cast<std::size_t>(node)].knobs.down || s.nodes[static_cast<std::size_t>(node)].knobs.exporter_dead);
  };

  for (std::size_t i = 0; i < s.cards.size(); ++i) {
    const Card& c = s.cards[i];
    if (!due(c.node) || silent(c.node) || c.knobs.gone) continue;
    Instant t = at(c.node);
    const auto& id = cards_[i].id;
    double load = c.used ? c.busy + c.wait : 0;
    auto push = [&](std::size_t k, double v) { to.push_back({id[k], t, v}); };
    push(0, std::round(c.clock_mhz * (c.throttle & 0x1 && !c.used ? 0.18 : c.clock) / 15) * 15);
    push(1, std::round(c.temp + 0.4 * noise.normal())), push(2, std::round(c.memory_temp + 0.5 * noise.normal()));
    double power = noise.around(c.power, 0.012);
    push(3, c.throttle & 0x4 ? std::min(power, (c.knobs.limit > 0 ? c.knobs.limit : c.max_w) * 1.005) : power);
    push(4, c.knobs.limit > 0 ? c.knobs.limit : c.max_w);
    push(5, c.knobs.hung        ? 0
            : load > 0.01       ? std::round(std::min(100.0, 99 + 0.6 * noise.normal()))
            : c.knobs.stray > 0 ? std::round(100 * c.knobs.stray)
                                : 0);  // a waiting rank spins: about 100 (R4)
    push(6, std::clamp(noise.around(tensor * c.busy + 0.6 * c.knobs.stray, 0.02), 0.0, 1.0));
    push(7, static_cast<double>(c.throttle)), push(8, c.xid);
    push(9, std::floor(c.sbe)), push(10, c.dbe), push(11, c.remap_pending), push(12, std::floor(c.replay));
    push(13, c.knobs.lanes), push(14, std::floor(c.crc)), push(15, std::floor(c.nvl_replay));
    push(16, std::max(0.0, traffic.scale_up_bytes(static_cast<int>(i)) / 1e6));
    push(17, c.scale_up_links - c.knobs.links_lost);
    push(18, std::round((c.used ? p.get("card.fb_used_mib") : p.get("card.fb_idle_mib")) + c.fb_used +
                        (c.knobs.stray > 0 ? p.get("card.fb_stray_mib") : 0)));
    (void)spin;
  }
  for (std::size_t i = 0; i < s.nics.size(); ++i) {
    const Nic& n = s.nics[i];
    if (n.ports.empty() || silent(n.node) || n.knobs.gone) continue;
    Instant t = at(n.node);
    const auto& id = nics_[i].id;
    auto push = [&](std::size_t k, double v) { to.push_back({id[k], t, v}); };
    bool up = false;
    double rate = 0;
    for (int q : n.ports) {
      LinkId l = s.built.port(s.ports[static_cast<std::size_t>(q)].id).link;
      bool port_up = s.links[l.v].state != fabric::LinkState::kDown && s.in_service[l.v] &&
                     !s.ports[s.built.peer(s.ports[static_cast<std::size_t>(q)].id).v].knobs.dark;
      up = up || port_up;
      rate = std::max(rate, s.built.link(l).rate.value() / 8 * s.links[l.v].negotiated);
    }
    push(0, up ? 4 : 1), push(1, rate), push(2, n.byte_ceiling ? std::min(n.downed, 255.0) : n.downed);
    push(3, std::floor(n.tx)), push(4, std::floor(n.rx)), push(5, std::floor(n.rx_errors)), push(6, std::floor(n.discards)),
        push(7, std::min(std::floor(n.wait), 4294967295.0));
    push(8, std::floor(n.oos)), push(9, std::floor(n.timeouts)), push(10, std::floor(n.cnp_sent)), push(11, std::floor(n.cnp_handled)),
        push(12, std::floor(n.marked));
    push(13, n.tx_pause), push(14, n.rx_pause), push(15, std::floor(n.prio0)), push(16, std::floor(n.prio3));
  }
  for (std::size_t i = 0; i < s.ports.size(); ++i) {
    const Port& q = s.ports[i];
    if (!q.exports || q.knobs.dark || silent(q.node)) continue;
    LinkId l = s.built.port(q.id).link;
    const PortIds& ids = ports_[i];
    Instant t = at(q.node);
    bool now = q.node >= 0 ? due(q.node) : (tick + i) % every == 0;
    if (!now && !(q.at_switch && q.ethernet)) continue;  // switches of an Ethernet stream every second; the rest is scraped
    bool up = s.links[l.v].state != fabric::LinkState::kDown && s.in_service[l.v] && !s.ports[s.built.peer(q.id).v].knobs.dark;
    if (q.at_switch) {
      auto push = [&](std::size_t k, double v) { to.push_back({ids.sw[k], t, v}); };
      push(0, up ? 1 : 2), push(1, s.built.link(l).rate.value() / 1e6 * s.links[l.v].negotiated);
      push(2, std::floor(q.tx)), push(3, std::floor(q.rx)), push(4, std::floor(q.crc)), push(5, std::floor(q.discards));
      if (q.ethernet)
        push(6, std::floor(q.pfc_rx)), push(7, std::floor(q.pfc_tx)), push(8, std::floor(q.ecn)),
            push(9, std::floor(std::max(0.0, 2e5 * (1 + 0.5 * noise.normal()) + q.knobs.queue)));
    }
    if (!now) continue;
    // A prober sends ten probes a second over every path and knows each hop; where a port is down there is no path.
    if (q.at_switch && q.ethernet && up) to.push_back({ids.sw[10], t, probes_lost(s, q, l, i, tick, every, noise)});
    auto push = [&](std::size_t k, double v) { to.push_back({ids.line[k], t, v}); };
    if (up) {
      // Fractional steps only when there is something to say: a link that is down has no error ratio.
      push(0, std::min(0.5, std::pow(10, q.log_ber + 0.08 * noise.normal()) * q.knobs.ber));
      push(1, std::floor(q.uncorrectable)), push(2, std::floor(q.retries));
    }
    if (q.optical) {
      bool light = s.links[l.v].state != fabric::LinkState::kDown;
      push(3, light ? q.rx_dbm + q.knobs.rx_db + 0.05 * noise.normal() : -40), push(4, q.tx_dbm + q.knobs.tx_db + 0.03 * noise.normal());
      push(5, q.bias_ma * q.knobs.bias * (1 + 0.005 * noise.normal())), push(6, q.temp_c + q.knobs.temp + 0.3 * noise.normal());
    }
  }
  (void)real;
  for (std::size_t i = 0; i < s.nodes.size(); ++i) {
    const Node& n = s.nodes[i];
    Instant t = at(static_cast<int>(i));
    const auto& id = nodes_[i].id;
    auto push = [&](std::size_t k, double v) { to.push_back({id[k], t, v}); };
    bool quiet = n.knobs.down || n.knobs.exporter_dead;
    push(0, quiet ? 0 : 1);
    if (!quiet) {
      double busy = 0;
      for (int c : n.cards) busy += s.cards[static_cast<std::size_t>(c)].used;
      busy /= static_cast<double>(std::max<std::size_t>(1, n.cards.size()));
      push(1, std::clamp(0.04 + 0.12 * busy + n.knobs.cpu_busy + 0.01 * noise.normal(), 0.0, 1.0));
      push(2, noise.around(p.get("node.cpu_hz") * n.knobs.cpu_clock, 0.01));
      push(3, std::clamp(0.002 + n.knobs.io_wait + 0.001 * noise.normal(), 0.0, 1.0));
      push(4, std::max(1e8, noise.around(n.memory * (0.75 - 0.25 * busy) - n.knobs.memory, 0.003)));
    }
    // The BMC answers even when the host does not, unless it is without power.
    if (!due(static_cast<int>(i))) continue;
    push(5, n.inlet + 0.2 * noise.normal());
    push(6, std::round(noise.around(p.get("node.fan_rpm") * (n.knobs.fan < 1 ? 0.0 : 1.0), 0.01)));
    push(7, noise.around(n.power, 0.01)), push(8, std::max(0, n.supplies - n.knobs.supplies_lost));
  }
  if (tick % every == 0) {
    for (std::size_t i = 0; i < s.racks.size(); ++i) {
      const Rack& r = s.racks[i];
      double cap = r.knobs.cap_w > 0 ? r.knobs.cap_w : r.cap_w;
      to.push_back({racks_[i][0], s.now, std::min(noise.around(r.power, 0.005), cap)}), to.push_back({racks_[i][1], s.now, cap});
      if (r.liquid) to.push_back({racks_[i][2], s.now, r.knobs.leak ? 1.0 : 0.0});
    }
    for (std::size_t i = 0; i < s.cdus.size(); ++i) {
      const Cdu& c = s.cdus[i];
      const auto& id = cdus_[i];
      to.push_back({id[0], s.now, noise.around(c.flow_lpm * c.flow, 0.006)}),
          to.push_back({id[1], s.now, c.supply_c + c.knobs.supply + 0.1 * noise.normal()});
      to.push_back({id[2], s.now, c.return_c + 0.15 * noise.normal()}),
          to.push_back({id[3], s.now, noise.around(p.get("cdu.pressure_kpa") * c.flow * c.flow, 0.01)});
      to.push_back({id[4], s.now, c.knobs.pump_failed ? 0.0 : std::round(noise.around(p.get("cdu.pump_rpm"), 0.004))}),
          to.push_back({id[5], s.now, c.knobs.leak ? 1.0 : 0.0});
    }
    for (std::size_t i = 0; i < s.storages.size(); ++i) {
      const Storage& st = s.storages[i];
      double use = std::min(0.95, (st.read_rate + st.write_rate) / p.get("storage.read_bps"));
      to.push_back({storages_[i][0], s.now, noise.around(p.get("storage.latency_s") / (1 - use) * st.knobs.latency, 0.08)});
      to.push_back({storages_[i][1], s.now, std::floor(st.read)}), to.push_back({storages_[i][2], s.now, std::floor(st.write)});
    }
  }
}

}  // namespace weft::twin
