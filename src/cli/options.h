// Command words into options, strictly: unknown options are refused with the nearest known one, values are checked by the caller.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::cli {

struct OptionSpec {
  std::string name;   // "--seeds"
  std::string value;  // what follows ("N"); "" for a flag
  std::string help;
  bool repeats = false;  // several values are a list; otherwise a second one is refused
};

struct Options {
  std::vector<std::string> positional;
  std::map<std::string, std::vector<std::string>> given;  // name without "--"

  bool has(const std::string& name) const { return given.contains(name); }
  std::string get(const std::string& name, const std::string& fallback = {}) const;
  Result<std::int64_t> integer(const std::string& name, std::int64_t fallback, std::int64_t low, std::int64_t high) const;
  Result<double> number(const std::string& name, double fallback, double low, double high) const;
  // "30m", "45s", "2h", "1d".
  Result<double> seconds(const std::string& name, double fallback) const;
};

// "--name value" and "--name=value"; "--" ends options. "--help" is always known.
Result<Options> parse_options(const std::vector<std::string>& words, const std::vector<OptionSpec>& known);
// "usage: …" with the option table, at most 100 columns.
std::string usage_text(const std::string& usage, const std::string& about, const std::vector<OptionSpec>& known,
                       const std::string& examples);

}  // namespace weft::cli
