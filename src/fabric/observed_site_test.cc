#include <gtest/gtest.h>

#include "fabric/importers/importer.h"
#include "fabric/observed_site.h"
#include "fabric/site.h"

namespace weft::fabric {
namespace {

constexpr std::string_view kClasses = R"(<system version="1">
<cpu numaid="0"><pci busid="0001:00:00.0" class="0x030200"/><pci busid="0002:00:00.0" class="0x030200"/><pci busid="0101:00:00.0" class="0x020700"/><pci busid="0102:00:00.0" class="0x020700"/></cpu></system>)";

Observed observed(std::string_view text) {
  auto o = import_text(text, "in.txt");
  EXPECT_TRUE(o.has_value()) << (o ? "" : o.error().text());
  return o ? *o : Observed{};
}
ImportedSite site(std::string_view text, const SiteAssumptions& assume = {}) {
  auto s = to_site(observed(text), assume);
  EXPECT_TRUE(s.has_value()) << (s ? "" : s.error().text());
  return s ? *s : ImportedSite{};
}
Snapshot built(const ImportedSite& s) {
  auto spec = parse_site(s.yaml, "site.yaml");
  EXPECT_TRUE(spec.has_value());
  auto snapshot = build(*spec);
  EXPECT_TRUE(snapshot.has_value()) << (snapshot ? "" : snapshot.error().text());
  return *snapshot;
}
bool has(const std::vector<std::string>& lines, std::string_view part) {
  for (const std::string& l : lines)
    if (l.find(part) != std::string::npos) return true;
  return false;
}

TEST(ObservedSite, WhatTheFileDoesNotSayStaysUnknown) {
  ImportedSite s = site(kClasses);
  EXPECT_TRUE(has(s.unknown, "scale-up network"));
  EXPECT_TRUE(has(s.unknown, "model of the cards"));
  EXPECT_TRUE(s.assumed.empty());
  Snapshot snap = built(s);
  EXPECT_EQ(snap.cards().size(), 2u);
  EXPECT_EQ(snap.of_kind(DeviceKind::kNic).size(), 2u);
  EXPECT_EQ(snap.link_count(), 0u);
  EXPECT_EQ(snap.model_of(snap.cards()[0]), nullptr);
  EXPECT_FALSE(snap.hbd_of(snap.cards()[0]).ok());
}

TEST(ObservedSite, WhatTheCallerAddsIsAssumed) {
  SiteAssumptions assume;
  assume.nodes = 4;
  assume.scale_out = "rail:400G";
  ImportedSite s = site(kClasses, assume);
  EXPECT_TRUE(has(s.assumed, "4 nodes like the one in the file"));
  EXPECT_TRUE(has(s.assumed, "scale-out network rail of 400 Gb/s"));
  Snapshot snap = built(s);
  EXPECT_EQ(snap.cards().size(), 8u);
  // 4 nodes x 2 NICs to leaves, 2 leaves x 4 uplinks.
  EXPECT_EQ(snap.link_count(), 16u);
  EXPECT_EQ(snap.link(LinkId{0}).rate.value(), 400e9);
}

TEST(ObservedSite, FormIsTakenOverAndMustFit) {
  SiteAssumptions assume;
  assume.scale_up_form = "lab-32";  // 8 cards a node
  auto s = to_site(observed(kClasses), assume);
  ASSERT_FALSE(s.has_value());
  EXPECT_NE(s.error().text().find("the file has 2 cards in node0, form lab-32 has 8 per node"), std::string::npos);
  assume.scale_up_form = "no-such-form";
  EXPECT_FALSE(to_site(observed(kClasses), assume).has_value());
  std::string four = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int i = 0; i < 4; ++i) four += "<pci busid=\"000" + std::to_string(i) + ":00:00.0\" class=\"0x030200\"/>";
  assume.scale_up_form = "pod-144";  // 18 nodes of 4 cards
  assume.nodes = 36;
  ImportedSite pod = site(four + "</cpu></system>", assume);
  Snapshot snap = built(pod);
  EXPECT_EQ(snap.cards().size(), 144u);
  EXPECT_EQ(snap.of_kind(DeviceKind::kSupernode).size(), 2u);
  EXPECT_TRUE(has(pod.assumed, "card GB200-B200"));
  EXPECT_FALSE(has(pod.unknown, "NVLink or xGMI is not described"));
  assume.nodes = 17;
  EXPECT_NE(to_site(observed(four + "</cpu></system>"), assume).error().text().find("not a multiple of 18"), std::string::npos);
}

