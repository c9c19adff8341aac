// Predicted time of a collective on real cards. On plain groups (members side by side on the same switches, or each joined to each by equal
// cables) it is the closed form. Elsewhere (several tiers or domains, meshes, tori, cubes, unequal links) the latency is the closed form's and the
// transfer is what the algorithm's phases put on the busiest link of the routes. One walk per shape, algorithm and kind.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "collective/cost.h"
#include "collective/usage.h"

namespace weft::collective {

class Predictor {
 public:
  explicit Predictor(UsageBuilder& usages) : usages_(usages) {}
  // `cards` in domain order, of shape `shape`. Infinite where the cards have no way to run it.
  Cost cost(const Algorithm& a, workload::Collective kind, const GroupShape& shape, std::span<const fabric::DeviceId> cards, Bytes bytes);
  // Fastest; ties by name. Never null for n >= 1.
  Choice choose(workload::Collective kind, const GroupShape& shape, std::span<const fabric::DeviceId> cards, Bytes bytes);

 private:
  struct Walked {
    double seconds_per_byte = 0;
    double inner_latency = 0, outer_latency = 0;  // of the slowest edge
  };
  Walked walk(const Algorithm& a, workload::Collective kind, const GroupShape& shape, std::span<const fabric::DeviceId> cards);

  UsageBuilder& usages_;
  std::vector<GroupShape> shapes_;
  std::map<std::tuple<std::size_t, const Algorithm*, workload::Collective>, Walked> known_;
};

}  // namespace weft::collective
