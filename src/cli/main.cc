#include <unistd.h>

#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command.h"

namespace {

int usage(weft::cli::Io& io, std::ostream& to) {
  to << "weft: design, verify, place, watch and heal AI supernodes\n\nusage: weft COMMAND [VERB] [SITE] [options]\n\ncommands:\n";
  for (const auto& c : weft::cli::commands().entries())
    to << "  " << c.name << std::string(c.name.size() < 12 ? 12 - c.name.size() : 1, ' ') << c.help << "\n";
  to << "\n'weft COMMAND --help' shows verbs, options and examples.\n";
  (void)io;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  weft::cli::Io io{std::cout, std::cerr, isatty(1) == 1};
  std::vector<std::string> words(argv + 1, argv + argc);
  int code = 4;
  try {
    if (words.empty()) {
      usage(io, std::cerr);
      code = 2;
    } else if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
      code = usage(io, std::cout);
    } else {
      if (words[0] == "--version") words[0] = "version";
      if (const auto* command = weft::cli::commands().find(words[0])) {
        code = command->run({words.begin() + 1, words.end()}, io);
      } else {
        std::vector<std::string> known;
        for (const auto& c : weft::cli::commands().entries()) known.push_back(c.name);
        std::string near = weft::cli::nearest(words[0], known);
        std::cerr << "weft: error: unknown command '" << words[0] << "'" << (near.empty() ? "" : "; did you mean '" + near + "'?")
                  << " ('weft --help' lists them)\n";
        code = 2;
      }
    }
  } catch (const std::exception& e) {
    std::cerr << "weft: internal error: " << e.what() << "\n";
    code = 4;
  }
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "weft: error: cannot write to standard output\n";
    code = 3;
  }
  return code;
}
