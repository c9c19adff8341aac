// Ring: n-1 steps around the group for reduce-scatter and for all-gather, both for all-reduce (Patarasuk and Yuan 2009). Over several
// domains there is one ring per member of a domain, each leaving by another card, so that all ways out are used, as NCCL's channels
// do; the order turns round in every second domain, so that a ring enters where the one before left (same rail).
#include <algorithm>
#include <cmath>

#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool spans(int n, int d) { return d > 1 && d < n; }

std::vector<int> ring_order(int n, int d, int ring) {
  std::vector<int> order;
  for (int base = 0; base < n; base += d)
    for (int i = 0; i < d; ++i) order.push_back(base + (base / d % 2 == 0 ? (ring + i) % d : (ring + 2 * d - 1 - i) % d));
  return order;
}

bool supports(Collective kind, const GroupShape&) { return kind != Collective::kAllToAll; }

// Chunks of a pipelined broadcast: the count that minimises (n-2+k)(α + S/(kB)).
double broadcast_chunks(const GroupShape& shape, double per_hop, double alpha) {
  if (shape.members <= 2 || alpha <= 0) return alpha <= 0 ? 1 << 20 : 1;
  return std::clamp(std::round(std::sqrt((shape.members - 2) * per_hop / alpha)), 1.0, 1048576.0);
}

Cost cost(Collective kind, const GroupShape& shape, Bytes bytes) {
  int n = shape.members, g = per_domain(shape);
  if (n < 2) return {};
  double f = wire_factor(kind, n);
  Load load;
  if (shape.domains <= 1) load = {f, 0, f};
  else if (g > 1) load = {f * (g - 1) / g, f / g, f * (g - 1) / g};
  else load = {0, f, 0};
  double inside = shape.domains <= 1 ? n : n - n / g, across = n - inside;
  double hop = (inside * shape.inner_latency.value() + across * shape.outer_latency.value()) / n;  // mean over the ring
  if (kind == Collective::kBroadcast) {
    double move = transfer_time(shape, load, bytes).value();
    double k = broadcast_chunks(shape, move, hop);
    return cost_of(shape, {load}, Seconds((n - 2 + k) * (hop + move / k) - move), bytes);
  }
  int steps = (kind == Collective::kAllReduce ? 2 : 1) * (n - 1);
  return cost_of(shape, {load}, Seconds(steps * hop), bytes);
}

Schedule schedule(Collective kind, int n, int d) {
  Schedule s;
  if (n < 2) return s;
  int rings = spans(n, d) ? d : 1;
  s.chunks = n * rings;
  for (int j = 0; j < rings; ++j) {
    std::vector<int> order = spans(n, d) ? ring_order(n, d, j) : ring_order(n, n, 0);
    if (kind == Collective::kBroadcast) {  // this ring's n chunks, one behind the other, starting at rank 0
      std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
      for (int c = 0; c < n; ++c)
        for (int p = 0; p + 1 < n; ++p) s.transfers.push_back({c + p, order[p], order[p + 1], {j * n + c}, false});
      continue;
    }
    std::vector<std::vector<int>> parts;
    for (int r : order) parts.push_back({r * rings + j});
    int step = 0;
    if (kind != Collective::kAllGather) step = ring_scatter(s, step, order, parts);
    if (kind != Collective::kReduceScatter) ring_gather(s, step, order, parts);
  }
  sort_steps(s);
  return s;
}

std::vector<Phase> phases(Collective kind, int n, int d) {
  if (n < 2) return {};
  int rings = spans(n, d) ? d : 1;
  double share = wire_factor(kind, n) / rings;
  Phase phase;
  for (int j = 0; j < rings; ++j) {
    std::vector<int> order = spans(n, d) ? ring_order(n, d, j) : ring_order(n, n, 0);
    int last = n;
    if (kind == Collective::kBroadcast) std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end()), last = n - 1;
    for (int p = 0; p < last; ++p) phase.push_back({order[p], order[(p + 1) % n], share});
  }
  if (rings > 1) tidy(phase);
  return {phase};
}

WEFT_REGISTER(algorithms(), {"ring", "neighbours around a ring: 2(n-1)/n·S/B + 2(n-1)α", supports, cost, schedule, phases});

}  // namespace
}  // namespace weft::collective
