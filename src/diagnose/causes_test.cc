// One scene per fault class: what a real site would show, and the answer. Look-alikes and decoys stand beside their class.
#include "diagnose/cause.h"
#include "diagnose/scene_for_test.h"

namespace weft::diagnose {
namespace {

std::string first(const std::vector<Diagnosis>& d) {
  for (const Diagnosis& x : d)
    if (!x.over && !x.causes.empty()) return x.causes[0].fault + " " + x.causes[0].entity;
  return "nothing";
}
int open_count(const std::vector<Diagnosis>& d) {
  int n = 0;
  for (const Diagnosis& x : d) n += !x.over && x.severity > telemetry::Severity::kInfo;
  return n;
}

// A quiet site with two jobs; exceptions are written after.
constexpr const char* kQuiet = R"(
series up sn1/node* : 0 1
series node_infiniband_state_id sn1/node*/nic* : 0 4
series node_infiniband_rate_bytes_per_second sn1/node*/nic* : 0 5e10
series SAI_PORT_OPER_STATUS leaf*:* : 0 1
series DCGM_FI_DEV_GPU_TEMP sn1/node*/card* : 0 62 ~0.01
series DCGM_FI_DEV_SM_CLOCK sn1/node*/card* : 0 1755 ~0.004
series DCGM_FI_DEV_POWER_USAGE sn1/node*/card* : 0 620 ~0.02
series DCGM_FI_DEV_POWER_MGMT_LIMIT sn1/node*/card* : 0 700
series DCGM_FI_DEV_CLOCK_THROTTLE_REASONS sn1/node*/card* : 0 4
series DCGM_FI_DEV_PCIE_LINK_WIDTH sn1/node*/card* : 0 16
series DCGM_FI_DEV_ECC_SBE_VOL_TOTAL sn1/node*/card* : 0 +0
series DCGM_FI_DEV_ECC_DBE_VOL_TOTAL sn1/node*/card* : 0 +0
series DCGM_FI_DEV_FB_USED sn1/node*/card* : 0 61000 ~0.001
series DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL sn1/node*/card* : 0 +0
series FEC_PRE_BER leaf*:* : 0 3e-9 ~0.15
series FEC_PRE_BER sn1/node*/nic*:p0 : 0 2e-10 ~0.15
series FEC_UNCORR leaf*:* : 0 +0
series sfp_rx_power_dbm leaf*:* : 0 -2.1 ~0.01
series sfp_tx_power_dbm leaf*:* : 0 -1.5 ~0.01
series sfp_tx_bias_ma leaf*:* : 0 7.2 ~0.005
series sfp_temperature_celsius leaf*:* : 0 48 ~0.01
series SAI_PORT_STAT_IF_IN_ERRORS leaf*:* : 0 +0
series node_infiniband_port_errors_received_total sn1/node*/nic* : 0 +0
series node_infiniband_out_of_sequence_total sn1/node*/nic* : 0 +0
series node_infiniband_local_ack_timeout_err_total sn1/node*/nic* : 0 +0
series node_ethtool_tx_prio3_pause_duration_seconds_total sn1/node*/nic* : 0 +0.004 ~0.3
series node_ethtool_tx_prio0_bytes_total sn1/node*/nic* : 0 +2e6 ~0.1
series node_ethtool_tx_prio3_bytes_total sn1/node*/nic* : 0 +9e9 ~0.1
series node_infiniband_np_ecn_marked_roce_packets_total sn1/node*/nic* : 0 +300 ~0.2
series node_infiniband_np_cnp_sent_total sn1/node*/nic* : 0 +250 ~0.2
series node_cpu_scaling_frequency_hertz sn1/node* : 0 3.1e9 ~0.01
series redfish_thermal_temperatures_reading_celsius sn1/node* : 0 24 ~0.005
series redfish_thermal_fans_reading_rpm sn1/node* : 0 8200 ~0.01
series redfish_power_powersupplies_healthy sn1/node* : 0 6
series weft_telemetry_rack_power_watts rack* : 0 21000 ~0.01
series weft_telemetry_rack_power_cap_watts rack* : 0 33000
series weft_telemetry_coolant_flow_lpm cdu1 : 0 240 ~0.01
series weft_telemetry_coolant_pressure_kpa cdu1 : 0 180 ~0.01
series weft_telemetry_coolant_supply_celsius cdu1 : 0 30 ~0.004
series weft_telemetry_coolant_return_celsius cdu1 : 0 40 ~0.005
series weft_telemetry_pump_rpm cdu1 : 0 3000 ~0.005
series weft_telemetry_leak_detected rack* : 0 0
series weft_telemetry_storage_read_latency_seconds storage1 : 0 0.004 ~0.1
)";

// Per-step series of a job with `ranks` ranks, a step every `step` seconds.
std::string steps(const std::string& job, int ranks, double step = 2, const std::string& step_series = "0 2.0 ~0.004",
                  const std::string& compute = "0 1.4 ~0.006") {
  std::string e = "job/" + job, every = " every=" + std::to_string(step).substr(0, 1), out;
  out += "series weft_job_step_seconds " + e + every + " : " + step_series + "\n";
  out += "series weft_job_compute_seconds " + e + every + " : 0 1.4 ~0.003\n";
  out += "series weft_job_data_seconds " + e + every + " : 0 0.02 ~0.1\n";
  for (const char* dim : {"tp", "dp"}) out += "series weft_job_comm_seconds " + e + every + " labels=dim=" + dim + " : 0 0.2 ~0.02\n";
  for (int r = 0; r < ranks; ++r)
    out += "series weft_job_rank_compute_seconds " + e + every + " labels=rank=" + std::to_string(r) + " : " + compute + "\n";
  return out;
}

struct Site : Scene {
  Site() {
    job("a", 0, {.tp = 8, .dp = 2});
    job("b", 16, {.tp = 8, .dp = 2});
    text(kQuiet);
    text(steps("a", 16));
    text(steps("b", 16));
    facts("driver_version", "sn1/node", 4, "550.90");
    for (const char* f : {"mtu 9000", "ecn_enabled true", "qos_trust dscp"})
      for (int n = 1; n <= 4; ++n)
        for (int k = 0; k < 2; ++k) {
          std::string_view s = f;
          text("fact 0 " + std::string(s.substr(0, s.find(' '))) + " sn1/node" + std::to_string(n) + "/nic" + std::to_string(k) + " " +
               std::string(s.substr(s.find(' ') + 1)));
        }
  }
  void facts(const std::string& key, const std::string& stem, int n, const std::string& value) {
    for (int i = 1; i <= n; ++i) text("fact 0 " + key + " " + stem + std::to_string(i) + " " + value);
  }
  std::string far(const std::string& nic) {
    auto d = *snapshot().find_device(nic);
    for (fabric::PortId p : snapshot().ports_of(d))
      if (snapshot().port(p).link.ok() && snapshot().link(snapshot().port(p).link).networks & fabric::bit(fabric::Network::kScaleOut))
        return snapshot().name(snapshot().peer(p));
    return "";
  }
  std::string link(const std::string& nic) { return link_name(far(nic)); }
};

TEST(DiagnoseCauses, EveryClassHasACauseAndEveryCauseAClass) {
  std::set<std::string> known;
  for (const CauseEntry& c : causes().entries()) {
    EXPECT_NE(find_fault_class(c.name), nullptr) << c.name;
    EXPECT_FALSE(c.settling_test.empty()) << c.name;
    EXPECT_FALSE(c.triggers.empty()) << c.name;
    known.insert(c.name);
  }
  for (const FaultClass& f : fault_classes()) EXPECT_TRUE(known.contains(std::string(f.id))) << f.id;
}

TEST(DiagnoseCauses, QuietSiteIsQuiet) {
  Site s;
  for (double t = 60; t <= 900; t += 60) EXPECT_EQ(open_count(s.run(t)), 0) << t << " " << s.story();
}

TEST(DiagnoseCauses, CardOffTheBus) {
  Site s;
  s.text("event 300 xid sn1/node2/card3 79");
  for (const char* m : {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_POWER_USAGE"})
    s.text(std::string("series ") + m + " sn1/node2/card3 : 0 62 | 300 stop");
  EXPECT_EQ(first(s.run(310)), "card_off_bus sn1/node2/card3") << s.story();
}

TEST(DiagnoseCauses, SilentCardWithoutLine) {
  Site s;
  for (const char* m : {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_POWER_USAGE"})
    s.text(std::string("series ") + m + " sn1/node2/card3 : 0 62 | 300 stop");
  EXPECT_EQ(first(s.run(320)), "card_off_bus sn1/node2/card3") << s.story();
}

TEST(DiagnoseCauses, UncorrectableMemory) {
  Site s;
  s.text(
      "event 300 xid sn1/node2/card3 48\nseries DCGM_FI_DEV_ECC_DBE_VOL_TOTAL sn1/node2/card3 : 0 +0 | 300 +1 | 301 +0\nseries "
      "DCGM_FI_DEV_ROW_REMAP_PENDING sn1/node2/card3 : 0 0 | 301 1");
  auto d = s.run(306);
  EXPECT_EQ(first(d), "hbm_uncorrectable sn1/node2/card3") << s.story();
  ASSERT_FALSE(d.empty());
  ASSERT_FALSE(d[0].causes[0].impact.empty());
  EXPECT_EQ(d[0].causes[0].impact[0].groups, (std::vector<std::string>{"tp1", "dp3"}));
}

TEST(DiagnoseCauses, ApplicationXidIsNobodysHardware) {
  Site s;
  s.text("event 300 xid sn1/node2/card3 31\nevent 300 xid sn1/node2/card4 43");
  EXPECT_EQ(open_count(s.run(330)), 0) << s.story();
}

TEST(DiagnoseCauses, CorrectableStormIsARateNotATotal) {
  Site s;
  s.text("series DCGM_FI_DEV_ECC_SBE_VOL_TOTAL sn1/node1/card1 : 0 +0 | 300 +0.5");
  EXPECT_EQ(open_count(s.run(299)), 0);
  EXPECT_EQ(first(s.run(420)), "ecc_storm sn1/node1/card1") << s.story();
}

TEST(DiagnoseCauses, OneHotCard) {
  Site s;
  s.text(
      "series DCGM_FI_DEV_GPU_TEMP sn1/node1/card5 : 0 62 ~0.01 | 300 62>88@420\nseries DCGM_FI_DEV_CLOCK_THROTTLE_REASONS sn1/node1/card5 "
      ": 0 4 | 400 72\nseries DCGM_FI_DEV_SM_CLOCK sn1/node1/card5 : 0 1755 ~0.004 | 400 1755>1200@440");
  EXPECT_EQ(first(s.run(470)), "card_thermal sn1/node1/card5") << s.story();
}

TEST(DiagnoseCauses, BlockedColdPlateHeatsBeforeItThrottles) {
  Site s;
  s.text("series DCGM_FI_DEV_GPU_TEMP sn1/node1/card5 : 0 62 ~0.01 | 300 62>76@400");
  EXPECT_EQ(first(s.run(450)), "cold_plate_blocked sn1/node1/card5") << s.story();
}

// A card that draws more because its peers wait for it is warmer than they, but not for its power.
TEST(DiagnoseCauses, HeatThatPowerExplainsIsNoFault) {
  Site s;
  s.text(
      "series DCGM_FI_DEV_GPU_TEMP sn1/node*/card* : 0 62 ~0.005 | 300 62>50@340\n"
      "series DCGM_FI_DEV_POWER_USAGE sn1/node*/card* : 0 620 ~0.01 | 300 620>400@340\n"
      "series DCGM_FI_DEV_GPU_TEMP sn1/node1/card5 : 0 62 ~0.005\n"
      "series DCGM_FI_DEV_POWER_USAGE sn1/node1/card5 : 0 620 ~0.01");
  EXPECT_EQ(open_count(s.run(600)), 0) << s.story();
}

// Facts: +5 to +20 C over its peers. Half of the middle is seen too, when the rise is the card's own.
TEST(DiagnoseCauses, MildBlockedColdPlate) {
  Site s;
  s.text("series DCGM_FI_DEV_GPU_TEMP sn1/node1/card5 : 0 62 ~0.01 | 900 62>68.5@960");
  EXPECT_EQ(first(s.run(1200)), "cold_plate_blocked sn1/node1/card5") << s.story();
}

TEST(DiagnoseCauses, CoolantFlowExplainsEveryHotCard) {
  Site s;
  s.text(
      "series weft_telemetry_coolant_flow_lpm cdu1 : 0 240 ~0.01 | 300 120 ~0.01\nseries weft_telemetry_coolant_return_celsius cdu1 : 0 40 "
      "| 310 40>52@340");
  s.text(
      "series DCGM_FI_DEV_GPU_TEMP sn1/node*/card* : 0 62 ~0.01 | 305 62>90@340\nseries DCGM_FI_DEV_CLOCK_THROTTLE_REASONS sn1/node*/card* "
      ": 0 4 | 330 72\nseries DCGM_FI_DEV_SM_CLOCK sn1/node*/card* : 0 1755 ~0.004 | 335 1100 ~0.01");
  auto d = s.run(380);
  EXPECT_EQ(first(d), "coolant_flow_loss cdu1") << s.story();
  EXPECT_EQ(open_count(d), 1) << s.story();
}

TEST(DiagnoseCauses, BrakeOnEightCardsIsThePowerSupply) {
  Site s;
  s.text(
      "series redfish_power_powersupplies_healthy sn1/node3 : 0 6 | 300 4\nevent 300 psu_failed sn1/node3\nseries "
      "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS sn1/node3/card* : 0 4 | 300 136\nseries DCGM_FI_DEV_SM_CLOCK sn1/node3/card* : 0 1755 ~0.004 | "
      "300 870 ~0.004\nseries DCGM_FI_DEV_GPU_TEMP sn1/node3/card* : 0 62 ~0.01 | 300 62>48@400");
  auto d = s.run(340);
  EXPECT_EQ(first(d), "psu_failed sn1/node3") << s.story();
  EXPECT_EQ(open_count(d), 1) << s.story();
}

TEST(DiagnoseCauses, RackCap) {
  Site s;
  s.text(
      "series weft_telemetry_rack_power_cap_watts rack2 : 0 33000 | 300 17000\nseries weft_telemetry_rack_power_watts rack2 : 0 21000 "
      "~0.01 | 300 16980 ~0.0005");
  EXPECT_EQ(first(s.run(340)), "rack_power_cap rack2") << s.story();
}

TEST(DiagnoseCauses, RoomGetsWarm) {
  Site s;
  s.text(
      "series redfish_thermal_temperatures_reading_celsius sn1/node1 : 0 24 ~0.005 | 1200 24>32@1800\nseries "
      "redfish_thermal_temperatures_reading_celsius sn1/node2 : 0 24 ~0.005 | 1200 24>32@1800");
  EXPECT_EQ(open_count(s.run(1199)), 0) << s.story();
  EXPECT_EQ(first(s.run(1800)), "inlet_temp_rise rack1") << s.story();
}

TEST(DiagnoseCauses, FanAndLeak) {
  {
    Site s;
    s.text("series redfish_thermal_fans_reading_rpm sn1/node2 : 0 8200 ~0.01 | 300 900");
    EXPECT_EQ(first(s.run(330)), "fan_failed sn1/node2") << s.story();
  }
  Site s;
  s.text("series weft_telemetry_leak_detected rack1 : 0 0 | 300 1\nevent 300 leak_detected rack1");
  EXPECT_EQ(first(s.run(306)), "leak rack1") << s.story();
}

TEST(DiagnoseCauses, NodeDownTakesItsSymptomsAlong) {
  Site s;
  s.text("series up sn1/node4 : 0 1 | 300 0\nseries weft_job_step_seconds job/b every=2 : 0 2.0 ~0.004 | 300 stop");
  for (const char* nic : {"sn1/node4/nic0", "sn1/node4/nic1"})
    s.text("series SAI_PORT_OPER_STATUS " + s.far(nic) + " : 0 1 | 300 2\nseries node_infiniband_state_id " + std::string(nic) +
           " : 0 4 | 300 stop");
  for (const char* m : {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_POWER_USAGE"})
    s.text(std::string("series ") + m + " sn1/node4/card* : 0 62 | 300 stop");
  auto d = s.run(310);
  EXPECT_EQ(first(d), "node_crash sn1/node4") << s.story();
  EXPECT_EQ(open_count(d), 1) << s.story();
}

TEST(DiagnoseCauses, DeadExporterIsNotADeadNode) {
  Site s;
  s.text("series up sn1/node4 : 0 1 | 300 0");
  for (const char* m : {"DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_POWER_USAGE"})
    s.text(std::string("series ") + m + " sn1/node4/card* : 0 62 | 300 stop");
  auto d = s.run(330);
  EXPECT_NE(first(d), "node_crash sn1/node4") << s.story();
  EXPECT_EQ(open_count(d), 0) << s.story();
}

// Ports up, exporters silent: the job decides. It stops: the node is dead, though its links still shine (a hung kernel).
TEST(DiagnoseCauses, SilentNodeWhoseJobStopsIsDead) {
  Site s;
  s.text("series up sn1/node4 : 0 1 | 300 0\nseries weft_job_step_seconds job/b every=2 : 0 2.0 ~0.004 | 300 stop");
  auto early = s.run(305);
  EXPECT_NE(first(early), "node_crash sn1/node4") << s.story();  // its job has not had time to say anything
  auto d = s.run(320);
  EXPECT_EQ(first(d), "node_crash sn1/node4") << s.story();
}

TEST(DiagnoseCauses, SwitchCrashIsOneIncident) {
  Site s;
  s.text("series SAI_PORT_OPER_STATUS leaf1:* : 0 1 | 300 stop");
  for (int n = 1; n <= 4; ++n)
    for (int k = 0; k < 2; ++k) {
      std::string nic = "sn1/node" + std::to_string(n) + "/nic" + std::to_string(k);
      if (s.far(nic).starts_with("leaf1:")) s.text("series node_infiniband_state_id " + nic + " : 0 4 | 300 1\nevent 300 link_down " + nic);
    }
  for (const char* spine : {"spine1", "spine2"}) {
    auto d = *s.snapshot().find_device(spine);
    for (fabric::PortId p : s.snapshot().ports_of(d))
      if (fabric::PortId far = s.snapshot().peer(p); far.ok() && s.snapshot().name(far).starts_with("leaf1:"))
        s.text("event 300 link_down " + s.snapshot().name(p));
  }
  auto d = s.run(308);
  EXPECT_EQ(first(d), "switch_crash leaf1") << s.story();
  EXPECT_EQ(open_count(d), 1) << s.story();
}

TEST(DiagnoseCauses, NicGone) {
  Site s;
  for (const char* m : {"node_infiniband_state_id", "node_infiniband_rate_bytes_per_second"})
    s.text(std::string("series ") + m + " sn1/node1/nic1 : 0 4 | 300 stop");
  s.text("series SAI_PORT_OPER_STATUS " + s.far("sn1/node1/nic1") + " : 0 1 | 300 2");
  EXPECT_EQ(first(s.run(315)), "nic_failed sn1/node1/nic1") << s.story();
}

TEST(DiagnoseCauses, ErrorRateLookAlikes) {
  {
    Site s;  // dirty: light lost at the receiving end, a step
    std::string p = s.far("sn1/node2/nic0");
    s.text("series FEC_PRE_BER " + p + " : 0 3e-9 ~0.15 | 300 1.5e-7 ~0.15\nseries sfp_rx_power_dbm " + p +
           " : 0 -2.1 ~0.01 | 300 -4.6 ~0.01");
    EXPECT_EQ(first(s.run(360)), "connector_dirty " + s.link("sn1/node2/nic0")) << s.story();
  }
  {
    Site s;  // bad lock: the step follows a flap
    std::string p = s.far("sn1/node2/nic0");
    s.text("series FEC_PRE_BER " + p + " : 0 3e-9 ~0.15 | 302 1e-7 ~0.15\nseries SAI_PORT_OPER_STATUS " + p +
           " : 0 1 | 299 2 | 301 1\nevent 299 link_down " + p + "\nevent 301 link_up " + p);
    EXPECT_EQ(first(s.run(360)), "link_bad_lock " + s.link("sn1/node2/nic0")) << s.story();
  }
  {
    Site s;  // one direction: CRC errors at the switch, the NIC is clean
    std::string p = s.far("sn1/node2/nic0");
    s.text("series SAI_PORT_STAT_IF_IN_ERRORS " + p + " : 0 +0 | 300 +40\nseries FEC_UNCORR " + p +
           " : 0 +0 | 300 +15\nseries node_infiniband_out_of_sequence_total sn1/node1/nic0 : 0 +0 | 300 +60");
    EXPECT_EQ(first(s.run(340)), "link_one_sided " + s.link("sn1/node2/nic0")) << s.story();
  }
  {
    Site s;  // ageing: a slope over hours with rising bias
    std::string p = s.far("sn1/node2/nic0");
    s.text("series FEC_PRE_BER " + p + " : 0 3e-9 ~0.1 | 600 3e-9>1e-7@6000\nseries sfp_tx_bias_ma " + p +
           " : 0 7.2 ~0.003 | 600 7.2>9.4@6000");
    EXPECT_EQ(first(s.run(6000)), "optic_ageing " + s.link("sn1/node2/nic0")) << s.story();
  }
}

// Scraped every ten seconds: light and error rate of one port that jump in the same scrape are enough.
TEST(DiagnoseCauses, DirtyConnectorIsFoundInTheFirstScrape) {
  Site s;
  std::string p = s.far("sn1/node1/nic0");
  s.text(
      "series FEC_PRE_BER leaf*:* every=10 : 0 3e-9 ~0.15\nseries sfp_rx_power_dbm leaf*:* every=10 : 0 -2.1 ~0.01\n"
      "series FEC_PRE_BER " +
      p + " every=10 : 0 3e-9 ~0.15 | 240 4e-7 ~0.15\nseries sfp_rx_power_dbm " + p + " every=10 : 0 -2.1 ~0.01 | 240 -4.6 ~0.01");
  EXPECT_EQ(first(s.run(245)), "connector_dirty " + s.link("sn1/node1/nic0")) << s.story();
  ASSERT_TRUE(s.settled().has_value()) << s.story();
}

TEST(DiagnoseCauses, BringUpResidueIsNormal) {
  Site s;
  s.text("series FEC_UNCORR " + s.far("sn1/node2/nic0") + " : 0 +0 | 30 +4 | 31 +0");
  EXPECT_EQ(open_count(s.run(100)), 0) << s.story();
}

TEST(DiagnoseCauses, PauseDirection) {
  {
    Site s;
    s.text("series node_ethtool_tx_prio3_pause_duration_seconds_total sn1/node2/nic1 : 0 +0.004 | 300 +0.95\nevent 304 pfc_watchdog " +
           s.far("sn1/node2/nic1"));
    EXPECT_EQ(first(s.run(330)), "pfc_storm sn1/node2/nic1") << s.story();
  }
  {
    Site s;
    s.text("series node_ethtool_tx_prio3_pause_duration_seconds_total sn1/node2/nic1 : 0 +0.004 | 300 +0.25 ~0.1");
    EXPECT_EQ(first(s.run(330)), "slow_receiver sn1/node2/nic1") << s.story();
  }
  Site s;  // the same pause, but the slot is narrow
  s.text(
      "series node_ethtool_tx_prio3_pause_duration_seconds_total sn1/node2/nic1 : 0 +0.004 | 300 +0.25 ~0.1\nseries "
      "DCGM_FI_DEV_PCIE_LINK_WIDTH sn1/node2/card6 : 0 16 | 298 8");
  EXPECT_EQ(first(s.run(330)), "pcie_downgrade sn1/node2/card6") << s.story();
}

TEST(DiagnoseCauses, PauseAlikeOnAllRailsIsTraffic) {
  Site s;
  s.text("series node_ethtool_tx_prio3_pause_duration_seconds_total sn1/node*/nic* : 0 +0.004 | 300 +0.12 ~0.1");
  EXPECT_EQ(open_count(s.run(400)), 0) << s.story();
}

TEST(DiagnoseCauses, Configuration) {
  {
    Site s;
    s.text("fact 300 mtu sn1/node3/nic0 1500\nseries node_infiniband_local_ack_timeout_err_total sn1/node3/nic0 : 0 +0 | 300 +8");
    EXPECT_EQ(first(s.run(330)), "mtu_black_hole sn1/node3/nic0") << s.story();
  }
  {
    Site s;
    s.text(
        "series node_ethtool_tx_prio0_bytes_total sn1/node3/nic0 : 0 +2e6 | 300 +9e9\nseries node_ethtool_tx_prio3_bytes_total "
        "sn1/node3/nic0 : 0 +9e9 | 300 +0\nfact 300 qos_trust sn1/node3/nic0 pcp");
    EXPECT_EQ(first(s.run(330)), "qos_trust_lost sn1/node3/nic0") << s.story();
  }
  {
    Site s;
    s.text("series node_infiniband_np_cnp_sent_total sn1/node3/nic0 : 0 +250 | 300 +0\nfact 300 ecn_enabled sn1/node3/nic0 false");
    EXPECT_EQ(first(s.run(400)), "ecn_one_end sn1/node3/nic0") << s.story();
  }
  {
    Site s;
    s.text("fact 300 driver_version sn1/node2 535.54");
    EXPECT_EQ(first(s.run(330)), "driver_mismatch sn1/node2") << s.story();
  }
  {
    Site s;
    s.text(
        "fact 0 cpu_governor sn1/node1 performance\nfact 0 cpu_governor sn1/node2 performance\nfact 0 cpu_governor sn1/node3 "
        "performance\nfact 0 cpu_governor sn1/node4 performance\nfact 300 cpu_governor sn1/node2 powersave\nseries "
        "node_cpu_scaling_frequency_hertz sn1/node2 : 0 3.1e9 ~0.01 | 300 1.2e9 ~0.05");
    EXPECT_EQ(first(s.run(330)), "cpu_governor sn1/node2") << s.story();
  }
  Site s;
  s.text("series DCGM_FI_DEV_POWER_MGMT_LIMIT sn1/node2/card1 : 0 700 | 300 500");
  EXPECT_EQ(first(s.run(330)), "power_cap_wrong sn1/node2/card1") << s.story();
}

TEST(DiagnoseCauses, SilentSlowCardByItsLateness) {
  Site s;
  s.text("series weft_job_rank_compute_seconds job/a every=2 labels=rank=5 : 0 1.4 ~0.006 | 300 1.48 ~0.006");
  EXPECT_EQ(open_count(s.run(299)), 0) << s.story();
  EXPECT_EQ(first(s.run(400)), "card_slow_silent sn1/node1/card5") << s.story();
}

// Slow since a moment before the job was moved off another node: this run knows no better, the run before does.
TEST(DiagnoseCauses, SlowCardAcrossARestart) {
  Site s;
  std::string on = "run on ", moved;
  for (int r = 0; r < 16; ++r) {
    std::string card = "sn1/node" + std::to_string(1 + r / 8) + "/card" + std::to_string(r % 8);
    on += (r ? "," : "") + card;
  }
  s.text("event 2 job_started job/a - " + on);
  for (int r = 0; r < 16; ++r) {
    std::string label = " every=2 labels=rank=" + std::to_string(r);
    s.text("series weft_job_rank_compute_seconds job/a" + label + " : 0 1.4 ~0.004 | 300 stop | 350 " + (r == 5 ? "1.5" : "1.4") +
           " ~0.004");
  }
  s.text("event 340 job_resumed job/a 7 " + on);
  EXPECT_EQ(first(s.run(480)), "card_slow_silent sn1/node1/card5") << s.story();
}

TEST(DiagnoseCauses, ConstantOffsetIsNotAnEvent) {
  Site s;
  s.text("series weft_job_rank_compute_seconds job/a every=2 labels=rank=5 : 0 1.54 ~0.006");
  EXPECT_EQ(open_count(s.run(600)), 0) << s.story();
}

TEST(DiagnoseCauses, WholeNodeLateWithTakenMemory) {
  Site s;
  for (int r = 8; r < 16; ++r)
    s.text("series weft_job_rank_compute_seconds job/a every=2 labels=rank=" + std::to_string(r) + " : 0 1.4 ~0.006 | 300 1.6 ~0.01");
  s.text("series DCGM_FI_DEV_FB_USED sn1/node2/card* : 0 61000 ~0.001 | 300 67000 ~0.001");
  EXPECT_EQ(first(s.run(400)), "stray_process sn1/node2") << s.story();
}

TEST(DiagnoseCauses, HungRankIsTheOneBehind) {
  Site s;
  for (int r = 0; r < 16; ++r)
    s.text("series weft_job_rank_collectives_total job/a labels=rank=" + std::to_string(r) +
           (r == 9 ? " : 0 +40 | 300 +0" : " : 0 +40 | 301 +0"));
  s.text("series weft_job_step_seconds job/a every=2 : 0 2.0 ~0.004 | 300 stop");
  for (int r = 0; r < 16; ++r)
    if (r != 9) s.text("event 330 nccl_watchdog sn1/node" + std::to_string(1 + r / 8) + "/card" + std::to_string(r % 8));
  EXPECT_EQ(first(s.run(340)), "rank_hung sn1/node2/card1") << s.story();
}

TEST(DiagnoseCauses, DataAndExperts) {
  {
    Site s;
    s.text(
        "series weft_job_data_seconds job/a every=2 : 0 0.02 ~0.1 | 300 0.6 ~0.1\nseries weft_telemetry_storage_read_latency_seconds "
        "storage1 : 0 0.004 ~0.1 | 300 0.05 ~0.1");
    EXPECT_EQ(first(s.run(360)), "slow_data_loading storage1") << s.story();
  }
  Site s;
  s.text("series weft_job_expert_tokens_max_over_mean job/b every=2 : 0 1.2 ~0.03 | 300 2.3 ~0.05");
  EXPECT_EQ(first(s.run(360)), "expert_imbalance job/b") << s.story();
}

// Loss in a spine shows at every NIC alike; only the probes know the way.
TEST(DiagnoseCauses, SilentDropInASpineByItsProbes) {
  for (std::string bad : {"spine2", "leaf1"}) {
    Scene s("pod-144");
    s.job("a", 0, {.tp = 8, .dp = 16});
    std::string hit = bad == "spine2" ? "sn*/node*/nic*" : "sn1/node*/nic0";
    s.text(
        "series node_infiniband_out_of_sequence_total sn*/node*/nic* : 0 +0\nseries weft_telemetry_path_probe_loss_ratio leaf*:* every=10 "
        ": 0 0\n"
        "series weft_telemetry_path_probe_loss_ratio spine*:* every=10 : 0 0\nseries weft_telemetry_path_probe_loss_ratio spine1:3 "
        "every=10 : 0 "
        "0.01\nseries node_infiniband_out_of_sequence_total " +
        hit + " : 0 +0 | 300 +30 ~0.1\nseries weft_telemetry_path_probe_loss_ratio " + bad + ":* every=10 : 0 0 | 300 0.001 ~0.1");
    EXPECT_EQ(first(s.run(380)), "silent_drop " + bad) << s.story();
  }
}

TEST(DiagnoseCauses, UplinksCollideAtALeafAndDownlinksAtASpine) {
  for (std::string port : {"leaf1:40", "spine2:3", "st-leaf1:20"}) {
    Scene s("pod-144");
    std::string sw = port.substr(0, port.find(':'));
    auto d = *s.snapshot().find_device(sw);
    for (fabric::PortId p : s.snapshot().ports_of(d)) {
      fabric::PortId far = s.snapshot().port(p).link.ok() ? s.snapshot().peer(p) : fabric::PortId{};
      if (!far.ok() || s.snapshot().device(s.snapshot().port(far).device).kind != fabric::DeviceKind::kSwitch) continue;
      if (s.snapshot().link(s.snapshot().port(p).link).spare) continue;
      port = s.snapshot().name(p);
      s.text("series SAI_PORT_STAT_IF_OUT_OCTETS " + port + " : 0 +6e9 ~0.1");
      s.text("series SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS " + port + " : 0 +0");
    }
    EXPECT_EQ(open_count(s.run(200)), 0) << s.story();
    s.text("series SAI_PORT_STAT_IF_OUT_OCTETS " + port + " : 0 +6e9 ~0.1 | 201 +4.8e10 ~0.02");
    s.text("series SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS " + port + " : 0 +0 | 201 +2000 ~0.1");
    EXPECT_EQ(first(s.run(270)), "ecmp_collision " + sw) << s.story();
  }
}

// A port group that restarts after an update takes one link along, not the switch.
TEST(DiagnoseCauses, RestartedPortGroupIsNoSwitchCrash) {
  Site s;
  std::string port = s.far("sn1/node1/nic0"), sw = port.substr(0, port.find(':'));
  s.text("series node_infiniband_state_id sn1/node1/nic0 : 0 4 | 300 1 | 304 4\nseries SAI_PORT_OPER_STATUS " + port +
         " : 0 1 | 300 2 | 304 1\nevent 300 switch_restart " + sw);
  for (const Diagnosis& d : s.run(306))
    for (const Cause& cause : d.causes) EXPECT_FALSE(cause.fault == "switch_crash" && cause.confidence > 0.5) << s.story();
}

TEST(DiagnoseCauses, CheckpointsOfTwoJobsTogether) {
  Site s;
  for (const char* j : {"a", "b"})
    s.text(std::string("series weft_job_checkpoint_seconds job/") + j + " every=100 : 0 10 ~0.03 | 350 45 ~0.03");
  s.text("series weft_telemetry_storage_write_bytes_total storage1 : 0 +1e7 | 400 +4e10 | 445 +1e7");
  EXPECT_EQ(first(s.run(440)), "checkpoint_storm storage1") << s.story();
}

TEST(DiagnoseCauses, WanderingPausesAreNoCard) {
  Site s;
  for (int k = 0; k < 10; ++k) {
    double t = 300 + 12 * k;
    int r = (k * 7) % 16;
    std::string pieces = "0 1.4 ~0.006";
    for (int j = 0; j < 10; ++j)
      if ((j * 7) % 16 == r) pieces += " | " + std::to_string(300 + 12 * j) + " 1.9 | " + std::to_string(302 + 12 * j) + " 1.4 ~0.006";
    s.text("series weft_job_rank_compute_seconds job/a every=2 labels=rank=" + std::to_string(r) + " : " + pieces);
    (void)t;
  }
  EXPECT_EQ(first(s.run(440)), "gc_pauses job/a") << s.story();
}

TEST(DiagnoseCauses, ScaleUpLink) {
  Site s;
  // Replays at both ends of one scale-up link.
  auto card = *s.snapshot().find_device("sn1/node2/card4");
  fabric::PortId up;
  for (fabric::PortId p : s.snapshot().ports_of(card))
    if (s.snapshot().port(p).link.ok() && s.snapshot().link(s.snapshot().port(p).link).networks & fabric::bit(fabric::Network::kScaleUp))
      up = p;
  std::string p = s.snapshot().name(up);
  s.text("series weft_telemetry_link_retries_total " + p +
         " : 0 +0.2 | 300 +900 ~0.1\nseries DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL sn1/node2/card4 : 0 +0 | 300 +900");
  EXPECT_EQ(first(s.run(330)), "scale_up_link_degraded " + s.link_name(p)) << s.story();
}

TEST(DiagnoseCauses, TwoFaultsAtOnceAreTwoIncidents) {
  Site s;
  s.text("series DCGM_FI_DEV_POWER_MGMT_LIMIT sn1/node2/card1 : 0 700 | 300 500\nseries SAI_PORT_OPER_STATUS " + s.far("sn1/node4/nic0") +
         " : 0 1 | 302 2\nseries node_infiniband_state_id sn1/node4/nic0 : 0 4 | 302 1");
  auto d = s.run(330);
  std::set<std::string> found;
  for (const Diagnosis& x : d) found.insert(x.causes[0].fault + " " + x.causes[0].entity);
  EXPECT_TRUE(found.contains("power_cap_wrong sn1/node2/card1")) << s.story();
  EXPECT_TRUE(found.contains("link_down " + s.link("sn1/node4/nic0"))) << s.story();
  EXPECT_EQ(found.size(), 2u) << s.story();
}

TEST(DiagnoseCauses, IncidentKeepsItsKeyAndEnds) {
  Site s;
  s.text("series DCGM_FI_DEV_POWER_MGMT_LIMIT sn1/node2/card1 : 0 700 | 300 500 | 400 700");
  std::string key;
  bool over = false;
  for (double t = 310; t <= 500; t += 1)
    for (const Diagnosis& d : s.run(t)) {
      if (key.empty()) key = d.key;
      EXPECT_EQ(d.key, key);
      over |= d.over;
    }
  EXPECT_TRUE(over);
  EXPECT_TRUE(s.run(501).empty());
}

}  // namespace
}  // namespace weft::diagnose
