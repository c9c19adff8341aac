#include "sim/refine.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace weft::sim {

std::vector<std::uint32_t> refine(const std::vector<std::uint64_t>& colours, const std::vector<LabelledEdge>& edges) {
  std::uint32_t n = static_cast<std::uint32_t>(colours.size());
  std::vector<std::uint32_t> first(n + 1, 0);
  for (const LabelledEdge& e : edges) ++first[e.a + 1], ++first[e.b + 1];
  for (std::uint32_t i = 0; i < n; ++i) first[i + 1] += first[i];
  struct Half {
    std::uint32_t to;
    std::uint64_t label;
  };
  std::vector<Half> half(first[n]);
  {
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (const LabelledEdge& e : edges) {
      half[next[e.a]++] = {e.b, mix(e.label)};
      half[next[e.b]++] = {e.a, mix(e.label ^ 0x5bd1e995)};  // the two ends of an edge play different parts
    }
  }
  // Classes are ranges of `order`.
  std::vector<std::uint32_t> order(n), place(n), cls(n), begin, end;
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) { return colours[x] < colours[y]; });
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i == 0 || colours[order[i]] != colours[order[i - 1]]) {
      if (i) end.push_back(i);
      begin.push_back(i);
    }
    place[order[i]] = i;
    cls[order[i]] = static_cast<std::uint32_t>(begin.size() - 1);
  }
  if (n) end.push_back(n);
  std::vector<std::uint32_t> queue(begin.size());
  std::iota(queue.begin(), queue.end(), 0u);
  std::vector<bool> queued(begin.size(), true);

  std::vector<std::uint64_t> seen(n, 0);  // sum of labels into the splitter; sums add up, so the largest part needs no look of its own
  std::vector<std::uint32_t> touched, counts(begin.size(), 0), hit, splitter;
  std::vector<bool> marked(n, false);
  for (std::size_t at = 0; at < queue.size(); ++at) {
    std::uint32_t s = queue[at];
    queued[s] = false;
    splitter.assign(order.begin() + begin[s], order.begin() + end[s]);
    touched.clear();
    for (std::uint32_t x : splitter)
      for (std::uint32_t k = first[x]; k < first[x + 1]; ++k) {
        std::uint32_t y = half[k].to;
        if (!marked[y]) marked[y] = true, touched.push_back(y);
        seen[y] += half[k].label;
      }
    // Group what was touched by class; in each class, touched elements come to the front, sorted by their sum.
    hit.clear();
    counts.resize(begin.size(), 0);
    for (std::uint32_t y : touched)
      if (counts[cls[y]]++ == 0) hit.push_back(cls[y]);
    for (std::uint32_t c : hit) counts[c] = 0;
    for (std::uint32_t y : touched) {
      std::uint32_t c = cls[y], to = begin[c] + counts[c]++, from = place[y];
      std::swap(order[from], order[to]);
      place[order[from]] = from;
      place[order[to]] = to;
    }
    std::sort(hit.begin(), hit.end());
    for (std::uint32_t c : hit) {
      std::uint32_t lo = begin[c], mid = lo + counts[c], hi = end[c];
      counts[c] = 0;
      if (hi - lo == 1) continue;
      bool same = mid == hi;
      for (std::uint32_t i = lo + 1; same && i < mid; ++i) same = seen[order[i]] == seen[order[lo]];
      if (same) continue;
      std::sort(order.begin() + lo, order.begin() + mid,
                [&](std::uint32_t x, std::uint32_t y) { return std::pair(seen[x], x) < std::pair(seen[y], y); });
      for (std::uint32_t i = lo; i < mid; ++i) place[order[i]] = i;
      // Parts: runs of equal sums, then the untouched rest. The largest keeps the number.
      std::vector<std::pair<std::uint32_t, std::uint32_t>> parts;
      for (std::uint32_t i = lo; i < mid;) {
        std::uint32_t j = i;
        while (j < mid && seen[order[j]] == seen[order[i]]) ++j;
        parts.emplace_back(i, j);
        i = j;
      }
      if (mid < hi) parts.emplace_back(mid, hi);
      std::size_t keep = 0;
      for (std::size_t p = 1; p < parts.size(); ++p)
        if (parts[p].second - parts[p].first > parts[keep].second - parts[keep].first) keep = p;
      begin[c] = parts[keep].first, end[c] = parts[keep].second;
      for (std::size_t p = 0; p < parts.size(); ++p) {
        if (p == keep) continue;
        auto fresh = static_cast<std::uint32_t>(begin.size());
        begin.push_back(parts[p].first);
        end.push_back(parts[p].second);
        counts.push_back(0);
        for (std::uint32_t i = parts[p].first; i < parts[p].second; ++i) cls[order[i]] = fresh;
        queued.push_back(true);
        queue.push_back(fresh);
      }
    }
    for (std::uint32_t y : touched) seen[y] = 0, marked[y] = false;
    if (at > 65536 && at * 2 > queue.size())
      queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(at) + 1), at = static_cast<std::size_t>(-1);
  }
  // Numbered by lowest member.
  std::vector<std::uint32_t> number(begin.size(), UINT32_MAX), out(n);
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (number[cls[i]] == UINT32_MAX) number[cls[i]] = next++;
    out[i] = number[cls[i]];
  }
  return out;
}

}  // namespace weft::sim
