// Direct (pairwise) all-to-all: n−1 messages of 1/n of the send buffer each.
#include <algorithm>

#include "collective/cost.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape&) { return kind == Collective::kAllToAll; }

Cost cost(Collective, const GroupShape& s, Bytes bytes) {
  int n = s.members;
  if (n < 2) return {};
  double b = static_cast<double>(bytes.value()), here = s.max_per_domain, away = n - s.min_per_domain;
  Cost c;
  c.bytes_sent_inner = b * (s.domains == 1 ? n - 1 : here - 1) / n;
  c.bytes_sent_outer = s.domains == 1 ? 0 : b * away / n;
  double inner = c.bytes_sent_inner > 0 ? c.bytes_sent_inner / s.inner.value() : 0, outer = c.bytes_sent_outer > 0 ? c.bytes_sent_outer / s.outer.value() : 0;
  // Messages to one rank after another, both networks at the same time.
  c.latency_part = s.domains == 1 ? s.inner_latency * (n - 1) : s.outer_latency * (n - 1);
  c.time = Seconds(std::max(inner, outer)) + c.latency_part;
  return c;
}

std::vector<Phase> phases(Collective, int n, int) {
  Phase p;
  p.rounds = n - 1;
  p.all_to_all = true, p.uniform = 1.0 / n, p.block = n;
  return {p};
}

Schedule schedule(Collective, int n, int) {
  Schedule s;
  s.chunks = n * n;
  for (int k = 1; k < n; ++k)
    for (int r = 0; r < n; ++r) s.transfers.push_back({k - 1, r, (r + k) % n, {r * n + (r + k) % n}, false});
  return s;
}

WEFT_REGISTER(algorithms(), {"pairwise", "all-to-all by direct messages", supports, cost, phases, schedule});

}  // namespace
}  // namespace weft::collective
