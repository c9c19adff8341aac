// Any bytes as the import format nvlink-status.
#include "import_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::import(data, size, "nvlink-status");
}
