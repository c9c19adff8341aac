// Ring: bandwidth-optimal, n−1 (or 2(n−1)) messages one after another. Thakur, Rabenseifner, Gropp 2005; NCCL's default for large messages.
#include <algorithm>

#include "collective/cost.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape&) { return kind != Collective::kAllToAll; }

double passes(Collective kind) { return kind == Collective::kAllReduce ? 2 : 1; }

Cost cost(Collective kind, const GroupShape& s, Bytes bytes) {
  int n = s.members;
  if (n < 2) return {};
  double b = static_cast<double>(bytes.value());
  // One boundary edge per domain: the ring runs at its slowest edge.
  double rate = s.domains == 1 ? s.inner.value() : s.max_per_domain > 1 ? std::min(s.inner.value(), s.outer_single.value()) : s.outer.value();
  double share = kind == Collective::kBroadcast ? 1 : static_cast<double>(n - 1) / n;
  int crossings = s.domains == 1 ? 0 : s.domains;
  double alpha = (n - crossings) * s.inner_latency.value() + crossings * s.outer_latency.value();
  Cost c;
  c.latency_part = Seconds(passes(kind) * alpha * (n - 1) / n);
  c.time = Seconds(passes(kind) * share * b / rate) + c.latency_part;
  (s.domains == 1 ? c.bytes_sent_inner : c.bytes_sent_outer) = passes(kind) * share * b;
  return c;
}

std::vector<Phase> phases(Collective kind, int n, int) {
  Phase p;
  p.rounds = passes(kind) * (n - 1);
  for (int i = 0; i < n; ++i) {
    if (kind == Collective::kBroadcast && i == n - 1) continue;  // a chain from rank 0
    p.edges.push_back({i, (i + 1) % n, kind == Collective::kBroadcast ? 1.0 : passes(kind) * (n - 1) / n});
  }
  return {p};
}

Schedule schedule(Collective kind, int n, int) {
  Schedule s;
  s.chunks = n;
  if (kind == Collective::kBroadcast) {
    // Chunk c leaves rank 0 at step c and moves one rank a step.
    for (int step = 0; step < n - 1 + n - 1; ++step)
      for (int r = 0; r < n - 1; ++r)
        if (int c = step - r; c >= 0 && c < n) s.transfers.push_back({step, r, r + 1, {c}, false});
    return s;
  }
  int step = 0;
  // Chunk c belongs to rank c: it starts its way at rank c+1 and is complete at rank c after n−1 steps.
  if (kind != Collective::kAllGather)
    for (int k = 0; k < n - 1; ++k, ++step)
      for (int r = 0; r < n; ++r) s.transfers.push_back({step, r, (r + 1) % n, {((r - 1 - k) % n + n) % n}, true});
  if (kind != Collective::kReduceScatter)
    for (int k = 0; k < n - 1; ++k, ++step)
      for (int r = 0; r < n; ++r) s.transfers.push_back({step, r, (r + 1) % n, {((r - k) % n + n) % n}, false});
  return s;
}

WEFT_REGISTER(algorithms(), {"ring", "ring: least bytes, latency grows with members", supports, cost, phases, schedule});

}  // namespace
}  // namespace weft::collective
