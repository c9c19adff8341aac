#include "base/random.h"

#include <cmath>
#include <numbers>

namespace weft {
namespace {
std::uint64_t rotl(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
}  // namespace

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t stable_hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t h = 0xcbf29ce484222325ULL ^ mix(seed);
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ULL;
  return mix(h);
}

Random::Random(std::uint64_t seed) : seed_(seed) {
  std::uint64_t x = seed;
  for (auto& s : s_) s = x = mix(x);
}

Random Random::fork(std::string_view purpose, std::uint64_t index) const { return Random(mix(stable_hash(purpose, seed_) + mix(index))); }

std::uint64_t Random::next() {
  std::uint64_t result = rotl(s_[1] * 5, 7) * 9, t = s_[1] << 17;
  s_[2] ^= s_[0], s_[3] ^= s_[1], s_[1] ^= s_[2], s_[0] ^= s_[3], s_[2] ^= t, s_[3] = rotl(s_[3], 45);
  return result;
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

std::int64_t Random::integer(std::int64_t low, std::int64_t high) {
  std::uint64_t n = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (n == 0) return static_cast<std::int64_t>(next());
  std::uint64_t limit = ~std::uint64_t{0} - ~std::uint64_t{0} % n, x;
  do x = next();
  while (x >= limit);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + x % n);
}

double Random::normal(double mean, double deviation) {
  double u = 1 - uniform(), v = uniform();
  return mean + deviation * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

double Random::exponential(double mean) { return -mean * std::log(1 - uniform()); }
double Random::log_uniform(double low, double high) { return low * std::exp(uniform() * std::log(high / low)); }
bool Random::chance(double probability) { return uniform() < probability; }

}  // namespace weft
