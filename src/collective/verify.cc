#include <string>
#include <vector>

#include "collective/cost.h"

namespace weft::collective {
namespace {

// Contributions held: per rank and chunk, how often each source's part is in the sum. For all-to-all a chunk is one (source, target) block.
using Held = std::vector<std::vector<std::vector<int>>>;

}  // namespace

std::string verify(workload::Collective kind, int n, const Schedule& schedule) {
  using workload::Collective;
  int chunks = schedule.chunks;
  auto un = static_cast<std::size_t>(n), uc = static_cast<std::size_t>(chunks);
  bool personal = kind == Collective::kAllToAll;
  if (personal && chunks != n * n) return "all-to-all needs n*n chunks (source, target)";
  if ((kind == Collective::kAllGather || kind == Collective::kReduceScatter) && chunks % n) return "chunks must divide among the ranks";
  int per = chunks / n;
  Held held(un, std::vector<std::vector<int>>(uc, std::vector<int>(un, 0)));
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < chunks; ++c) {
      bool has = kind == Collective::kAllReduce || kind == Collective::kReduceScatter || (kind == Collective::kAllGather && c / per == r) || (kind == Collective::kBroadcast && r == 0) || (personal && c / n == r);
      if (has) held[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)][static_cast<std::size_t>(r)] = 1;
    }
  std::size_t i = 0;
  while (i < schedule.transfers.size()) {
    // All transfers of a step see the state before it.
    Held before = held;
    int step = schedule.transfers[i].step;
    for (; i < schedule.transfers.size() && schedule.transfers[i].step == step; ++i) {
      const Transfer& t = schedule.transfers[i];
      if (t.from < 0 || t.from >= n || t.to < 0 || t.to >= n) return "transfer outside the group";
      for (int c : t.chunks) {
        if (c < 0 || c >= chunks) return "chunk outside the vector";
        const auto& from = before[static_cast<std::size_t>(t.from)][static_cast<std::size_t>(c)];
        auto& to = held[static_cast<std::size_t>(t.to)][static_cast<std::size_t>(c)];
        bool empty = true;
        for (int v : from) empty = empty && v == 0;
        if (empty) return "rank " + std::to_string(t.from) + " sends chunk " + std::to_string(c) + " it does not have at step " + std::to_string(step);
        for (std::size_t s = 0; s < un; ++s) {
          if (t.reduce) to[s] += from[s];
          else to[s] = from[s];
        }
      }
    }
    if (i < schedule.transfers.size() && schedule.transfers[i].step < step) return "steps are not in order";
  }
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < chunks; ++c) {
      bool needs = kind == Collective::kAllReduce || kind == Collective::kAllGather || kind == Collective::kBroadcast || (kind == Collective::kReduceScatter && c / per == r) || (personal && c % n == r);
      if (!needs) continue;
      for (int s = 0; s < n; ++s) {
        bool wanted = kind == Collective::kAllReduce || kind == Collective::kReduceScatter || (kind == Collective::kAllGather && s == c / per) || (kind == Collective::kBroadcast && s == 0) || (personal && s == c / n);
        int have = held[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)][static_cast<std::size_t>(s)];
        if (have != (wanted ? 1 : 0)) return "rank " + std::to_string(r) + " ends with chunk " + std::to_string(c) + " holding rank " + std::to_string(s) + "'s part " + std::to_string(have) + " times";
      }
    }
  return {};
}

}  // namespace weft::collective
