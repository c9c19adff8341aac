// Direct, for cards joined by cables: everyone sends to all peers at once, first each peer its 1/n to add up, then the sums back: on a full
// mesh all cables are busy. 2/n·S/b + 2α for all-reduce with b one cable's rate, that is 2(n-1)/n·S/B with B the card's.
#include <algorithm>
#include <cmath>

#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

constexpr int kRounds = 4;  // with fewer cables than that the others do better, and the pairs of a large group are too many

bool supports(Collective kind, const GroupShape& shape) {
  return shape.members >= 2 && shape.domains <= 1 && shape.direct && shape.members - 1 <= kRounds * shape.peers &&
         (kind == Collective::kAllReduce || kind == Collective::kReduceScatter || kind == Collective::kAllGather);
}

double passes(Collective kind) { return kind == Collective::kAllReduce ? 2 : 1; }

// A member without a cable to all others sends in rounds over those it has.
Cost cost(Collective kind, const GroupShape& shape, Bytes bytes) {
  double n = shape.members, p = passes(kind), rounds = std::ceil((n - 1) / std::max(shape.peers, 1));
  return cost_of(shape, {{p * (n - 1) / n, 0, p / n}}, shape.inner_latency * (p * rounds), bytes);
}

Schedule schedule(Collective kind, int n, int) {
  Schedule s;
  s.chunks = n;
  int step = 0;
  for (bool add : {true, false}) {
    if (kind == (add ? Collective::kAllGather : Collective::kReduceScatter)) continue;
    for (int from = 0; from < n; ++from)
      for (int to = 0; to < n; ++to)
        if (from != to) s.transfers.push_back({step, from, to, {add ? to : from}, add});
    ++step;
  }
  return s;
}

std::vector<Phase> phases(Collective kind, int n, int) {
  Phase phase;
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to)
      if (from != to) phase.push_back({from, to, passes(kind) / n});
  return {phase};
}

WEFT_REGISTER(algorithms(),
              {"direct", "to all peers at once over cables: 2/n·S/b + 2α, b one cable of a full mesh", supports, cost, schedule, phases});

}  // namespace
}  // namespace weft::collective
