// In-network reduction (NVLS): owners pull and reduce through the switch and multicast the result. A rank sends S (pulled) + S/n and receives
// S/n + S: (n+1)/n · S/B + 2α, up to 2(n−1)/(n+1) times a ring. Needs reducing switches one tier around all members.
#include "collective/cost.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& s) { return kind == Collective::kAllReduce && s.inner_reduction && s.domains == 1 && s.members > 2; }

Cost cost(Collective, const GroupShape& s, Bytes bytes) {
  double n = s.members, b = static_cast<double>(bytes.value());
  Cost c;
  c.bytes_sent_inner = (n + 1) / n * b;
  c.latency_part = s.inner_latency * 2;
  c.time = Seconds(c.bytes_sent_inner / s.inner.value()) + c.latency_part;
  return c;
}

std::vector<Phase> phases(Collective, int n, int) {
  // Each rank's bytes up to the switch and down from it; drawn to the neighbour, whose down-link carries the same amount.
  Phase p;
  p.rounds = 2;
  for (int i = 0; i < n; ++i) p.edges.push_back({i, (i + 1) % n, static_cast<double>(n + 1) / n});
  return {p};
}

Schedule schedule(Collective, int n, int) {
  Schedule s;
  s.in_network = true;
  s.chunks = n;
  // The effect: owner c pulls chunk c of everybody, then gives it to everybody.
  for (int c = 0; c < n; ++c)
    for (int r = 0; r < n; ++r)
      if (r != c) s.transfers.push_back({0, r, c, {c}, true});
  for (int c = 0; c < n; ++c)
    for (int r = 0; r < n; ++r)
      if (r != c) s.transfers.push_back({1, c, r, {c}, false});
  return s;
}

WEFT_REGISTER(algorithms(), {"in_network", "switches reduce and multicast (NVLS)", supports, cost, phases, schedule});

}  // namespace
}  // namespace weft::collective
