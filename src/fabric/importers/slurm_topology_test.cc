#include <gtest/gtest.h>

#include "fabric/importers/importer.h"
#include "fabric/slurm_text.h"

namespace weft::fabric {
namespace {

Observed good(std::string_view text) {
  auto o = import_text(text, "topology.conf");
  EXPECT_TRUE(o.has_value()) << (o ? "" : o.error().text());
  return o ? *o : Observed{};
}
std::string bad(std::string_view text) {
  auto o = import_text(text, "topology.conf");
  EXPECT_FALSE(o.has_value());
  return o ? "" : o.error().text();
}
bool says(const std::vector<Remark>& remarks, std::string_view part) {
  for (const Remark& r : remarks)
    if (r.text.find(part) != std::string::npos) return true;
  return false;
}

TEST(SlurmTopology, TreeWithCommentsContinuationsAndCase) {
  Observed o = good(
      "# a comment\nswitchname = s0 Nodes=a[001-002], \\\n   b[1,3] LinkSpeed=100 # four\nSwitchName=s1 Nodes=\"c1\"\nSWITCHNAME=top "
      "Switches=s[0-1]\n");
  EXPECT_EQ(o.count(DeviceKind::kSwitch), 3u);
  EXPECT_EQ(o.count(DeviceKind::kNode), 5u);
  EXPECT_TRUE(says(o.understood, "3 switches (2 with nodes, 1 above them, 2 tiers), 5 node names, 5 different nodes"));
  EXPECT_EQ(o.domains.size(), 1u);
  EXPECT_EQ(o.domains[0].members.size(), 5u);
  EXPECT_TRUE(o.contradictions.empty());
  EXPECT_TRUE(o.links[0].rate.unknown());  // LinkSpeed has no unit
  EXPECT_EQ(o.fact(0, "link_speed"), "100");
}

TEST(SlurmTopology, IslandsDoublesAndDangling) {
  Observed o = good("SwitchName=s0 Nodes=n[1-2]\nSwitchName=s1 Nodes=n[2-3]\nSwitchName=s2 Switches=s1,s9\n");
  EXPECT_TRUE(says(o.contradictions, "no top switch"));
  EXPECT_EQ(o.domains.size(), 2u);
  EXPECT_TRUE(says(o.contradictions, "n2 leaf: s0 (topology.conf:1) and s1 (topology.conf:2)"));
  EXPECT_TRUE(says(o.contradictions, "s2 has a child s9 that no line describes"));
}

TEST(SlurmTopology, Unbalanced) {
  Observed o = good("SwitchName=root Switches=mid,l2\nSwitchName=mid Switches=l1\nSwitchName=l1 Nodes=a\nSwitchName=l2 Nodes=b\n");
  EXPECT_TRUE(says(o.understood, "the tree is unbalanced: under root the leaves lie 1 to 2 tiers down"));
}

TEST(SlurmTopology, Refusals) {
  EXPECT_NE(bad("SwitchName=a Switches=b\nSwitchName=b Switches=a Nodes=n\n").find("below itself"), std::string::npos);
  EXPECT_NE(bad("SwitchName=a Switches=b,c\nSwitchName=b Switches=c Nodes=n\nSwitchName=c Switches=b\n").find("below itself"),
            std::string::npos);
  EXPECT_NE(bad("BlockName=b1 Nodes=n[1-4]\nBlockSizes=4\n").find("topology.conf:1: this topology.conf describes blocks"),
            std::string::npos);
  EXPECT_NE(bad("SwitchName=s0 Nodes=n[4-1]\n").find("topology.conf:1: host list 'n[4-1]': range '4-1' runs backwards"), std::string::npos);
  EXPECT_NE(bad("SwitchName=s0 Nodes=n[1-99999999]\n").find("more than 250000 names"), std::string::npos);
  EXPECT_NE(bad("SwitchName=root Switches=mid,l4\n").find("the tree holds no node"), std::string::npos);
  EXPECT_NE(bad("SwitchName=s0\n").find("neither Nodes= nor Switches="), std::string::npos);
  EXPECT_NE(bad("SwitchName=s0 Node=n1\n").find("did you mean Nodes?"), std::string::npos);
  EXPECT_NE(bad("SwitchName=s0 Nodes=n1\n{% for x in y %}\n").find("topology.conf:2: this is a template"), std::string::npos);
  std::string chain;
  for (int i = 0; i < 3000; ++i) chain += "SwitchName=s" + std::to_string(i) + " Switches=s" + std::to_string(i + 1) + "\n";
  EXPECT_NE(bad(chain + "SwitchName=s3000 Nodes=n\n").find("more than 64 tiers"), std::string::npos);
}

TEST(SlurmConf, UnknownUnplacedAndPlugin) {
  Observed o = good("SwitchName=s0 Nodes=c-n[1-2],n[3-4]\n");
  ASSERT_TRUE(
      add_slurm_conf(o, "ClusterName=x\nNodeName=c-n[1-6] Gres=gpu:h100:8 CPUs=4\nPartitionName=p Nodes=ALL\n", "slurm.conf").has_value());
  EXPECT_TRUE(says(o.contradictions, "2 node(s) of the topology are not in slurm.conf: n[3-4]"));
  EXPECT_TRUE(says(o.contradictions, "4 of 6 nodes of slurm.conf are not placed under any switch: c-n[3-6]"));
  EXPECT_TRUE(says(o.contradictions, "sets no TopologyPlugin, so Slurm ignores topology.conf"));
  EXPECT_EQ(o.fact(1, "gpus"), "8");
  EXPECT_EQ(o.fact(3, "gpus"), "");
  Observed good_one = good("SwitchName=s0 Nodes=a\n");
  ASSERT_TRUE(add_slurm_conf(good_one, "NodeName=a\nTopologyPlugin = topology/tree\n", "slurm.conf").has_value());
  EXPECT_TRUE(good_one.contradictions.empty());
  EXPECT_FALSE(add_slurm_conf(good_one, "hello=world\n", "x").has_value());
}

TEST(GresConf, NamesThatTheTopologyDoesNotKnow) {
  Observed o = good("SwitchName=s0 Nodes=slurm_node[1-4]\n");
  ASSERT_TRUE(add_gres_conf(o, "NodeName=other[0-2] Name=gpu File=/dev/nvidia[0-3]\n", "gres.conf").has_value());
  EXPECT_TRUE(says(o.contradictions, "3 of 3 nodes of gres.conf are not placed under any switch: other[0-2]"));
}

}  // namespace
}  // namespace weft::fabric
