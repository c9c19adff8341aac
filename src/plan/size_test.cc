#include "plan/size.h"

#include <gtest/gtest.h>

#include <cmath>

#include "workload/model.h"

namespace weft::plan {
namespace {

SizeAnswer answer(const char* model, const char* card, int cards, int batch, workload::Precision precision = workload::Precision::kBf16) {
  SearchSpace s;
  s.cards = cards, s.global_batch = batch, s.precision = precision;
  auto a = size(*workload::load_model(model), *machine_of_card(card), *software(kDefaultSoftware), s, *economy(), 1e12);
  EXPECT_TRUE(a.has_value());
  return *a;
}

TEST(Size, ADense7bNeedsNoSupernode) {
  SizeAnswer a = answer("llama-2-7b", "H100-SXM5", 64, 1024);
  ASSERT_GE(a.needed, 0);
  EXPECT_FALSE(a.supernode);
  EXPECT_LE(a.curve[a.needed].domain, 8);
  EXPECT_NE(a.reasons[0].find("you do not need a supernode"), std::string::npos);
}

TEST(Size, AWideMixtureOfExpertsGainsFromALargerDomain) {
  SizeAnswer a = answer("deepseek-v3", "GB200-B200", 512, 4096, workload::Precision::kFp8);
  ASSERT_GE(a.needed, 0);
  const SizePoint* eight = nullptr;
  for (const SizePoint& p : a.curve)
    if (p.domain == 8) eight = &p;
  ASSERT_TRUE(eight);
  EXPECT_GT(eight->best.estimate.time.step, a.curve[a.fastest].best.estimate.time.step);
  // Overlapping schedules hide the exchange; with plain ones the domain matters more.
  EXPECT_GE(a.plain_needed, a.curve[a.needed].domain);
  EXPECT_GE(a.with_margin_high, a.with_margin_low);
}

TEST(Size, ALargerDomainIsNeverSlower) {
  SizeAnswer a = answer("mixtral-8x7b", "H100-SXM5", 256, 2048);
  double last = INFINITY;
  for (const SizePoint& p : a.curve) {
    if (!p.fits || (p.domain & (p.domain - 1))) continue;  // powers of two nest
    EXPECT_LE(p.best.estimate.time.step, last * 1.0001) << p.domain;
    last = p.best.estimate.time.step;
  }
}

TEST(Size, TheMapSaysHowFarGroupsReach) {
  workload::Strategy s;
  s.tp = 8, s.pp = 4, s.dp = 4, s.global_batch = 64;
  for (const DimensionMap& d : communication_map(*workload::load_model("llama-3-70b"), s, 8)) {
    if (d.dim == workload::Dim::kTp) {
      EXPECT_EQ(d.reach, 8);
      EXPECT_TRUE(d.inside);
    }
    if (d.dim == workload::Dim::kDp) {
      EXPECT_EQ(d.reach, 32);
      EXPECT_FALSE(d.inside);
    }
  }
}

TEST(Economy, IntervalGoodputAndSparesFollowTheClosedForms) {
  EXPECT_NEAR(best_interval(10, 1.0 / 7200), std::sqrt(2 * 10 * 7200.0), 1e-9);
  Economy e = *economy();
  // Llama 3 405B: 419 unplanned interruptions on 16,384 cards in 54 days are 7.76 a day.
  Machine m = *machine_of_card("H100-SXM5");
  plan::Run r = run_of(e, m, 405e9, 16384, 4.0, 16e6, 15.6e12);
  EXPECT_NEAR(r.failures_per_day, 7.76, 0.05);
  EXPECT_GT(r.goodput, 0.85);
  EXPECT_LT(r.goodput, 1);
  EXPECT_NEAR(r.days_with_failures * r.goodput, r.days, 1e-9);
  EXPECT_EQ(spares(e, 8, 0, 1e-3), 0);
  EXPECT_GE(spares(e, 576, 24, 1e-3), spares(e, 72, 24, 1e-3));
}

}  // namespace
}  // namespace weft::plan
