#include "base/embedded.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"

namespace weft {
namespace {
struct Entry {
  const char* name;
  const char* begin;
  const char* end;
};
}  // namespace
extern "C" const Entry weft_embedded_table[];

Result<std::string> embedded_file(std::string_view path) {
  if (const char* directory = std::getenv("WEFT_DATA")) {
    std::string_view relative = path.starts_with("data/") ? path.substr(5) : path;
    std::string file = std::string(directory) + "/" + std::string(relative);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) return read_file(file);
  }
  for (const Entry* e = weft_embedded_table; e->name; ++e)
    if (path == e->name) return std::string(e->begin, e->end);
  return fail(ErrorKind::kNotFound, "no built-in file '" + std::string(path) + "'");
}

std::vector<std::string> embedded_paths(std::string_view prefix) {
  std::vector<std::string> out;
  for (const Entry* e = weft_embedded_table; e->name; ++e)
    if (std::string_view(e->name).starts_with(prefix)) out.emplace_back(e->name);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace weft
