// Verbs of `weft sim` beyond step, prefill and decode: one registration per verb, so that a verb is one file under cli/commands/ (sim_<verb>.cc).
#pragma once

#include <string>
#include <vector>

#include "base/registry.h"
#include "cli/command.h"

namespace weft::cli {

struct SimVerbEntry {
  std::string name;                                           // "traffic"
  std::string help;                                           // one line
  int (*run)(const std::vector<std::string>& words, Io& io);  // words without the verb; `--help` is the verb's own
};
Registry<SimVerbEntry>& sim_verbs();

}  // namespace weft::cli
