#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace weft {
namespace {

// First outputs of splitmix64 seeded with 0 (Steele et al., reference code by S. Vigna).
TEST(BaseRandom, MixIsSplitmix64) { EXPECT_EQ(mix(0), 0xe220a8397b1dcdafULL); }

TEST(BaseRandom, SameSeedSameStream) {
  Random a(7), b(7), c(8);
  std::vector<std::uint64_t> x, y, z;
  for (int i = 0; i < 100; ++i) x.push_back(a.next()), y.push_back(b.next()), z.push_back(c.next());
  EXPECT_EQ(x, y);
  EXPECT_NE(x, z);
}

TEST(BaseRandom, ForksDependOnPurposeNotOnDraws) {
  Random a(7), b(7);
  for (int i = 0; i < 10; ++i) b.next();
  EXPECT_EQ(a.fork("noise", 3).next(), b.fork("noise", 3).next());
  std::set<std::uint64_t> first{a.next()};
  for (std::uint64_t i = 0; i < 100; ++i) first.insert(a.fork("noise", i).next()), first.insert(a.fork("faults", i).next());
  EXPECT_EQ(first.size(), 201u);
}

// Moments of N draws lie within five standard errors; the seed is fixed, so this never flickers.
TEST(BaseRandom, DistributionsHaveTheirMoments) {
  Random r(42);
  const int n = 200'000;
  double u = 0, g = 0, g2 = 0, e = 0, l = 0;
  for (int i = 0; i < n; ++i) {
    double x = r.uniform();
    ASSERT_TRUE(x >= 0 && x < 1);
    u += x;
    double y = r.normal(10, 2);
    g += y, g2 += (y - 10) * (y - 10);
    e += r.exponential(3);
    double z = r.log_uniform(0.5, 2);
    ASSERT_TRUE(z >= 0.5 && z < 2.0000001);
    l += std::log(z);
  }
  double root = std::sqrt(n);
  EXPECT_NEAR(u / n, 0.5, 5 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(g / n, 10, 5 * 2 / root);
  EXPECT_NEAR(g2 / n, 4, 5 * 4 * std::sqrt(2.0) / root);
  EXPECT_NEAR(e / n, 3, 5 * 3 / root);
  EXPECT_NEAR(l / n, 0, 5 * std::log(4.0) / std::sqrt(12.0) / root);
}

TEST(BaseRandom, IntegersCoverTheirRangeEvenly) {
  Random r(1);
  std::vector<int> seen(6);
  for (int i = 0; i < 60'000; ++i) ++seen[static_cast<std::size_t>(r.integer(-2, 3) + 2)];
  double chi = 0;
  for (int s : seen) chi += (s - 10'000.0) * (s - 10'000.0) / 10'000.0;
  EXPECT_LT(chi, 20.5);  // 0.999 quantile of chi-square with 5 degrees of freedom
  EXPECT_EQ(r.integer(5, 5), 5);
  for (int i = 0; i < 100; ++i) (void)r.integer(INT64_MIN, INT64_MAX);
  EXPECT_FALSE(r.chance(0));
  EXPECT_TRUE(r.chance(1));
}

TEST(BaseRandom, HashesAreStable) {
  EXPECT_EQ(stable_hash("weft"), stable_hash("weft"));
  EXPECT_NE(stable_hash("weft"), stable_hash("weft", 1));
  EXPECT_NE(stable_hash(""), stable_hash(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace weft
