// Comma-separated tables with a head line (RFC 4180: quotes, doubled quotes, line breaks inside quotes). Errors carry "name:line".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

struct Csv {
  std::string name;
  std::vector<std::string> columns;
  struct Row {
    int line = 0;
    std::vector<std::string> cells;  // as many as columns
  };
  std::vector<Row> rows;
  // Index of a column, -1 when there is none.
  int column(std::string_view title) const;
};
// At most a million rows. Empty lines are skipped; a row with more or fewer cells than the head is an error.
Result<Csv> parse_csv(std::string_view text, std::string name);

}  // namespace weft
