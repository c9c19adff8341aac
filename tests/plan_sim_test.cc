// The planner's closed form against the flow simulator.
#include "tests/plan_sample.h"

namespace weft {
namespace {

TEST(PlanSimulated, ClosedFormAgreesWithTheFlowModel) {
  PlanSample s = plan_sample(3);
  EXPECT_LT(s.sum / s.compared, 0.005);  // measured: 0.36 %
  EXPECT_EQ(s.far, 0);                   // measured: worst 3.8 %
}

}  // namespace
}  // namespace weft
