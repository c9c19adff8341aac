// Closed forms of every topology: links, ports, distances, numbers of equal-cost ways, conservation of shares.
#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <cmath>
#include <map>

#include "base/random.h"
#include "fabric/delta.h"
#include "fabric/routes.h"
#include "fabric/site.h"
#include "fabric/structure.h"
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

Snapshot site(const std::string& nodes, const std::string& scale_up, const std::string& rest = {}) {
  auto spec = parse_site("site: t\nsupernodes:\n  - {" + nodes + ", scale_up: {" + scale_up + "}}\n" + rest, "t.yaml");
  EXPECT_TRUE(spec.has_value()) << spec.error().text();
  auto built = build(*spec);
  EXPECT_TRUE(built.has_value()) << built.error().text();
  return *built;
}
std::string error(const std::string& nodes, const std::string& scale_up) {
  auto spec = parse_site("site: t\nsupernodes:\n  - {" + nodes + ", scale_up: {" + scale_up + "}}\n", "t.yaml");
  auto built = spec ? build(*spec) : Result<Snapshot>(std::unexpected(spec.error()));
  return built ? "" : built.error().text();
}
std::size_t degree(const Snapshot& s, DeviceId d) {
  std::size_t n = 0;
  for (PortId p : s.ports_of(d)) n += s.port(p).link.ok();
  return n;
}
// What enters a device leaves it, except at the ends, where all of it starts or stops.
void expect_conserved(const Snapshot& s, const Route& r, DeviceId from, DeviceId to) {
  std::map<std::uint32_t, double> balance;
  for (const RouteHop& h : r.hops) {
    const Link& l = s.link(h.link.link());
    DeviceId a = s.port(h.link.forward() ? l.a : l.b).device, b = s.port(h.link.forward() ? l.b : l.a).device;
    balance[a.v] += static_cast<double>(h.share), balance[b.v] -= static_cast<double>(h.share);
  }
  for (auto [device, sum] : balance) EXPECT_NEAR(sum, device == from.v ? 1 : device == to.v ? -1 : 0, 1e-5) << s.name(DeviceId{device});
}

TEST(Topologies, FullMeshHasEveryPair) {
  Snapshot s = site("nodes: 1, cards_per_node: 8", "topology: full_mesh, rate: 100G");
  EXPECT_EQ(s.link_count(), 8u * 7 / 2);
  for (DeviceId c : s.cards()) EXPECT_EQ(degree(s, c), 7u);
  Routes r(s);
  EXPECT_EQ(r.between(s.cards()[0], s.cards()[7], Network::kScaleUp).length, 1);
}

