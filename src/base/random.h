// Deterministic random numbers: the same seed gives the same stream on every platform and thread count. Derive a stream per
// purpose with `fork`, so that adding a draw in one place changes nothing elsewhere. (The standard distributions are
// implementation-defined; these are not.)
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

class Random {
 public:
  explicit Random(std::uint64_t seed);
  Random fork(std::string_view purpose, std::uint64_t index = 0) const;  // independent of draws made so far

  std::uint64_t next();                                       // uniform 64 bits (xoshiro256**)
  double uniform();                                           // [0, 1)
  double uniform(double low, double high);                    // [low, high)
  std::int64_t integer(std::int64_t low, std::int64_t high);  // inclusive, unbiased
  double normal(double mean, double deviation);               // Box-Muller, one value per two draws
  double exponential(double mean);
  double log_uniform(double low, double high);  // for "× 0.5 to × 2"; low > 0
  bool chance(double probability);

 private:
  std::uint64_t s_[4];
  std::uint64_t seed_;
};

// Stable 64-bit hash of text (FNV-1a, then mixed): for seeds and content hashes, not for security.
std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 0);
std::uint64_t mix(std::uint64_t x);  // splitmix64 finaliser

}  // namespace weft
