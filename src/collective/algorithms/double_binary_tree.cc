// Double binary tree (Sanders, Speck, Träff 2009; NCCL): each tree carries half the data up and down, pipelined; about 2·log2 n messages.
#include <cmath>

#include "collective/cost.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& s) { return kind == Collective::kAllReduce && s.members > 2 && s.domains == 1; }

// Parent of r in the in-order binary tree over n ranks (the lowest set bit decides the level); -1 for the root. NCCL src/graph/trees.cc.
int parent(int n, int r) {
  int bit = 1;
  while (bit < n && !(r & bit)) bit <<= 1;
  if (r == 0) return -1;
  int up = (r ^ bit) | (bit << 1);
  return up >= n ? r ^ bit : up;
}
// The second tree: shifted by one rank, so that inner nodes of one are mostly leaves of the other.
int parent_of(int tree, int n, int r) {
  if (tree == 0) return parent(n, r);
  int p = parent(n, (r + n - 1) % n);
  return p < 0 ? -1 : (p + 1) % n;
}
int depth(int tree, int n, int r) {
  int d = 0;
  for (int p = parent_of(tree, n, r); p >= 0; p = parent_of(tree, n, p)) ++d;
  return d;
}

double busiest(int n) {
  std::vector<double> sent(static_cast<std::size_t>(n), 0);
  for (int t = 0; t < 2; ++t)
    for (int r = 0; r < n; ++r)
      if (int p = parent_of(t, n, r); p >= 0) sent[static_cast<std::size_t>(r)] += 0.5, sent[static_cast<std::size_t>(p)] += 0.5;
  double most = 0;
  for (double v : sent) most = std::max(most, v);
  return most;
}

Cost cost(Collective, const GroupShape& s, Bytes bytes) {
  int n = s.members, deepest = 0;
  for (int t = 0; t < 2; ++t)
    for (int r = 0; r < n; ++r) deepest = std::max(deepest, depth(t, n, r));
  double b = static_cast<double>(bytes.value());
  Cost c;
  c.latency_part = Seconds(2.0 * deepest * s.inner_latency.value());
  c.bytes_sent_inner = busiest(n) * b;
  c.time = Seconds(c.bytes_sent_inner / s.inner.value()) + c.latency_part;
  return c;
}

std::vector<Phase> phases(Collective, int n, int) {
  Phase p;
  int deepest = 0;
  for (int t = 0; t < 2; ++t)
    for (int r = 0; r < n; ++r) {
      deepest = std::max(deepest, depth(t, n, r));
      if (int up = parent_of(t, n, r); up >= 0) p.edges.push_back({r, up, 0.5}), p.edges.push_back({up, r, 0.5});
    }
  p.rounds = 2.0 * deepest;
  return {p};
}

Schedule schedule(Collective, int n, int) {
  Schedule s;
  s.chunks = 2;
  int deepest[2] = {0, 0};
  for (int t = 0; t < 2; ++t)
    for (int r = 0; r < n; ++r) deepest[t] = std::max(deepest[t], depth(t, n, r));
  int step = 0;
  for (int level = std::max(deepest[0], deepest[1]); level > 0; --level, ++step)
    for (int t = 0; t < 2; ++t)
      for (int r = 0; r < n; ++r)
        if (depth(t, n, r) == level) s.transfers.push_back({step, r, parent_of(t, n, r), {t}, true});
  for (int level = 1; level <= std::max(deepest[0], deepest[1]); ++level, ++step)
    for (int t = 0; t < 2; ++t)
      for (int r = 0; r < n; ++r)
        if (depth(t, n, r) == level) s.transfers.push_back({step, parent_of(t, n, r), r, {t}, false});
  return s;
}

WEFT_REGISTER(algorithms(), {"double_binary_tree", "two trees with half the data each: log2 n messages", supports, cost, phases, schedule});

}  // namespace
}  // namespace weft::collective
