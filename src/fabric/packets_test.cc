#include "fabric/packets.h"

#include <gtest/gtest.h>

namespace weft::fabric {
namespace {

TEST(Packets, PathMtuAsLinuxChoosesIt) {
  EXPECT_EQ(roce_payload(1500), 1024);
  EXPECT_EQ(roce_payload(2200), 2048);
  EXPECT_EQ(roce_payload(4191), 2048);
  EXPECT_EQ(roce_payload(4192), 4096) << "why 4200 is the usual setting";
  EXPECT_EQ(roce_payload(9000), 4096);
  EXPECT_EQ(roce_payload(351), 0);
}

// 1024 of 1106 bytes, 4096 of 4178. With 1 ns a packet at 400 Gb/s (50 bytes): 1024 of 1156, 4096 of 4228.
TEST(Packets, ShareOfTheRate) {
  EXPECT_DOUBLE_EQ(payload_share({1500, 0}, BitsPerSecond(400e9)), 1024.0 / 1106);
  EXPECT_DOUBLE_EQ(payload_share({9000, 0}, BitsPerSecond(400e9)), 4096.0 / 4178);
  EXPECT_DOUBLE_EQ(payload_share({1500, 1}, BitsPerSecond(400e9)), 1024.0 / 1156);
  EXPECT_DOUBLE_EQ(payload_share({9000, 1}, BitsPerSecond(400e9)), 4096.0 / 4228);
  EXPECT_DOUBLE_EQ(payload_share({0, 1}, BitsPerSecond(400e9)), 1) << "MTU not known";
}

}  // namespace
}  // namespace weft::fabric
