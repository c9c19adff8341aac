#include "cli/command.h"

#include <algorithm>
#include <vector>

namespace weft::cli {

Registry<CommandEntry>& commands() {
  static Registry<CommandEntry> registry("command");
  return registry;
}

int report_error(const Error& error, Io& io) {
  io.err << "weft: error: " << error.text() << "\n";
  return exit_code(error.kind);
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : known) {
    std::vector<std::size_t> row(candidate.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        std::size_t next = std::min({row[j] + 1, row[j + 1] + 1, diagonal + (word[i] != candidate[j])});
        diagonal = row[j + 1], row[j + 1] = next;
      }
    }
    if (row.back() < best_distance) best_distance = row.back(), best = candidate;
  }
  return best;
}

}  // namespace weft::cli
