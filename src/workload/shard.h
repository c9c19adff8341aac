// What one rank of a stage holds of the model: which layers, and how many parameters after cutting by tp and ep. The step, the
// communication account and the memory account all read it here, so that they cannot disagree.
#pragma once

#include <vector>

#include "workload/types.h"

namespace weft::workload {

// Parameters on one rank. Dense ones are the same on all dp × cp ranks, expert ones on dp × cp × tp / ep ranks (experts hold whole
// tokens: no tensor parallelism inside an expert). Norms, routers and the down-projections of latent attention are not cut by tp.
struct Shard {
  double dense = 0, expert = 0;
  double total() const { return dense + expert; }
};
Shard layer_shard(const Model& model, const Strategy& strategy, int layer);
// Layers [first, last) of piece `chunk * pp + stage`; the first pieces take the rest of an uneven division.
int first_layer(const Model& model, const Strategy& strategy, int piece);
std::vector<int> stage_layers(const Model& model, const Strategy& strategy, int stage);
// Embedding in the first stage, output head and final norm in the last; tied embeddings lie in both, once when they are one stage.
double end_parameters(const Model& model, const Strategy& strategy, int stage);
Shard stage_shard(const Model& model, const Strategy& strategy, int stage);

inline bool moe_layer(const Model& m, int layer) { return m.moe() && layer >= m.dense_layers; }
inline int dense_replicas(const Strategy& s) { return s.dp * s.cp; }
inline int expert_replicas(const Strategy& s) { return s.dp * s.cp * s.tp / s.ep; }

}  // namespace weft::workload
