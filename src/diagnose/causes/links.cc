// Scale-out and scale-up links: down, flapping, slow, dirty, ageing, badly locked, bad one way.
#include "diagnose/cause.h"
#include "telemetry/names.h"

namespace weft::diagnose {
namespace {

using fabric::Network;

bool carries(const Case& c, Network n) {
  const Machine& m = c.context().machine;
  return c.part().link.ok() && m.snapshot().link(c.part().link).networks & fabric::bit(n);
}
// A link with only the scale-up role; veto for classes of the other kind.
double scale_out_only(const Case& c) {
  return carries(c, Network::kScaleUp) && !carries(c, Network::kScaleOut) && !carries(c, Network::kStorage) ? -1000 : 0;
}
double scale_up_only(const Case& c) { return carries(c, Network::kScaleUp) ? 0 : -1000; }

// A switch or a node that lost everything, seen from one of its links.
double not_the_device(const Case& c) {
  const Machine& m = c.context().machine;
  const fabric::Link& l = m.snapshot().link(c.part().link);
  double out = 0;
  for (fabric::PortId end : {l.a, l.b}) {
    fabric::DeviceId d = m.snapshot().port(end).device;
    if (c.context().findings.find("switch_ports_down", m.snapshot().name(d)) ||
        c.context().findings.find("switch_restarted", m.snapshot().name(d)))
      out = -8;
    if (c.context().findings.find("nic_gone", m.snapshot().name(d)) || c.context().findings.find("card_off_bus", m.snapshot().name(d)))
      out = -8;
    if (fabric::DeviceId n = m.node_of(d); n.ok() && c.context().findings.find("node_down", m.snapshot().name(n))) out = -8;
  }
  return out;
}
double judge_down(const Case& c) { return scale_out_only(c) + not_the_device(c); }
// Between switches traffic finds another way within seconds, so that nothing is lost by waiting out a flap: down up to 6 s, then up again.
bool no_flap(const Case& c) {
  const Context& x = c.context();
  const fabric::Snapshot& s = x.machine.snapshot();
  const fabric::Link& l = s.link(c.part().link);
  for (fabric::PortId end : {l.a, l.b})
    if (s.device(s.port(end).device).kind != fabric::DeviceKind::kSwitch) return true;
  Instant since = x.now;
  for (const Finding* f : c.found("link_down", Where::kEnd)) since = std::min(since, f->since);
  return x.now - since >= seconds(7);
}
double judge_up_down(const Case& c) { return scale_up_only(c) + not_the_device(c); }

// Errors at one end only. `other` end quiet while it does export.
double judge_one_sided(const Case& c) {
  double veto = scale_out_only(c);
  const Machine& m = c.context().machine;
  std::set<fabric::PortId> ends;
  const fabric::Link& l = m.snapshot().link(c.part().link);
  auto end_of = [&](const Finding* f) {
    const Part& p = m.part(f->entity);
    if (p.port.ok()) return p.port;
    return m.snapshot().port(l.a).device == p.device ? l.a : l.b;
  };
  for (std::string_view sign : {"rx_errors", "fec_uncorrectable", "ber_step"})
    for (const Finding* f : c.found(sign, Where::kEnd)) ends.insert(end_of(f));
  return veto + (ends.size() == 1 ? 1.0 : -3.0);
}

// Dirt shows as lost light at the same end: has the light been read since the errors began?
bool light_seen(const Case& c) {
  const Context& x = c.context();
  Instant onset = x.now;
  for (std::string_view sign : {"rx_errors", "fec_uncorrectable"})
    for (const Finding* f : c.found(sign, Where::kEnd)) onset = std::min(onset, f->since);
  const fabric::Link& l = x.machine.snapshot().link(c.part().link);
  for (fabric::PortId end : {l.a, l.b}) {
    telemetry::SeriesId id = x.table.find(telemetry::metric::kRxPower, x.machine.snapshot().name(end));
    if (id.v != UINT32_MAX && x.windows.has(id) && !x.windows.stale(id, x.now) && x.windows.last_at(id) < onset + seconds(1)) return false;
  }
  return true;
}

// Low light received is dirt only while the far end still sends as it did: has it been read since?
bool far_end_seen(const Case& c) {
  const Context& x = c.context();
  const fabric::Snapshot& s = x.machine.snapshot();
  for (const Finding* f : c.found("rx_power_low", Where::kEnd)) {
    const Part& p = x.machine.part(f->entity);
    if (!p.port.ok()) continue;
    fabric::PortId far = s.peer(p.port);
    if (!far.ok()) continue;
    for (std::string_view m : {telemetry::metric::kTxPower, telemetry::metric::kTxBias}) {
      telemetry::SeriesId id = x.table.find(m, s.name(far));
      if (id.v != UINT32_MAX && x.windows.has(id) && !x.windows.stale(id, x.now) && x.windows.last_at(id) + seconds(1) < f->since)
        return false;
    }
  }
  return true;
}

// A step in the error rate soon after the link (or its switch) came back.
double judge_bad_lock(const Case& c) {
  double out = scale_out_only(c);
  const Machine& m = c.context().machine;
  Instant step;
  for (const Finding* f : c.found("ber_step", Where::kEnd)) step = step.ns() == 0 ? f->since : std::min(step, f->since);
  if (step.ns() == 0) return -1000;
  const fabric::Link& l = m.snapshot().link(c.part().link);
  bool after_event = false;
  for (const telemetry::Event& e : c.context().log.events) {
    if (e.at > step + seconds(30) || e.at < step - minutes(10)) continue;
    bool kind = e.kind == telemetry::event::kLinkUp || e.kind == telemetry::event::kLinkDown ||
                e.kind == telemetry::event::kSwitchRestart || e.kind == telemetry::event::kNodeReboot;
    if (!kind) continue;
    const Part& p = m.part(e.entity);
    if (m.link_of(p) == c.part().link) after_event = true;
    for (fabric::PortId end : {l.a, l.b}) {
      fabric::DeviceId d = m.snapshot().port(end).device;
      if (p.device.ok() && !p.port.ok() && (p.device == d || p.device == m.node_of(d))) after_event = true;
    }
  }
  for (std::string_view sign : {"link_flapped", "link_flap"})
    for (const Finding* f : c.found(sign, Where::kEnd)) after_event |= f->since < step + seconds(30);
  return out + (after_event ? 4.5 : -4.0);
}

const char* kOptics =
    "swap the module, then clean and re-measure: the slope follows the module (ageing), a lane's received power recovers after cleaning "
    "(connector), neither after a bounce (bad lock)";

WEFT_REGISTER(causes(), {"link_down",
                         "port down and staying down",
                         {{"link_down", Lift::kLink}},
                         {{"link_down", Where::kEnd, 5.0},
                          {"link_flap", Where::kEnd, -4.0},
                          {"nic_gone", Where::kEnd, -5.0},
                          {"node_down", Where::kEnd, -6.0},
                          {"retransmits", Where::kEnd, 0.3},
                          {"link_flapped", Where::kEnd, 0}},
                         "read the port state at both ends; it stays down after a bounce",
                         4,
                         no_flap,
                         judge_down});

WEFT_REGISTER(causes(), {"link_flap",
                         "port goes down and comes back, again and again",
                         {{"link_flap", Lift::kLink}, {"link_down", Lift::kLink}},  // the first time down looks like staying down
                         {{"link_flap", Where::kEnd, 7.0},
                          {"link_down", Where::kEnd, 2.5},
                          {"link_flapped", Where::kEnd, 0},
                          {"ber_step", Where::kEnd, 0.1},
                          {"rx_errors", Where::kEnd, 0},
                          {"fec_uncorrectable", Where::kEnd, 0.1},
                          {"retransmits", Where::kEnd, 0.3},
                          {"rate_low", Where::kEnd, 0}},
                         "count carrier changes at both ends for ten minutes",
                         1,
                         nullptr,
                         judge_down});

WEFT_REGISTER(causes(), {"link_half_rate",
                         "negotiated less than the built rate",
                         {{"rate_low", Lift::kLink}},
                         {{"rate_low", Where::kEnd, 6.0},
                          {"congestion", Where::kEnd, 0.3},
                          {"pause_received", Where::kEnd, 0.3},
                          {"link_flapped", Where::kEnd, 0},
                          {"link_flap", Where::kEnd, -3.0}},
                         "compare the negotiated rate of both ends with the inventory; reseat and fix auto-negotiation",
                         3,
                         nullptr,
                         scale_out_only});

WEFT_REGISTER(causes(), {"connector_dirty",
                         "less light received at one end, error rate stepped up and stays",
                         {{"rx_power_low", Lift::kLink}},
                         {{"rx_power_low", Where::kEnd, 4.0},
                          {"ber_step", Where::kEnd, 2.0, 0.5},
                          {"rx_errors", Where::kEnd, 0.3},
                          {"fec_uncorrectable", Where::kEnd, 0.3},
                          {"retransmits", Where::kEnd, 0.2},
                          {"tx_power_low", Where::kEnd, -4.0},
                          {"tx_bias_up", Where::kEnd, -4.0},
                          {"ber_slope", Where::kEnd, -1.5},
                          {"module_hot", Where::kEnd, -1.0}},
                         kOptics,
                         3,
                         far_end_seen,
                         scale_out_only});

WEFT_REGISTER(causes(), {"optic_ageing",
                         "laser wears out: bias up, light down, error rate slopes up",
                         {{"ber_slope", Lift::kLink}, {"tx_bias_up", Lift::kLink}, {"tx_power_low", Lift::kLink}},
                         {{"ber_slope", Where::kEnd, 3.5, 1.0},
                          {"tx_bias_up", Where::kEnd, 3.0},
                          {"tx_power_low", Where::kEnd, 2.0},
                          {"rx_power_low", Where::kEnd, 0.3},
                          {"ber_step", Where::kEnd, 0.3},
                          {"rx_errors", Where::kEnd, 0.1},
                          {"fec_uncorrectable", Where::kEnd, 0.1},
                          {"module_hot", Where::kEnd, -2.0}},
                         kOptics,
                         9,
                         nullptr,
                         scale_out_only});

WEFT_REGISTER(causes(), {"link_bad_lock",
                         "came back up with a worse error rate",
                         {{"ber_step", Lift::kLink}},
                         {{"ber_step", Where::kEnd, 2.5},
                          {"link_flapped", Where::kEnd, 0.2},
                          {"rx_errors", Where::kEnd, 0.1},
                          {"fec_uncorrectable", Where::kEnd, 0.1},
                          {"retransmits", Where::kEnd, 0.2},
                          {"rx_power_low", Where::kEnd, -4.0},
                          {"tx_power_low", Where::kEnd, -3.0},
                          {"tx_bias_up", Where::kEnd, -3.0},
                          {"link_flap", Where::kEnd, -3.0}},
                         "bounce the link once more: a good lock brings the old error rate back",
                         4,
                         nullptr,
                         judge_bad_lock});

WEFT_REGISTER(causes(), {"link_one_sided",
                         "one direction is bad, the other clean",
                         {{"rx_errors", Lift::kLink}, {"fec_uncorrectable", Lift::kLink}, {"ber_step", Lift::kLink}},
                         {{"rx_errors", Where::kEnd, 4.0, 1.0},
                          {"fec_uncorrectable", Where::kEnd, 1.5},
                          {"ber_step", Where::kEnd, 0.8},
                          {"retransmits", Where::kEnd, 0.5},
                          {"link_retries", Where::kEnd, 0.3},
                          {"rx_power_low", Where::kEnd, -4.0},
                          {"tx_power_low", Where::kEnd, -3.0},
                          {"tx_bias_up", Where::kEnd, -3.0},
                          {"link_flap", Where::kEnd, -4.0}},
                         "read the error counters of both ends, per direction; transfer both ways one at a time",
                         8,
                         light_seen,
                         judge_one_sided});

WEFT_REGISTER(causes(), {"scale_up_link_down",
                         "scale-up link lost",
                         {{"link_down", Lift::kLink}, {"link_flap", Lift::kLink}},
                         {{"link_down", Where::kEnd, 5.0},
                          {"link_flap", Where::kEnd, 1.0},
                          {"xid_nvlink", Where::kEnd, 1.0},
                          {"scale_up_links_missing", Where::kEnd, 1.0}},
                         "link status of both ends against the table of this model",
                         3,
                         nullptr,
                         judge_up_down});

WEFT_REGISTER(causes(),
              {"scale_up_link_degraded",
               "scale-up link replays",
               {{"link_retries", Lift::kLink}, {"ber_step", Lift::kLink}, {"ber_slope", Lift::kLink}, {"fec_uncorrectable", Lift::kLink}},
               {{"link_retries", Where::kEnd, 4.0},
                {"ber_step", Where::kEnd, 2.5},
                {"ber_slope", Where::kEnd, 2.0},
                {"fec_uncorrectable", Where::kEnd, 1.5},
                {"nvlink_errors", Where::kEnd, 1.5},
                {"xid_nvlink", Where::kEnd, 0.5},
                {"link_down", Where::kEnd, -4.0}},
               "per-link counters at both ends; an all-reduce inside that node alone",
               8,
               nullptr,
               scale_up_only});

}  // namespace
}  // namespace weft::diagnose
