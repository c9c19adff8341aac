// One step of a job as a Dag. Training: 1F1B (interleaved with virtual stages), tensor- and sequence-parallel collectives per layer, expert
// dispatch and combine, context-parallel key/value exchange, gradient reduction overlapped with the last backward pass. Inference: one
// prefill of a batch or one decoding step. Bytes per group follow the closed formulas of Megatron-LM (Korthikanti et al. 2022) and ZeRO.
#pragma once

#include "base/result.h"
#include "fabric/snapshot.h"
#include "workload/dag.h"

namespace weft::workload {

enum class Phase : std::uint8_t { kTrain, kPrefill, kDecode };

// `card`: what the ranks run on. Errors: strategy and model do not fit, card figures unknown, a step too large to write out.
Result<Dag> build_step(const Job& job, const fabric::DeviceModel& card, Phase phase = Phase::kTrain);

// Model FLOPs of one training step, forward and backward, recomputation not counted; full attention (as Korthikanti et al.).
Flops model_flops(const Model& model, std::int64_t tokens, int sequence);

// Bytes one rank of a middle stage sends per step in each dimension's collectives (ring accounting), summed from the Dag.
std::vector<double> bytes_sent(const Dag& dag, int rank);

}  // namespace weft::workload
