// Any bytes: an error with a place, or rows as wide as the head.
#include <cstdint>
#include <cstdlib>

#include "base/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto table = weft::parse_csv({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
  if (!table) {
    if (table.error().text().empty()) abort();
    return 0;
  }
  for (const auto& row : table->rows)
    if (row.cells.size() != table->columns.size() || row.line < 1) abort();
  return 0;
}
