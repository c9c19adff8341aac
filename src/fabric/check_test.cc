// Rules of check, counts, cut points and growth on small sites made to break them.
#include "fabric/check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/count.h"
#include "fabric/delta.h"
#include "fabric/growth.h"
#include "fabric/site.h"
#include "fabric/structure.h"

namespace weft::fabric {
namespace {

Snapshot site(const std::string& text) {
  auto spec = parse_site("site: t\n" + text, "t.yaml");
  EXPECT_TRUE(spec.has_value()) << spec.error().text();
  auto built = build(*spec);
  EXPECT_TRUE(built.has_value()) << built.error().text();
  return *built;
}
// The worst result of a rule.
CheckResult worst(const Snapshot& s, const std::string& rule) {
  auto all = check(s);
  EXPECT_TRUE(all.has_value());
  CheckResult out{rule, Verdict::kOk, "", "nothing said", ""};
  for (const CheckResult& r : *all)
    if (r.rule == rule && (r.verdict > out.verdict || out.message == "nothing said")) out = r;
  return out;
}
std::string rack(int nodes, const std::string& extra) {
  return "models: {X: {power: 1000 W}}\nsupernodes:\n  - {nodes: " + std::to_string(nodes) + ", cards_per_node: 8, card: X, racks: [" +
         std::to_string(nodes) + "], host_power: 2 kW" + extra + "}\n";
}

TEST(FabricCheck, HeatOfARackByBands) {
  EXPECT_EQ(worst(site(rack(2, ", cooling: air")), "rack-cooling").verdict, Verdict::kOk);       // 20 kW: at the limit
  EXPECT_EQ(worst(site(rack(3, ", cooling: air")), "rack-cooling").verdict, Verdict::kWarning);  // 30 kW
  EXPECT_EQ(worst(site(rack(3, ", cooling: rear-door")), "rack-cooling").verdict, Verdict::kOk);
  EXPECT_EQ(worst(site(rack(4, ", cooling: air")), "rack-cooling").verdict, Verdict::kFail);  // 40 kW
  EXPECT_EQ(worst(site(rack(4, ", cooling: rear-door")), "rack-cooling").verdict, Verdict::kOk);
  EXPECT_EQ(worst(site(rack(6, ", cooling: rear-door")), "rack-cooling").verdict, Verdict::kFail);  // 60 kW
  EXPECT_EQ(worst(site(rack(6, ", cooling: liquid")), "rack-cooling").verdict, Verdict::kOk);
  EXPECT_EQ(worst(site(rack(6, ", cooling: liquid")), "coolant").verdict, Verdict::kWarning);  // no coolant unit
  EXPECT_EQ(worst(site(rack(1, "")), "rack-cooling").verdict, Verdict::kUnknown);              // cooling not said
  EXPECT_EQ(worst(site("supernodes:\n  - {nodes: 1, cards_per_node: 8, racks: [1], cooling: air}\n"), "rack-cooling").verdict,
            Verdict::kUnknown);  // power not said
}

TEST(FabricCheck, ShelvesWithOneMissing) {
  std::string liquid = ", cooling: liquid, power_shelves_per_rack: 3, shelf_power: ";
  EXPECT_EQ(worst(site(rack(6, liquid + "33 kW")), "rack-power").verdict, Verdict::kOk);       // 60 of 99, 66 with one lost
  EXPECT_EQ(worst(site(rack(6, liquid + "25 kW")), "rack-power").verdict, Verdict::kWarning);  // 60 of 75, 50 with one lost
  EXPECT_EQ(worst(site(rack(6, liquid + "15 kW")), "rack-power").verdict, Verdict::kFail);     // 60 of 45
}

TEST(FabricCheck, CopperIsShortAtHighLaneRates) {
  auto link = [](const std::string& how) {
    return site(
        "supernodes:\n  - {nodes: 2, cards_per_node: 1}\nscale_out: {topology: leaf_spine, leaves: 1, trunk_medium: dac, trunk_length: 1 "
        "m, " +
        how + "}\n");
  };
  EXPECT_EQ(worst(link("rate: 400G, medium: dac, length: 2 m"), "cable-length").verdict, Verdict::kOk);
  CheckResult r = worst(link("rate: 400G, medium: dac, length: 3 m"), "cable-length");
  EXPECT_EQ(r.verdict, Verdict::kFail);
  EXPECT_NE(r.message.find("dac at 400 Gb/s of 3 m is longer than the 2 m this lane rate (100 Gb/s) reaches; use acc"), std::string::npos)
      << r.message;
  EXPECT_NE(r.source.find("MCP4Y10"), std::string::npos);
  EXPECT_EQ(worst(link("rate: 100G, medium: dac, length: 3 m"), "cable-length").verdict, Verdict::kOk);
  EXPECT_EQ(worst(link("rate: 400G, medium: dac"), "cable-length").verdict, Verdict::kUnknown);
}

TEST(FabricCheck, ManagementSharesNothing) {
  std::string base =
      "supernodes:\n  - {nodes: 2, cards_per_node: 1}\nscale_out: {topology: leaf_spine, leaves: 1, rate: 400G}\nmanagement: {rate: 1G";
  EXPECT_EQ(worst(site(base + "}\n"), "management-isolation").verdict, Verdict::kOk);
  CheckResult r = worst(site(base + ", shared_with: storage}\n"), "management-isolation");
  EXPECT_EQ(r.verdict, Verdict::kFail);
  EXPECT_EQ(worst(site("supernodes:\n  - {nodes: 2, cards_per_node: 1}\n"), "management-isolation").verdict, Verdict::kUnknown);
}

TEST(FabricCheck, SwitchWithTooManyCables) {
  CheckResult r = worst(site("models: {S: {ports: 4}}\nsupernodes:\n  - {nodes: 1, cards_per_node: 8, scale_up: {topology: switched, rate: "
                             "100G, switch: S}}\n"),
                        "switch-ports");
  EXPECT_EQ(r.verdict, Verdict::kFail);
  EXPECT_NE(r.message.find("8 ports are used, a S has 4"), std::string::npos);
}

TEST(FabricCheck, DomainOverTwoTiersAndPairsApart) {
  auto lab = load_site("lab-32");
  ASSERT_TRUE(lab.has_value());
  CheckResult r = worst(*lab, "domain-tiers");
  EXPECT_EQ(r.verdict, Verdict::kWarning);
  EXPECT_NE(r.message.find("8 cards are 2 links apart, the others 4"), std::string::npos) << r.message;
  EXPECT_EQ(worst(*lab, "reachability").verdict, Verdict::kOk);
  Delta cut;
  DeviceHealth h;
  h.state = DeviceState::kFailed;
  cut.devices.push_back({*lab->find_device("sn1/core1"), h});
  CheckResult apart = worst(*apply(*lab, cut), "reachability");
  EXPECT_EQ(apart.verdict, Verdict::kFail);
  EXPECT_NE(apart.message.find("384 of 496 pairs"), std::string::npos) << apart.message;  // 496 − 4 × 28
}

TEST(FabricStructure, CutPointsAreWhatRemovalShows) {
  for (const char* name : {"lab-32", "pod-144", "dgx2", "cm384"}) {
    auto s = load_site(name);
    ASSERT_TRUE(s.has_value());
    for (Network n : {Network::kScaleUp, Network::kScaleOut, Network::kStorage}) {
      auto points = cut_points(*s, n);
      std::size_t healthy = reach(*s, n).unreachable_pairs;
      std::size_t tried = 0;
      for (DeviceId sw : s->of_kind(DeviceKind::kSwitch)) {
        if (++tried > 40 || !(s->port(s->ports_of(sw)[0]).networks & bit(n))) continue;
        Delta d;
        DeviceHealth h;
        h.state = DeviceState::kFailed;
        d.devices.push_back({sw, h});
        bool parts = reach(*apply(*s, d), n).unreachable_pairs > healthy;
        bool listed = std::any_of(points.begin(), points.end(), [&](const CutPoint& p) { return p.device == sw; });
        EXPECT_EQ(parts, listed) << name << " " << s->name(sw) << " on " << network_name(n);
      }
    }
  }
}

TEST(FabricCount, CablesOpticsAndPower) {
  auto c = count(*load_site("lab-32"));
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->links, 32u + 32 + 8 + 8 + 4 + 4);  // cards, uplinks, NICs, leaf to spine, storage, BMCs
  EXPECT_EQ(c->cables, 88u - 32);                 // the board needs none
  EXPECT_EQ(c->optical_modules, 2u * (8 + 8 + 4));
  EXPECT_EQ(c->spare_links, 0u);
  EXPECT_DOUBLE_EQ(c->networks.at(0).oversubscription, 1);
  EXPECT_DOUBLE_EQ(c->networks.at(0).bisection.value(), 16 * 400e9);
  ASSERT_EQ(c->racks.size(), 3u);
  EXPECT_EQ(c->racks[0].cards, 16u);
  EXPECT_NEAR(c->racks[0].parts.value(), 2 * c->racks[1].parts.value(), 1e-6);  // two nodes and one
  EXPECT_GE(c->racks[0].parts.value(), 2 * 10200.0);                            // two nodes of 10.2 kW, and switches
  auto tree =
      count(site("supernodes:\n  - {nodes: 4, cards_per_node: 4, scale_up: {topology: clos2, rate: 100G, uplinks: 2, cores: 1}}\n"));
  ASSERT_TRUE(tree.has_value());
  EXPECT_DOUBLE_EQ(tree->networks.at(0).oversubscription, 2);
  EXPECT_DOUBLE_EQ(tree->networks.at(0).bisection.value(), 2 * 2 * 100e9);
}

TEST(FabricGrowth, NamesWhatChanges) {
  std::string up = ", cards_per_node: 4, racks: [2], scale_up: {topology: clos2, rate: 100G, uplinks: 4, cores: ";
  Snapshot small = site("supernodes:\n  - {nodes: 2" + up + "2}}\n"), large = site("supernodes:\n  - {nodes: 4" + up + "2}}\n"),
           other = site("supernodes:\n  - {nodes: 2" + up + "1}}\n");
  std::vector<CardGroup> groups{{"job", {small.cards()[0], small.cards()[4]}}};
  Growth same = grow(small, small, groups);
  EXPECT_TRUE(same.same());
  EXPECT_EQ(same.groups[0].changed, 0u);
  EXPECT_TRUE(same.measure_again.empty());
  Growth more = grow(small, large, groups);
  EXPECT_EQ(more.links_added, 2u * (4 + 4));
  EXPECT_EQ(more.links_removed, 0u);
  EXPECT_TRUE(more.removed.empty());
  EXPECT_EQ(more.groups[0].changed, 0u);
  bool hbd = false;
  for (const DomainChange& d : more.domains) hbd = hbd || (d.kind == DomainKind::kHbd && d.before == 8 && d.after == 16);
  EXPECT_TRUE(hbd);
  EXPECT_NE(std::find(more.measure_again.begin(), more.measure_again.end(), "all-reduce and all-to-all inside sn1: its members changed"),
            more.measure_again.end());
  Growth recabled = grow(small, other, groups);
  EXPECT_FALSE(recabled.recabled.empty());
  EXPECT_EQ(recabled.groups[0].changed, 2u);
  Growth back = grow(large, small, {{"wide", {large.cards()[0], large.cards()[15]}}});
  EXPECT_EQ(back.groups[0].gone, std::vector<std::string>{"sn1/node4/card3"});
}

}  // namespace
}  // namespace weft::fabric
