// Switches, NICs and what is configured on them; congestion that no part is guilty of.
#include "diagnose/cause.h"
#include "telemetry/names.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::Network;

bool is(const Case& c, DeviceKind kind) {
  return c.part().device.ok() && c.context().machine.snapshot().device(c.part().device).kind == kind;
}

bool scale_up_switch(const Case& c) {
  if (!is(c, DeviceKind::kSwitch)) return false;
  const Machine& m = c.context().machine;
  for (fabric::LinkId l : m.links_at(c.part().device)) return m.snapshot().link(l).networks & fabric::bit(Network::kScaleUp);
  return false;
}

double judge_switch_crash(const Case& c) { return !is(c, DeviceKind::kSwitch) || scale_up_switch(c) ? -1000 : 0; }
double judge_scale_up_switch(const Case& c) { return scale_up_switch(c) ? 0 : -1000; }
double judge_nic(const Case& c) { return is(c, DeviceKind::kNic) ? 0 : -1000; }

// Retransmits without any counter that would explain them: the smallest switch that all sufferers share and few others use.
double judge_silent_drop(const Case& c) {
  if (!is(c, DeviceKind::kSwitch) || scale_up_switch(c)) return -1000;
  const Machine& m = c.context().machine;
  std::set<DeviceId> suffering;
  for (const auto& [key, live] : c.context().findings.all())
    if (key.first == "retransmits" || key.first == "ack_timeouts")
      if (DeviceId n = m.nic_of(m.part(key.second)); n.ok()) suffering.insert(n);
  if (suffering.size() < 2) return -1.5;
  // NICs below this switch.
  std::set<DeviceId> below;
  for (fabric::LinkId l : m.links_at(c.part().device))
    if (DeviceId n = m.nic_of(Part{.link = l}); n.ok()) below.insert(n);
  if (below.empty()) return suffering.size() >= 3 ? 0.5 : -1;  // a spine: only if many suffer
  double in = 0;
  for (DeviceId n : suffering) in += below.contains(n);
  double share = in / static_cast<double>(below.size()), outside = static_cast<double>(suffering.size()) - in;
  return 2.5 * share - 0.6 * outside;
}

// Comes and goes with another job.
double judge_neighbour(const Case& c) {
  const Machine& m = c.context().machine;
  if (c.part().job < 0) return -1000;
  Instant onset;
  for (std::string_view sign : {"comm_*", "step_slow"})
    for (const Finding* f : c.found(sign, Where::kJob))
      if (onset.ns() == 0 || f->since < onset) onset = f->since;
  if (onset.ns() == 0) return -1000;
  double out = -2.0;
  for (std::size_t j = 0; j < m.jobs().size(); ++j) {
    const RunningJob& other = m.jobs()[j];
    if (static_cast<int>(j) == c.part().job || !other.running) continue;
    // Started about when the trouble began?
    if (other.since > onset - minutes(2) && other.since < onset + minutes(1)) out = std::max(out, 2.5);
  }
  for (const telemetry::Event& e : c.context().log.events)
    if ((e.kind == telemetry::event::kJobStarted || e.kind == telemetry::event::kJobResumed) && e.at > onset - minutes(2) &&
        e.at < onset + minutes(1) && m.part(e.entity).job != c.part().job)
      out = std::max(out, 2.5);
  // Queues and marks on the ways it shares, and nothing broken.
  bool congested = !c.found("congestion", Where::kAnywhere).empty() || !c.found("queue_high", Where::kAnywhere).empty() ||
                   !c.found("paused", Where::kAnywhere).empty();
  if (congested) out += 3.0;
  return out;
}

double judge_ecmp(const Case& c) { return !is(c, DeviceKind::kSwitch) || scale_up_switch(c) ? -1000 : 0; }

WEFT_REGISTER(causes(), {"switch_crash",
                         "switch crashed or rebooted: most ports down in the same second",
                         {{"switch_ports_down", Lift::kSame}, {"switch_restarted", Lift::kSame}},
                         {{"switch_ports_down", Where::kSame, 7.0, 2.0},  // a port group that restarts is no crash of the switch
                          {"switch_restarted", Where::kSame, 2.5},
                          {"link_down", Where::kInside, 0.3},
                          {"link_flap", Where::kInside, 0},
                          {"link_flapped", Where::kInside, 0},
                          {"retransmits", Where::kInside, 0}},
                         "what do all affected ports share? the switch's own log and uptime",
                         2,
                         nullptr,
                         judge_switch_crash});

