// Constants of the twin that no source fixes exactly: value, range and where it comes from, in data/twin/*.yaml. Nothing in the physics
// is hidden in code; a site may override the files (WEFT_DATA).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::twin {

struct ParameterValue {
  double value = 0, low = 0, high = 0;
  std::string unit, source;
};

class Parameters {
 public:
  // Reads data/twin/world.yaml and data/twin/faults.yaml. Errors: a value outside its own range, a missing source.
  static Result<Parameters> load();
  // The named value; asserts that it exists (a missing one is our mistake, and a test asks for every name).
  double get(std::string_view name) const;
  const std::map<std::string, ParameterValue, std::less<>>& all() const { return values_; }

 private:
  Status read(const std::string& path);
  std::map<std::string, ParameterValue, std::less<>> values_;
};

}  // namespace weft::twin
