// What is written must come back the same through the importer of the same format; drawings are checked for what they must show.
#include <gtest/gtest.h>

#include "fabric/exporters/exporter.h"
#include "fabric/importers/importer.h"
#include "fabric/observed_site.h"
#include "fabric/site.h"

namespace weft::fabric {
namespace {

Snapshot site(std::string_view text) {
  auto spec = parse_site(text, "s.yaml");
  EXPECT_TRUE(spec.has_value()) << (spec ? "" : spec.error().text());
  auto built = build(*spec);
  EXPECT_TRUE(built.has_value()) << (built ? "" : built.error().text());
  return *built;
}
std::string written(const Snapshot& s, std::string_view format, ExportOptions options = {}) {
  auto text = exporters().find(format)->write(s, options);
  EXPECT_TRUE(text.has_value()) << (text ? "" : text.error().text());
  return text ? *text : "";
}
Observed read(const std::string& text) {
  auto o = import_text(text, "again");
  EXPECT_TRUE(o.has_value()) << (o ? "" : o.error().text());
  return o ? *o : Observed{};
}

constexpr std::string_view kHgx = R"(
site: hgx
supernodes:
  - {name: sn, nodes: 2, cards_per_node: 8, card: H100-SXM5, scale_up: {scope: node, topology: switched, switches: 4, links: 18, rate: 200G}}
scale_out: {topology: rail, nics_per_node: 8, rate: 400G, spines: 2, uplinks: 2}
)";

TEST(ExportNcclXml, ComesBackWithTheSameDevicesAndLinks) {
  Snapshot s = site(kHgx);
  ExportOptions node2;
  node2.node = *s.find_device("sn1/node2");
  std::string text = written(s, "nccl-xml", node2);
  Observed o = read(text);
  EXPECT_TRUE(o.contradictions.empty());
  auto cards = o.of_kind(DeviceKind::kCard);
  ASSERT_EQ(cards.size(), 8u);
  for (std::uint32_t c : cards) EXPECT_EQ(o.link_total(c, Network::kScaleUp), 18);
  EXPECT_EQ(o.count(DeviceKind::kSwitch), 4u);
  EXPECT_EQ(o.count(DeviceKind::kNic), 8u);
  for (const ObservedLink& l : o.links)
    if (l.network == Network::kScaleOut) {
      EXPECT_EQ(l.rate.one()->value(), 400e9);
    }
  ASSERT_EQ(o.domains.size(), 1u);
  EXPECT_EQ(o.domains[0].members.size(), 8u);
  // And once more through a site file: the second writing says the same about cards and links.
  auto again = to_site(o, {});
  ASSERT_TRUE(again.has_value()) << again.error().text();
  Observed twice = read(written(site(again->yaml), "nccl-xml"));
  ASSERT_EQ(twice.of_kind(DeviceKind::kCard).size(), 8u);
  for (std::uint32_t c : twice.of_kind(DeviceKind::kCard)) EXPECT_EQ(twice.link_total(c, Network::kScaleUp), 18);
}

TEST(ExportNcclXml, AmdMeshIsVersionTwoWithXgmi) {
  Snapshot s =
      site("site: mi\nsupernodes:\n  - {nodes: 1, cards_per_node: 8, card: MI300X, scale_up: {topology: full_mesh, rate: 512G}}\n");
  Observed o = read(written(s, "nccl-xml"));
  std::size_t pairs = 0;
  for (const ObservedLink& l : o.links) pairs += l.technology == "xGMI";
  EXPECT_EQ(pairs, 28u);
  EXPECT_TRUE(o.contradictions.empty());
}

TEST(ExportNcclXml, KnownPciAddressesAreUsedAndOthersSaidToBeMadeUp) {
  Snapshot s = site("site: x\nsupernodes:\n  - {nodes: 1, cards_per_node: 2}\naliases: {\"0000:0f:00.0\": sn1/node1/card0}\n");
  std::string text = written(s, "nccl-xml");
  EXPECT_NE(text.find("busid=\"0000:0f:00.0\""), std::string::npos);
  EXPECT_NE(text.find("1 PCI addresses (f000:...) are made up"), std::string::npos);
  Snapshot empty = site("site: x\nsupernodes:\n  - {nodes: 1, cards_per_node: 0}\n");
  EXPECT_NE(exporters().find("nccl-xml")->write(empty, {}).error().text().find("has no cards"), std::string::npos);
}

TEST(ExportSlurm, TreeComesBack) {
  constexpr std::string_view kTree =
      "SwitchName=l1 Nodes=n[1-4]\nSwitchName=l2 Nodes=n[5-8]\nSwitchName=l3 Nodes=m[01-02]\nSwitchName=mid "
      "Switches=l[1-2]\nSwitchName=root Switches=mid,l3\n";
  Observed first = read(std::string(kTree));
  auto made = to_site(first, {});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  std::string text = written(site(made->yaml), "slurm-topology");
  EXPECT_NE(text.find("SwitchName=l1 Nodes=n[1-4]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("SwitchName=l3 Nodes=m[01-02]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("SwitchName=mid Switches=l[1-2]\n"), std::string::npos) << text;
  Observed second = read(text);
  EXPECT_EQ(second.count(DeviceKind::kNode), 10u);
  EXPECT_EQ(second.count(DeviceKind::kSwitch), 5u);
  EXPECT_EQ(second.domains.size(), 1u);
  EXPECT_TRUE(second.contradictions.empty());
}

TEST(ExportSlurm, RailsAndSpinesAreOneLineEach) {
  std::string text = written(*load_site("pod-144"), "slurm-topology");
  Observed o = read(text);
  EXPECT_EQ(o.count(DeviceKind::kNode), 36u);
  EXPECT_EQ(o.count(DeviceKind::kSwitch), 3u);  // two blocks of four rails, one line of spines
  EXPECT_EQ(o.domains.size(), 1u);
  EXPECT_NE(text.find("# spine1 = spine[1-4]"), std::string::npos) << text;
}

TEST(ExportSlurm, IslandsStayIslands) {
  auto made = to_site(read("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n"), {});
  std::string text = written(site(made->yaml), "slurm-topology");
  EXPECT_NE(text.find("2 islands"), std::string::npos);
  EXPECT_EQ(read(text).domains.size(), 2u);
  EXPECT_NE(exporters()
                .find("slurm-topology")
                ->write(site("site: x\nsupernodes:\n  - {nodes: 1}\n"), {})
                .error()
                .text()
                .find("no node is cabled"),
            std::string::npos);
}

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(ExportDrawings, ShowEveryNodeCardAndSwitch) {
  Snapshot lab = *load_site("lab-32");
  std::string svg = written(lab, "svg"), dot = written(lab, "dot");
  EXPECT_EQ(times(svg, "H100-SXM5</title>"), 32u);
  for (const char* name : {"rack1", "rack3", "sn1/node4", "core1", "leaf2", "spine1", "storage1"})
    EXPECT_NE(svg.find(name), std::string::npos) << name;
  EXPECT_EQ(svg.find("mgmt"), std::string::npos);
  EXPECT_NE(svg.find("spine1: 2 links"), std::string::npos);  // leaf to spine: 4 uplinks over 2 spines
  EXPECT_EQ(times(dot, "fillcolor=\"#cfe8cf\""), 32u);
  EXPECT_NE(dot.find("subgraph \"cluster_sn1/node4\""), std::string::npos);
  EXPECT_NE(dot.find("\"leaf1\" -- \"spine1\" [label=\"2x400G\""), std::string::npos) << dot;
  EXPECT_EQ(svg, written(*load_site("lab-32"), "svg"));  // same bytes
}

// Every form and site of the catalogue: what NCCL would read of its first node is what the site holds; drawings say no or are whole.
TEST(ExportEveryForm, NodeComesBackAndDrawingsEnd) {
  for (const std::string& name : known_sites()) {
    auto s = load_site(name);
    ASSERT_TRUE(s.has_value()) << name << ": " << s.error().text();
    DeviceId node = s->of_kind(DeviceKind::kNode)[0];
    std::vector<DeviceId> cards;
    for (DeviceId d : s->children(node))
      if (s->device(d).kind == DeviceKind::kCard) cards.push_back(d);
    if (!cards.empty()) {
      Observed o = read(written(*s, "nccl-xml"));
      EXPECT_TRUE(o.contradictions.empty()) << name << ": " << (o.contradictions.empty() ? "" : o.contradictions[0].text);
      auto again = o.of_kind(DeviceKind::kCard);
      ASSERT_EQ(again.size(), cards.size()) << name;
      for (std::size_t i = 0; i < cards.size(); ++i) {
        int links = 0;
        for (PortId p : s->ports_of(cards[i]))
          if (LinkId l = s->port(p).link; l.ok() && (s->link(l).networks & bit(Network::kScaleUp)) && !s->link(l).spare) ++links;
        EXPECT_EQ(o.link_total(again[i], Network::kScaleUp), links) << name;
      }
    }
    for (const char* format : {"svg", "dot"}) {
      auto drawing = exporters().find(format)->write(*s, {});
      if (!drawing) {
        EXPECT_EQ(drawing.error().kind, ErrorKind::kInvalid) << name;
      } else {
        EXPECT_TRUE(drawing->ends_with(format == std::string_view("svg") ? "</svg>\n" : "}\n")) << name;
      }
    }
  }
}

}  // namespace
}  // namespace weft::fabric
