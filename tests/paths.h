// Where the tests find the source tree, the built binary and the real cases (WEFT_CASES).
#pragma once

#include <string>

namespace weft::testing_paths {

std::string source_dir();
std::string binary();
// Folder of the real inputs, or "" when WEFT_CASES is not set; a test that needs it must then say so (GTEST_SKIP with the remedy).
std::string cases_dir();

}  // namespace weft::testing_paths
