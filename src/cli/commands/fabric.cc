// `weft fabric VERB …`: hands on to the verb. With the site first (`weft fabric SITE check`) the two words change places.
#include <fmt/format.h>
#include <algorithm>

#include "cli/command.h"
#include "cli/fabric_verbs.h"

namespace weft::cli {

Registry<FabricVerbEntry>& fabric_verbs() {
  static Registry<FabricVerbEntry> registry("fabric verb");
  return registry;
}

namespace {

int run(const std::vector<std::string>& words, Io& io) {
  auto usage = [&](std::ostream& to) {
    to << "usage: weft fabric VERB … (weft fabric VERB --help says more)\n\n";
    for (const FabricVerbEntry& v : fabric_verbs().entries()) to << fmt::format("  {:<10} {}\n", v.name, v.help);
  };
  if (words.empty()) return usage(io.err), 2;
  if (words[0] == "--help") return usage(io.out), 0;
  std::vector<std::string> rest(words.begin() + 1, words.end());
  if (const FabricVerbEntry* v = fabric_verbs().find(words[0])) return v->run(rest, io);
  if (!rest.empty())
    if (const FabricVerbEntry* v = fabric_verbs().find(rest[0])) {
      rest[0] = words[0];
      return v->run(rest, io);
    }
  std::vector<std::string> known;
  for (const FabricVerbEntry& v : fabric_verbs().entries()) known.push_back(v.name);
  std::string near = nearest(words[0], known);
  return report_error(Error{ErrorKind::kInvalid,
                            fmt::format("unknown verb '{}'{}; known: {}", words[0], near.empty() ? "" : ", did you mean '" + near + "'?",
                                        fabric_verbs().names()),
                            ""},
                      io);
}

WEFT_REGISTER(commands(), {"fabric", "the machine: import, show, check, count, paths, export", run});

}  // namespace
}  // namespace weft::cli
