#include "cli/command.h"

#include "base/text.h"

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
  std::size_t dashes = word.starts_with("--") ? 2 : 0;  // they are in every option and say nothing
  if (word.size() < dashes + 2) return {};
  std::vector<std::string> bare;
  for (const std::string& k : known) bare.push_back(k.substr(dashes && k.starts_with("--") ? 2 : 0));
  std::string near = nearest_word(std::string_view(word).substr(dashes), bare);
  for (std::size_t i = 0; i < bare.size(); ++i)
    if (!near.empty() && bare[i] == near) return known[i];
  return {};
}

}  // namespace weft::cli
