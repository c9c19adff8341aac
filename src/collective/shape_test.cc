#include <gtest/gtest.h>

#include "collective/cost.h"
#include "fabric/delta.h"
#include "fabric/site.h"

namespace weft::collective {
namespace {

std::vector<fabric::DeviceId> first(const fabric::Snapshot& s, std::size_t n) {
  return {s.cards().begin(), s.cards().begin() + static_cast<std::ptrdiff_t>(n)};
}

TEST(CollectiveShape, OneDomainOfLab32) {
  auto site = fabric::load_site("lab-32");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  fabric::Routes routes(*site);
  GroupShape s = shape_of(first(*site, 32), routes);
  EXPECT_EQ(s.members, 32);
  EXPECT_EQ(s.domains, 1);
  EXPECT_DOUBLE_EQ(s.inner.value(), 50e9);
  EXPECT_DOUBLE_EQ(s.inner_pair.value(), 50e9);
  EXPECT_TRUE(s.inner_reduction);
  EXPECT_FALSE(s.outer_reduction);
  // Three switches of 250 ns on the longest way, and the library's share.
  EXPECT_GT(s.inner_latency.value(), 0.75e-6 + kInnerOverhead.value());
  EXPECT_LT(s.inner_latency.value(), kInnerOverhead.value() + 1.5e-6);
  EXPECT_EQ(shape_of(first(*site, 1), routes).members, 1);
}

TEST(CollectiveShape, HalfRateIsSeen) {
  auto site = fabric::load_site("lab-32");
  ASSERT_TRUE(site.has_value());
  fabric::Delta delta;
  fabric::LinkHealth half;
  half.state = fabric::LinkState::kDegraded, half.rate_factor = 0.5;
  for (fabric::PortId p : site->ports_of(site->cards()[3]))
    if (site->port(p).networks & fabric::bit(fabric::Network::kScaleUp)) delta.links.push_back({site->port(p).link, half});
  ASSERT_EQ(delta.links.size(), 1u);
  auto next = fabric::apply(*site, delta);
  ASSERT_TRUE(next.has_value());
  fabric::Routes routes(*next);
  EXPECT_DOUBLE_EQ(shape_of(first(*next, 8), routes).inner.value(), 25e9);
}

TEST(CollectiveShape, TwoDomainsOfPod144) {
  auto site = fabric::load_site("pod-144");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  fabric::Routes routes(*site);
  std::vector<fabric::DeviceId> all(site->cards().begin(), site->cards().end());
  GroupShape s = shape_of(all, routes);
  EXPECT_EQ(s.domains, 2);
  EXPECT_EQ(per_domain(s), 72);
  EXPECT_NEAR(s.inner.value(), 900e9, 1);
  // 18 nodes share 16 uplinks of each rail switch when all cross the spine.
  EXPECT_NEAR(s.outer.value(), 50e9 * 16 / 18, 1e3);
  all.resize(73);
  EXPECT_EQ(per_domain(shape_of(all, routes)), 1);
}

}  // namespace
}  // namespace weft::collective
