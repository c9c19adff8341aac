#include "sim/share.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/random.h"

namespace weft::sim {
namespace {

using Links = std::vector<std::pair<std::uint32_t, double>>;

struct Net {
  std::vector<double> capacity;
  std::vector<Links> flows;
  Sharing make() const {
    std::vector<Sharing::FlowSpec> specs;
    for (const Links& l : flows) {
      double solo = 1e300;
      for (auto [link, w] : l) solo = std::min(solo, capacity[link] / w);
      specs.push_back({solo, &l});
    }
    return {capacity, specs};
  }
};

// The chain of Bertsekas and Gallager: one long flow over three links, short ones on each.
TEST(SimShare, LongFlowAgainstShortOnes) {
  Net net{{10, 10, 4}, {{{0, 1}, {1, 1}, {2, 1}}, {{0, 1}}, {{1, 1}}, {{1, 1}}, {{2, 1}}}};
  Sharing s = net.make();
  for (std::uint32_t f = 0; f < 5; ++f) s.begin(f);
  EXPECT_EQ(s.update().size(), 5u);
  EXPECT_DOUBLE_EQ(s.rate(0), 2);
  EXPECT_DOUBLE_EQ(s.rate(4), 2);
  EXPECT_DOUBLE_EQ(s.rate(1), 8);
  EXPECT_DOUBLE_EQ(s.rate(2), 4);
  EXPECT_DOUBLE_EQ(s.rate(3), 4);
  s.end(4);
  s.update();
  EXPECT_DOUBLE_EQ(s.rate(0), 10.0 / 3);
  EXPECT_DOUBLE_EQ(s.rate(1), 10 - 10.0 / 3);
}

TEST(SimShare, WeightsCountBytesOnTheLink) {
  // A flow that puts half its busiest link's bytes on link 1 takes half as much there.
  Net net{{10, 9}, {{{0, 1}, {1, 0.5}}, {{1, 1}}}};
  Sharing s = net.make();
  s.begin(0), s.begin(1);
  s.update();
  EXPECT_DOUBLE_EQ(s.rate(0), 6);
  EXPECT_DOUBLE_EQ(s.rate(1), 6);
}

// Random networks and histories: no link above its capacity, and every flow has a full link (or its own limit) on which none is faster.
TEST(SimShare, AlwaysMaxMinFair) {
  rc::check([] {
    Random random(static_cast<std::uint64_t>(*rc::gen::inRange(0, 1 << 30)));
    Net net;
    auto links = static_cast<std::size_t>(random.integer(1, 8)), flows = static_cast<std::size_t>(random.integer(1, 12));
    for (std::size_t l = 0; l < links; ++l) net.capacity.push_back(static_cast<double>(random.integer(1, 20)));
    for (std::size_t f = 0; f < flows; ++f) {
      Links on;
      for (std::uint32_t l = 0; l < links; ++l)
        if (random.chance(0.4)) on.emplace_back(l, random.chance(0.5) ? 1.0 : random.uniform(0.1, 1));
      if (on.empty()) on.emplace_back(0u, 1.0);
      net.flows.push_back(on);
    }
    Sharing s = net.make();
    std::vector<bool> running(flows, false);
    for (int step = 0; step < 30; ++step) {
      auto f = static_cast<std::uint32_t>(random.integer(0, static_cast<std::int64_t>(flows) - 1));
      if (running[f]) s.end(f);
      else s.begin(f);
      running[f] = !running[f];
      s.update();
      std::vector<double> used(links, 0);
      for (std::uint32_t k = 0; k < flows; ++k)
        if (running[k])
          for (auto [l, w] : net.flows[k]) used[l] += w * s.rate(k);
      for (std::size_t l = 0; l < links; ++l) RC_ASSERT(used[l] <= net.capacity[l] * (1 + 1e-9));
      for (std::uint32_t k = 0; k < flows; ++k) {
        if (!running[k]) continue;
        bool bound = false;
        for (auto [l, w] : net.flows[k]) {
          if (used[l] < net.capacity[l] * (1 - 1e-9)) continue;
          bool fastest = true;
          for (std::uint32_t o = 0; o < flows; ++o)
            if (running[o])
              for (auto [m, v] : net.flows[o])
                if (m == l && s.rate(o) > s.rate(k) * (1 + 1e-9)) fastest = false;
          bound = bound || fastest;
        }
        RC_ASSERT(bound);
      }
    }
  });
}

}  // namespace
}  // namespace weft::sim
