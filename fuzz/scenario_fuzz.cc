// Any bytes as a scenario: an error that says something, or a scenario.
#include <cstdint>
#include <cstdlib>

#include "scenario/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto s = weft::scenario::parse_scenario({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!s && (s.error().message.empty() || s.error().kind == weft::ErrorKind::kInternal)) abort();
  return 0;
}
