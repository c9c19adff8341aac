// Two hundred deaths of the controller at random instants, over several histories.
#include "tests/controller_lives.h"

namespace weft {
namespace {

TEST(TwinProcessSlow, TwoHundredKills) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) lives::killed_again_and_again(10, 100 + seed, 300);
}

}  // namespace
}  // namespace weft
