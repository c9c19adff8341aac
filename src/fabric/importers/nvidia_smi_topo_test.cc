#include <gtest/gtest.h>

#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

Observed good(std::string_view text) {
  auto o = import_text(text, "m.txt");
  EXPECT_TRUE(o.has_value()) << (o ? "" : o.error().text());
  return o ? *o : Observed{};
}
std::string bad(std::string_view text) {
  auto o = import_text(text, "m.txt");
  EXPECT_FALSE(o.has_value());
  return o ? "" : o.error().text();
}
bool says(const std::vector<Remark>& remarks, std::string_view part) {
  for (const Remark& r : remarks)
    if (r.text.find(part) != std::string::npos) return true;
  return false;
}

constexpr std::string_view kTabs =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV12\tNV12\tNODE\tPIX\t0-63,128-191\t0\t\tN/A\n"
    "GPU1\tNV12\t X \tNV12\tPXB\tNODE\t0-63,128-191\t0\t\tN/A\n"
    "GPU2\tNV12\tNV12\t X \tSYS\tSYS\t64-127\t1\t\tN/A\n"
    "NIC0\tNODE\tPXB\tSYS\t X \tNODE\t\t\t\t\n"
    "NIC1\tPIX\tNODE\tSYS\tNODE\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: "
    "mlx5_bond_0\n";

TEST(NvidiaSmiTopo, TabsColoursLegend) {
  Observed o = good(kTabs);
  auto cards = o.of_kind(DeviceKind::kCard);
  ASSERT_EQ(cards.size(), 3u);
  EXPECT_EQ(o.count(DeviceKind::kNic), 2u);
  EXPECT_EQ(o.fact(cards[0], "nearest_nics"), "nic1");
  EXPECT_EQ(o.fact(cards[1], "nearest_nics"), "nic0");
  EXPECT_EQ(o.fact(cards[1], "nearest_nic_path"), "PXB");
  EXPECT_EQ(o.fact(cards[2], "nearest_nics"), "nic0,nic1");
  EXPECT_EQ(o.fact(cards[2], "numa"), "1");
  EXPECT_EQ(o.fact(cards[0], "cpu_affinity"), "0-63,128-191");
  EXPECT_EQ(o.fact(o.of_kind(DeviceKind::kNic)[1], "net"), "mlx5_bond_0");
  // 12 + 12 links would exceed the 18 ports of any card: they are the same links, through switches.
  EXPECT_EQ(o.count(DeviceKind::kSwitch), 1u);
  EXPECT_EQ(o.link_total(cards[0], Network::kScaleUp), 12);
  ASSERT_EQ(o.domains.size(), 1u);
  EXPECT_EQ(o.domains[0].members.size(), 3u);
}

TEST(NvidiaSmiTopo, SpacesInADocument) {
  Observed o = good(R"(# My machine

```
$ nvidia-smi topo -m
      GPU0  GPU1  GPU2  GPU3  CPU Affinity  NUMA Affinity
GPU0   X    NV1   NV2   SYS   0-27          0
GPU1  NV1    X    SYS   NV2   0-27          0
GPU2  NV2   SYS    X    NV1   28-55         1
GPU3  SYS   NV2   NV1    X    28-55         1
```
Text about GPU0 and GPU1 follows.
)");
  auto cards = o.of_kind(DeviceKind::kCard);
  ASSERT_EQ(cards.size(), 4u);
  EXPECT_EQ(o.count(DeviceKind::kSwitch), 0u);  // direct links: 3 per card
  EXPECT_EQ(o.link_total(cards[0], Network::kScaleUp), 3);
  EXPECT_EQ(o.fact(cards[3], "numa"), "1");
  EXPECT_EQ(o.fact(cards[3], "cpu_affinity"), "28-55");
  EXPECT_TRUE(says(o.unknown, "network cards"));
}

TEST(NvidiaSmiTopo, SeveralMachinesInOneDocument) {
  Observed o = good(
      "```\n     GPU0 GPU1 CPU Affinity\nGPU0 X PHB 0-11\nGPU1 PHB X 0-11\n```\nand\n\n# \tGPU0\tGPU1\tmlx5_0\tCPU Affinity\n# GPU0\t X "
      "\tNV2\tPHB\t0-11\n# GPU1\tNV2\t X \tPHB\t0-11\n# mlx5_0\tPHB\tPHB\t X \t\n");
  EXPECT_EQ(o.count(DeviceKind::kNode), 2u);
  EXPECT_EQ(o.count(DeviceKind::kCard), 4u);
  EXPECT_EQ(o.count(DeviceKind::kNic), 1u);
  EXPECT_TRUE(says(o.understood, "2 different matrices"));
  EXPECT_EQ(o.domains.size(), 1u);
}

TEST(NvidiaSmiTopo, BothDirectionsAreKept) {
  Observed o = good("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0\nGPU1\tNV12\t X \t0\n");
  EXPECT_TRUE(says(o.contradictions, "path node0/card0 to node0/card1: NV18 (m.txt:2) and NV12 (m.txt:3)"));
}

TEST(NvidiaSmiTopo, CutMatrices) {
  std::string text(kTabs);
  EXPECT_NE(bad(text.substr(0, text.find("NODE\t0-63,128-191\t0\t\tN/A\nGPU2")))
                .find("m.txt:3: row GPU1 has 4 cells where the head names 5 devices"),
            std::string::npos);
  EXPECT_NE(bad(text.substr(0, text.find("GPU2\tNV12\tNV12"))).find("the head names GPU2 but its row is missing"), std::string::npos);
}

TEST(NvidiaSmiTopo, OneCardWithItsNvlinks) {
  Observed o = good(
      "# capabilities :: topo -m\n\t\x1b[4mGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\nGPU0\t X \t0-19\t0\t\tN/A\n\n# "
      "capabilities :: nvlink -s\n"
      "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n\t "
      "Link 2: <inactive>\n");
  auto cards = o.of_kind(DeviceKind::kCard);
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_EQ(o.fact(cards[0], "model"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(o.fact(cards[0], "nvlink_active"), "2");
  EXPECT_EQ(o.fact(cards[0], "nvlink_inactive"), "2");
  EXPECT_EQ(o.fact(cards[0], "uuid"), "");  // masked
  ASSERT_EQ(o.links.size(), 1u);
  EXPECT_NEAR(o.links[0].rate.one()->value(), 212.496e9, 1e3);
}

}  // namespace
}  // namespace weft::fabric
