// Memory of one card, itemised: weights, gradients, optimizer states by ZeRO stage, activations by recomputation, key/value cache.
// Korthikanti et al. 2022 for activations, Rajbhandari et al. 2020 for sharding; generalised to gated feed-forward and grouped heads.
// What is not here: the framework's own buffers and fragmentation (a few GB; docs/workload.md).
#pragma once

#include <string>
#include <vector>

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
// Activations that one layer keeps for the backward pass of one micro-batch on one rank.
double layer_activations(const Model& model, const Strategy& strategy, int layer);

}  // namespace weft::workload
