// Any bytes: an error with a place, or a tree that can be walked and asked everything.
#include <cstdint>
#include <cstdlib>

#include "base/yaml.h"

namespace {

void walk(const weft::Yaml& y, int& budget) {
  if (--budget < 0) return;
  if (y.line() < 1 || y.place().empty()) abort();
  (void)y.only({"name", "rate"});
  (void)y.integer(-10, 1000);
  (void)y.number(0, 1);
  (void)y.boolean();
  (void)y.text();
  for (const char* unit : {"Gb/s", "m", "s", "B"})
    if (auto q = y.quantity(unit); q && !(*q >= 0)) abort();
  for (const auto& [key, value] : y.entries()) {
    if (!y.has(key)) abort();
    walk(value, budget);
  }
  for (const weft::Yaml& item : y.items()) walk(item, budget);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto y = weft::Yaml::parse({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!y) {
    if (y.error().kind != weft::ErrorKind::kInvalid || y.error().message.empty() || !y.error().place.starts_with("fuzz.yaml")) abort();
    return 0;
  }
  int budget = 10'000;
  walk(*y, budget);
  return 0;
}
