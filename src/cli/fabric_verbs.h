// Verbs of `weft fabric`: one registration per verb, so that a verb is one file under cli/commands/ (fabric_<verb>.cc).
#pragma once

#include <string>
#include <vector>

#include "base/registry.h"
#include "cli/command.h"

namespace weft::cli {

struct FabricVerbEntry {
  std::string name;                                           // "import"
  std::string help;                                           // one line
  int (*run)(const std::vector<std::string>& words, Io& io);  // words after the verb; `--help` is the verb's own
};
Registry<FabricVerbEntry>& fabric_verbs();

}  // namespace weft::cli
