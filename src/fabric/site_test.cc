#include "fabric/site.h"

#include <gtest/gtest.h>

#include "fabric/routes.h"

namespace weft::fabric {
namespace {

std::string error_of(std::string_view text) {
  auto spec = parse_site(text, "site.yaml");
  if (!spec) return spec.error().text();
  auto built = build(*spec);
  return built ? "" : built.error().text();
}

TEST(FabricSite, Lab32IsAsDescribed) {
  auto site = load_site("lab-32");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  EXPECT_EQ(site->cards().size(), 32u);
  EXPECT_EQ(site->of_kind(DeviceKind::kNode).size(), 4u);
  EXPECT_EQ(site->of_kind(DeviceKind::kRack).size(), 3u);
  // 32 card links and 32 uplinks in the scale-up domain; 32 ports of the core are used.
  auto core = site->find_device("sn1/core1");
  ASSERT_TRUE(core.has_value()) << core.error().text();
  EXPECT_EQ(site->ports_of(*core).size(), 32u);
  Routes routes(*site);
  auto a = *site->find_device("sn1/node1/card0"), b = *site->find_device("sn1/node1/card5"), c = *site->find_device("sn1/node4/card7");
  // Worst path of the example: card, node switch, core switch, node switch, card.
  EXPECT_EQ(routes.best(a, c).length, 4);
  EXPECT_EQ(routes.best(a, b).length, 2);
  EXPECT_EQ(routes.best_network(a, c), Network::kScaleUp);
  EXPECT_DOUBLE_EQ(routes.best(a, c).width.value(), 50e9);
  // Eight uplinks share the flow evenly on both sides of the core.
  EXPECT_EQ(routes.best(a, c).hops.size(), 1u + 8 + 8 + 1);
  double first = 0;
  for (const RouteHop& h : routes.best(a, c).hops) first += site->port(site->link(h.link.link()).a).device == a ? h.share : 0;
  EXPECT_NEAR(first, 1, 1e-6);
  // 4 nodes x 2 x 400G = 3.2 Tb/s of scale-out.
  double out = 0;
  for (DeviceId nic : site->of_kind(DeviceKind::kNic))
    for (PortId p : site->ports_of(nic)) out += site->link(site->port(p).link).rate.value();
  EXPECT_DOUBLE_EQ(out, 3.2e12);
  EXPECT_TRUE(routes.between(a, c, Network::kScaleOut).reachable);
  EXPECT_TRUE(routes.between(a, *site->find_device("storage1"), Network::kStorage).reachable);
  EXPECT_FALSE(routes.between(a, *site->find_device("storage1"), Network::kManagement).reachable);
}

TEST(FabricSite, Pod144IsTwoNvl72) {
  auto site = load_site("pod-144");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  EXPECT_EQ(site->cards().size(), 144u);
  Routes routes(*site);
  auto a = *site->find_device("sn1/node1/card0"), b = *site->find_device("sn1/node18/card3"), far = *site->find_device("sn2/node1/card0");
  EXPECT_EQ(routes.best(a, b).length, 2);
  EXPECT_EQ(routes.best(a, b).hops.size(), 36u);
  EXPECT_NEAR(routes.best(a, b).width.value(), 900e9, 1e6);
  EXPECT_EQ(routes.best_network(a, far), Network::kScaleOut);
  EXPECT_TRUE(routes.best(a, far).reachable);
  EXPECT_DOUBLE_EQ(routes.best(a, far).width.value(), 50e9);
  int spare = 0;
  for (const Link& l : site->links()) spare += l.spare;
  EXPECT_GT(spare, 0);
}

TEST(FabricSite, BadInputNamesFileLineAndRemedy) {
  EXPECT_EQ(error_of("site: x\nsupernode: []\n"), "site.yaml:2: unknown key 'supernode'; did you mean 'supernodes'?");
  EXPECT_NE(error_of("site: x\nsupernodes:\n  - {nodes: 10000000, cards_per_node: 8}\n").find("site.yaml:3: "), std::string::npos);
  EXPECT_NE(error_of("site: x\nsupernodes:\n  - {nodes: 1}\ncables:\n  - {from: sn1/node1/card0:p0, to: sn1/node9/card0:p0}\n")
                .find("dangling cable: no device 'sn1/node9/card0'"),
            std::string::npos);
  std::string twice = error_of(
      "site: x\nsupernodes:\n  - {nodes: 1}\ncables:\n  - {name: A, from: sn1/node1/card0:p0, to: sn1/node1/card1:p0}\n  - {name: B, from: "
      "sn1/node1/card0:p0, to: sn1/node1/card2:p0}\n");
  EXPECT_EQ(twice, "site.yaml:6: two cables in port sn1/node1/card0:p0: cable A is already there");
  EXPECT_NE(
      error_of("site: x\nsupernodes:\n  - {nodes: 1}\ncables:\n  - {from: sn1/node1/card0:p0, to: sn1/node1/card1:p0, length: -2 m}\n")
          .find("site.yaml:5"),
      std::string::npos);
  const std::string two =
      "site: x\nscale_out: {topology: unknown, nics_per_node: 1}\nsupernodes:\n  - {nodes: 2}\nswitches:\n  - {name: s}\ncables:\n";
  EXPECT_EQ(error_of(two + "  - {from: s:1, to: s:2}\n"), "site.yaml:8: this cable joins s with itself");
  EXPECT_EQ(error_of(two + "  - {name: A, from: s:1, to: sn1/node1/nic0}\n  - {name: A, from: s:2, to: sn1/node2/nic0}\n").substr(0, 47),
            "site.yaml:9: a cable 'A' is there already; give");
  EXPECT_NE(
      error_of(two + "  - {from: s:1, to: sn1/node1/nic0, rate: 400}\n").find("site.yaml:8: rate: expected a quantity such as '400 Gb/s'"),
      std::string::npos);
  EXPECT_NE(error_of(two + "  - {from: s:1, to: sn1/node1/nic0, rate: 0G}\n").find("leave the rate out"), std::string::npos);
  EXPECT_NE(error_of("site: x\nsupernodes:\n  - {name: a/../b, nodes: 1}\n").find("site.yaml:3: 'a/../b' cannot be a name"),
            std::string::npos);
  EXPECT_NE(error_of("site: x\nsupernodes:\n  - {nodes: 1}\nfacility: {cdus: 1, supply: -300}\n").find("site.yaml:4"), std::string::npos);
  EXPECT_NE(error_of("").find("empty"), std::string::npos);
  EXPECT_FALSE(error_of(std::string_view("\x7f"
                                         "ELF\0\0\x01",
                                         7))
                   .empty());
}

}  // namespace
}  // namespace weft::fabric
