// Any bytes: an error with a place, or a value that prints to text which reads back as the same value.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto j = weft::parse_json({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  if (!j) {
    if (j.error().kind != weft::ErrorKind::kInvalid || !j.error().place.starts_with("fuzz.json")) abort();
    return 0;
  }
  std::string printed = weft::dump_json(*j);
  auto again = weft::parse_json(printed, "again");
  if (!again || weft::dump_json(*again) != printed) abort();
  return 0;
}
