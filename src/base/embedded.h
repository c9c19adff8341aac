// Files of data/, scenarios/ and the built page, compiled into the binary and found by their path ("data/forms/gb200-nvl72.yaml"). The
// environment variable WEFT_DATA names a directory whose files are read instead where they exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

Result<std::string> embedded_file(std::string_view path);
std::vector<std::string> embedded_paths(std::string_view prefix);  // sorted

}  // namespace weft
