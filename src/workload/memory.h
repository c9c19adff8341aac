// Memory of one card, itemised: weights, gradients, optimizer states by ZeRO stage, activations by recomputation, key/value cache.
// Korthikanti et al. 2022 for activations, Rajbhandari et al. 2020 for sharding; generalised to gated feed-forward and grouped heads.
// What is not here: the framework's own buffers and fragmentation (a few GB; docs/workload.md).
#pragma once

#include <string>
#include <vector>

#include "workload/shard.h"
#include "workload/step.h"
#include "workload/types.h"

namespace weft::workload {

struct MemoryItem {
  std::string name;
  Bytes bytes{0};
  std::string how;  // the formula in words
};
struct Memory {
  int stage = 0;
  std::vector<MemoryItem> items;
  Bytes total{0};
};
// One rank of `stage`. The strategy must be valid for the model.
Memory memory_of(const Job& job, int stage, Phase phase = Phase::kTrain);
// The stage that needs most.
Memory largest_memory(const Job& job, Phase phase = Phase::kTrain);
// The training part in numbers, from sums over the layers of a stage: what memory_of writes out and a search evaluates millions of times.
struct StageSums {
  Shard shard;  // parameters of the rank
  int layers = 0;
  double widest = 0;        // parameters of the largest layer
  double one = 0, all = 0;  // activations of the largest layer, of all layers, one micro-batch
};
struct TrainBytes {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, recomputed = 0, embedding = 0, logits = 0, gathered = 0;
  double flight = 0;  // micro-batches whose activations are kept
};
// `input`: bytes of a layer's input, `mask`: of the dropout mask behind the embedding, `logits`: of the head, each of one micro-batch.
TrainBytes train_bytes(const Strategy& strategy, int stage, const StageSums& sums, double input, double mask, double logits);
// Activations that one layer keeps for the backward pass of one micro-batch on one rank.
double layer_activations(const Model& model, const Strategy& strategy, int layer);

}  // namespace weft::workload
