#include <gtest/gtest.h>

#include "fabric/importers/importer.h"
#include "fabric/observed_site.h"
#include "fabric/site.h"

namespace weft::fabric {
namespace {

// Two leaves, two spines, two hosts with two rails. leaf2 lacks its cable to spine2; one trunk runs at half rate.
const std::string kFabric = R"(#
# Topology file: generated on Mon Nov 30 20:59:33 2026
#
vendid=0x2c9
devid=0xd2f2
sysimgguid=0xa1
switchguid=0xa1(a1)
Switch	64 "S-00000000000000a1"		# "MF0;leaf1:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[1]	"H-00000000000000c1"[1](c1) 		# "host1 mlx5_0" lid 11 4xNDR
[2]	"H-00000000000000c3"[1](c3) 		# "host2 mlx5_0" lid 13 4xNDR
[33]	"S-00000000000000b1"[1]		# "spine1" lid 3 4xNDR
[34]	"S-00000000000000b2"[1]		# "spine2" lid 4 4xNDR
[65]	"H-00000000000000d1"[1](d1) 		# "Mellanox Technologies Aggregation Node" lid 21 4xHDR

switchguid=0xa2(a2)
Switch	64 "S-00000000000000a2"		# "MF0;leaf2:MQM9700/U1" enhanced port 0 lid 2 lmc 0
[1]	"H-00000000000000c2"[1](c2) 		# "host1 mlx5_1" lid 12 4xNDR
[33]	"S-00000000000000b1"[2]		# "spine1" lid 3 4xNDR

switchguid=0xa3(a3)
Switch	64 "S-00000000000000a3"		# "MF0;leaf3:MQM9700/U1" enhanced port 0 lid 5 lmc 0
[1]	"H-00000000000000c4"[1](c4) 		# "MT4129 ConnectX7   Mellanox Technologies" lid 14 4xNDR
[33]	"S-00000000000000b1"[3]		# "spine1" lid 3 4xHDR
[34]	"S-00000000000000b2"[3]		# "spine2" lid 4 4xNDR

switchguid=0xb1(b1)
Switch	64 "S-00000000000000b1"		# "spine1" enhanced port 0 lid 3 lmc 0
[1]	"S-00000000000000a1"[33]		# "MF0;leaf1:MQM9700/U1" lid 1 4xNDR
[2]	"S-00000000000000a2"[33]		# "MF0;leaf2:MQM9700/U1" lid 2 4xNDR
[3]	"S-00000000000000a3"[33]		# "MF0;leaf3:MQM9700/U1" lid 5 4xHDR

switchguid=0xb2(b2)
Switch	64 "S-00000000000000b2"		# "spine2" enhanced port 0 lid 4 lmc 0
[1]	"S-00000000000000a1"[34]		# "MF0;leaf1:MQM9700/U1" lid 1 4xNDR
[3]	"S-00000000000000a3"[34]		# "MF0;leaf3:MQM9700/U1" lid 5 4xNDR

caguid=0xc1
Ca	1 "H-00000000000000c1"		# "host1 mlx5_0"
[1](c1) 	"S-00000000000000a1"[1]		# lid 11 lmc 0 "MF0;leaf1:MQM9700/U1" lid 1 4xNDR

caguid=0xc2
Ca	1 "H-00000000000000c2"		# "host1 mlx5_1"
[1](c2) 	"S-00000000000000a2"[1]		# lid 12 lmc 0 "MF0;leaf2:MQM9700/U1" lid 2 4xNDR

caguid=0xc3
Ca	1 "H-00000000000000c3"		# "host2 mlx5_0"

caguid=0xc4
Ca	1 "H-00000000000000c4"		# "MT4129 ConnectX7   Mellanox Technologies"
[1](c4) 	"S-00000000000000a3"[1]		# lid 14 lmc 0 "MF0;leaf3:MQM9700/U1" lid 5 4xNDR

caguid=0xd1
Ca	1 "H-00000000000000d1"		# "Mellanox Technologies Aggregation Node"
[1](d1) 	"S-00000000000000a1"[65]		# lid 21 lmc 0 "MF0;leaf1:MQM9700/U1" lid 1 4xHDR
)";

bool says(const std::vector<Remark>& remarks, std::string_view part) {
  for (const Remark& r : remarks)
    if (r.text.find(part) != std::string::npos) return true;
  return false;
}

TEST(Ibnetdiscover, SwitchesHostsCablesAndWhatIsWrong) {
  auto o = import_text(kFabric, "ib.txt");
  ASSERT_TRUE(o.has_value()) << o.error().text();
  EXPECT_EQ(o->format, "ibnetdiscover");
  EXPECT_EQ(o->count(DeviceKind::kSwitch), 5u);
  EXPECT_EQ(o->count(DeviceKind::kNode), 3u);  // host1, host2 and one without a name; the aggregation node is none
  EXPECT_EQ(o->count(DeviceKind::kNic), 4u);
  ASSERT_EQ(o->links.size(), 9u);  // 5 trunks, 4 host cables
  EXPECT_TRUE(says(o->understood, "5 switches (3 with hosts, 2 above them), 4 adapters of 3 hosts, 9 cables (5 between switches)"));
  EXPECT_TRUE(says(o->understood, "1 SHARP aggregation node"));
  EXPECT_TRUE(says(o->contradictions, "the cable leaf1:2 to host2/mlx5_0:1 is printed from one end only"));
  EXPECT_TRUE(says(o->contradictions, "which names no machine"));
  EXPECT_TRUE(says(o->irregular,
                   "1 of 6 cables between 3 lower and 2 upper switches are missing: 6 pairs should have 1 each, 1 have none; 2 of 3 "
                   "lower switches are complete, the worst is leaf2 with 1 of 2"));
  EXPECT_TRUE(says(o->irregular, "leaf2 and spine2 have 0 cables, the others of their group 1"));
  EXPECT_TRUE(says(o->irregular, "leaf3:33 to spine1:3 runs at 200 Gb/s, its kind at 400 Gb/s"));
}

TEST(Ibnetdiscover, BecomesASiteWithThePortsAsTheyAre) {
  auto o = import_text(kFabric, "ib.txt");
  ASSERT_TRUE(o.has_value());
  auto made = to_site(*o, {});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  auto spec = parse_site(made->yaml, "ib.yaml");
  ASSERT_TRUE(spec.has_value()) << spec.error().text();
  auto site = build(*spec);
  ASSERT_TRUE(site.has_value()) << site.error().text();
  auto port = site->find_port("leaf3:33");
  ASSERT_TRUE(port.has_value()) << port.error().text();
  EXPECT_EQ(site->name(site->peer(*port)), "spine1:3");
  EXPECT_EQ(site->link(site->port(*port).link).rate.value(), 200e9);
  EXPECT_TRUE(site->find_device("host1").has_value());
}

TEST(Ibnetdiscover, WhatIsNoFabricIsRefused) {
  auto bad = [](const std::string& text) {
    auto o = import_text(text, "ib.txt", "ibnetdiscover");
    return o ? "" : o.error().text();
  };
  EXPECT_NE(bad("caguid=0xc1\nCa\t1 \"H-00000000000000c1\"\t\t# \"host1 HCA-1\"\n").find("no fabric is seen"), std::string::npos);
  EXPECT_EQ(bad("switchguid=0x1\nSwitch\t36 \"S-01\"\t# \"a\" lid 1\n[1]\t\"H-0").substr(0, 8), "ib.txt:3");
  EXPECT_NE(bad(kFabric + "\n" + kFabric).find("is described twice"), std::string::npos);
  EXPECT_NE(bad("hello\n").find("no line of ibnetdiscover"), std::string::npos);
}

}  // namespace
}  // namespace weft::fabric
