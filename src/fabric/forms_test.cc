// Real forms against published figures, and identities between them (units: one direction unless said otherwise).
#include <gtest/gtest.h>

#include <algorithm>

#include "base/embedded.h"
#include "base/yaml.h"
#include "fabric/check.h"
#include "fabric/count.h"
#include "fabric/routes.h"
#include "fabric/site.h"

namespace weft::fabric {
namespace {

Snapshot form(const std::string& name) {
  auto s = load_site(name);
  EXPECT_TRUE(s.has_value()) << s.error().text();
  return *s;
}
std::size_t links_of(const Snapshot& s, Network n) {
  return static_cast<std::size_t>(
      std::count_if(s.links().begin(), s.links().end(), [n](const Link& l) { return (l.networks & bit(n)) != 0; }));
}
// Sum of one card's scale-up links, bytes per second in one direction.
double card_rate(const Snapshot& s, DeviceId card) {
  double sum = 0;
  for (PortId p : s.ports_of(card))
    if (LinkId l = s.port(p).link; l.ok()) sum += s.link(l).rate.value() / 8;
  return sum;
}

TEST(Forms, EveryFormBuildsAndNamesItsSources) {
  std::size_t forms = 0;
  for (const std::string& path : embedded_paths("data/forms/")) {
    auto text = embedded_file(path);
    ASSERT_TRUE(text.has_value());
    auto spec = parse_site(*text, path);
    ASSERT_TRUE(spec.has_value()) << spec.error().text();
    auto site = build(*spec);
    ASSERT_TRUE(site.has_value()) << site.error().text();
    EXPECT_GT(spec->document.get("sources").entries().size(), 0u) << path << " names no source";
    EXPECT_EQ(path, "data/forms/" + spec->name + ".yaml");
    // A form without links says what is not known; one with links joins all its cards.
    if (links_of(*site, Network::kScaleUp) == 0) {
      EXPECT_GT(spec->document.get("unknown").size(), 0u) << path;
    }
    auto results = check(*site);
    ASSERT_TRUE(results.has_value());
    for (const CheckResult& r : *results)
      EXPECT_NE(r.verdict, Verdict::kFail) << path << ": " << r.rule << " " << r.entity << ": " << r.message;
    ++forms;
  }
  EXPECT_GE(forms, 24u);
}

TEST(Forms, BandwidthPerCardIsAsPublished) {
  struct Row {
    const char* name;
    std::size_t cards;
    double giga;  // GB/s of one card in one direction
  };
  for (Row r : {Row{"dgx-a100", 8, 300},         Row{"hgx-h100", 8, 450},
                Row{"hgx-h200", 8, 450},         Row{"hgx-b200", 8, 900},
                Row{"dgx1-v100", 8, 150},        Row{"dgx2", 16, 150},
                Row{"gb200-nvl72", 72, 900},     Row{"gb300-nvl72", 72, 900},
                Row{"gb200-nvl36x2", 72, 900},   Row{"vr-nvl72", 72, 1800},
                Row{"mi300x-8", 8, 448},         Row{"mi325x-8", 8, 448},
                Row{"mi355x-8", 8, 537.6},       Row{"gaudi3-8", 8, 525},
                Row{"trn2-ultra-64", 64, 640},   Row{"tpu-v4-4096", 4096, 300},
                Row{"tpu-v5p-8960", 8960, 600},  Row{"tpu-v6e-256", 256, 400},
                Row{"ironwood-9216", 9216, 600}, Row{"cm384", 384, 392},
                Row{"oisa-128", 128, 400},       Row{"dgx-h100-nvlnet-256", 256, 450},
                Row{"dgx-gh200-256", 256, 450}}) {
    Snapshot s = form(r.name);
    EXPECT_EQ(s.cards().size(), r.cards) << r.name;
    for (DeviceId c : {s.cards().front(), s.cards()[s.cards().size() / 2], s.cards().back()})
      EXPECT_NEAR(card_rate(s, c) / 1e9, r.giga, 1e-6) << r.name;
  }
}

TEST(Forms, Nvl72Has1296LinksOnEighteenPlanes) {
  Snapshot s = form("gb200-nvl72");
  EXPECT_EQ(links_of(s, Network::kScaleUp), 1296u);
  EXPECT_EQ(links_of(s, Network::kScaleUp) * 4, 5184u);  // copper pairs: two lanes, two directions
  EXPECT_EQ(s.of_kind(DeviceKind::kSwitch).size(), 18u);
  for (DeviceId sw : s.of_kind(DeviceKind::kSwitch)) EXPECT_EQ(s.ports_of(sw).size(), 72u);
  auto c = count(s);
  ASSERT_TRUE(c.has_value());
  ASSERT_TRUE(c->aggregate.has_value());
  EXPECT_NEAR(c->aggregate->value(), 129.6e12, 1e6);  // "130 TB/s"
  Routes r(s);
  const Route& pair = r.between(s.cards()[0], s.cards()[71], Network::kScaleUp);
  EXPECT_NEAR(pair.width.value(), 900e9, 1e6);
  EXPECT_EQ(pair.length, 2);
  EXPECT_EQ(pair.hops.size(), 36u);
}

TEST(Forms, CloudMatrixCloses) {
  Snapshot s = form("cm384");
  std::size_t l1 = 0, l2 = 0, up = 0;
  for (DeviceId sw : s.of_kind(DeviceKind::kSwitch)) (s.device(sw).tier == 0 ? l1 : l2) += 1;
  EXPECT_EQ(l1, 336u);
  EXPECT_EQ(l2, 112u);
  for (DeviceId sw : s.of_kind(DeviceKind::kSwitch))
    if (s.device(sw).tier == 1) {
      EXPECT_EQ(s.ports_of(sw).size(), 48u);
      up += 48;
    }
  EXPECT_EQ(up, 5376u);
  auto c = count(s);
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->optical_modules, 5376u);  // 2688 cables of two sub-links
  EXPECT_EQ(c->cables, 2688u);
  EXPECT_NEAR(c->aggregate->value(), 301.1e12, 0.1e12);
  EXPECT_DOUBLE_EQ(c->networks.at(0).oversubscription, 1);
  EXPECT_NEAR(c->networks.at(0).bisection.value() / 8, 150.5e12 / 2, 0.1e12);
  EXPECT_EQ(s.of_kind(DeviceKind::kCpu).size(), 192u);
}

TEST(Forms, SlimmedTreesAreTwoToOne) {
  for (const char* name : {"dgx-gh200-256", "dgx-h100-nvlnet-256"}) {
    auto c = count(form(name));
    ASSERT_TRUE(c.has_value());
    EXPECT_DOUBLE_EQ(c->networks.at(0).oversubscription, 2) << name;
    // "57.6 TB/s all-to-all": 256 × 225 GB/s, so half of that crosses the middle each way.
    EXPECT_NEAR(c->networks.at(0).bisection.value() / 8, 28.8e12, 1e6) << name;
  }
  Snapshot gh = form("dgx-gh200-256");
  std::size_t l1 = 0, l2 = 0;
  for (DeviceId sw : gh.of_kind(DeviceKind::kSwitch)) (gh.device(sw).tier == 0 ? l1 : l2) += 1;
  EXPECT_EQ(l1, 96u);
  EXPECT_EQ(l2, 36u);
  for (DeviceId sw : gh.of_kind(DeviceKind::kSwitch))
    if (gh.device(sw).tier == 1) {
      EXPECT_EQ(gh.ports_of(sw).size(), 64u);
    }
}

TEST(Forms, TpuCubes) {
  Snapshot s = form("tpu-v4-4096");
  EXPECT_EQ(s.of_kind(DeviceKind::kRack).size(), 64u);
  std::size_t optical = 0;
  for (const Link& l : s.links()) optical += l.medium == Medium::kOptical;
  EXPECT_EQ(optical * 2, 64u * 96);   // ports of cube faces
  EXPECT_EQ(optical * 2, 48u * 128);  // = ports of the optical switches
  auto c = count(s);
  ASSERT_TRUE(c.has_value());
  EXPECT_NEAR(c->networks.at(0).bisection.value() / 8, 25.6e12, 1e6);  // 2 × 16 × 16 links of 50 GB/s; Google states 24 TB/s
  EXPECT_EQ(form("tpu-v5p-8960").of_kind(DeviceKind::kRack).size(), 140u);
  EXPECT_EQ(form("ironwood-9216").of_kind(DeviceKind::kRack).size(), 144u);
  // 1.5 optical modules per chip: 96 face ports per 64 chips.
  auto iron = count(form("ironwood-9216"));
  EXPECT_DOUBLE_EQ(static_cast<double>(iron->optical_modules) / 9216, 1.5);
}

TEST(Forms, SmallIdentities) {
  EXPECT_EQ(mesh_links(1000), 499'500u);
  EXPECT_EQ(mesh_links(8), 28u);
  Snapshot gaudi = form("gaudi3-8");
  EXPECT_EQ(gaudi.ports_of(gaudi.cards()[0]).size(), 21u);
  EXPECT_EQ(links_of(gaudi, Network::kScaleUp), 28u * 3);
  Snapshot mi = form("mi300x-8");
  for (DeviceId c : mi.cards()) EXPECT_EQ(mi.ports_of(c).size(), 7u);
  Routes r(mi);
  EXPECT_DOUBLE_EQ(r.between(mi.cards()[0], mi.cards()[1], Network::kScaleUp).width.value(), 64e9);  // a pair never gets more than one link
  Snapshot b200 = form("hgx-b200");
  EXPECT_EQ(links_of(b200, Network::kScaleUp), 2u * 72);
  Snapshot mesh = form("ub-mesh-pod-1024");
  for (DeviceId c : {mesh.cards().front(), mesh.cards().back()}) EXPECT_EQ(mesh.ports_of(c).size(), 20u);  // 7 + 7 + 3 + 3
  EXPECT_EQ(mesh.of_kind(DeviceKind::kRack).size(), 16u);
  Routes rates(mesh);
  const Route& far = rates.between(mesh.cards().front(), mesh.cards().back(), Network::kScaleUp);
  EXPECT_EQ(far.length, 4);
  EXPECT_TRUE(far.reachable);
  EXPECT_EQ(far.width.value(), 0);  // rates are not published
}

TEST(Forms, Pod144HasSparesAndNoSinglePointBesidesStorageAndManagement) {
  Snapshot s = form("pod-144");
  EXPECT_EQ(spare_nodes(s).size(), 4u);
  EXPECT_EQ(s.name(spare_nodes(s)[0]), "sn1/node17");
  auto c = count(s);
  ASSERT_TRUE(c.has_value());
  for (const CutPoint& p : c->cut_points)
    EXPECT_TRUE(p.network == Network::kStorage || p.network == Network::kManagement) << s.name(p.device);
}

}  // namespace
}  // namespace weft::fabric
