// The planner's closed form against the flow simulator: twelve more samples.
#include "tests/plan_sample.h"

namespace weft {
namespace {

TEST(PlanSimulated, ClosedFormAgreesOnTwelveSamples) {
  int far = 0;
  double sum = 0, worst = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    PlanSample s = plan_sample(seed);
    far += s.far, sum += s.sum / s.compared, worst = std::max(worst, s.worst);
  }
  EXPECT_LT(sum / 12, 0.005);  // measured: 0.44 %
  EXPECT_LE(far, 12);          // measured: 10 of 2,400
  EXPECT_LT(worst, 0.09);      // measured: 8.8 %
}

}  // namespace
}  // namespace weft
