// The arithmetic and memory traffic of one layer, one micro-batch, one rank, forward. The step's graph and the planner's closed form both
// read it here, so that they cannot disagree. Closed form, no allocation: cheap enough for a search.
#pragma once

#include "workload/compute_cost.h"
#include "workload/types.h"

namespace weft::workload {

struct LayerWork {
  Work projections;  // query, key, value, output; norm, residual, rotation
  Work scores;       // attention scores and values: what selective recomputation and flash attention do again
  Work ffn;          // dense, or the chosen and shared experts with their router
};
// `context`: keys a token sees are sequence / 2 with flash attention (causal), the whole sequence without. The strategy must be valid.
LayerWork layer_work(const Model& model, const Strategy& strategy, int layer);
// Output head and loss.
Work head_work(const Model& model, const Strategy& strategy);
// Adam on `parameters` of this rank (its share, when sharded).
Work optimizer_work(double parameters);

}  // namespace weft::workload
