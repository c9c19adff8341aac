#include "tests/paths.h"

#include <cstdlib>

namespace weft::testing_paths {

std::string source_dir() { return WEFT_SOURCE_DIR; }
std::string binary() { return WEFT_BINARY; }
std::string cases_dir() {
  const char* v = std::getenv("WEFT_CASES");
  return v ? v : "";
}

}  // namespace weft::testing_paths
