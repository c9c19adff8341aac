// Pairwise all-to-all: in step k everyone sends straight to the member k further on. (n-1)/n·S/B + (n-1)α.
#include <algorithm>

#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape&) { return kind == Collective::kAllToAll; }

Cost cost(Collective, const GroupShape& shape, Bytes bytes) {
  int n = shape.members;
  if (n < 2) return {};
  // The member of the smallest domain sends most outside, that of the largest most inside.
  int least = shape.domains <= 1 ? n : shape.min_per_domain, most = shape.domains <= 1 ? n : shape.max_per_domain;
  Load load{static_cast<double>(most - 1) / n, static_cast<double>(n - least) / n, most > 1 ? 1.0 / n : 0};
  return cost_of(shape, {load}, Seconds((least - 1) * shape.inner_latency.value() + (n - least) * shape.outer_latency.value()), bytes);
}

Schedule schedule(Collective, int n, int) {
  Schedule s;
  s.chunks = n * n;
  for (int k = 1; k < n; ++k)
    for (int r = 0; r < n; ++r) s.transfers.push_back({k - 1, r, (r + k) % n, {r * n + (r + k) % n}, false});
  return s;
}

std::vector<Phase> phases(Collective, int n, int) {
  Phase phase;
  phase.reserve(static_cast<std::size_t>(n) * n);
  for (int r = 0; r < n; ++r)
    for (int to = 0; to < n; ++to)
      if (to != r) phase.push_back({r, to, 1.0 / n});
  return {phase};
}

WEFT_REGISTER(algorithms(),
              {"pairwise", "direct all-to-all, one partner after the other: (n-1)/n·S/B + (n-1)α", supports, cost, schedule, phases});

}  // namespace
}  // namespace weft::collective
