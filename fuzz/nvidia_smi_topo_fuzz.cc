// Any bytes as the import format nvidia-smi-topo.
#include "import_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return weft::fuzz::import(data, size, "nvidia-smi-topo");
}
