#include "collective/cost.h"

#include "collective/parts.h"

namespace weft::collective {

Registry<Algorithm>& algorithms() {
  static Registry<Algorithm> registry("collective algorithm");
  return registry;
}

int per_domain(const GroupShape& shape) {
  if (shape.domains <= 1) return shape.members;
  return shape.min_per_domain == shape.max_per_domain ? shape.min_per_domain : 1;
}

Choice choose(workload::Collective kind, const GroupShape& shape, Bytes bytes) {
  Choice best;
  for (const Algorithm& a : algorithms().entries()) {
    if (!a.supports(kind, shape)) continue;
    Cost cost = a.cost(kind, shape, bytes);
    if (!best.algorithm || cost.time < best.cost.time) best = {&a, cost};  // entries come by name, so a tie keeps the earlier name
  }
  return best;
}

BytesPerSecond bus_bandwidth(workload::Collective kind, int members, Bytes bytes, Seconds time) {
  // nccl-tests doc/PERFORMANCE.md.
  return time.value() > 0 ? BytesPerSecond(static_cast<double>(bytes.value()) * wire_factor(kind, members) / time.value())
                          : BytesPerSecond(0);
}

}  // namespace weft::collective
