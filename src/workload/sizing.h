// Sizing by the field's rules of thumb, before any machine is named: work and time of a training run, bytes of a model, cards that
// belong close together.
#pragma once

#include "workload/types.h"

namespace weft::workload {

// 6·N·D: two FLOP forward and four backward for every active parameter and token. Attention is left out (model_flops has it).
Flops training_flops(const Model& model, double tokens);
// What cards of this dense peak do in that time at this share of it (MFU, 0 to 1).
Flops delivered(int cards, FlopsPerSecond peak, double mfu, Seconds time);
Seconds training_time(Flops work, int cards, FlopsPerSecond peak, double mfu);

// One copy of that many numbers in 16 bits: BF16 weights, FP16 gradients.
Bytes half_precision(double numbers);

// Tensor- and pipeline-parallel ranks of one replica talk during every micro-batch: the close domain. Margin for growth 1.5 to 2 times.
struct CloseDomain {
  int cards = 0, margin_low = 0, margin_high = 0;
};
CloseDomain close_domain(const Strategy& strategy);

}  // namespace weft::workload
