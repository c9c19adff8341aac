#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "collective/cost.h"

namespace weft::collective {
namespace {

using workload::Collective;
constexpr Collective kKinds[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll, Collective::kBroadcast};

GroupShape one_domain(int n) {
  GroupShape s;
  s.members = s.min_per_domain = s.max_per_domain = n;
  s.inner = BytesPerSecond(50e9), s.inner_latency = Seconds(5e-6), s.inner_reduction = true;
  return s;
}
GroupShape domains(int n, int d) {
  GroupShape s = one_domain(n);
  s.domains = n / d, s.min_per_domain = s.max_per_domain = d;
  s.outer = s.outer_single = BytesPerSecond(12.5e9), s.outer_latency = Seconds(10e-6), s.inner_reduction = false;
  return s;
}

// Every algorithm, every kind it supports, groups of 2 to 17 in every split into domains: each rank ends with the right data.
TEST(CollectiveConformance, EveryScheduleIsProvedForGroupsOf2To17) {
  int proved = 0;
  for (const Algorithm& a : algorithms().entries())
    for (Collective kind : kKinds)
      for (int n = 2; n <= 17; ++n)
        for (int d = 1; d <= n; ++d) {
          if (n % d) continue;
          GroupShape s = d == n ? one_domain(n) : domains(n, d);
          if (!a.supports(kind, s)) continue;
          EXPECT_EQ(verify(kind, n, a.schedule(kind, n, d)), "") << a.name << " " << workload::collective_name(kind) << " n=" << n << " d=" << d;
          ++proved;
        }
  EXPECT_GT(proved, 300);
}

// The bytes of the phases are the bytes of the schedule, edge by edge (in-network schedules describe the effect, not the wire).
TEST(CollectiveConformance, PhasesCarryTheSchedulesBytes) {
  for (const Algorithm& a : algorithms().entries())
    for (Collective kind : kKinds)
      for (int n = 2; n <= 17; ++n)
        for (int d = 1; d <= n; ++d) {
          if (n % d) continue;
          if (!a.supports(kind, d == n ? one_domain(n) : domains(n, d))) continue;
          Schedule s = a.schedule(kind, n, d);
          if (s.in_network) continue;
          std::map<std::pair<int, int>, double> want, have;
          double unit = kind == Collective::kAllToAll ? 1.0 / n : 1.0 / s.chunks;
          for (const Transfer& t : s.transfers) want[{t.from, t.to}] += static_cast<double>(t.chunks.size()) * unit;
          for (const Phase& p : a.phases(kind, n, d)) {
            for (const Edge& e : p.edges) have[{e.from, e.to}] += e.share;
            if (p.all_to_all)
              for (int i = 0; i < n; ++i)
                for (int j = i / p.block * p.block; j < (i / p.block + 1) * p.block; ++j)
                  if (j != i) have[{i, j}] += p.uniform;
          }
          ASSERT_EQ(want.size(), have.size()) << a.name << " n=" << n << " d=" << d;
          for (const auto& [edge, bytes] : want) EXPECT_NEAR(bytes, have[edge], 1e-9) << a.name << " " << workload::collective_name(kind) << " n=" << n << " d=" << d << " edge " << edge.first << "→" << edge.second;
        }
}

TEST(CollectiveVerify, FindsWhatIsWrong) {
  Schedule s = algorithms().find("ring")->schedule(Collective::kAllReduce, 4, 4);
  s.transfers.pop_back();
  EXPECT_NE(verify(Collective::kAllReduce, 4, s), "");
  s = algorithms().find("ring")->schedule(Collective::kAllReduce, 4, 4);
  s.transfers.push_back(s.transfers.back());
  s.transfers.back().reduce = true;
  EXPECT_NE(verify(Collective::kAllReduce, 4, s), "") << "a part added twice";
}

// alpha 5 us, B 50 GB/s: n = 64, 1 MB: ring 669.4 us, halving-doubling 99.4 us; n = 8, 1 GB: 35.07 ms and 35.03 ms.
TEST(CollectiveCost, WorkedExamples) {
  auto us = [](const char* name, int n, std::int64_t bytes) { return algorithms().find(name)->cost(Collective::kAllReduce, one_domain(n), Bytes(bytes)).time.value() * 1e6; };
  EXPECT_NEAR(us("ring", 64, 1'000'000), 669.4, 0.05);
  EXPECT_NEAR(us("halving_doubling", 64, 1'000'000), 99.4, 0.05);
  EXPECT_NEAR(us("ring", 8, 1'000'000'000) / 1e3, 35.07, 0.005);
  EXPECT_NEAR(us("halving_doubling", 8, 1'000'000'000) / 1e3, 35.03, 0.005);
  // In-network: 1.556 times a ring at n = 8, 1.945 at n = 72 (bandwidth terms).
  EXPECT_NEAR(us("ring", 8, 100'000'000'000) / us("in_network", 8, 100'000'000'000), 1.556, 0.001);
  EXPECT_NEAR(us("ring", 72, 1'000'000'000'000) / us("in_network", 72, 1'000'000'000'000), 1.945, 0.001);
}

TEST(CollectiveChoice, SmallMessagesTakeFewSteps) {
  GroupShape s = one_domain(16);
  s.inner_reduction = false;
  EXPECT_NE(choose(Collective::kAllReduce, s, Bytes(1024)).algorithm->name, "ring");
  EXPECT_EQ(choose(Collective::kAllReduce, domains(64, 8), Bytes(1 << 30)).algorithm->name, "hierarchical");
  EXPECT_NEAR(bus_bandwidth(Collective::kAllReduce, 8, Bytes(1'000'000'000), Seconds(0.035)).value(), 50e9, 1e6);
}

}  // namespace
}  // namespace weft::collective