WEFT_REGISTER(causes(), {"scale_up_switch_failed",
                         "scale-up switch failed: its plane is lost for every card at once",
                         {{"switch_ports_down", Lift::kSame}, {"sxid", Lift::kSame}, {"switch_restarted", Lift::kSame}},
                         {{"switch_ports_down", Where::kSame, 6.0},
                          {"sxid", Where::kSame, 4.5},
                          {"switch_restarted", Where::kSame, 1.0},
                          {"link_down", Where::kInside, 0.5},
                          {"scale_up_links_missing", Where::kInside, 0.5},
                          {"nvlink_errors", Where::kInside, 0.2},
                          {"xid_nvlink", Where::kInside, 0.3}},
                         "do all cards of the domain miss the same plane? (one card only: its link)",
                         3,
                         nullptr,
                         judge_scale_up_switch});

WEFT_REGISTER(causes(), {"nic_failed",
                         "NIC gone: its series stop, its port is down, the node lives",
                         {{"nic_gone", Lift::kSame}},
                         {{"nic_gone", Where::kSame, 6.0},
                          {"link_down", Where::kEnd, 1.5},
                          {"link_flapped", Where::kEnd, 0},
                          {"node_down", Where::kNode, -8.0},
                          {"retransmits", Where::kEnd, 0}},
                         "the device is missing on the bus until a reset; a cable fault leaves the NIC visible",
                         4,
                         nullptr,
                         judge_nic});

WEFT_REGISTER(causes(), {"pfc_storm",
                         "NIC sends pause without end",
                         {{"pause_storm", Lift::kNic}, {"pfc_watchdog", Lift::kNic}},
                         {{"pause_storm", Where::kEnd, 5.0, 1.0},
                          {"pfc_watchdog", Where::kEnd, 3.0},
                          {"pause_sent", Where::kEnd, 0.5},
                          {"pause_received", Where::kEnd, 1.0},
                          {"pause_spread", Where::kAnywhere, 0.2},
                          {"paused", Where::kAnywhere, 0.2},
                          {"discards", Where::kEnd, 0.2},
                          {"congestion", Where::kAnywhere, 0},
                          {"queue_high", Where::kAnywhere, 0},
                          {"pcie_width_low", Where::kNode, -1.0}},
                         "walk towards the port that only receives pause and never had to send; NIC watchdog",
                         4,
                         nullptr,
                         judge_nic});

WEFT_REGISTER(causes(), {"slow_receiver",
                         "receiver's host path slower than the wire",
                         {{"pause_sent", Lift::kNic}},
                         {{"pause_sent", Where::kEnd, 4.5},
                          {"pause_received", Where::kEnd, 0.5},
                          {"paused", Where::kAnywhere, 0.1},
                          {"pause_spread", Where::kAnywhere, 0.1},
                          {"congestion", Where::kAnywhere, 0},
                          {"queue_high", Where::kAnywhere, 0},
                          {"pause_storm", Where::kEnd, -5.0},
                          {"pfc_watchdog", Where::kEnd, -3.0},
                          {"pcie_width_low", Where::kNode, -4.0},
                          {"ecn_no_cnp", Where::kEnd, -2.0},
                          {"fact_ecn", Where::kEnd, -2.0},
                          {"rx_errors", Where::kEnd, -2.0}},
                         "NIC-to-host loopback inside the node: slow there means the host path, fast there the network",
                         10,
                         nullptr,
                         judge_nic});

WEFT_REGISTER(causes(), {"ecn_one_end",
                         "congestion control configured at one end only",
                         {{"ecn_no_cnp", Lift::kNic}, {"fact_ecn", Lift::kNic}},
                         {{"ecn_no_cnp", Where::kEnd, 4.5},
                          {"fact_ecn", Where::kEnd, 5.0},
                          {"config_changed", Where::kEnd, 0.5},
                          {"pause_sent", Where::kEnd, 0.3},
                          {"pause_received", Where::kEnd, 0.3},
                          {"congestion", Where::kAnywhere, 0.2},
                          {"queue_high", Where::kAnywhere, 0.2},
                          {"paused", Where::kAnywhere, 0.1},
                          {"pause_spread", Where::kAnywhere, 0.1},
                          {"fact_trust", Where::kEnd, -2.0}},
                         "compare marked packets, notifications sent and handled along the pair",
                         10,
                         nullptr,
                         judge_nic});

WEFT_REGISTER(causes(), {"qos_trust_lost",
                         "DSCP trust lost: RDMA travels on the lossy priority",
                         {{"prio3_silent", Lift::kNic}, {"fact_trust", Lift::kNic}},
                         {{"prio3_silent", Where::kEnd, 5.0},
                          {"fact_trust", Where::kEnd, 4.5},
                          {"config_changed", Where::kEnd, 0.3},
                          {"node_rebooted", Where::kNode, 0.5},
                          {"discards", Where::kEnd, 0.5},
                          {"retransmits", Where::kEnd, 0.3},
                          {"ack_timeouts", Where::kEnd, 0.2},
                          {"fact_pfc", Where::kEnd, 0.2}},
                         "bytes per priority before and after the reboot of that host",
                         8,
                         nullptr,
                         judge_nic});

