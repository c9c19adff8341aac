// Two hundred deaths of the controller at random instants, over as many histories as it takes.
#include "tests/controller_lives.h"

namespace weft {
namespace {

TEST(TwinProcessSlow, TwoHundredKills) {
  int life = lives::whole_life_ms(), died = 0;
  std::uint64_t history = 0;
  for (; died < 200 && history < 400; ++history) died += lives::killed_again_and_again(10, 100 + history, std::max(5, life / 3));
  EXPECT_GE(died, 200);
  std::printf("%d kills over %d histories, a whole life takes %d ms\n", died, static_cast<int>(history), life);
}

}  // namespace
}  // namespace weft
