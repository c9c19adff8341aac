// Bruck et al. 1997: ceil(log2 n) steps for all-gather and all-to-all of small messages; the all-to-all moves data several times.
#include <algorithm>

#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& shape) {
  return shape.members >= 2 && (kind == Collective::kAllGather || kind == Collective::kAllToAll);
}

// Blocks that move by 2^k places in step k, of n.
int blocks(Collective kind, int n, int k) {
  int h = 1 << k, count = 0;
  if (kind == Collective::kAllGather) return std::min(h, n - h);
  for (int o = 0; o < n; ++o) count += (o >> k) & 1;
  return count;
}

// A step of distance h leaves a domain of d (in rank order) for its last min(h, d) members; the busiest member crosses each time.
Cost cost(Collective kind, const GroupShape& shape, Bytes bytes) {
  int n = shape.members;
  std::vector<Load> loads;
  double latency = 0;
  for (int k = 0; (1 << k) < n; ++k) {
    double share = static_cast<double>(blocks(kind, n, k)) / n;
    if (shape.domains <= 1) loads.push_back({share, 0, share});
    else loads.push_back({0, share, 0});
    latency += (shape.domains <= 1 ? shape.inner_latency : shape.outer_latency).value();
  }
  return cost_of(shape, loads, Seconds(latency), bytes);
}

Schedule schedule(Collective kind, int n, int) {
  Schedule s;
  bool gather = kind == Collective::kAllGather;
  s.chunks = gather ? n : n * n;
  for (int k = 0; (1 << k) < n; ++k)
    for (int r = 0; r < n; ++r) {
      int h = 1 << k;
      if (gather) {  // r holds the blocks r … r+h-1 and hands them back by h
        Transfer t{k, r, (r - h + n) % n, {}, false};
        for (int i = 0; i < blocks(kind, n, k); ++i) t.chunks.push_back((r + i) % n);
        s.transfers.push_back(std::move(t));
        continue;
      }
      // A block that must travel o places moves 2^k in step k when bit k of o is set; so far it has moved the lower bits of o.
      Transfer t{k, r, (r + h) % n, {}, false};
      for (int o = 0; o < n; ++o)
        if (o & h) {
          int source = ((r - (o & (h - 1))) % n + n) % n;
          t.chunks.push_back(source * n + (source + o) % n);
        }
      s.transfers.push_back(std::move(t));
    }
  return s;
}

std::vector<Phase> phases(Collective kind, int n, int) {
  std::vector<Phase> out;
  for (int k = 0; (1 << k) < n; ++k) {
    Phase phase;
    int h = 1 << k;
    for (int r = 0; r < n; ++r)
      phase.push_back({r, kind == Collective::kAllGather ? (r - h + n) % n : (r + h) % n, static_cast<double>(blocks(kind, n, k)) / n});
    out.push_back(std::move(phase));
  }
  return out;
}

WEFT_REGISTER(algorithms(), {"bruck", "log steps for small all-gather and all-to-all: ceil(log2 n)(α + S/2B) for all-to-all", supports,
                             cost, schedule, phases});

}  // namespace
}  // namespace weft::collective
