// Colour refinement: the coarsest partition in which equal elements have equally many equally labelled edges into every class (an
// equitable partition). Ranks, channels and links of one class cannot be told apart, so simulating one of each is exact.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::sim {

// Labelled edges; a label covers everything that must agree (role, weight). Undirected: given once, seen from both ends.
struct LabelledEdge {
  std::uint32_t a, b;
  std::uint64_t label;
};

// Class of every element, numbered by lowest member. `colours`: elements that differ from the start. Deterministic.
// Cost: O((elements + edges) log elements) (Cardon and Crochemore 1982: all but the largest part of a split class are looked at again).
std::vector<std::uint32_t> refine(const std::vector<std::uint64_t>& colours, const std::vector<LabelledEdge>& edges);

}  // namespace weft::sim
