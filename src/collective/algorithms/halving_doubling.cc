// Recursive halving and doubling (Rabenseifner): log2 n messages; members a power of two, inside one domain.
#include "collective/cost.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool power_of_two(int n) { return n > 1 && (n & (n - 1)) == 0; }
bool supports(Collective kind, const GroupShape& s) { return (kind == Collective::kAllReduce || kind == Collective::kAllGather || kind == Collective::kReduceScatter) && power_of_two(s.members) && s.domains == 1; }
double log2i(int n) {
  int k = 0;
  while ((1 << (k + 1)) <= n) ++k;
  return k;
}

Cost cost(Collective kind, const GroupShape& s, Bytes bytes) {
  int n = s.members;
  double passes = kind == Collective::kAllReduce ? 2 : 1, b = static_cast<double>(bytes.value());
  Cost c;
  c.latency_part = Seconds(passes * log2i(n) * s.inner_latency.value());
  c.bytes_sent_inner = passes * b * (n - 1) / n;
  c.time = Seconds(c.bytes_sent_inner / s.inner.value()) + c.latency_part;
  return c;
}

std::vector<Phase> phases(Collective kind, int n, int) {
  std::vector<Phase> out;
  auto pass = [&](bool halving) {
    for (int k = 0; k < static_cast<int>(log2i(n)); ++k) {
      int distance = halving ? n >> (k + 1) : 1 << k;
      Phase p;
      p.rounds = 1;
      for (int r = 0; r < n; ++r) p.edges.push_back({r, r ^ distance, static_cast<double>(distance) / n});
      out.push_back(std::move(p));
    }
  };
  if (kind != Collective::kAllGather) pass(true);
  if (kind != Collective::kReduceScatter) pass(false);
  return out;
}

Schedule schedule(Collective kind, int n, int) {
  Schedule s;
  s.chunks = n;
  int step = 0, rounds = static_cast<int>(log2i(n));
  if (kind != Collective::kAllGather)
    for (int k = 0; k < rounds; ++k, ++step) {
      int distance = n >> (k + 1);
      for (int r = 0; r < n; ++r) {
        // Give away the half that the partner keeps: the chunks whose bit `distance` is the partner's.
        std::vector<int> chunks;
        int partner = r ^ distance, mask = ~(2 * distance - 1);
        for (int c = 0; c < n; ++c)
          if ((c & mask) == (r & mask) && (c & distance) == (partner & distance)) chunks.push_back(c);
        s.transfers.push_back({step, r, partner, chunks, true});
      }
    }
  if (kind != Collective::kReduceScatter)
    for (int k = 0; k < rounds; ++k, ++step) {
      int distance = 1 << k;
      for (int r = 0; r < n; ++r) {
        std::vector<int> chunks;
        for (int c = 0; c < n; ++c)
          if ((c & ~(distance - 1)) == (r & ~(distance - 1))) chunks.push_back(c);
        s.transfers.push_back({step, r, r ^ distance, chunks, false});
      }
    }
  return s;
}

WEFT_REGISTER(algorithms(), {"halving_doubling", "recursive halving and doubling: log2 n messages", supports, cost, phases, schedule});

}  // namespace
}  // namespace weft::collective
