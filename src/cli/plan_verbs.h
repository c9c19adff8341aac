// Verbs of `weft plan`: one registration per verb, one file per verb under cli/commands/ (plan_<verb>.cc).
#pragma once

#include <string>
#include <vector>

#include "base/registry.h"
#include "cli/command.h"

namespace weft::cli {

struct PlanVerbEntry {
  std::string name;                                           // "train"
  std::string help;                                           // one line
  int (*run)(const std::vector<std::string>& words, Io& io);  // words after the verb; `--help` is the verb's own
};
Registry<PlanVerbEntry>& plan_verbs();

}  // namespace weft::cli
