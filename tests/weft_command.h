// A weft command run inside the test, as a person would: words in, exit code, both outputs and their JSON out.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"

namespace weft::cli {

struct Ran {
  int code;
  std::string out, err;
  // Fails the test when the output is no JSON.
  Json json() const {
    auto j = parse_json(out, "out");
    EXPECT_TRUE(j.has_value()) << out << err;
    return j ? *j : Json{};
  }
};

inline Ran weft(const std::string& command, const std::vector<std::string>& words) {
  std::ostringstream out, err;
  Io io{out, err};
  int code = commands().find(command)->run(words, io);
  return {code, out.str(), err.str()};
}

// A file of the test's own; returns its path.
inline std::string file(const std::string& name, std::string_view text) {
  std::string path = testing::TempDir() + "weft_" + name;
  EXPECT_TRUE(write_file(path, text).has_value());
  return path;
}

}  // namespace weft::cli