TEST(ObservedSite, HivesBecomeCablesAndDomains) {
  std::string text = "<system version=\"2\"><cpu numaid=\"0\">";
  // Two hives of four in a ring: 0-1 0-2 1-3 2-3.
  const int ring[4][2] = {{1, 2}, {0, 3}, {0, 3}, {1, 2}};
  for (int h = 0; h < 2; ++h)
    for (int c = 0; c < 4; ++c) {
      text +=
          "<pci busid=\"000" + std::to_string(h * 4 + c) + ":00:00.0\" class=\"0x038000\"><gpu dev=\"" + std::to_string(h * 4 + c) + "\">";
      for (int t : ring[c]) text += "<xgmi target=\"000" + std::to_string(h * 4 + t) + ":00:00.0\" count=\"1\" tclass=\"0x038000\"/>";
      text += "</gpu></pci>";
    }
  Snapshot snap = built(site(text + "</cpu></system>"));
  EXPECT_EQ(snap.link_count(), 8u);
  EXPECT_EQ(snap.hbd_of(snap.cards()[0]), snap.hbd_of(snap.cards()[3]));
  EXPECT_NE(snap.hbd_of(snap.cards()[0]), snap.hbd_of(snap.cards()[4]));
}

TEST(ObservedSite, MeshAndSwitchedAreRecognised) {
  ImportedSite mesh = site("     GPU0 GPU1 GPU2 CPU Affinity\nGPU0 X NV2 NV2 0\nGPU1 NV2 X NV2 0\nGPU2 NV2 NV2 X 0\n");
  EXPECT_NE(mesh.yaml.find("topology: full_mesh, links: 2"), std::string::npos) << mesh.yaml;
  EXPECT_EQ(built(mesh).link_count(), 6u);
  ImportedSite switched = site("     GPU0 GPU1 GPU2 CPU Affinity\nGPU0 X NV18 NV18 0\nGPU1 NV18 X NV18 0\nGPU2 NV18 NV18 X 0\n");
  EXPECT_EQ(built(switched).link_count(), 54u);
  EXPECT_TRUE(has(switched.unknown, "number of scale-up switches (described as one)"));
}

TEST(ObservedSite, SlurmTree) {
  ImportedSite s = site("SwitchName=s0 Nodes=n[1-3]\nSwitchName=s1 Nodes=m1\nSwitchName=top Switches=s[0-1]\n");
  Snapshot snap = built(s);
  EXPECT_EQ(snap.of_kind(DeviceKind::kNode).size(), 4u);
  EXPECT_EQ(snap.of_kind(DeviceKind::kSwitch).size(), 3u);
  EXPECT_EQ(snap.link_count(), 6u);
  EXPECT_TRUE(snap.find_device("n2").has_value());  // host names work
  EXPECT_EQ(snap.cards().size(), 0u);
  SiteAssumptions assume;
  assume.scale_out = "rail:400G";
  EXPECT_NE(to_site(observed("SwitchName=s0 Nodes=n[1-3]\n"), assume).error().text().find("describes the scale-out network itself"),
            std::string::npos);
}

TEST(ObservedSite, BadOptionsSayWhatIsKnown) {
  SiteAssumptions assume;
  assume.scale_out = "rial:400G";
  EXPECT_NE(to_site(observed(kClasses), assume).error().text().find("did you mean 'rail'?"), std::string::npos);
  assume.scale_out = "rail:fast";
  EXPECT_NE(to_site(observed(kClasses), assume).error().text().find("'fast' is not a rate"), std::string::npos);
  assume = {};
  assume.pick = "node7";
  EXPECT_NE(to_site(observed(kClasses), assume).error().text().find("--pick node7"), std::string::npos);
}

}  // namespace
}  // namespace weft::fabric
