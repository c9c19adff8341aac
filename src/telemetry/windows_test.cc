#include "telemetry/windows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "telemetry/names.h"
#include "telemetry/stats.h"

namespace weft::telemetry {
namespace {

constexpr Instant kStart(1'767'225'600'000'000'000);
Instant at(double s) { return kStart + seconds(s); }

struct Bench {
  SeriesTable table;
  Windows windows{table};
  void put(SeriesId id, double t, double v) {
    Sample s{id, at(t), v};
    windows.append({&s, 1});
  }
};

TEST(SeriesTable, InternsOncePerName) {
  SeriesTable t;
  SeriesId a = t.intern("m", "sn1/node0/card0"), b = t.intern("m", "sn1/node0/card0", "dim=tp", MetricKind::kCounter);
  EXPECT_NE(a, b);
  EXPECT_EQ(t.intern("m", "sn1/node0/card0"), a);
  EXPECT_EQ(t.find("m", "sn1/node0/card0", "dim=tp"), b);
  EXPECT_EQ(t.find("m", "elsewhere").v, UINT32_MAX);
  for (int i = 0; i < 5000; ++i) t.intern("x", "card" + std::to_string(i));
  EXPECT_EQ(t.find("m", "sn1/node0/card0", "dim=tp"), b);
  EXPECT_EQ(t.kind(b), MetricKind::kCounter);
  EXPECT_EQ(t.of_metric("x").size(), 5000u);
  EXPECT_EQ(t.of_entity("sn1/node0/card0"), (std::vector<SeriesId>{a, b}));
}

TEST(Catalogue, SortedAndComplete) {
  auto all = metric_catalogue();
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].name, all[i].name);
  ASSERT_NE(find_metric(metric::kPreFecBer), nullptr);
  EXPECT_EQ(find_metric(metric::kIbDowned)->kind, MetricKind::kCounter);
  EXPECT_EQ(find_metric("nonsense"), nullptr);
}

TEST(Windows, SinceBootTotalsAreNoRate) {
  Bench b;
  SeriesId c = b.table.intern("node_infiniband_port_discards_transmitted_total", "nic0", "", MetricKind::kCounter);
  b.put(c, 0, 1e6);  // a total since boot says nothing
  EXPECT_FALSE(b.windows.increase(c, at(-1), at(10)).known);
  b.put(c, 1, 1e6);
  b.put(c, 2, 1e6 + 30);
  Increase i = b.windows.increase(c, at(0), at(2));
  EXPECT_TRUE(i.known);
  EXPECT_DOUBLE_EQ(i.value, 30);
  EXPECT_DOUBLE_EQ(b.windows.last_points(c, 1)[0].value, 30);
}

TEST(Windows, ResetCountsFromZero) {
  Bench b;
  SeriesId c = b.table.intern("c", "nic0", "", MetricKind::kCounter);
  b.put(c, 0, 1000);
  b.put(c, 1, 1010);
  b.put(c, 2, 4);  // reboot
  EXPECT_DOUBLE_EQ(b.windows.increase(c, at(0), at(2)).value, 14);
}

TEST(Windows, CeilingsSayAtLeast) {
  Bench b;
  // An H100 host's sysfs showed link_downed 255 and a node_exporter fixture port_transmit_wait 4.294967295e+09: both stuck at their width.
  SeriesId down = b.table.intern(metric::kIbDowned, "nic1", "", MetricKind::kCounter);
  SeriesId wait = b.table.intern(metric::kIbWait, "nic1", "", MetricKind::kCounter);
  for (int t = 0; t < 3; ++t) b.put(down, t, 255), b.put(wait, t, 4.294967295e+09);
  EXPECT_TRUE(b.windows.saturated(down));
  EXPECT_TRUE(b.windows.increase(wait, at(0), at(2)).at_least);
  b.put(down, 3, 0);  // cleared by a reader
  EXPECT_FALSE(b.windows.saturated(down));
}

TEST(Windows, BlanksAreMissing) {
  Bench b;
  SeriesId t = b.table.intern(metric::kMemTemp, "card0");
  b.put(t, 0, 9223372036854775794.0);  // dcgm-exporter README: not supported
  b.put(t, 1, NAN);
  EXPECT_FALSE(b.windows.has(t));
  b.put(t, 2, 55);
  b.put(t, 3, 9223372036854775794.0);
  EXPECT_DOUBLE_EQ(b.windows.last(t), 55);
}

