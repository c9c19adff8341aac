// Double binary tree: half the data up and down one tree, half the other, where a leaf of one is inside the other (Sanders, Speck,
// Träff 2009; built as in NCCL src/graph/trees.cc). Pipelined, so depth costs latency only: at most 2·S/B + 2·log2(n)α.
#include <algorithm>

#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

// -1 for the root, rank 0.
int parent_in_first(int n, int r) {
  if (r == 0) return -1;
  int bit = r & -r;
  int up = (r ^ bit) | (bit << 1);
  return up < n ? up : r ^ bit;
}

// The second tree mirrors the first for even n and is shifted by one for odd n.
int parent(int tree, int n, int r) {
  if (tree == 0) return parent_in_first(n, r);
  auto there = [&](int x) { return n % 2 == 0 ? n - 1 - x : (x - 1 + n) % n; };
  auto back = [&](int x) { return n % 2 == 0 ? n - 1 - x : (x + 1) % n; };
  int up = parent_in_first(n, there(r));
  return up < 0 ? -1 : back(up);
}

bool supports(Collective kind, const GroupShape& shape) { return kind == Collective::kAllReduce && shape.members >= 2; }

Cost cost(Collective, const GroupShape& shape, Bytes bytes) {
  int n = shape.members, g = per_domain(shape);
  std::vector<double> inner(n, 0), outer(n, 0);  // sent by each rank, in halves of S: up to its parent, down to its children
  double longest = 0;
  for (int tree = 0; tree < 2; ++tree) {
    for (int r = 0; r < n; ++r) {
      int up = parent(tree, n, r);
      if (up < 0) continue;
      auto& side = r / g == up / g ? inner : outer;
      side[r] += 1, side[up] += 1;
    }
    for (int r = 0; r < n; ++r) {
      double way = 0;
      for (int at = r, up; (up = parent(tree, n, at)) >= 0; at = up)
        way += (at / g == up / g ? shape.inner_latency : shape.outer_latency).value();
      longest = std::max(longest, way);
    }
  }
  double most_inner = *std::max_element(inner.begin(), inner.end()) / 2, most_outer = *std::max_element(outer.begin(), outer.end()) / 2;
  // Two members may be joined in both trees, one way up and one way down.
  double edge = 0;
  for (int r = 0; r < n; ++r)
    for (int tree = 0; tree < 2; ++tree)
      if (int up = parent(tree, n, r); up >= 0 && r / g == up / g)
        edge = std::max(edge, parent(1 - tree, n, r) == up || parent(1 - tree, n, up) == r ? 1 : 0.5);
  return cost_of(shape, {{most_inner, most_outer, edge}}, Seconds(2 * longest), bytes);
}

Schedule schedule(Collective, int n, int) {
  Schedule s;
  s.chunks = 2;
  int deepest = 0;
  auto depth = [&](int tree, int r) {
    int d = 0;
    for (int at = r; (at = parent(tree, n, at)) >= 0;) ++d;
    return d;
  };
  for (int tree = 0; tree < 2; ++tree)
    for (int r = 0; r < n; ++r) deepest = std::max(deepest, depth(tree, r));
  for (int tree = 0; tree < 2; ++tree)
    for (int r = 0; r < n; ++r) {
      int up = parent(tree, n, r), d = depth(tree, r);
      if (up < 0) continue;
      s.transfers.push_back({deepest - d, r, up, {tree}, true});
      s.transfers.push_back({deepest + d, up, r, {tree}, false});
    }
  sort_steps(s);
  return s;
}

std::vector<Phase> phases(Collective, int n, int) {
  Phase phase;
  for (int tree = 0; tree < 2; ++tree)
    for (int r = 0; r < n; ++r)
      if (int up = parent(tree, n, r); up >= 0) phase.push_back({r, up, 0.5}), phase.push_back({up, r, 0.5});
  tidy(phase);
  return {phase};
}

WEFT_REGISTER(algorithms(),
              {"double_binary_tree", "two trees, half the data each, pipelined: 2·S/B + 2 log2(n)α", supports, cost, schedule, phases});

}  // namespace
}  // namespace weft::collective
