#include "twin/noise.h"

#include <cmath>

namespace weft::twin {

// Quantiles of the normal distribution (Newton on erfc), so that mean and deviation are right by construction.
const std::array<float, 4096>& Noise::table() {
  static const std::array<float, 4096> values = [] {
    std::array<float, 4096> out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
      double p = (static_cast<double>(i) + 0.5) / static_cast<double>(out.size()), low = -6, high = 6;
      for (int step = 0; step < 50; ++step) {
        double mid = (low + high) / 2;
        (0.5 * std::erfc(-mid / std::sqrt(2.0)) < p ? low : high) = mid;
      }
      out[i] = static_cast<float>((low + high) / 2);
    }
    return out;
  }();
  return values;
}

}  // namespace weft::twin
