#include "collective/cost.h"

#include <gtest/gtest.h>

#include <map>

namespace weft::collective {
namespace {

using workload::Collective;

constexpr Collective kKinds[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
                                 Collective::kBroadcast};

GroupShape flat(int n, double rate = 50e9, double alpha = 5e-6) {
  GroupShape s;
  s.members = s.min_per_domain = s.max_per_domain = n;
  s.inner = BytesPerSecond(rate);
  s.inner_latency = Seconds(alpha);
  return s;
}

GroupShape tiers(int n, int g, double inner = 400e9, double outer = 50e9) {
  GroupShape s = flat(n, inner, 1e-6);
  s.domains = n / g;
  s.min_per_domain = s.max_per_domain = g;
  if (g == 1) s.inner = BytesPerSecond(0), s.inner_latency = Seconds(0);
  s.outer = BytesPerSecond(outer);
  s.outer_latency = Seconds(5e-6);
  return s;
}

double us(const char* name, const GroupShape& s, double bytes, Collective kind = Collective::kAllReduce) {
  const Algorithm* a = algorithms().find(name);
  EXPECT_TRUE(a && a->supports(kind, s)) << name;
  return a ? a->cost(kind, s, Bytes(static_cast<std::int64_t>(bytes))).time.value() * 1e6 : 0;
}

// α 5 us, B 50 GB/s: the α-β model worked by hand (Thakur, Rabenseifner, Gropp 2005).
TEST(CollectiveCost, ClosedFormsOfTheField) {
  EXPECT_NEAR(us("ring", flat(64), 1e6), 669.4, 0.05);
  EXPECT_NEAR(us("halving_doubling", flat(64), 1e6), 99.4, 0.05);
  EXPECT_NEAR(us("recursive_doubling", flat(64), 1e6), 150.0, 0.05);
  EXPECT_NEAR(us("ring", flat(8), 1e9), 35070, 0.5);
  EXPECT_NEAR(us("halving_doubling", flat(8), 1e9), 35030, 0.5);
  EXPECT_NEAR(us("recursive_doubling", flat(8), 1e9), 60015, 0.5);
  EXPECT_NEAR(us("pairwise", flat(64), 1e6, Collective::kAllToAll), 63 * 5 + 63.0 / 64 * 20, 0.05);
  EXPECT_NEAR(us("bruck", flat(64), 1e6, Collective::kAllToAll), 6 * (5 + 10), 0.05);
  EXPECT_NEAR(us("bruck", flat(64), 1e6, Collective::kAllGather), 6 * 5 + 63.0 / 64 * 20, 0.05);
  EXPECT_NEAR(us("double_binary_tree", flat(64), 1e6), 2 * 6 * 5 + 2 * 20, 0.05);
  EXPECT_NEAR(us("ring", flat(64), 1e6, Collective::kReduceScatter), 63 * 5 + 63.0 / 64 * 20, 0.05);
}

// Pipelined broadcast (n-2+k)(α + S/(kB)): never worse than any fixed k.
TEST(CollectiveCost, BroadcastUsesTheBestChunkCount) {
  for (double bytes : {1e3, 1e6, 1e9}) {
    double best = 1e300;
    for (int k = 1; k < 100'000; ++k) best = std::min(best, (8 - 2 + k) * (5.0 + bytes / k / 50e3));
    EXPECT_NEAR(us("ring", flat(8), bytes, Collective::kBroadcast), best, best * 1e-3);
  }
}

TEST(CollectiveCost, SwitchesThatReduce) {
  GroupShape s = flat(8);
  s.inner_reduction = true;
  EXPECT_NEAR(us("in_network", s, 1e9), 9.0 / 8 * 20000 + 10, 0.05);
  // Up to 2(n-1)/(n+1) faster than ring: 1.556 for 8, 1.945 for 72; SHARP up to 2(n-1)/n: 1.75, 1.97.
  EXPECT_NEAR(us("ring", flat(8, 50e9, 0), 1e9) / (9.0 / 8 * 20000), 1.556, 5e-4);
  GroupShape big = flat(72, 50e9, 0);
  big.inner_reduction = true;
  EXPECT_NEAR(us("ring", big, 1e9) / us("in_network", big, 1e9), 1.945, 5e-4);
  GroupShape sharp = tiers(72, 1);
  sharp.outer_reduction = true;
  EXPECT_NEAR(us("in_network", sharp, 1e9), 20000 + 10, 0.05);
  EXPECT_NEAR(us("in_network", s, 1e9, Collective::kReduceScatter), 20000 + 5, 0.05);
  EXPECT_FALSE(algorithms().find("in_network")->supports(Collective::kAllReduce, flat(8)));
}

// Eight cards in each of 16 domains: (g-1)/g·S inside twice, 2(m-1)/m·S/g per card across.
TEST(CollectiveCost, TwoTiers) {
  double inside = 2 * 7.0 / 8 * 1e9 / 400e9, across = 2 * 15.0 / 16 / 8 * 1e9 / 50e9;
  EXPECT_NEAR(us("hierarchical", tiers(128, 8), 1e9), (inside + across + 2 * 7e-6 * 1 + 2 * 15 * 5e-6) * 1e6, 0.05);
  // The ring of every card leaves by its own way out: 1/8 of the traffic each.
  EXPECT_NEAR(us("ring", tiers(128, 8), 1e9), (2 * 127.0 / 128 / 8 * 1e9 / 50e9 + 2 * 127 * (112e-6 + 16 * 5e-6) / 128) * 1e6, 0.05);
  EXPECT_NEAR(us("pairwise", tiers(128, 8), 1e9, Collective::kAllToAll), (120.0 / 128 * 1e9 / 50e9 + 7e-6 + 120 * 5e-6) * 1e6, 0.05);
  EXPECT_NEAR(us("hierarchical_alltoall", tiers(128, 8), 1e9, Collective::kAllToAll),
              (7.0 / 8 * 1e9 / 400e9 + 15.0 / 16 * 1e9 / 50e9 + 7e-6 + 15 * 5e-6) * 1e6, 0.05);
  // A full mesh: a ring sees one cable, an all-to-all all of them.
  GroupShape mesh = flat(8, 7 * 50e9, 0);
  mesh.inner_pair = BytesPerSecond(50e9);
  EXPECT_NEAR(us("ring", mesh, 8e6), 2 * 7.0 / 8 * 8e6 / 50e3, 0.05);
  EXPECT_NEAR(us("pairwise", mesh, 8e6, Collective::kAllToAll), 1e6 / 50e3, 0.05);
}

TEST(CollectiveCost, ChoiceIsTheFastest) {
  for (Collective kind : kKinds)
    for (const GroupShape& s : {flat(2), flat(7), flat(64), tiers(128, 8), tiers(16, 1), tiers(48, 3)})
      for (double bytes : {1.0, 1e4, 1e6, 1e9}) {
        Choice c = choose(kind, s, Bytes(static_cast<std::int64_t>(bytes)));
        ASSERT_NE(c.algorithm, nullptr);
        for (const Algorithm& a : algorithms().entries())
          if (a.supports(kind, s)) {
            EXPECT_LE(c.cost.time, a.cost(kind, s, Bytes(static_cast<std::int64_t>(bytes))).time) << a.name;
          }
      }
  EXPECT_EQ(choose(Collective::kAllReduce, flat(64), Bytes(8)).algorithm->name, "recursive_doubling");
  EXPECT_EQ(choose(Collective::kAllReduce, flat(1), Bytes(8)).cost.time.value(), 0);
  EXPECT_EQ(choose(Collective::kAllReduce, tiers(48, 8), Bytes(10'000'000)).algorithm->name, "hierarchical");
}

TEST(CollectiveCost, BusBandwidthAsNcclTests) {
  // 4096 x 4096 in bf16 are 32 MiB; over 8 ranks in 1 ms the factor is 2·7/8.
  Bytes s(4096ll * 4096 * 2);
  EXPECT_EQ(s.value(), 32ll << 20);
  EXPECT_NEAR(bus_bandwidth(Collective::kAllReduce, 8, s, Seconds(1e-3)).value(), 1.75 * 33.554432e9, 1);
  EXPECT_NEAR(bus_bandwidth(Collective::kAllGather, 8, s, Seconds(1e-3)).value(), 0.875 * 33.554432e9, 1);
  EXPECT_NEAR(bus_bandwidth(Collective::kAllToAll, 8, s, Seconds(1e-3)).value(), 0.875 * 33.554432e9, 1);
  EXPECT_NEAR(bus_bandwidth(Collective::kBroadcast, 8, s, Seconds(1e-3)).value(), 33.554432e9, 1);
}

// Conformance: every algorithm, every kind, every group from 2 to 17 in every equal cut into domains.
TEST(CollectiveConformance, SchedulesAreProvedAndTrafficEqualsThem) {
  int proofs = 0;
  for (const Algorithm& a : algorithms().entries()) {
    int of_this = 0;
    for (Collective kind : kKinds)
      for (int n = 2; n <= 17; ++n)
        for (int d = 1; d <= n; ++d) {
          if (n % d) continue;
          GroupShape shape = d == n ? flat(n) : tiers(n, d);
          shape.inner_reduction = shape.outer_reduction = true;
          shape.direct = true, shape.peers = n - 1;
          if (!a.supports(kind, shape)) continue;
          SCOPED_TRACE(a.name + " " + std::string(workload::collective_name(kind)) + " n=" + std::to_string(n) + " d=" + std::to_string(d));
          Schedule s = a.schedule(kind, n, d);
          EXPECT_EQ(verify(kind, n, s), "");
          ++proofs, ++of_this;
          auto phases = a.phases(kind, n, d);
          std::map<std::pair<int, int>, double> wire, stepped;
          double inner = 0, outer = 0;
          std::vector<double> in(n, 0), out(n, 0);
          for (const Phase& p : phases)
            for (const Edge& e : p) {
              wire[{e.from, e.to}] += e.share;
              if (e.from >= 0) (e.to >= 0 && e.from / d == e.to / d ? in : out)[e.from] += e.share;
            }
          // The busiest member of the closed form sends what the busiest member sends on the wire (switch edges count as inner in one domain).
          for (int r = 0; r < n; ++r) {
            if (s.in_network && d == n) in[r] += out[r], out[r] = 0;
            inner = std::max(inner, in[r]), outer = std::max(outer, out[r]);
          }
          Cost cost = a.cost(kind, shape, Bytes(1'000'000'000));
          if (a.name != "bruck" || d == n) {
            EXPECT_NEAR(cost.bytes_sent_inner / 1e9, inner, 1e-9);
            EXPECT_NEAR(cost.bytes_sent_outer / 1e9, outer, 1e-9);
          }
          if (s.in_network) continue;
          double per_chunk = kind == Collective::kAllToAll ? static_cast<double>(n) / s.chunks : 1.0 / s.chunks;
          for (const Transfer& t : s.transfers) stepped[{t.from, t.to}] += static_cast<double>(t.chunks.size()) * per_chunk;
          ASSERT_EQ(wire.size(), stepped.size());
          for (auto& [edge, share] : stepped) EXPECT_NEAR(wire[edge], share, 1e-9) << edge.first << " to " << edge.second;
        }
    EXPECT_GT(of_this, 0) << a.name << " is never proved";
  }
  EXPECT_GT(proofs, 300);
}

// The proof can fail: take away, double or redirect one transfer.
TEST(CollectiveConformance, BrokenSchedulesAreFound) {
  for (const Algorithm& a : algorithms().entries())
    for (Collective kind : kKinds) {
      GroupShape shape = tiers(8, 4);
      shape.outer_reduction = true;
      int d = 4;
      if (!a.supports(kind, shape)) shape = flat(8), shape.inner_reduction = shape.direct = true, shape.peers = 7, d = 8;
      if (!a.supports(kind, shape)) continue;
      Schedule s = a.schedule(kind, 8, d);
      Schedule lost = s;
      lost.transfers.erase(lost.transfers.begin() + static_cast<std::ptrdiff_t>(s.transfers.size() / 2));
      EXPECT_NE(verify(kind, 8, lost), "") << a.name;
      for (std::size_t i = 0; i < s.transfers.size(); ++i)
        if (s.transfers[i].reduce) {
          Schedule twice = s;
          twice.transfers.insert(twice.transfers.begin() + static_cast<std::ptrdiff_t>(i), s.transfers[i]);
          EXPECT_NE(verify(kind, 8, twice), "") << a.name;
          break;
        }
    }
  EXPECT_EQ(verify(Collective::kAllReduce, 2, {1, {{0, 0, 1, {0}, true}}}),
            "rank 0 ends with chunk 0 holding rank 1's part 0 times instead of 1");
  EXPECT_EQ(verify(Collective::kAllGather, 2, {2, {{0, 0, 1, {1}, false}}}), "step 0: rank 0 sends chunk 1 before it has it");
  EXPECT_EQ(verify(Collective::kAllReduce, 2, {1, {{0, 0, 5, {0}, true}}}), "step 0: transfer 0 to 5 in a group of 2");
}

}  // namespace
}  // namespace weft::collective
