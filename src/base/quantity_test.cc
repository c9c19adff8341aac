#include "base/quantity.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

double q(std::string_view text, std::string_view unit) {
  auto v = parse_quantity(text, unit);
  EXPECT_TRUE(v.has_value()) << text << " in " << unit << ": " << (v ? "" : v.error().text());
  return v.value_or(-1);
}

TEST(BaseQuantity, TheSuffixDecides) {
  EXPECT_EQ(q("400G", "Gb/s"), 400e9);
  EXPECT_EQ(q("400", "Gb/s"), 400e9);
  EXPECT_EQ(q("400 Gb/s", "b/s"), 400e9);
  EXPECT_EQ(q("1.6 Tbps", "Gb/s"), 1.6e12);
  EXPECT_EQ(q("50 GB/s", "Gb/s"), 400e9);
  EXPECT_EQ(q("400Gb/s", "GB/s"), 50e9);
  EXPECT_EQ(q("900G", "GB/s"), 900e9);
  EXPECT_EQ(q("80 GB", "GB"), 80e9);
  EXPECT_EQ(q("80", "GiB"), 80.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(q("64 MiB", "B"), 67108864);
  EXPECT_EQ(q("80Gi", "B"), 80.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(q("2.5 m", "m"), 2.5);
  EXPECT_EQ(q("5m", "s"), 300);
  EXPECT_EQ(q("5 m", "m"), 5);
  EXPECT_EQ(q("30s", "s"), 30);
  EXPECT_EQ(q("3 us", "ns"), 3e-6);
  EXPECT_EQ(q("150 ns", "s"), 150e-9);
  EXPECT_EQ(q("4h", "s"), 14400);
  EXPECT_EQ(q("700 W", "W"), 700);
  EXPECT_EQ(q("10 kW", "W"), 10000);
  EXPECT_EQ(q("-5", "C"), -5);
  EXPECT_EQ(q("989 TFLOP/s", "FLOP/s"), 989e12);
  EXPECT_EQ(q("90%", "1"), 0.9);
  EXPECT_EQ(q("0.9", "1"), 0.9);
  EXPECT_EQ(q("30", "%"), 0.3);
  EXPECT_EQ(q("1.2 bar", "kPa"), 120000);
}

TEST(BaseQuantity, WrongOnesAreRefused) {
  for (const char* t : {"", "G", "fast", "1..2", "4 Gb", "4 gb/s", "inf", "nan", "1e400", "-1", "4 m", "0x10", "4 G b", "1,000"})
    EXPECT_FALSE(parse_quantity(t, "Gb/s").has_value()) << t;
  EXPECT_FALSE(parse_quantity("1e300 TB", "B").has_value());
  EXPECT_FALSE(parse_quantity("4 M", "m").has_value());
  EXPECT_FALSE(parse_quantity("5 m", "W").has_value());
  EXPECT_FALSE(parse_quantity("400", "b/s").has_value());  // 400 b/s is never meant
  EXPECT_FALSE(parse_quantity("50", "B/s").has_value());
  EXPECT_EQ(parse_quantity("x", "m").error().text(), "expected a quantity such as '2.5 m', got 'x'");
}

}  // namespace
}  // namespace weft
