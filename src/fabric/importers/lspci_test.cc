#include <gtest/gtest.h>

#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

TEST(Lspci, CountsByClass) {
  auto o = import_text(R"(00:00.0 Host bridge [0600]: Intel Corporation Device [8086:09a2] (rev 20)
0f:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
0001:03:00.0 Bridge [0680]: NVIDIA Corporation GH100 [H100 NVSwitch] [10de:22a3] (rev a1)
74:00.0 VGA compatible controller [0300]: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000] (rev 52)
01:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102GL [RTX 6000 Ada Generation] [10de:26b1] (rev a1)
05:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:74a1]
21:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
82:00.0 Ethernet controller [0200]: Intel Corporation Ethernet Controller X710 [8086:15ff] (rev 02)
)",
                       "l.txt");
  ASSERT_TRUE(o.has_value()) << o.error().text();
  EXPECT_EQ(o->format, "lspci");
  EXPECT_EQ(o->count(DeviceKind::kCard), 3u);  // not the BMC's display chip
  EXPECT_EQ(o->count(DeviceKind::kNic), 2u);
  EXPECT_EQ(o->count(DeviceKind::kSwitch), 1u);
  auto cards = o->of_kind(DeviceKind::kCard);
  EXPECT_EQ(o->fact(cards[0], "pci"), "0000:0f:00.0");
  EXPECT_EQ(o->fact(cards[0], "device"), "0x2330");
  EXPECT_EQ(o->place(o->devices[cards[0]].at), "l.txt:2");
}

TEST(Lspci, WithoutNumbersSaysHowToGetThem) {
  auto o = import_text("0f:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)\n", "l.txt");
  ASSERT_FALSE(o.has_value());
  EXPECT_NE(o.error().text().find("run lspci -nn instead of lspci"), std::string::npos);
}

TEST(Lspci, NoCardsIsAnErrorThatSaysWhatIsMissing) {
  auto o = import_text("00:00.0 Host bridge [0600]: Intel Corporation Device [8086:09a2]\n", "l.txt");
  ASSERT_FALSE(o.has_value());
  EXPECT_NE(o.error().text().find("no accelerator: none of the 1 PCI functions"), std::string::npos);
}

}  // namespace
}  // namespace weft::fabric
