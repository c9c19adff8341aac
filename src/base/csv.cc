#include "base/csv.h"

#include <fmt/format.h>

#include "base/text.h"

namespace weft {

int Csv::column(std::string_view title) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == title) return static_cast<int>(i);
  return -1;
}

Result<Csv> parse_csv(std::string_view text, std::string name) {
  Csv out;
  out.name = std::move(name);
  if (std::size_t bad = invalid_text_at(text); bad != std::string_view::npos)
    return fail(ErrorKind::kInvalid, fmt::format("byte {} is not UTF-8 text", bad), out.name);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  int line = 1, started = 1;
  std::vector<std::string> cells;
  std::string cell;
  bool quoted = false, any = false;
  auto place = [&] { return fmt::format("{}:{}", out.name, started); };
  auto end_row = [&]() -> Status {
    if (!any && cells.empty()) return {};
    cells.push_back(std::move(cell)), cell.clear();
    if (out.columns.empty()) {
      out.columns = std::move(cells);
    } else if (cells.size() != out.columns.size()) {
      return fail(ErrorKind::kInvalid, fmt::format("{} cells where the head has {} columns", cells.size(), out.columns.size()), place());
    } else {
      if (out.rows.size() >= 1'000'000) return fail(ErrorKind::kInvalid, "more than a million rows", place());
      out.rows.push_back({started, std::move(cells)});
    }
    cells.clear(), any = false;
    return {};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') cell += '"', ++i;
      else if (c == '"') quoted = false;
      else cell += c, line += c == '\n';
      continue;
    }
    switch (c) {
      case '"':
        if (!cell.empty()) return fail(ErrorKind::kInvalid, "a quote inside an unquoted cell; double it and quote the whole cell", place());
        quoted = any = true;
        break;
      case ',': cells.push_back(std::move(cell)), cell.clear(), any = true; break;
      case '\r': break;
      case '\n':
        WEFT_TRY(end_row());
        started = ++line;
        break;
      default: cell += c, any = true;
    }
  }
  if (quoted) return fail(ErrorKind::kInvalid, "a quoted cell is never closed", place());
  WEFT_TRY(end_row());
  if (out.columns.empty()) return fail(ErrorKind::kInvalid, "the table is empty: no head line", out.name);
  return out;
}

}  // namespace weft
