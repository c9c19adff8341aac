#include "base/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace weft {

JsonBox::JsonBox() {
  static const auto empty = std::make_shared<const Json>(Json::object());
  value_ = empty;
}
JsonBox::JsonBox(const Json& value) : value_(std::make_shared<const Json>(value)) {}
bool JsonBox::operator==(const JsonBox& other) const { return value_ == other.value_ || *value_ == *other.value_; }

Result<Json> parse_json(std::string_view text, std::string_view name, int max_depth) {
  // Depth is checked before parsing: the recursive parser must not meet a bomb.
  int depth = 0;
  bool in_string = false, escaped = false;
  std::size_t line = 1;
  for (char c : text) {
    if (c == '\n') ++line;
    if (in_string) {
      if (escaped) escaped = false;
      else if (c == '\\') escaped = true;
      else if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    else if (c == '[' || c == '{') {
      if (++depth > max_depth)
        return fail(ErrorKind::kInvalid, "nested more than " + std::to_string(max_depth) + " levels deep",
                    std::string(name) + ":" + std::to_string(line));
    } else if (c == ']' || c == '}') --depth;
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    std::size_t at = std::min<std::size_t>(e.byte ? e.byte - 1 : 0, text.size());
    std::size_t row = 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    std::size_t start = text.rfind('\n', at ? at - 1 : 0);
    std::size_t column = start == std::string_view::npos ? at + 1 : at - start;
    std::string what = e.what();
    if (std::size_t cut = what.rfind("; "); cut != std::string::npos) what = what.substr(cut + 2);
    return fail(ErrorKind::kInvalid, "not valid JSON: " + what,
                std::string(name) + ":" + std::to_string(row) + ":" + std::to_string(column));
  } catch (const Json::exception& e) {
    return fail(ErrorKind::kInvalid, std::string("not valid JSON: ") + e.what(), std::string(name));
  }
}

std::string dump_json(const Json& value, int indent) { return value.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace weft
