// The symbolic verifier: data are sets of (rank that contributed, how often), so a sum taken twice or a chunk never sent shows.
#include <fmt/format.h>

#include <algorithm>

#include "collective/cost.h"

namespace weft::collective {
namespace {

using workload::Collective;
using Value = std::vector<std::uint16_t>;  // contributions by rank; empty = nothing there

}  // namespace

std::string verify(Collective kind, int n, const Schedule& schedule) {
  int chunks = schedule.chunks;
  bool to_all = kind == Collective::kAllToAll, reduces = kind == Collective::kAllReduce || kind == Collective::kReduceScatter;
  int cells = to_all ? n * n : n;
  bool owned = kind == Collective::kAllGather || kind == Collective::kReduceScatter || to_all;
  if (chunks < 1 || (owned && chunks % cells != 0))
    return fmt::format("{} chunks for {} ranks: must be a multiple of {}", chunks, n, cells);
  auto owner = [&](int c) { return static_cast<int>(static_cast<std::int64_t>(c) * n / chunks); };
  auto target = [&](int c) { return c / (chunks / cells) % n; };
  std::vector<std::vector<Value>> held(n, std::vector<Value>(chunks));
  auto only = [&](int r) {
    Value v(n, 0);
    v[r] = 1;
    return v;
  };
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < chunks; ++c)
      if (reduces || (kind == Collective::kBroadcast ? r == 0 : owner(c) == r)) held[r][c] = only(r);

  struct Arrival {
    int rank, chunk;
    bool reduce;
    Value value;
  };
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < schedule.transfers.size();) {
    int step = schedule.transfers[i].step;
    arrivals.clear();
    for (; i < schedule.transfers.size() && schedule.transfers[i].step == step; ++i) {
      const Transfer& t = schedule.transfers[i];
      if (t.from < 0 || t.from >= n || t.to < 0 || t.to >= n || t.from == t.to)
        return fmt::format("step {}: transfer {} to {} in a group of {}", step, t.from, t.to, n);
      for (int c : t.chunks) {
        if (c < 0 || c >= chunks) return fmt::format("step {}: no chunk {}", step, c);
        if (held[t.from][c].empty()) return fmt::format("step {}: rank {} sends chunk {} before it has it", step, t.from, c);
        arrivals.push_back({t.to, c, t.reduce, held[t.from][c]});
      }
    }
    if (i < schedule.transfers.size() && schedule.transfers[i].step < step)
      return fmt::format("step {} after step {}", schedule.transfers[i].step, step);
    std::stable_sort(arrivals.begin(), arrivals.end(),
                     [](const Arrival& a, const Arrival& b) { return std::pair(a.rank, a.chunk) < std::pair(b.rank, b.chunk); });
    for (std::size_t k = 0; k < arrivals.size(); ++k) {
      const Arrival& a = arrivals[k];
      bool same = k > 0 && arrivals[k - 1].rank == a.rank && arrivals[k - 1].chunk == a.chunk;
      if (same && (!a.reduce || !arrivals[k - 1].reduce))
        return fmt::format("step {}: two writes of chunk {} at rank {}", step, a.chunk, a.rank);
      Value& mine = held[a.rank][a.chunk];
      if (!a.reduce) {
        mine = a.value;
        continue;
      }
      if (!reduces) return fmt::format("step {}: a reduction in {}", step, workload::collective_name(kind));
      if (mine.empty()) mine.assign(n, 0);
      for (int r = 0; r < n; ++r) mine[r] = static_cast<std::uint16_t>(mine[r] + a.value[r]);
    }
  }

  Value all(n, 1);
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < chunks; ++c) {
      if (kind == Collective::kReduceScatter && owner(c) != r) continue;
      if (to_all && target(c) != r) continue;
      Value want = reduces ? all : only(kind == Collective::kBroadcast ? 0 : owner(c));
      const Value& have = held[r][c];
      if (have == want) continue;
      if (have.empty()) return fmt::format("rank {} never gets chunk {}", r, c);
      for (int k = 0; k < n; ++k)
        if (have[k] != want[k])
          return fmt::format("rank {} ends with chunk {} holding rank {}'s part {} times instead of {}", r, c, k, have[k], want[k]);
    }
  return {};
}

}  // namespace weft::collective
