#include "base/units.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(BaseUnits, TextForPeople) {
  EXPECT_EQ(human(Bytes(0)), "0 B");
  EXPECT_EQ(human(Bytes(64ll << 20)), "64 MiB");
  EXPECT_EQ(human(Bytes(1536)), "1.5 KiB");
  EXPECT_EQ(human(gbps(400)), "400 Gb/s");
  EXPECT_EQ(human(gBps(1.8e3)), "1.8 TB/s");
  EXPECT_EQ(human(Watts(700)), "700 W");
  EXPECT_EQ(human(Watts(120e3)), "120 kW");
  EXPECT_EQ(human(FlopsPerSecond(989e12)), "989 TFLOP/s");
  EXPECT_EQ(human(Seconds(2.31)), "2.31 s");
  EXPECT_EQ(human(Seconds(-0.0035)), "-3.5 ms");
  EXPECT_EQ(human(Seconds(5e-7)), "500 ns");
  EXPECT_EQ(human(Seconds(14400)), "4 h");
  EXPECT_EQ(human(minutes(30)), "30 min");
}

TEST(BaseUnits, RoundingNeverShowsAFullStep) {
  EXPECT_EQ(human(Bytes(1024 * 1024 - 1)), "1 MiB");
  EXPECT_EQ(human(BitsPerSecond(999'999'999.0)), "1 Gb/s");
  EXPECT_EQ(human(Seconds(0.9999999)), "1 s");
  EXPECT_EQ(human(Seconds(9.9999e-7)), "1 us");
}

TEST(BaseUnits, ClockAndDates) {
  EXPECT_EQ(clock_text(seconds(847)), "00:14:07");
  EXPECT_EQ(clock_text(hours(51)), "2d 03:00:00");
  EXPECT_EQ(iso8601(Instant(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso8601(Instant(951'782'400'000'000'000)), "2000-02-29T00:00:00Z");
  EXPECT_EQ(iso8601(Instant(1'796'083'200'500'000'000)), "2026-12-01T00:00:00.5Z");
  EXPECT_EQ(iso8601(Instant(-1)), "1969-12-31T23:59:59.999999999Z");
}

TEST(BaseUnits, Conversions) {
  EXPECT_EQ(to_picos(nanoseconds(5)).value(), 5000);
  EXPECT_EQ(to_picos(Seconds(1.5e-12)).value(), 2);
  EXPECT_EQ(to_duration(Picos(1499)).value(), 1);
  EXPECT_EQ(to_duration(Picos(1500)).value(), 2);
  EXPECT_EQ(to_duration(Picos(-1500)).value(), -2);
  EXPECT_DOUBLE_EQ(time_of(Bytes(50'000'000'000), bytes_per_second(gbps(400))).value(), 1.0);
  EXPECT_EQ(seconds(0.3).value(), 300'000'000);
  EXPECT_EQ(seconds(1.1).value(), 1'100'000'000);
  EXPECT_EQ((Instant(10) - Instant(4)).value(), 6);
  static_assert(Bytes(6) / Bytes(4) == 1.5);
}

}  // namespace
}  // namespace weft