WEFT_REGISTER(causes(), {"mtu_black_hole",
                         "MTU smaller on one hop: small messages pass, large ones do not",
                         {{"fact_mtu", Lift::kNic}, {"ack_timeouts", Lift::kNic}},
                         {{"fact_mtu", Where::kEnd, 5.5, 2.0},
                          {"ack_timeouts", Where::kEnd, 1.5},
                          {"retransmits", Where::kEnd, 0.5},
                          {"discards", Where::kEnd, 0.3},
                          {"config_changed", Where::kEnd, 0.5},
                          {"rx_errors", Where::kEnd, -2.0},
                          {"link_down", Where::kEnd, -3.0},
                          {"fact_trust", Where::kEnd, -2.0},
                          {"prio3_silent", Where::kEnd, -3.0}},
                         "send several sizes with do-not-fragment; read the MTU at both ends of every hop",
                         8,
                         nullptr,
                         judge_nic});

WEFT_REGISTER(causes(),
              {"silent_drop",
               "switch drops without counting",
               {{"probe_loss", Lift::kSame}, {"retransmits", Lift::kSwitch}, {"ack_timeouts", Lift::kSwitch}},
               {{"probe_loss", Where::kSame, 5.0},
                {"retransmits", Where::kJob, 0},  // of flows that cross it further up
                {"ack_timeouts", Where::kJob, 0},
                {"retransmits", Where::kInside, 2.5, 0.5},
                {"ack_timeouts", Where::kInside, 1.5},
                {"rx_errors", Where::kInside, -4.0},
                {"fec_uncorrectable", Where::kInside, -3.0},
                {"ber_step", Where::kInside, -2.0},
                {"discards", Where::kInside, -2.5},
                {"link_flap", Where::kInside, -4.0},
                {"link_down", Where::kInside, -4.0},
                {"fact_mtu", Where::kAnywhere, -4.0},
                {"prio3_silent", Where::kAnywhere, -3.0},
                {"fact_trust", Where::kAnywhere, -3.0},
                {"pause_storm", Where::kAnywhere, -3.0},
                {"switch_ports_down", Where::kSame, -4.0}},
               "probes of several sizes along each path, at least ten a second per link: which element do all losing paths share?",
               20,
               nullptr,
               judge_silent_drop});

WEFT_REGISTER(causes(), {"ecmp_collision",
                         "flows collide on few uplinks while siblings idle",
                         {{"uplinks_uneven", Lift::kSame}},
                         {{"uplinks_uneven", Where::kSame, 4.0},
                          {"queue_high", Where::kInside, 0.7},
                          {"congestion", Where::kInside, 0.7},
                          {"paused", Where::kAnywhere, 0.1},
                          {"pause_spread", Where::kInside, 0.1},
                          {"rate_low", Where::kInside, -4.0},
                          {"link_down", Where::kInside, -3.0},
                          {"rx_errors", Where::kInside, -2.0}},
                         "variance over the uplinks; changes with other source ports or another start of the job",
                         20,
                         nullptr,
                         judge_ecmp});

WEFT_REGISTER(causes(), {"neighbour_interference",
                         "another job's traffic on shared links",
                         {{"comm_*", Lift::kJob}, {"congestion", Lift::kJob}, {"queue_high", Lift::kJob}},
                         {{"comm_*", Where::kJob, 2.0, 1.0},       {"congestion", Where::kJob, 1.0},
                          {"queue_high", Where::kJob, 1.0},        {"paused", Where::kJob, 0.5},
                          {"pause_spread", Where::kJob, 0.2},      {"pause_received", Where::kJob, 0},
                          {"uplinks_uneven", Where::kJob, -1.5},   {"rank_late", Where::kJob, -2.5},
                          {"node_late", Where::kJob, -2.5},        {"rx_errors", Where::kJob, -3.0},
                          {"retransmits", Where::kJob, -0.5},      {"link_down", Where::kJob, -4.0},
                          {"link_flap", Where::kJob, -4.0},        {"rate_low", Where::kJob, -4.0},
                          {"pause_storm", Where::kAnywhere, -4.0}, {"pause_sent", Where::kJob, -3.0},
                          {"link_retries", Where::kJob, -3.0},     {"nvlink_errors", Where::kJob, -3.0},
                          {"prio3_silent", Where::kJob, -4.0},     {"fact_*", Where::kJob, -3.0},
                          {"imbalance_up", Where::kJob, -3.0},     {"algorithm_changed", Where::kJob, -4.0},
                          {"ecn_no_cnp", Where::kJob, -3.0},       {"pcie_width_low", Where::kJob, -4.0},
                          {"thermal_throttle", Where::kJob, -4.0}, {"power_brake", Where::kJob, -4.0},
                          {"ber_step", Where::kJob, -2.0},         {"job_misplaced", Where::kJob, -2.0}},
                         "the other job's traffic over time: does the trouble begin and end with it?",
                         25,
                         nullptr,
                         judge_neighbour});

}  // namespace
}  // namespace weft::diagnose
