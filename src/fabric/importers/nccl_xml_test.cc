#include <gtest/gtest.h>

#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

Observed good(std::string_view text) {
  auto o = import_text(text, "t.xml");
  EXPECT_TRUE(o.has_value()) << (o ? "" : o.error().text());
  return o ? *o : Observed{};
}
std::string bad(std::string_view text) {
  auto o = import_text(text, "t.xml");
  EXPECT_FALSE(o.has_value());
  return o ? "" : o.error().text();
}
bool says(const std::vector<Remark>& remarks, std::string_view part) {
  for (const Remark& r : remarks)
    if (r.text.find(part) != std::string::npos) return true;
  return false;
}

TEST(NcclXml, CountsByPciClassAndSaysNvlinkIsNotDescribed) {
  Observed o = good(R"(<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="8"/>
    </pci>
  </cpu>
</system>)");
  EXPECT_EQ(o.count(DeviceKind::kCard), 1u);
  EXPECT_EQ(o.count(DeviceKind::kNic), 1u);
  EXPECT_EQ(o.count(DeviceKind::kCpu), 1u);
  EXPECT_TRUE(says(o.unknown, "not the same as absent"));
  ASSERT_EQ(o.links.size(), 3u);
  EXPECT_NEAR(o.links[1].rate.one()->value(), 32e9 * 16 * 128 / 130, 1);  // 504.1 Gb/s
  EXPECT_NEAR(o.links[2].rate.one()->value(), 16e9 * 8 * 128 / 130, 1);
  EXPECT_EQ(o.place(o.devices[3].at), "t.xml:4");
}

TEST(NcclXml, SumsNvlinksOverSwitches) {
  Observed o = good(R"(<system version="1"><cpu numaid="0">
<pci busid="0000:0f:00.0" class="0x030200" link_speed="5.0 GT/s PCIe" link_width="16"><gpu dev="0" rank="0">
<nvlink target="0000:03:00.0" count="5" tclass="0x068000"/><nvlink target="0000:04:00.0" count="4" tclass="0x068000"/></gpu></pci>
<pci busid="0000:2d:00.0" class="0x030200" link_speed="5.0 GT/s PCIe" link_width="16"><gpu dev="1" rank="1">
<nvlink target="0000:03:00.0" count="5" tclass="0x068000"/><nvlink target="0000:04:00.0" count="4" tclass="0x068000"/></gpu></pci>
<pci busid="0000:0c:00.0" class="0x020000"><nic><net name="mlx5_0" speed="180000" port="1" guid="0x9a"/><net name="mlx5_1" speed="200000" port="2"/></nic></pci>
</cpu></system>)");
  auto cards = o.of_kind(DeviceKind::kCard);
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(o.link_total(cards[0], Network::kScaleUp), 9);
  ASSERT_EQ(o.domains.size(), 1u);
  EXPECT_EQ(o.domains[0].members, cards);
  auto nics = o.of_kind(DeviceKind::kNic);
  ASSERT_EQ(nics.size(), 1u);
  EXPECT_EQ(o.link_total(nics[0], Network::kScaleOut), 2);
  EXPECT_EQ(o.fact(nics[0], "net2"), "mlx5_1");
  EXPECT_TRUE(o.contradictions.empty());
}

TEST(NcclXml, HivesAreNotLinkedAndOneSidedCountsContradict) {
  Observed o = good(R"(<system version="2"><cpu numaid="3">
<pci busid="0000:01:00.0" class="0x038000" link_speed="16 GT/s" link_width="16"><gpu dev="0"><xgmi target="0000:02:00.0" count="1" tclass="0x038000"/></gpu></pci>
<pci busid="0000:02:00.0" class="0x038000" link_speed="16 GT/s" link_width="16"><gpu dev="1"><xgmi target="0000:01:00.0" count="2" tclass="0x038000"/></gpu></pci>
<pci busid="0000:03:00.0" class="0x120000" link_speed="16 GT/s" link_width="16"><gpu dev="2"><xgmi target="0000:04:00.0" count="1" tclass="0x120000"/></gpu></pci>
<pci busid="0000:04:00.0" class="0x120000" link_speed="16 GT/s" link_width="16"><gpu dev="3"/></pci>
</cpu></system>)");
  ASSERT_EQ(o.domains.size(), 2u);
  EXPECT_EQ(o.domains[0].members.size(), 2u);
  EXPECT_TRUE(says(o.contradictions, "xGMI links between node0/card0 and node0/card1: 1 (t.xml:2) and 2 (t.xml:3)"));
  EXPECT_TRUE(says(o.contradictions, "node0/card2 lists xGMI to node0/card3, which does not list it back"));
  EXPECT_TRUE(says(o.unknown, "NUMA 0, 1, 2 of node0"));
}

TEST(NcclXml, BarePciIsLegalAndUnknown) {
  Observed o = good("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:00:16.0\"/><pci busid=\"0000:00:17.0\"/></cpu></system>");
  EXPECT_EQ(o.count(DeviceKind::kCard), 0u);
  EXPECT_TRUE(o.devices[2].kind.unknown());
  EXPECT_TRUE(says(o.unknown, "class of 2 PCI device(s)"));
}

TEST(NcclXml, SameAddressTwiceAndHostsApart) {
  Observed o = good(R"(<system version="1">
<cpu host_hash="0xa" numaid="0"><pci busid="0000:01:00.0" class="0x030200"><gpu dev="0"/></pci></cpu>
<cpu host_hash="0xb" numaid="0"><pci busid="0000:01:00.0" class="0x030200"><gpu dev="0"/></pci><pci busid="0000:01:00.0" class="0x030200"><gpu dev="0"/></pci></cpu>
</system>)");
  EXPECT_EQ(o.count(DeviceKind::kNode), 2u);
  EXPECT_TRUE(says(o.contradictions, "PCI address 0000:01:00.0 stands twice (also t.xml:3)"));
  EXPECT_TRUE(says(o.contradictions, "two cards have dev=\"0\""));
  EXPECT_EQ(o.devices[o.of_kind(DeviceKind::kCard)[2]].name, "node1/card1");
}

TEST(NcclXml, Refusals) {
  EXPECT_EQ(bad("\n<graphs version=\"1\"><graph id=\"0\"><channel><gpu dev=\"0\"/></channel></graph></graphs>"),
            "t.xml:2: <graphs> is a graph file (NCCL_GRAPH_DUMP_FILE: the rings and trees NCCL chose), not a topology; give the file that "
            "NCCL_TOPO_DUMP_FILE writes");
  EXPECT_NE(bad("<system version=\"1\"><cpu numaid=\"0\">\n<pci busid=\"0000:00:16.0\" class=\"0x03").find("the XML is cut off or damaged"),
            std::string::npos);
  EXPECT_NE(bad("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:00:16.0\" class=\"0x020700\"/></cpu></system>")
                .find("missing is a <pci> of class 0x0300xx"),
            std::string::npos);
  EXPECT_NE(bad("<?xml version=\"1.0\"?>\n<nvidia_smi_log/>").find("t.xml:2: the root element is <nvidia_smi_log>"), std::string::npos);
  std::string deep = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int i = 0; i < 200000; ++i) deep += "<pci>";
  for (int i = 0; i < 200000; ++i) deep += "</pci>";
  EXPECT_NE(bad(deep + "</cpu></system>").find("nested more than 64 deep"), std::string::npos);
  // Entities are not expanded: a "billion laughs" text stays as it is.
  EXPECT_NE(bad("<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;\">]><system version=\"1\">&b;</system>").find("no accelerator"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::fabric
