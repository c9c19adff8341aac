// The one home of the cost of a computation on a card: peak × efficiency for arithmetic, bandwidth × efficiency for memory traffic, the
// slower of the two (roofline), and what every kernel loses at its ends. Efficiencies: data/cards/CARD.yaml, with sources.
#pragma once

#include <algorithm>
#include <string>

#include "base/result.h"
#include "fabric/snapshot.h"
#include "workload/types.h"

namespace weft::workload {

struct Work {
  Flops matmul{0};     // dense layers
  Flops grouped{0};    // products of experts, one small matrix after the other
  Flops attention{0};  // score and value products
  Bytes traffic{0};    // memory traffic of kernels of their own (norms, activations, optimizer, key/value cache): adds to arithmetic
  Bytes weights{0};    // read by the matmuls themselves: overlaps with their arithmetic, the slower counts
  int kernels = 1;
};

struct Efficiency {
  double matmul = 0, attention = 0, memory = 0;
  double matmul_fp8 = 0, matmul_fp4 = 0;  // of the fp8 and fp4 peak; 0: as matmul
  double grouped = 1;                     // of experts' products, relative to matmul
  FlopsPerSecond fp4{0};                  // dense peak; 0: none (fp8 is used)
  Seconds launch{4e-6};                   // per kernel; a floor for small work
  Seconds ramp{2e-6};                     // per kernel: filling and draining the card, lost however large the work
};
// Of the card's own file, else of data/cards/default.yaml. A file read once is remembered.
Result<Efficiency> efficiency_of(const std::string& card_model);
// What the planner's software profiles were fitted together with ("calibrated:"); as efficiency_of where a card has none.
Result<Efficiency> calibrated_efficiency_of(const std::string& card_model);

// A card at one precision, resolved: what a search needs to price millions of works.
struct ComputeRate {
  FlopsPerSecond matmul{0}, grouped{0}, attention{0};
  BytesPerSecond memory{0};
  Seconds launch{0}, ramp{0};
};
// Errors: the card's peak or bandwidth is not known (says how to give it).
Result<ComputeRate> compute_rate(const fabric::DeviceModel& card, Precision precision);
Result<ComputeRate> compute_rate(const fabric::DeviceModel& card, Precision precision, const Efficiency& efficiency);

inline Seconds compute_cost(const Work& w, const ComputeRate& r) {
  double products = w.matmul.value() / r.matmul.value() + w.grouped.value() / r.grouped.value();
  double busy = std::max(products, static_cast<double>(w.weights.value()) / r.memory.value()) + w.attention.value() / r.attention.value() +
                static_cast<double>(w.traffic.value()) / r.memory.value();
  return Seconds(std::max(busy + w.kernels * r.ramp.value(), w.kernels * r.launch.value()));
}
Result<Seconds> compute_cost(const Work& work, const fabric::DeviceModel& card, Precision precision);

}  // namespace weft::workload
