// weft fabric import and export as a person meets them: streams, exit codes, nothing written on error.
#include <cstdio>
#include <filesystem>

#include "base/text.h"
#include "cli/fabric_verbs.h"
#include "fabric/site.h"
#include "tests/weft_command.h"

namespace weft::cli {
namespace {

Ran run_fabric(const std::vector<std::string>& words) { return weft("fabric", words); }

constexpr std::string_view kMatrix =
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV12\tPIX\t0-31\t0\nGPU1\tNV12\t X \tSYS\t32-63\t1\nNIC0\tPIX\tSYS\t X "
    "\t\t\n\nNIC Legend:\n\n  NIC0: mlx5_0\n";

TEST(FabricImportCommand, SiteOnOutputRemarksOnError) {
  Ran r = run_fabric({"import", file("topo-m.txt", kMatrix), "--nodes", "2", "--scale-out", "rail:400G"});
  ASSERT_EQ(r.code, 0) << r.err;
  auto spec = fabric::parse_site(r.out, "out.yaml");
  ASSERT_TRUE(spec.has_value()) << spec.error().text();
  auto site = fabric::build(*spec);
  ASSERT_TRUE(site.has_value()) << site.error().text();
  EXPECT_EQ(site->cards().size(), 4u);
  for (const char* part : {"devices: 1 node, 2 cards, 1 nic", "NVLink", "Not known", "Assumed", "2 nodes like the one in the file",
                           "scale-out network rail of 400 Gb/s"})
    EXPECT_NE(r.err.find(part), std::string::npos) << part << "\n" << r.err;
}

TEST(FabricImportCommand, AVirtualMachineFileWithAForm) {
  std::string xml = "<system version=\"1\">\n";
  for (int numa = 0; numa < 2; ++numa) {
    xml += "<cpu numaid=\"" + std::to_string(numa) + "\">\n";
    for (int i = 0; i < 4; ++i) {
      std::string n = std::to_string(numa * 4 + i);
      xml += "<pci busid=\"ffff:ff:0" + n + ".0\" class=\"0x060400\"><pci busid=\"000" + n +
             ":00:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"/><pci busid=\"010" + n +
             ":00:00.0\" class=\"0x020700\"/></pci>\n";
    }
    xml += "</cpu>\n";
  }
  Ran r = run_fabric(
      {"import", file("vm-topo.xml", xml + "</system>\n"), "--scale-up-form", "hgx-h100", "--nodes", "16", "--scale-out", "rail:400G"});
  ASSERT_EQ(r.code, 0) << r.err;
  auto site = fabric::build(fabric::parse_site(r.out, "out.yaml").value());
  ASSERT_TRUE(site.has_value()) << site.error().text();
  EXPECT_EQ(site->cards().size(), 128u);
  // 16 nodes x 8 cards x 18 NVLinks, 16 x 8 NIC ports, 8 leaves x 16 uplinks.
  EXPECT_EQ(site->link_count(), 16u * 8 * 18 + 128 + 128);
  std::size_t hbds = 0;
  for (const auto& d : site->domains()) hbds += d.kind == fabric::DomainKind::kHbd;
  EXPECT_EQ(hbds, 16u);
  EXPECT_NE(r.err.find("not the same as absent"), std::string::npos);
  EXPECT_NE(r.err.find("scale-up as in form hgx-h100"), std::string::npos);
}

TEST(FabricImportCommand, ErrorsWriteNothing) {
  std::string target = testing::TempDir() + "weft_fabric_cli_never.yaml";
  std::remove(target.c_str());
  for (const auto& [words, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"import", file("g.xml", "<graphs version=\"1\"/>"), "--out", target}, "g.xml:1: <graphs> is a graph file"},
           {{"import", file("cut.xml", "<system version=\"1\">\n<cpu numaid=\"0\"><pci busid"), "--out", target},
            "the XML is cut off or damaged"},
           {{"import",
             file("none.xml", "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\" class=\"0x020000\"/></cpu></system>"),
             "--out", target},
            "no accelerator"},
           {{"import", file("empty", ""), "--out", target}, "the file is empty"},
           {{"import",
             file("bin", std::string_view("\x7f"
                                          "ELF\0\1",
                                          6)),
             "--out", target},
            "is not text"},
           {{"import", testing::TempDir() + "weft_no_such_file", "--out", target}, "weft_no_such_file"},
           {{"import", file("topo-m.txt", kMatrix), "--scale-up-form", "no-such-form", "--out", target}, "no-such-form"},
           {{"import", file("topo-m.txt", kMatrix), "--nodes", "0", "--out", target}, "nodes"},
           {{"import", file("topo-m.txt", kMatrix), "--node", "2", "--out", target}, "--nodes"},
           {{"import", file("topo-m.txt", kMatrix), "--slurm-conf", "x", "--out", target}, "goes with a topology.conf"}}) {
    Ran r = run_fabric(words);
    EXPECT_EQ(r.code, 2) << message << r.err;
    EXPECT_EQ(r.out, "") << message;
    EXPECT_NE(r.err.find(message), std::string::npos) << r.err;
    EXPECT_FALSE(std::filesystem::exists(target)) << message;
  }
}

TEST(FabricImportCommand, SlurmConfIsCompared) {
  Ran r = run_fabric({"import", file("topology.conf", "SwitchName=s0 Nodes=n[1-2],x1\n"), "--slurm-conf",
                      file("slurm.conf", "NodeName=n[1-4] Gres=gpu:8\n")});
  ASSERT_EQ(r.code, 0) << r.err;
  for (const char* part :
       {"1 node(s) of the topology are not in slurm.conf: x1", "2 of 4 nodes of slurm.conf are not placed", "sets no TopologyPlugin"})
    EXPECT_NE(r.err.find(part), std::string::npos) << part << "\n" << r.err;
}

TEST(FabricExportCommand, FormatsAndMistakes) {
  Ran r = run_fabric({"export", "lab-32", "--format", "slurm-topology"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("SwitchName=leaf1 Nodes=sn1-node[1-4]"), std::string::npos) << r.out;
  EXPECT_EQ(run_fabric({"export", "lab-32"}).code, 2);
  Ran near = run_fabric({"export", "lab-32", "--format", "nccl_xml"});
  EXPECT_EQ(near.code, 2);
  EXPECT_NE(near.err.find("did you mean 'nccl-xml'?"), std::string::npos);
  EXPECT_EQ(run_fabric({"export", "lab-32", "--format", "nccl-xml", "--node", "sn1/node9"}).code, 2);
  EXPECT_EQ(run_fabric({"exprot", "lab-32"}).code, 2);
}

}  // namespace
}  // namespace weft::cli
