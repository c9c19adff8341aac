#include <gtest/gtest.h>

#include "fabric/drift.h"
#include "fabric/importers/importer.h"
#include "fabric/observed_site.h"
#include "fabric/site.h"

namespace weft::fabric {
namespace {

Observed read(std::string_view text) {
  auto o = import_text(text, "seen");
  EXPECT_TRUE(o.has_value()) << (o ? "" : o.error().text());
  return *o;
}
Snapshot site_of(std::string_view text) {
  auto made = to_site(read(text), {});
  EXPECT_TRUE(made.has_value());
  return *build(*parse_site(made->yaml, "s"));
}
Drift drift(const Snapshot& s, std::string_view seen) {
  auto d = find_drift(s, read(seen));
  EXPECT_TRUE(d.has_value()) << (d ? "" : d.error().text());
  return *d;
}

constexpr std::string_view kTree = "SwitchName=l1 Nodes=n[1-4]\nSwitchName=l2 Nodes=n[5-8]\nSwitchName=top Switches=l[1-2]\n";

TEST(Drift, TheSameIsNoDrift) {
  Drift d = drift(site_of(kTree), kTree);
  EXPECT_FALSE(d.found()) << d.items[0].text;
  EXPECT_EQ(d.compared.size(), 1u);
}

TEST(Drift, ASwapIsOneChangeNotFour) {
  Drift d = drift(site_of(kTree), "SwitchName=l1 Nodes=n[1-3],n5\nSwitchName=l2 Nodes=n4,n[6-8]\nSwitchName=top Switches=l[1-2]\n");
  ASSERT_EQ(d.items.size(), 1u);
  EXPECT_EQ(d.items[0].kind, DriftKind::kSwapped);
  EXPECT_EQ(d.items[0].entities, (std::vector<std::string>{"sn1/node4", "sn1/node5"}));
  EXPECT_EQ(d.items[0].explains, 4);
}

TEST(Drift, MovedMissingExtra) {
  Drift d = drift(site_of(kTree), "SwitchName=l1 Nodes=n[1-3],n9\nSwitchName=l2 Nodes=n[4-7]\nSwitchName=top Switches=l[1-2]\n");
  ASSERT_EQ(d.items.size(), 3u);
  EXPECT_EQ(d.items[0].kind, DriftKind::kMoved);
  EXPECT_EQ(d.items[0].text, "sn1/node4 is cabled to l2 instead of l1 (seen:2)");
  EXPECT_EQ(d.items[1].text, "n9 is at seen:1 but not in the site");
  EXPECT_EQ(d.items[2].text, "sn1/node8 is not in seen");
}

TEST(Drift, AMissingSwitchExplainsItsCables) {
  Drift d = drift(site_of(kTree), "SwitchName=l1 Nodes=n[1-4]\nSwitchName=top Switches=l1\n");
  EXPECT_EQ(d.items[0].text, "l2 is not in seen");
  EXPECT_EQ(d.items[0].explains, 5);
}

TEST(Drift, OneMachine) {
  constexpr std::string_view kTwo = "     GPU0 GPU1 GPU2 CPU Affinity\nGPU0 X NV2 NV2 0\nGPU1 NV2 X NV2 0\nGPU2 NV2 NV2 X 0\n";
  Snapshot s = site_of(kTwo);
  EXPECT_FALSE(drift(s, kTwo).found());
  Drift d = drift(s, "     GPU0 GPU1 GPU2 CPU Affinity\nGPU0 X NV2 NV1 0\nGPU1 NV2 X NV2 0\nGPU2 NV1 NV2 X 0\n");
  ASSERT_EQ(d.items.size(), 2u);
  EXPECT_EQ(d.items[0].kind, DriftKind::kFewerLinks);
  EXPECT_NE(d.items[0].text.find("sn1/node1/card0 shows 3 scale-up links, 4 are intended"), std::string::npos);
  Drift gone = drift(s, "     GPU0 GPU1 CPU Affinity\nGPU0 X NV4 0\nGPU1 NV4 X 0\n");
  ASSERT_EQ(gone.items.size(), 1u);
  EXPECT_EQ(gone.items[0].text, "sn1/node1/card2 is not in seen");
  // What a source does not describe is no difference.
  Drift classes = drift(s,
                        "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\" class=\"0x030200\"/><pci "
                        "busid=\"0000:02:00.0\" class=\"0x030200\"/><pci busid=\"0000:03:00.0\" class=\"0x030200\"/></cpu></system>");
  EXPECT_FALSE(classes.found());
  EXPECT_EQ(classes.skipped.size(), 2u);
}

TEST(Drift, NamesThatDoNotFit) {
  auto d = find_drift(site_of(kTree), read("SwitchName=q1 Nodes=z[1-2]\n"));
  ASSERT_FALSE(d.has_value());
  EXPECT_NE(d.error().text().find("none of the 3 names"), std::string::npos);
  auto which = find_drift(*load_site("lab-32"), read("     GPU0 GPU1 CPU Affinity\nGPU0 X NV4 0\nGPU1 NV4 X 0\n"));
  EXPECT_NE(which.error().text().find("say it with --node"), std::string::npos);
}

}  // namespace
}  // namespace weft::fabric
