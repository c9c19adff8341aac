#include "sim/refine.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "base/random.h"

namespace weft::sim {
namespace {

// The definition, round by round.
std::vector<std::uint32_t> naive(const std::vector<std::uint64_t>& colours, const std::vector<LabelledEdge>& edges) {
  std::size_t n = colours.size();
  std::vector<std::uint32_t> cls(n, 0);
  using Key = std::tuple<std::uint64_t, std::uint32_t, std::vector<std::tuple<std::uint32_t, std::uint64_t, int>>>;
  for (std::size_t round = 0; round <= n; ++round) {
    std::map<Key, std::uint32_t> known;
    std::vector<Key> keys;
    for (std::size_t i = 0; i < n; ++i) keys.push_back({colours[i], cls[i], {}});
    for (const LabelledEdge& e : edges) {
      std::get<2>(keys[e.a]).emplace_back(cls[e.b], e.label, 0);
      std::get<2>(keys[e.b]).emplace_back(cls[e.a], e.label, 1);
    }
    std::vector<std::uint32_t> next(n);
    for (std::size_t i = 0; i < n; ++i) {
      std::sort(std::get<2>(keys[i]).begin(), std::get<2>(keys[i]).end());
      next[i] = known.emplace(keys[i], static_cast<std::uint32_t>(known.size())).first->second;
    }
    cls = next;
  }
  return cls;
}

TEST(SimRefine, AChangedEndIsFeltAlongThePath) {
  std::vector<LabelledEdge> path;
  for (std::uint32_t i = 0; i + 1 < 6; ++i) path.push_back({i, i + 1, 1});
  // Directed path: every place differs. Ring: all equal, until one is coloured.
  EXPECT_EQ(refine(std::vector<std::uint64_t>(6, 0), path), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
  path.push_back({5, 0, 1});
  EXPECT_EQ(refine(std::vector<std::uint64_t>(6, 0), path), (std::vector<std::uint32_t>(6, 0)));
  EXPECT_EQ(refine({9, 0, 0, 0, 0, 0}, path), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(SimRefine, EqualsTheDefinitionOnRandomGraphs) {
  rc::check([] {
    Random random(static_cast<std::uint64_t>(*rc::gen::inRange(0, 1 << 30)));
    auto n = static_cast<std::uint32_t>(random.integer(1, 24));
    std::vector<std::uint64_t> colours;
    for (std::uint32_t i = 0; i < n; ++i) colours.push_back(static_cast<std::uint64_t>(random.integer(0, 1)));
    std::vector<LabelledEdge> edges;
    auto count = random.integer(0, 40);
    for (std::int64_t i = 0; i < count; ++i)
      edges.push_back({static_cast<std::uint32_t>(random.integer(0, n - 1)), static_cast<std::uint32_t>(random.integer(0, n - 1)),
                       static_cast<std::uint64_t>(random.integer(0, 1))});
    auto fast = refine(colours, edges), slow = naive(colours, edges);
    for (std::uint32_t i = 0; i < n; ++i)
      for (std::uint32_t j = 0; j < n; ++j) RC_ASSERT((fast[i] == fast[j]) == (slow[i] == slow[j]));
  });
}

}  // namespace
}  // namespace weft::sim
