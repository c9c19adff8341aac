#include <gtest/gtest.h>

#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

TEST(NvlinkStatus, LinksRatesAndInactive) {
  auto o = import_text(
      "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5269b708-678a)\n\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\nGPU 1: NVIDIA A100-SXM4-80GB (UUID: "
      "GPU-a7605225)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n",
      "n.txt");
  ASSERT_TRUE(o.has_value()) << o.error().text();
  EXPECT_EQ(o->format, "nvlink-status");
  auto cards = o->of_kind(DeviceKind::kCard);
  ASSERT_EQ(cards.size(), 2u);
  EXPECT_EQ(o->link_total(cards[0], Network::kScaleUp), 2);
  EXPECT_EQ(o->link_total(cards[1], Network::kScaleUp), 1);
  EXPECT_EQ(o->links[0].rate.one()->value(), 200e9);
  EXPECT_EQ(o->fact(cards[1], "nvlink_inactive"), "1");
  EXPECT_EQ(o->fact(cards[0], "uuid"), "GPU-5269b708-678a");
}

TEST(NvlinkStatus, NoNvlinkIsARemarkNotZeroLinks) {
  auto o = import_text("GPU 0: NVIDIA L40S (UUID: GPU-1)\nDevice does not have or support Nvlink\n", "n.txt");
  ASSERT_TRUE(o.has_value()) << o.error().text();
  EXPECT_EQ(o->fact(1, "nvlink_status"), "Device does not have or support Nvlink");
  EXPECT_TRUE(o->links.empty());
}

TEST(NvlinkStatus, AListOfGpusIsNoStatus) {
  auto o = import_text("GPU 0: NVIDIA L40S (UUID: GPU-1)\n", "n.txt", "nvlink-status");
  ASSERT_FALSE(o.has_value());
  EXPECT_NE(o.error().text().find("no GPU with link lines"), std::string::npos);
}

}  // namespace
}  // namespace weft::fabric
