// `weft version`: version and the optional parts built in. Not a capability, so it lives here alone.
#include "cli/command.h"

namespace weft::cli {
namespace {

int run(const std::vector<std::string>& words, Io& io) {
  for (const std::string& w : words)
    if (w != "--json" && w != "--help")
      return report_error(Error{ErrorKind::kInvalid, "unknown option '" + w + "'; usage: weft version [--json]", ""}, io);
  bool json = !words.empty() && words[0] == "--json";
  if (json) io.out << "{\"version\": \"" WEFT_VERSION "\", \"store\": [\"memory\", \"sqlite\"]}\n";
  else io.out << "weft " WEFT_VERSION "\nstore: memory, sqlite\n";
  return 0;
}

WEFT_REGISTER(commands(), {"version", "version and optional parts", run});

}  // namespace
}  // namespace weft::cli
