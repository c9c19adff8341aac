// All-to-all over two tiers: first inside the domain to the member with the place of the receiver, then across between equal places, so
// that traffic outside stays on its rail and messages there are g times larger. Data moves twice.
#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& shape) {
  return kind == Collective::kAllToAll && shape.domains > 1 && per_domain(shape) > 1;
}

Cost cost(Collective, const GroupShape& shape, Bytes bytes) {
  double g = per_domain(shape), m = shape.domains;
  return cost_of(shape, {{(g - 1) / g, 0, 1 / g}, {0, (m - 1) / m, 0}},
                 Seconds((g - 1) * shape.inner_latency.value() + (m - 1) * shape.outer_latency.value()), bytes);
}

Schedule schedule(Collective, int n, int d) {
  Schedule s;
  s.chunks = n * n;
  int m = n / d;
  for (int k = 1; k < d; ++k)
    for (int r = 0; r < n; ++r) {
      int place = (r + k) % d;
      Transfer t{k - 1, r, r / d * d + place, {}, false};
      for (int j = 0; j < m; ++j) t.chunks.push_back(r * n + j * d + place);
      s.transfers.push_back(std::move(t));
    }
  for (int k = 1; k < m; ++k)
    for (int r = 0; r < n; ++r) {
      int to = (r + k * d) % n;
      Transfer t{d - 1 + k - 1, r, to, {}, false};
      for (int i = 0; i < d; ++i) t.chunks.push_back((r / d * d + i) * n + to);
      s.transfers.push_back(std::move(t));
    }
  return s;
}

std::vector<Phase> phases(Collective, int n, int d) {
  Phase inside, across;
  for (int r = 0; r < n; ++r) {
    for (int k = 1; k < d; ++k) inside.push_back({r, r / d * d + (r + k) % d, 1.0 / d});
    for (int k = d; k < n; k += d) across.push_back({r, (r + k) % n, static_cast<double>(d) / n});
  }
  return {inside, across};
}

WEFT_REGISTER(algorithms(), {"hierarchical_alltoall", "inside to the receiver's place, then across between equal places", supports, cost,
                             schedule, phases});

}  // namespace
}  // namespace weft::collective
