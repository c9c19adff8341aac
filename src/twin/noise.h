// Cheap deterministic noise for thousands of series a tick: normal values from a table, one 64-bit draw for three of them.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"

namespace weft::twin {

class Noise {
 public:
  Noise(Random random, bool on) : random_(random), on_(on) {}
  // Standard normal, from a table of 4096 (tails to about 3.7); 0 when noise is off.
  double normal() {
    if (!on_) return 0;
    if (left_ == 0) bits_ = random_.next(), left_ = 5;
    double v = table()[bits_ & 4095];
    bits_ >>= 12;
    --left_;
    return v;
  }
  double around(double mean, double share) { return mean * (1 + share * normal()); }
  Random& random() { return random_; }
  bool on() const { return on_; }

 private:
  static const std::array<float, 4096>& table();
  Random random_;
  std::uint64_t bits_ = 0;
  int left_ = 0;
  bool on_;
};

}  // namespace weft::twin
