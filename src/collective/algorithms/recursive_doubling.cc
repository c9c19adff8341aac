// Recursive doubling: log2(n) exchanges of the whole vector (Thakur, Rabenseifner, Gropp 2005); for small messages. Powers of two.
#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& shape) {
  return kind == Collective::kAllReduce && shape.members >= 2 && power_of_two(shape.members) && power_of_two(per_domain(shape));
}

Cost cost(Collective, const GroupShape& shape, Bytes bytes) {
  int near = log2_ceil(per_domain(shape)), far = log2_ceil(shape.members) - near;
  std::vector<Load> loads;
  // Every step is a phase of its own in time; within the near or far steps all edges carry the same, so their sum is one phase.
  for (int i = 0; i < near; ++i) loads.push_back({1, 0, 1});
  if (far > 0) loads.push_back({0, static_cast<double>(far), 0});
  return cost_of(shape, loads, Seconds(near * shape.inner_latency.value() + far * shape.outer_latency.value()), bytes);
}

Schedule schedule(Collective, int n, int) {
  Schedule s;
  int step = 0;
  for (int h = 1; h < n; h *= 2, ++step)
    for (int r = 0; r < n; ++r) s.transfers.push_back({step, r, r ^ h, {0}, true});
  return s;
}

std::vector<Phase> phases(Collective, int n, int) {
  std::vector<Phase> out;
  for (int h = 1; h < n; h *= 2) {
    Phase phase;
    for (int r = 0; r < n; ++r) phase.push_back({r, r ^ h, 1});
    out.push_back(std::move(phase));
  }
  return out;
}

WEFT_REGISTER(algorithms(), {"recursive_doubling", "whole vector to log2(n) partners, powers of two: log2(n)(S/B + α)", supports, cost,
                             schedule, phases});

}  // namespace
}  // namespace weft::collective
