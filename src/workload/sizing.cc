#include "workload/sizing.h"

#include <cmath>

namespace weft::workload {

Flops training_flops(const Model& model, double tokens) { return Flops(6 * static_cast<double>(model.active_parameters()) * tokens); }

Flops delivered(int cards, FlopsPerSecond peak, double mfu, Seconds time) { return Flops(cards * peak.value() * mfu * time.value()); }

Seconds training_time(Flops work, int cards, FlopsPerSecond peak, double mfu) {
  return Seconds(work.value() / (cards * peak.value() * mfu));
}

Bytes half_precision(double numbers) { return Bytes(std::llround(2 * numbers)); }

CloseDomain close_domain(const Strategy& s) {
  int cards = s.tp * s.pp;
  return {cards, (3 * cards + 1) / 2, 2 * cards};
}

}  // namespace weft::workload
