// One file per command under cli/commands/. A command gets the words after its name, writes results to `out` and remarks to `err`,
// and returns the exit code of the architecture: 0 fine, 1 the answer is "no", 2 bad usage or input, 3 outside failed, 4 ours.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/registry.h"
#include "base/result.h"

namespace weft::cli {

struct Io {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  // stdout is a terminal: colour and progress allowed
};

struct CommandEntry {
  std::string name;  // "fabric", "sim" …
  std::string help;  // one line
  int (*run)(const std::vector<std::string>& words, Io& io);
};
Registry<CommandEntry>& commands();

// Prints "weft: error: …" to err and gives the exit code.
int report_error(const Error& error, Io& io);
// "fabric fabrik": nearest known words, for unknown verbs.
std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace weft::cli
