// Ten thousand random networks with random faults: the books balance on each.
#include "sim/packet/random_networks_for_tests.h"

namespace weft::sim::packet {
namespace {

TEST(PacketConservation, TenThousandRandomNetworks) {
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) ASSERT_NO_FATAL_FAILURE(testing::books_balance(seed));
}

}  // namespace
}  // namespace weft::sim::packet
