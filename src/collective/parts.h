// Pieces that several algorithms share: the time of a load on a shape, rings over some members, edge lists.
#pragma once

#include <vector>

#include "collective/cost.h"

namespace weft::collective {

// Share of the operation's bytes that its busiest member sends.
struct Load {
  double inner = 0, outer = 0;
  double inner_edge = 0;  // largest share between one pair inside
};
// max over the resources of bytes / rate; infinite where a needed rate is 0.
Seconds transfer_time(const GroupShape& shape, const Load& load, Bytes bytes);
// Phases that follow each other: their transfer times add up, on top of `latency`.
Cost cost_of(const GroupShape& shape, const std::vector<Load>& phases, Seconds latency, Bytes bytes);

inline bool power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }
int log2_ceil(int n);
// 2(n-1)/n for all-reduce, (n-1)/n for reduce-scatter, all-gather and all-to-all, 1 for broadcast.
double wire_factor(workload::Collective kind, int n);

// Appends a ring reduce-scatter over `members` (in ring order) from `step` on: afterwards members[p] holds the sum of parts[p].
// Returns the first free step. ring_gather is its mirror image.
int ring_scatter(Schedule& s, int step, const std::vector<int>& members, const std::vector<std::vector<int>>& parts);
int ring_gather(Schedule& s, int step, const std::vector<int>& members, const std::vector<std::vector<int>>& parts);
// Puts the transfers in order of steps.
void sort_steps(Schedule& s);
// Sums edges between equal ends and orders them.
void tidy(Phase& phase);

}  // namespace weft::collective
