// The switches add. In one domain as NVLink SHARP does (load-reduce and multicast store, each rank owns S/n): a rank sends S, pulled by
// the owners, and S/n, its own store: (n+1)/n·S/B + 2α for all-reduce; reduce-scatter and all-gather save traffic, not time. Across
// domains of one member as InfiniBand SHARP does (the switch keeps the result): S/B + 2α.
#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& shape) {
  if (shape.members < 2) return false;
  if (shape.domains <= 1)
    return shape.inner_reduction &&
           (kind == Collective::kAllReduce || kind == Collective::kReduceScatter || kind == Collective::kAllGather);
  return shape.outer_reduction && shape.max_per_domain == 1 && kind == Collective::kAllReduce;
}

// Sent and received per rank, of S.
std::pair<double, double> shares(Collective kind, double n) {
  switch (kind) {
    case Collective::kReduceScatter: return {1, 1 / n};
    case Collective::kAllGather: return {1 / n, 1};
    default: return {1 + 1 / n, 1 + 1 / n};
  }
}

Cost cost(Collective kind, const GroupShape& shape, Bytes bytes) {
  if (shape.domains > 1) return cost_of(shape, {{0, 1, 0}}, shape.outer_latency * 2, bytes);
  auto [sent, received] = shares(kind, shape.members);
  Cost c = cost_of(shape, {{std::max(sent, received), 0, 0}}, shape.inner_latency * (kind == Collective::kAllReduce ? 2 : 1), bytes);
  c.bytes_sent_inner = sent * static_cast<double>(bytes.value());
  return c;
}

Schedule schedule(Collective kind, int n, int) {
  Schedule s;
  s.chunks = n;
  s.in_network = true;
  int step = 0;
  if (kind != Collective::kAllGather) {
    for (int owner = 0; owner < n; ++owner)
      for (int r = 0; r < n; ++r)
        if (r != owner) s.transfers.push_back({step, r, owner, {owner}, true});
    ++step;
  }
  if (kind != Collective::kReduceScatter)
    for (int owner = 0; owner < n; ++owner)
      for (int r = 0; r < n; ++r)
        if (r != owner) s.transfers.push_back({step, owner, r, {owner}, false});
  return s;
}

std::vector<Phase> phases(Collective kind, int n, int d) {
  auto [sent, received] = d == n ? shares(kind, n) : std::pair{1.0, 1.0};
  Phase phase;
  for (int r = 0; r < n; ++r) phase.push_back({r, kSwitches, sent}), phase.push_back({kSwitches, r, received});
  return {phase};
}

WEFT_REGISTER(algorithms(), {"in_network", "reduction in the switches: (n+1)/n·S/B + 2α in one domain, S/B + 2α across", supports, cost,
                             schedule, phases});

}  // namespace
}  // namespace weft::collective
