// Thresholds and priors as data: data/diagnose/thresholds.yaml and priors.yaml, each value with its source.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::diagnose {

class Rules {
 public:
  static Result<Rules> load();  // embedded files, or those under WEFT_DATA
  // The value in the unit the file states. Asking for a name the file lacks is our own mistake.
  double operator[](std::string_view name) const;
  double prior(std::string_view fault_class) const;  // relative frequency, > 0

 private:
  std::map<std::string, double, std::less<>> values_, priors_;
};

}  // namespace weft::diagnose
