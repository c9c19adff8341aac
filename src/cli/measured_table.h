// The measured rows that `weft plan validate` and `calibrate` work on, and a source's errors as they print them.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/options.h"
#include "plan/validate.h"

namespace weft::cli {

struct MeasuredTable {
  std::string file;
  std::vector<plan::MeasuredRow> rows;
};
// Of the file named, else of the table carried.
Result<MeasuredTable> measured_table(const Options& options);

// Percent; "–" for what is not known.
std::string percent_text(double share, bool sign = false);
Json share_json(double share);
Json errors_json(const plan::SourceErrors& errors);

}  // namespace weft::cli