TEST(Topologies, ThousandNodeFullMeshIs499500Links) {
  Snapshot s = site("nodes: 125, cards_per_node: 8", "topology: full_mesh, rate: 100G");
  EXPECT_EQ(s.link_count(), 499'500u);
}

TEST(Topologies, TorusDistancesAreRingDistances) {
  Snapshot s = site("nodes: 12, cards_per_node: 5", "topology: torus, dims: [5, 4, 3], rate: 400G");
  EXPECT_EQ(s.link_count(), 60u * 3);
  Routes r(s);
  for (int a : {0, 17, 59})
    for (int b = 0; b < 60; ++b) {
      auto ring = [](int x, int y, int n) { return std::min(std::abs(x - y), n - std::abs(x - y)); };
      int want = ring(a % 5, b % 5, 5) + ring(a / 5 % 4, b / 5 % 4, 4) + ring(a / 20, b / 20, 3);
      const Route& route = r.between(s.cards()[static_cast<std::size_t>(a)], s.cards()[static_cast<std::size_t>(b)], Network::kScaleUp);
      EXPECT_EQ(route.length, want);
      EXPECT_EQ(r.length(s.cards()[static_cast<std::size_t>(a)], s.cards()[static_cast<std::size_t>(b)], Network::kScaleUp), want);
      if (a != b) expect_conserved(s, route, s.cards()[static_cast<std::size_t>(a)], s.cards()[static_cast<std::size_t>(b)]);
    }
  // A ring of two has one link; a mesh lacks the links from end to end.
  EXPECT_EQ(site("nodes: 1, cards_per_node: 8", "topology: torus, dims: [4, 2], rate: 400G").link_count(), 8u + 4);
  EXPECT_EQ(site("nodes: 1, cards_per_node: 8", "topology: torus, dims: [4, 2], rate: 400G, wrap: false").link_count(), 6u + 4);
}

TEST(Topologies, TorusRatesByDimensionAndBlocks) {
  Snapshot s = site("nodes: 4, cards_per_node: 16", "topology: torus, dims: [4, 4, 4], rates: [1024G, 1024G, 512G]");
  Routes r(s);
  auto c = s.cards();
  EXPECT_DOUBLE_EQ(r.between(c[0], c[1], Network::kScaleUp).width.value(), 128e9);
  EXPECT_DOUBLE_EQ(r.between(c[0], c[16], Network::kScaleUp).width.value(), 64e9);
  // With blocks of 2 x 2 the first four end points are one block.
  Snapshot b =
      site("nodes: 4, cards_per_node: 4",
           "topology: torus, dims: [4, 4], block: [2, 2], rate: 400G, medium: dac, length: 1 m, trunk_medium: optical, trunk_length: 9 m");
  Routes rb(b);
  EXPECT_EQ(rb.between(b.cards()[0], b.cards()[3], Network::kScaleUp).length, 2);
  std::size_t optical = 0;
  for (const Link& l : b.links()) optical += l.medium == Medium::kOptical;
  EXPECT_EQ(optical, 16u);  // half of 32: each ring of four crosses two block borders
}

TEST(Topologies, HypercubeDistanceIsBitsThatDiffer) {
  Snapshot s = site("nodes: 2, cards_per_node: 8", "topology: hypercube, rate: 200G");
  EXPECT_EQ(s.link_count(), 16u * 4 / 2);
  Routes r(s);
  for (unsigned b = 1; b < 16; ++b) {
    const Route& route = r.between(s.cards()[0], s.cards()[b], Network::kScaleUp);
    int bits = __builtin_popcount(b);
    EXPECT_EQ(route.length, bits);
    EXPECT_EQ(route.hops.size(), static_cast<std::size_t>(bits << (bits - 1)));  // the links of a sub-cube
    expect_conserved(s, route, s.cards()[0], s.cards()[b]);
  }
  EXPECT_NE(error("nodes: 1, cards_per_node: 6", "topology: hypercube").find("power of two"), std::string::npos);
}

TEST(Topologies, CubeMeshHasSixLinksPerCard) {
  Snapshot s = site("nodes: 2, cards_per_node: 8", "topology: cube_mesh, scope: node, rate: 200G");
  EXPECT_EQ(s.link_count(), 2u * 24);
  for (DeviceId c : s.cards()) EXPECT_EQ(degree(s, c), 6u);
  Routes r(s);
  for (std::size_t b = 1; b < 8; ++b) EXPECT_LE(r.between(s.cards()[0], s.cards()[b], Network::kScaleUp).length, 2);
  EXPECT_DOUBLE_EQ(r.between(s.cards()[0], s.cards()[3], Network::kScaleUp).width.value(), 50e9);  // NV2
  EXPECT_FALSE(r.between(s.cards()[0], s.cards()[8], Network::kScaleUp).reachable);
  EXPECT_NE(error("nodes: 2, cards_per_node: 8", "topology: cube_mesh").find("eight cards"), std::string::npos);
}

TEST(Topologies, NdMeshDistanceIsCoordinatesThatDiffer) {
  Snapshot s = site("nodes: 16, cards_per_node: 8", "topology: nd_mesh, dims: [8, 4, 4], rate: 200G");
  EXPECT_EQ(s.link_count(), 128u * (7 + 3 + 3) / 2);
  Routes r(s);
  for (std::size_t b = 1; b < 128; b += 5) {
    int differ = (b % 8 != 0) + (b / 8 % 4 != 0) + (b / 32 != 0);
    const Route& route = r.between(s.cards()[0], s.cards()[b], Network::kScaleUp);
    EXPECT_EQ(route.length, differ);
    EXPECT_EQ(route.hops.size(), static_cast<std::size_t>(differ << (differ - 1)));
  }
  EXPECT_NE(error("nodes: 16, cards_per_node: 8", "topology: nd_mesh, dims: [8, 4, 3]").find("dims make 96 end points, but there are 128"),
            std::string::npos);
}

TEST(Topologies, SwitchedDealsLinksAsOnAnHgxBoard) {
  Snapshot s = site("nodes: 1, cards_per_node: 8", "topology: switched, switches: 4, links: 18, rate: 200G");
  std::vector<std::size_t> down;
  for (DeviceId sw : s.of_kind(DeviceKind::kSwitch)) down.push_back(degree(s, sw) / 8);
  EXPECT_EQ(down, (std::vector<std::size_t>{5, 4, 4, 5}));
  // Two halves back to back: twins are joined, so the other half is three links away.
  Snapshot two = site("nodes: 2, cards_per_node: 8", "topology: switched, switches: 6, links: 6, sides: 2, cross_links: 8, rate: 200G");
  Routes r(two);
  EXPECT_EQ(r.between(two.cards()[0], two.cards()[7], Network::kScaleUp).length, 2);
  EXPECT_EQ(r.between(two.cards()[0], two.cards()[8], Network::kScaleUp).length, 3);
  EXPECT_EQ(two.link_count(), 16u * 6 + 6 * 8);
}

TEST(Topologies, Clos3CountsAndDistances) {
  Snapshot s =
      site("nodes: 8, cards_per_node: 4", "topology: clos3, planes: 2, nodes_per_pod: 4, mids: 2, uplinks: 4, cores: 4, rate: 400G");
  // Per plane: 32 card links, 8 × 4 uplinks, 4 mids with as many up as down (4 nodes × 4 / 2 = 8).
  EXPECT_EQ(s.link_count(), 2u * (32 + 32 + 32));
  Routes r(s);
  auto c = s.cards();
  EXPECT_EQ(r.between(c[0], c[1], Network::kScaleUp).length, 2);
  EXPECT_EQ(r.between(c[0], c[4], Network::kScaleUp).length, 4);
  EXPECT_EQ(r.between(c[0], c[31], Network::kScaleUp).length, 6);
  EXPECT_DOUBLE_EQ(r.between(c[0], c[31], Network::kScaleUp).width.value(), 100e9);
  expect_conserved(s, r.between(c[0], c[31], Network::kScaleUp), c[0], c[31]);
}

TEST(Topologies, FatTreeOfFourPorts) {
  // k = 4: 16 hosts, 4 pods of 2 leaves and 2 spines, 4 cores (Al-Fares et al., figure 3); 4 ways between pods, 2 inside one.
  Snapshot s = site("nodes: 16, cards_per_node: 1", "topology: unknown", "scale_out: {topology: fat_tree, k: 4, rate: 100G}\n");
  EXPECT_EQ(s.of_kind(DeviceKind::kSwitch).size(), 20u);
  EXPECT_EQ(s.link_count(), 48u);
  for (DeviceId sw : s.of_kind(DeviceKind::kSwitch)) EXPECT_EQ(degree(s, sw), 4u);
  Routes r(s);
  auto nic = s.of_kind(DeviceKind::kNic);
  EXPECT_EQ(r.between(nic[0], nic[1], Network::kScaleOut).length, 2);
  EXPECT_EQ(r.between(nic[0], nic[2], Network::kScaleOut).length, 4);
  EXPECT_EQ(r.between(nic[0], nic[4], Network::kScaleOut).length, 6);
  EXPECT_EQ(r.between(nic[0], nic[4], Network::kScaleOut).hops.size(), 1u + 2 + 4 + 4 + 2 + 1);
  // Full bisection: half of the hosts' 100G.
  EXPECT_DOUBLE_EQ(bisection(s, Network::kScaleOut, nic).value(), 800e9);
}

TEST(Topologies, RailKeepsEachNicOnItsRail) {
  Snapshot s = site("nodes: 4, cards_per_node: 4", "topology: unknown",
                    "scale_out: {topology: rail, nics_per_node: 4, nodes_per_block: 2, spines: 2, rate: 400G}\n");
  Routes r(s);
  auto nic = [&](const std::string& n) { return *s.find_device(n); };
  EXPECT_EQ(r.between(nic("sn1/node1/nic2"), nic("sn1/node2/nic2"), Network::kScaleOut).length, 2);
  EXPECT_EQ(r.between(nic("sn1/node1/nic2"), nic("sn1/node2/nic3"), Network::kScaleOut).length, 4);
  EXPECT_EQ(r.between(nic("sn1/node1/nic2"), nic("sn1/node4/nic2"), Network::kScaleOut).length, 4);
  // A card uses the NIC of its rail.
  const Route& route = r.between(nic("sn1/node1/card2"), nic("sn1/node2/card2"), Network::kScaleOut);
  EXPECT_EQ(s.name(s.port(s.link(route.hops[0].link.link()).a).device), "sn1/node1/nic2");
}

TEST(Topologies, LeafSpinePlanesAreApart) {
  Snapshot s = site("nodes: 4, cards_per_node: 2", "topology: unknown",
                    "scale_out: {topology: leaf_spine, nics_per_node: 2, planes: 2, leaves: 2, spines: 1, rate: 400G}\n");
  EXPECT_EQ(s.of_kind(DeviceKind::kSwitch).size(), 6u);
  Routes r(s);
  EXPECT_TRUE(r.between(*s.find_device("sn1/node1/nic0"), *s.find_device("sn1/node4/nic0"), Network::kScaleOut).reachable);
  EXPECT_FALSE(r.between(*s.find_device("sn1/node1/nic0"), *s.find_device("sn1/node4/nic1"), Network::kScaleOut).reachable);
}

TEST(Topologies, LinkEstimateIsNeverTooLow) {
  // The estimate refuses what is too large before anything is allocated, so it may not be below what gets built.
  for (const char* up : {"topology: full_mesh", "topology: torus, dims: [4, 4]", "topology: hypercube", "topology: nd_mesh, dims: [4, 4]",
                         "topology: switched, switches: 2", "topology: clos2, cores: 2", "topology: clos3, cores: 2, mids: 2"}) {
    std::string text = std::string("site: t\nsupernodes:\n  - {nodes: 4, cards_per_node: 4, scale_up: {") + up + ", rate: 100G}}\n";
    auto spec = parse_site(text, "t");
    ASSERT_TRUE(spec.has_value());
    auto whole = build(*spec);
    ASSERT_TRUE(whole.has_value()) << up << whole.error().text();
    BuildLimits limits;
    limits.max_links = whole->link_count() - 1;
    EXPECT_FALSE(build(*spec, limits).has_value()) << up;
  }
}

TEST(Routes, DegradedAndDownLinks) {
  Snapshot s = site("nodes: 2, cards_per_node: 4", "topology: clos2, uplinks: 4, cores: 2, rate: 400G");
  auto a = s.cards()[0], b = s.cards()[7];
  Routes healthy(s);
  std::vector<LinkId> uplinks;
  for (const RouteHop& h : healthy.between(a, b, Network::kScaleUp).hops)
    if (h.share < 0.9f && uplinks.size() < 4) uplinks.push_back(h.link.link());
  ASSERT_EQ(uplinks.size(), 4u);
  EXPECT_DOUBLE_EQ(healthy.between(a, b, Network::kScaleUp).width.value(), 50e9);
  // A quarter of the traffic still takes an uplink at a tenth of its rate: the whole flow waits for it.
  Delta slow;
  slow.links.push_back({uplinks[0], {LinkState::kDegraded, 0.1, 500, true}});
  Routes degraded(*apply(s, slow));
  EXPECT_NEAR(degraded.between(a, b, Network::kScaleUp).width.value(), 0.1 * 50e9 / 0.25, 1);
  EXPECT_NEAR(degraded.between(a, b, Network::kScaleUp).latency.value() - healthy.between(a, b, Network::kScaleUp).latency.value(), 500e-9,
              1e-12);
  Delta down;
  down.links.push_back({uplinks[0], {LinkState::kDown, 1, 0, true}});
  Snapshot less = *apply(s, down);
  Routes without(less);
  const Route& r = without.between(a, b, Network::kScaleUp);
  for (const RouteHop& h : r.hops) EXPECT_NE(h.link.link(), uplinks[0]);
  expect_conserved(less, r, a, b);
  // All of a card's links gone: no route, and nothing of it to sum.
  Delta cut;
  for (PortId p : s.ports_of(a)) cut.links.push_back({s.port(p).link, {LinkState::kDown, 1, 0, true}});
  Snapshot lone = *apply(s, cut);
  Routes none(lone);
  EXPECT_FALSE(none.between(a, b, Network::kScaleUp).reachable);
  EXPECT_TRUE(none.between(a, b, Network::kScaleUp).hops.empty());
  EXPECT_EQ(reach(lone, Network::kScaleUp).unreachable_pairs, 7u);
  // A failed switch takes all its links with it.
  Delta failed;
  DeviceHealth h;
  h.state = DeviceState::kFailed;
  failed.devices.push_back({*s.find_device("sn1/core1"), h});
  Routes half(*apply(s, failed));
  EXPECT_EQ(half.between(a, b, Network::kScaleUp).hops.size(), 1u + 2 + 2 + 1);
}

TEST(Routes, SharesAreConservedUnderRandomFaults) {
  auto base = load_site("pod-144");
  ASSERT_TRUE(base.has_value());
  rc::check("what enters a device leaves it", [&] {
    Delta d;
    for (int k = 0; k < 30; ++k)
      d.links.push_back(
          {LinkId{*rc::gen::inRange<std::uint32_t>(0, static_cast<std::uint32_t>(base->link_count()))}, {LinkState::kDown, 1, 0, true}});
    Snapshot s = *apply(*base, d);
    Routes routes(s);
    auto cards = s.cards();
    for (int k = 0; k < 20; ++k) {
      DeviceId a = cards[*rc::gen::inRange<std::size_t>(0, cards.size())], b = cards[*rc::gen::inRange<std::size_t>(0, cards.size())];
      if (a == b) continue;
      for (Network n : {Network::kScaleUp, Network::kScaleOut}) {
        const Route& way = routes.between(a, b, n);
        RC_ASSERT(routes.length(a, b, n) == (way.reachable ? way.length : -1));
      }
      const Route& r = routes.between(a, b, Network::kScaleUp);
      if (r.reachable) expect_conserved(s, r, a, b);
      for (const RouteHop& h : r.hops) RC_ASSERT(s.carries(h.link.link()));
    }
  });
}

}  // namespace
}  // namespace weft::fabric
