// Any bytes as a site file: an error with a place, or a snapshot within the limits whose parts agree with each other.
#include <cstdint>
#include <cstdlib>

#include "fabric/site.h"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto spec = fabric::parse_site({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  if (!spec) {
    if (spec.error().message.empty()) abort();
    return 0;
  }
  fabric::BuildLimits limits;
  limits.max_devices = 2000, limits.max_links = 8000;
  auto snapshot = fabric::build(*spec, limits);
  if (!snapshot) {
    if (snapshot.error().message.empty() || snapshot.error().kind == ErrorKind::kInternal) abort();
    return 0;
  }
  if (snapshot->devices().size() > limits.max_devices || snapshot->links().size() > limits.max_links) abort();
  for (const auto& link : snapshot->links())
    if (link.a == link.b) abort();
  return 0;
}