TEST(Windows, StoppedIsStaleNotZero) {
  Bench b;
  SeriesId t = b.table.intern(metric::kGpuTemp, "card0");
  for (int i = 0; i <= 20; ++i) b.put(t, i, 60);
  EXPECT_FALSE(b.windows.stale(t, at(22)));
  EXPECT_FALSE(b.windows.stale(t, at(23)));
  EXPECT_TRUE(b.windows.stale(t, at(23.5)));
  EXPECT_DOUBLE_EQ(b.windows.last(t), 60);
}

TEST(Windows, DuplicatesAndLateSamplesAreDropped) {
  Bench b;
  SeriesId t = b.table.intern("g", "x");
  b.put(t, 1, 5), b.put(t, 1, 7), b.put(t, 0.5, 9);
  EXPECT_EQ(b.windows.points(t, at(0), at(9)).size(), 1u);
  EXPECT_DOUBLE_EQ(b.windows.last(t), 5);
}

TEST(Windows, WireTripsOnce) {
  Bench b;
  SeriesId t = b.table.intern("g", "x"), u = b.table.intern("g", "y");
  b.windows.set_wire(t, NAN, 84);
  b.put(t, 0, 84), b.put(u, 0, 1000);
  EXPECT_TRUE(b.windows.take_tripped().empty());
  b.put(t, 1, 84.5), b.put(t, 2, 90);
  EXPECT_EQ(b.windows.take_tripped(), std::vector<SeriesId>{t});
  EXPECT_TRUE(b.windows.take_tripped().empty());
  b.put(t, 3, 86);
  EXPECT_EQ(b.windows.take_tripped().size(), 1u);
  b.put(t, 4, 60);  // the return counts too, once
  EXPECT_EQ(b.windows.take_tripped().size(), 1u);
  b.put(t, 5, 61);
  EXPECT_TRUE(b.windows.take_tripped().empty());
}

TEST(Windows, RingForgetsAfterTenMinutesButMinutesStay) {
  Bench b;
  SeriesId t = b.table.intern("g", "x");
  for (int i = 0; i < 7200; ++i) b.put(t, i, i < 3600 ? 10 : 20);
  EXPECT_LE(b.windows.points(t, at(-1), at(7200)).size(), 640u);
  auto m = b.windows.minutes(t, at(-1), at(7200));
  EXPECT_NEAR(static_cast<double>(m.size()), 119, 1);
  EXPECT_DOUBLE_EQ(m.front().value, 10);
  EXPECT_DOUBLE_EQ(m.back().value, 20);
  EXPECT_GE(b.windows.ten_minutes(t, at(-1), at(7200)).size(), 11u);
}

TEST(Stats, MedianAndMad) {
  Baseline b = robust(std::vector<double>{1, 2, 3, 4, 100});
  EXPECT_DOUBLE_EQ(b.median, 3);
  EXPECT_DOUBLE_EQ(b.mad, 1.4826);  // deviations 2 1 0 1 97: median 1
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Stats, TheilSenIgnoresOutliers) {
  std::vector<Point> p;
  for (int i = 0; i < 30; ++i) p.push_back({at(i), 2.0 * i + (i % 7 == 0 ? 500 : 0)});
  EXPECT_NEAR(trend(p).per_second, 2.0, 0.05);
}

TEST(Stats, ChangePointIsWhereTheLevelMoved) {
  std::vector<Point> p;
  for (int i = 0; i < 40; ++i) p.push_back({at(i), (i < 25 ? 105.2 : 111.1) + 0.1 * ((i * 7) % 5)});
  ChangePoint c = change_point(p);
  EXPECT_EQ(c.index, 25u);
  EXPECT_NEAR(c.before, 105.4, 0.2);
  EXPECT_NEAR(c.after, 111.3, 0.2);
  EXPECT_LT(c.step_error * 3, c.line_error);
}

TEST(Stats, SlopeIsNotAStep) {
  std::vector<Point> p;
  for (int i = 0; i < 40; ++i) p.push_back({at(i), 0.1 * i});
  ChangePoint c = change_point(p);
  EXPECT_LT(c.line_error, c.step_error);
}

}  // namespace
}  // namespace weft::telemetry
