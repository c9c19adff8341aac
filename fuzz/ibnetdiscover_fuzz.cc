// Any bytes as the import format ibnetdiscover.
#include "import_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::import(data, size, "ibnetdiscover");
}
