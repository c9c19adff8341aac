// Conformance: every registered fault is injected into a training lab-32 and judged by what moved in the exported telemetry against a table
// written from the published signatures (direction matrix): what must move, what may, and by omission what must stay flat.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "twin/fault.h"
#include "twin/scene_for_test.h"

namespace weft::twin {
namespace {

namespace event = telemetry::event;
namespace metric = telemetry::metric;
using Signs = std::set<std::string>;

struct Row {
  Signs must, may;
  double lasts_s = 420;
  bool experts = false;
};

const std::map<std::string, Row>& table() {
  static const std::map<std::string, Row> rows = {
      // "comm" goes with every late rank: its peers' exposed transfers stretch (A6: "network slow" is the usual wrong conclusion). A link
      // that is down exports no error ratio: "silent".
      // Accelerator: A1, A2, A4, A6, A8, A9, D5, E6, G11.
      {"card_off_bus", {{"xid", "silent", "abort"}, {"link_down", "replay", "links_lost"}}},
      {"hbm_uncorrectable", {{"xid", "ecc_uncorrectable", "remap", "abort"}, {}}},
      {"ecc_storm", {{"ecc_correctable"}, {}}},
      {"card_thermal", {{"temperature", "hw_flag"}, {"late", "comm"}, 900}},
      {"cold_plate_blocked", {{"temperature"}, {"hw_flag", "late", "comm"}, 900}},
      {"card_slow_silent", {{"late"}, {"comm"}}},
      {"power_cap_wrong", {{"power_limit"}, {"late", "comm"}}},
      {"pcie_downgrade", {{"lanes", "late"}, {"replay", "comm"}}},
      {"rank_hung", {{"abort"}, {}}},
      // Scale-up: B1, B2, B3.
      {"scale_up_link_degraded", {{"retries"}, {"ber", "nvlink_errors", "comm"}}},
      {"scale_up_link_down", {{"link_down"}, {"xid", "links_lost", "abort", "silent"}}},
      {"scale_up_switch_failed", {{"link_down", "sxid"}, {"links_lost", "abort", "silent"}}},
      // Scale-out: C1, C2, C4-C11, C13-C18, C21.
      {"optic_ageing", {{"ber", "bias"}, {"crc", "uncorrectable", "retries", "rx_power"}, 5400}},
      {"connector_dirty", {{"ber", "rx_power"}, {"crc", "uncorrectable", "retries"}}},
      {"link_bad_lock", {{"ber"}, {"link_down"}}},
      {"link_one_sided", {{"crc"}, {"ber", "uncorrectable", "ack", "rx_errors"}}},
      {"link_down", {{"link_down"}, {"silent"}}},
      {"link_flap", {{"link_down"}, {"abort"}}},
      {"link_half_rate", {{"rate"}, {}}},
      {"nic_failed", {{"silent", "link_down"}, {}}},
      {"pfc_storm", {{"pause", "pause_sent"}, {"discards", "queue", "comm", "data"}}},
      {"slow_receiver", {{"pause", "pause_sent"}, {"queue", "data"}}},
      {"ecn_one_end", {{"fact", "marks"}, {"pause", "pause_sent", "queue"}}},
      {"qos_trust_lost", {{"fact", "oos"}, {"ack", "discards", "data"}}},
      {"mtu_black_hole", {{"fact", "ack"}, {"abort", "data"}}},
      {"ecmp_collision", {{"marks", "queue"}, {"pause"}}},
      {"silent_drop", {{"oos"}, {"ack"}}},
      {"switch_crash", {{"link_down"}, {"abort", "silent"}, 300}},
      // Power and cooling: D1, D2, D3, D4, D6, D7.
      {"psu_failed", {{"supply", "hw_flag"}, {"late", "comm"}}},
      {"rack_power_cap", {{"rack_cap"}, {"late", "comm"}}},
      {"coolant_flow_loss", {{"flow", "temperature"}, {"hw_flag", "late", "pump", "comm"}}},
      {"leak", {{"leak"}, {"silent", "node_down", "link_down", "abort", "flow", "links_lost"}}},
      {"inlet_temp_rise", {{"inlet"}, {"temperature"}, 1200}},
      {"fan_failed", {{"fan"}, {"temperature"}}},
      // Host and software: E1, G1, A14, node.
      {"node_crash", {{"node_down", "silent", "abort"}, {"link_down", "links_lost"}}},
      {"cpu_governor", {{"fact", "cpu_clock"}, {"late", "comm"}}},
      {"driver_mismatch", {{"fact"}, {"comm"}}},
      {"stray_process", {{"memory_taken", "late"}, {"temperature", "comm"}}},
      // Jobs, scheduling, storage: G3, G6, H1, H3, F1, F2. No hardware signal at all.
      {"expert_imbalance", {{"imbalance"}, {"comm", "late"}, 420, true}},
      {"gc_pauses", {{}, {}}},
      {"placement_across_tiers", {{}, {"comm", "late"}}},
      {"neighbour_interference", {{"comm"}, {"marks", "queue", "pause"}}},
      {"slow_data_loading", {{"latency", "data"}, {}}},
      {"checkpoint_storm", {{"save"}, {}, 700}},
      // Benign oddities.
      {"decoy_constant_offset", {{}, {"late"}}},
      {"decoy_residual_uncorrectable", {{}, {}}},
      {"decoy_single_flap", {{"link_down"}, {}}},
      {"decoy_exporter_dead", {{"silent", "node_down"}, {}}},
      {"decoy_cron_load", {{}, {}}},
  };
  return rows;
}

// What differs between the healthy minutes before `at` and what follows.
Signs moved(const Scene& s, double at, double from) {
  Signs out;
  double end = s.clock();
  auto after = [&](const Series& x) { return between(x, at, end); };
  for (const auto& [id, x] : s.series) {
    auto m = s.table.metric({id});
    auto before = between(x, from, at), later = after(x);
    if (before.empty()) continue;
    bool job = s.table.entity({id}).starts_with("job/");
    double then = median(before), now = median(later), rate = growth(x, at, end) / (end - at), old = growth(x, from, at) / (at - from);
    // A series that came at least every ten seconds and stopped.
    if (!job && x.points.back().first < end - 25) out.insert("silent");
    if (later.empty()) continue;
    auto grew = [&](double per_s) { return rate - old > per_s; };
    auto any = [&](auto&& f) { return std::any_of(later.begin(), later.end(), f); };
    if (m == metric::kXid && later.back() != before.back()) out.insert("xid");
    if (m == metric::kEccSbe && growth(x, at, end) > 20) out.insert("ecc_correctable");
    if (m == metric::kEccDbe && later.back() > before.back()) out.insert("ecc_uncorrectable");
    if (m == metric::kRowRemapPending && any([](double v) { return v > 0; })) out.insert("remap");
    if (m == metric::kThrottle && any([](double v) { return static_cast<unsigned>(v) & 0xe8; })) out.insert("hw_flag");
    if (m == metric::kGpuTemp && *std::max_element(later.begin(), later.end()) > then + 4) out.insert("temperature");
    if (m == metric::kPowerLimit && now < 0.99 * then) out.insert("power_limit");
    if (m == metric::kPcieWidth && now < then) out.insert("lanes");
    if (m == metric::kPcieReplay && growth(x, at, end) > 10) out.insert("replay");
    if ((m == metric::kNvlinkCrc || m == metric::kNvlinkReplay) && growth(x, at, end) > 10) out.insert("nvlink_errors");
    if (m == metric::kScaleUpLinks && any([&](double v) { return v < then; })) out.insert("links_lost");
    if (m == metric::kFbUsed && later.back() > before.back() + 1024) out.insert("memory_taken");
    if ((m == metric::kSwState && any([](double v) { return v != 1; })) || (m == metric::kIbState && any([](double v) { return v != 4; })))
      out.insert("link_down");
    if ((m == metric::kSwSpeed || m == metric::kIbRate) && now < 0.99 * then) out.insert("rate");
    if (m == metric::kPreFecBer && std::log10(now / then) > 0.4) out.insert("ber");
    if (m == metric::kFecUncorrectable && growth(x, at, end) > 20) out.insert("uncorrectable");
    if (m == metric::kLlrRetries && grew(2)) out.insert("retries");
    if (m == metric::kSwRxErrors && growth(x, at, end) > 20) out.insert("crc");
    if (m == metric::kIbRxErrors && growth(x, at, end) > 20) out.insert("rx_errors");
    if (m == metric::kRxPower && now < then - 0.7 && now > -30) out.insert("rx_power");
    if (m == metric::kTxBias && *std::max_element(later.begin(), later.end()) > 1.05 * then) out.insert("bias");
    if ((m == metric::kSwPfcRx || m == metric::kSwPfcTx) && grew(20)) out.insert("pause");
    if (m == metric::kTxPauseSeconds && grew(0.05)) out.insert("pause_sent");
    if ((m == metric::kSwEcnMarked || m == metric::kEcnMarkedRx) && grew(200)) out.insert("marks");
    if (m == metric::kSwQueue && now > 3 * then) out.insert("queue");
    if ((m == metric::kSwDiscards || m == metric::kIbDiscards) && grew(1)) out.insert("discards");
    if (m == metric::kOutOfSequence && grew(5)) out.insert("oos");
    if (m == metric::kAckTimeout && grew(0.5)) out.insert("ack");
    if (m == metric::kNodeUp && any([](double v) { return v == 0; })) out.insert("node_down");
    if (m == metric::kCpuClock && now < 0.8 * then) out.insert("cpu_clock");
    if (m == metric::kInletTemp && later.back() > then + 2.5) out.insert("inlet");
    if (m == metric::kFanRpm && now < 0.5 * then) out.insert("fan");
    if (m == metric::kPsuHealthy && now < then) out.insert("supply");
    if (m == metric::kRackPowerCap && now < then) out.insert("rack_cap");
    if (m == metric::kCoolantFlow && now < 0.9 * then) out.insert("flow");
    if (m == metric::kLeak && any([](double v) { return v > 0; })) out.insert("leak");
    if (m == metric::kPumpRpm && now < 0.5 * then) out.insert("pump");
    if (m == metric::kStorageReadLatency && now > 2 * then) out.insert("latency");
    if (m == metric::kDataSeconds && now > 3 * then + 0.02) out.insert("data");
    if (m == metric::kRankCompute && now > 1.025 * then) out.insert("late");
    if (m == metric::kGroupSeconds && now > 1.08 * then) out.insert("comm");
    if (m == metric::kExpertImbalance && now > 1.2 * then) out.insert("imbalance");
    if (m == metric::kCheckpointSeconds && *std::max_element(later.begin(), later.end()) > 2 * then) out.insert("save");
  }
  for (const auto& e : s.events) {
    if (s.at(e.at) < at) continue;
    if (e.kind == event::kXid) out.insert("xid");
    if (e.kind == event::kSxid) out.insert("sxid");
    if (e.kind == event::kLinkDown) out.insert("link_down");
    if (e.kind == event::kStepAborted) out.insert("abort");
    if (e.kind == event::kPump) out.insert("pump");
    if (e.kind == event::kPsu) out.insert("supply");
    if (e.kind == event::kLeak) out.insert("leak");
  }
  for (const auto& f : s.facts)
    if (s.at(f.at) >= at && f.key != telemetry::fact::kAlgorithm) out.insert("fact");
  return out;
}

std::string text(const Signs& signs) {
  std::string out;
  for (const auto& s : signs) out += (out.empty() ? "" : ", ") + s;
  return out;
}

class Fault : public ::testing::TestWithParam<std::string> {};

TEST_P(Fault, MovesWhatItMustAndNothingElse) {
  const FaultEntry* entry = faults().find(GetParam());
  ASSERT_NE(entry, nullptr);
  const Row& row = table().at(GetParam());
  for (std::uint64_t seed : {3u, 11u}) {
    Scene s(quiet_options(seed), row.experts);
    const double at = 400;  // each job has saved once
    FaultSpec spec{.fault = entry->name, .at = seconds(at)};
    if (entry->name == "decoy_constant_offset") spec.at = seconds(0);
    auto target = s.world->inject(spec);
    ASSERT_TRUE(target.has_value()) << target.error().text();
    s.start_jobs();
    s.run(at + row.lasts_s - s.clock());
    Signs got = moved(s, at, 120);
    Truth truth = s.world->truths().at(0);
    std::string where =
        entry->name + " on " + truth.entity + ", seed " + std::to_string(seed) + ", magnitude " + std::to_string(truth.magnitude);
    for (const auto& sign : row.must) EXPECT_TRUE(got.contains(sign)) << where << ": '" << sign << "' did not move; moved: " << text(got);
    for (const auto& sign : got)
      EXPECT_TRUE(row.must.contains(sign) || row.may.contains(sign)) << where << ": '" << sign << "' must stay flat";
    EXPECT_GE(truth.magnitude, 0.5);
    EXPECT_LE(truth.magnitude, 2.0);
    if (entry->decoy) {
      EXPECT_EQ(truth.visible, Instant()) << where;
    } else {
      EXPECT_GE(truth.visible, s.options.start + seconds(at)) << where << " never showed";
    }
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> out;
  for (const auto& [name, row] : table()) out.push_back(name);
  return out;
}
INSTANTIATE_TEST_SUITE_P(All, Fault, ::testing::ValuesIn(all_names()), [](const auto& info) { return info.param; });

TEST(Faults, TheTableAndTheRegistryNameTheSame) {
  std::set<std::string> registered, written;
  for (const FaultEntry& e : faults().entries()) registered.insert(e.name);
  for (const auto& [name, row] : table()) written.insert(name);
  EXPECT_EQ(registered, written);
}

TEST(Faults, CuredFaultLeavesNothingBehind) {
  Scene s(quiet_options(2));
  s.start_jobs();
  s.run(60);
  double at = s.clock() + 5;
  ASSERT_TRUE(s.world->inject({.fault = "power_cap_wrong", .target = "sn1/node1/card3", .at = seconds(at)}).has_value());
  ASSERT_TRUE(s.world->inject({.fault = "slow_receiver", .target = "sn1/node1/nic0", .at = seconds(at), .lasts = seconds(60)}).has_value());
  s.run(40);
  EXPECT_LT(s.find(metric::kPowerLimit, "sn1/node1/card3")->points.back().second, 650);
  auto done = s.act(heal::action::kConfigApply, "sn1/node1/card3", {{"key", "power_limit"}, {"value", "default"}});
  EXPECT_EQ(done.state, control::ActionState::kDone);
  s.run(60);
  EXPECT_EQ(s.find(metric::kPowerLimit, "sn1/node1/card3")->points.back().second, 700);
  EXPECT_NEAR(growth(*s.find(metric::kTxPauseSeconds, "sn1/node1/nic0"), s.clock() - 30, s.clock()), 0, 0.1);
  for (const Truth& t : s.world->truths()) EXPECT_TRUE(t.cured) << t.fault;
}

TEST(Faults, SettingsHealThroughTheirFactOnly) {
  Scene s(quiet_options(2));
  ASSERT_TRUE(s.world->inject({.fault = "mtu_black_hole", .target = "sn1/node1/nic0", .at = seconds(5)}).has_value());
  s.run(20);
  EXPECT_FALSE(s.act(heal::action::kProbeLink, "sn1/node1/nic0:p0").result.get()["large_message_ok"].get<bool>());
  s.act(heal::action::kConfigApply, "sn1/node1/nic0", {{"key", "qos_trust"}, {"value", "dscp"}});
  EXPECT_FALSE(s.world->truths()[0].cured);
  s.act(heal::action::kConfigApply, "sn1/node1/nic0", {{"key", "mtu"}, {"value", "4200"}});
  s.run(5);
  EXPECT_TRUE(s.world->truths()[0].cured);
  EXPECT_TRUE(s.act(heal::action::kProbeLink, "sn1/node1/nic0:p0").result.get()["large_message_ok"].get<bool>());
}

// What policies ask for: the fleet's own value, without knowing it.
TEST(Faults, SettingBackToBaselineHeals) {
  for (auto [fault, target, key] :
       {std::tuple("mtu_black_hole", "sn1/node1/nic0", "mtu"), std::tuple("ecn_one_end", "sn1/node1/nic1", "ecn_enabled"),
        std::tuple("qos_trust_lost", "sn1/node2/nic0", "qos_trust")}) {
    Scene s(quiet_options(2));
    ASSERT_TRUE(s.world->inject({.fault = fault, .target = target, .at = seconds(5)}).has_value());
    s.run(20);
    s.act(heal::action::kConfigApply, target, {{"key", key}, {"value", "baseline"}});
    s.run(5);
    EXPECT_TRUE(s.world->truths()[0].cured) << fault;
  }
}

}  // namespace
}  // namespace weft::twin
