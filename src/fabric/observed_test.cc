#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fabric/observed.h"

namespace weft::fabric {
namespace {

TEST(Observed, UnknownIsAValueAndContradictionsStaySideBySide) {
  Observed o;
  o.files = {"a.xml", "b.txt"};
  std::uint32_t node = o.add(DeviceKind::kNode, "node0", kNoDevice, {0, 1});
  std::uint32_t card = o.add(DeviceKind::kCard, "node0/card0", node, {0, 2});
  o.devices[card].facts["numa"].say("0", {0, 2});
  o.devices[card].facts["numa"].say("0", {1, 9});  // the same again is no contradiction
  o.devices[card].facts["model"].say("A", {0, 2});
  o.devices[card].facts["model"].say("B", {1, 9});
  ObservedLink link{card, kNoDevice, Network::kScaleUp, "NVLink", {}, {}, {0, 3}};
  o.links.push_back(link);
  collect_contradictions(o);
  ASSERT_EQ(o.contradictions.size(), 1u);
  EXPECT_EQ(o.contradictions[0].text, "node0/card0 model: A (a.xml:2) and B (b.txt:9)");
  EXPECT_EQ(o.fact(card, "numa"), "0");
  EXPECT_EQ(o.fact(card, "model"), "");
  EXPECT_EQ(o.link_total(card, Network::kScaleUp), -1);  // a link of unknown count
  EXPECT_EQ(o.link_total(card, Network::kScaleOut), 0);
  Json json = to_json(o);
  EXPECT_EQ(json["links"][0]["count"], "unknown");
  EXPECT_EQ(json["devices"][1]["facts"]["model"]["contradiction"].size(), 2u);
  EXPECT_NE(to_text(report(o)).find("1 node, 1 card"), std::string::npos);
}

TEST(Observed, HbdsAreComponentsOfScaleUpLinks) {
  Observed o;
  for (int i = 0; i < 5; ++i) o.add(DeviceKind::kCard, "c" + std::to_string(i), kNoDevice, {0, 1});
  std::uint32_t sw = o.add(DeviceKind::kSwitch, "sw", kNoDevice, {0, 1});
  o.links.push_back({0, sw, Network::kScaleUp, "NVLink", {}, {}, {}});
  o.links.push_back({3, sw, Network::kScaleUp, "NVLink", {}, {}, {}});
  o.links.push_back({1, 2, Network::kScaleUp, "NVLink", {}, {}, {}});
  o.links.push_back({0, 1, Network::kHost, "PCIe", {}, {}, {}});
  find_hbds(o);
  ASSERT_EQ(o.domains.size(), 2u);  // card 4 is alone
  EXPECT_EQ(o.domains[0].members, (std::vector<std::uint32_t>{0, 3}));
  EXPECT_EQ(o.domains[1].members, (std::vector<std::uint32_t>{1, 2}));
}

}  // namespace
}  // namespace weft::fabric
