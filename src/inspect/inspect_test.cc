#include "inspect/inspect.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fabric/site.h"
#include "telemetry/names.h"

namespace weft::inspect {
namespace {

struct Bench {
  fabric::Snapshot site = *fabric::load_site("lab-32");
  telemetry::SeriesTable series;
  Rules rules = *Rules::built_in();
  Observation seen{series};
  telemetry::Batch batch;

  void gauge(std::string_view metric, std::string entity, double v, int at = 1) {
    batch.samples.push_back({series.intern(metric, entity), Instant(at), v});
  }
  void fact(std::string entity, std::string_view key, std::string v) {
    batch.facts.push_back({Instant(1), std::move(entity), std::string(key), std::move(v), "test"});
  }
  Cell cell(const std::string& check, const std::string& entity) {
    seen.add(batch);
    batch.clear();
    for (const Cell& c : inspect({site, seen, rules}, {check}).cells)
      if (c.entity == entity) return c;
    ADD_FAILURE() << "no cell " << check << " of " << entity;
    return {};
  }
};

TEST(InspectChecks, WhatWasNotSeenIsUnknownNeverAPass) {
  Bench b;
  Inspection all = inspect({b.site, b.seen, b.rules});
  EXPECT_EQ(all.passed, 4) << "only the four 'isolation_owner' cells, which read the site itself";
  EXPECT_GT(all.unknown, 200);
  EXPECT_FALSE(all.gate(false));
  EXPECT_TRUE(all.gate(true));
}

TEST(InspectChecks, PassFailWithValueThresholdAndRemedy) {
  Bench b;
  b.gauge(telemetry::metric::kGpuTemp, "sn1/node1/card0", 60);
  b.gauge(telemetry::metric::kGpuTemp, "sn1/node1/card1", 84);
  EXPECT_EQ(b.cell("card_temperature", "sn1/node1/card0").verdict, Verdict::kPass);
  Cell hot = b.cell("card_temperature", "sn1/node1/card1");
  EXPECT_EQ(hot.verdict, Verdict::kFail) << "at the limit is too hot";
  EXPECT_EQ(hot.threshold, "84 C");
  EXPECT_FALSE(hot.source.empty() || hot.remedy.empty());
  // A power cap: 0x4 is normal, the brake 0x80 is not.
  b.gauge(telemetry::metric::kThrottle, "sn1/node1/card0", 0x4);
  b.gauge(telemetry::metric::kThrottle, "sn1/node1/card1", 0x84);
  EXPECT_EQ(b.cell("card_throttle", "sn1/node1/card0").verdict, Verdict::kPass);
  EXPECT_EQ(b.cell("card_throttle", "sn1/node1/card1").verdict, Verdict::kFail);
}

TEST(InspectChecks, TotalsSinceBootDecideNothingOnlyGrowthDoes) {
  Bench b;
  b.gauge(telemetry::metric::kIbDowned, "sn1/node1/nic0", 255, 1);
  EXPECT_EQ(b.cell("nic_link_downed", "sn1/node1/nic0").verdict, Verdict::kUnknown);
  b.gauge(telemetry::metric::kIbDowned, "sn1/node1/nic0", 255, 2);
  EXPECT_EQ(b.cell("nic_link_downed", "sn1/node1/nic0").verdict, Verdict::kPass);
  b.gauge(telemetry::metric::kIbDowned, "sn1/node1/nic0", 256, 3);
  EXPECT_EQ(b.cell("nic_link_downed", "sn1/node1/nic0").verdict, Verdict::kFail);
}

TEST(InspectChecks, MinorityVersionFailsTieFailsAll) {
  Bench b;
  for (int n = 1; n <= 4; ++n) b.fact("sn1/node" + std::to_string(n), telemetry::fact::kDriver, n == 3 ? "550.54" : "550.90");
  EXPECT_EQ(b.cell("driver_version", "sn1/node1").verdict, Verdict::kPass);
  EXPECT_EQ(b.cell("driver_version", "sn1/node3").verdict, Verdict::kFail);
  b.fact("sn1/node4", telemetry::fact::kDriver, "550.54");
  EXPECT_EQ(b.cell("driver_version", "sn1/node1").verdict, Verdict::kFail) << "two against two: no baseline";
}

TEST(InspectRules, FileErrorsNameTheLine) {
  auto bad = Rules::parse("thresholds:\n  card_temperature_max: {value: hot, source: x}\n", "rules.yaml");
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().text().find("rules.yaml:2"), std::string::npos);
}

}  // namespace
}  // namespace weft::inspect
