// The one home of the cost of a computation on a card: peak × efficiency for arithmetic, bandwidth × efficiency for memory traffic, the
// slower of the two (roofline), and what every kernel loses at its ends. Efficiencies: data/efficiency.yaml, with sources.
#pragma once

#include <string>

#include "base/result.h"
#include "fabric/snapshot.h"
#include "workload/types.h"

namespace weft::workload {

struct Work {
  Flops matmul{0};     // dense layers
  Flops attention{0};  // score and value products
  Bytes traffic{0};    // memory traffic of kernels of their own (norms, activations, optimizer, key/value cache): adds to arithmetic
  Bytes weights{0};    // read by the matmuls themselves: overlaps with their arithmetic, the slower counts
  int kernels = 1;
};

struct Efficiency {
  double matmul = 0, attention = 0, memory = 0;
  Seconds launch{4e-6};  // per kernel; a floor for small work
  Seconds ramp{2e-6};    // per kernel: filling and draining the card, lost however large the work (estimated)
};
Result<Efficiency> efficiency_of(const std::string& card_model);

// Errors: the card's peak or bandwidth is not known (says how to give it).
Result<Seconds> compute_cost(const Work& work, const fabric::DeviceModel& card, Precision precision);

}  // namespace weft::workload
