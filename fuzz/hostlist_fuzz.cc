// Host lists: what expands must compress to something that expands to the same names; the limit holds.
#include <cstdint>
#include <cstdlib>

#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto names = weft::expand_hostlist({reinterpret_cast<const char*>(data), size}, 1000);
  if (!names) return 0;
  if (names->size() > 1000) abort();
  auto again = weft::expand_hostlist(weft::compress_hostlist(*names), 1000);
  if (!again || *again != *names) abort();
  return 0;
}
