#include "cli/options.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"

namespace weft::cli {

std::string Options::get(const std::string& name, const std::string& fallback) const {
  auto at = given.find(name);
  return at == given.end() || at->second.empty() ? fallback : at->second.back();
}

Result<std::int64_t> Options::integer(const std::string& name, std::int64_t fallback, std::int64_t low, std::int64_t high) const {
  if (!has(name)) return fallback;
  auto v = parse_int(get(name));
  if (!v || *v < low || *v > high)
    return fail(ErrorKind::kInvalid, fmt::format("--{} takes a whole number from {} to {}, not '{}'", name, low, high, get(name)));
  return *v;
}

Result<double> Options::number(const std::string& name, double fallback, double low, double high) const {
  if (!has(name)) return fallback;
  auto v = parse_double(get(name));
  if (!v || *v < low || *v > high)
    return fail(ErrorKind::kInvalid, fmt::format("--{} takes a number from {:g} to {:g}, not '{}'", name, low, high, get(name)));
  return *v;
}

Result<double> Options::seconds(const std::string& name, double fallback) const {
  if (!has(name)) return fallback;
  std::string text = get(name);
  double unit = 0;
  std::string_view digits = text;
  if (!digits.empty()) switch (digits.back()) {
      case 's': unit = 1, digits.remove_suffix(1); break;
      case 'm': unit = 60, digits.remove_suffix(1); break;
      case 'h': unit = 3600, digits.remove_suffix(1); break;
      case 'd': unit = 86400, digits.remove_suffix(1); break;
      default: break;
    }
  auto v = parse_double(digits);
  if (!v || *v < 0 || *v * unit > 400.0 * 86400 || (unit == 0 && *v != 0))
    return fail(ErrorKind::kInvalid, fmt::format("--{} takes a time such as 45s, 30m, 2h or 1d, not '{}'", name, text));
  return *v * unit;
}

Result<Options> parse_options(const std::vector<std::string>& words, const std::vector<OptionSpec>& known) {
  Options out;
  bool ended = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (ended || word.size() < 2 || word[0] != '-') {
      out.positional.push_back(word);
      continue;
    }
    if (word == "--") {
      ended = true;
      continue;
    }
    if (word == "--help" || word == "-h") {
      out.given["help"];
      continue;
    }
    std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    const OptionSpec* spec = nullptr;
    for (const OptionSpec& s : known)
      if (s.name == name) spec = &s;
    if (!spec) {
      std::vector<std::string> names;
      for (const OptionSpec& s : known) names.push_back(s.name);
      std::string near = nearest(name, names);
      return fail(ErrorKind::kInvalid,
                  fmt::format("unknown option '{}'{}", name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    if (!spec->repeats && !spec->value.empty() && out.given.contains(name.substr(2)))
      return fail(ErrorKind::kInvalid, fmt::format("option '{}' is given twice; it takes one value", name));
    std::vector<std::string>& values = out.given[name.substr(2)];
    if (spec->value.empty()) {
      if (equals != std::string::npos) return fail(ErrorKind::kInvalid, fmt::format("option '{}' takes no value", name));
      continue;
    }
    if (equals != std::string::npos) values.push_back(word.substr(equals + 1));
    else if (i + 1 < words.size()) values.push_back(words[++i]);
    else return fail(ErrorKind::kInvalid, fmt::format("option '{}' needs a value: {}", name, spec->value));
  }
  return out;
}

std::string usage_text(const std::string& usage, const std::string& about, const std::vector<OptionSpec>& known,
                       const std::string& examples) {
  std::string out = "usage: " + usage + "\n\n" + about + "\n";
  if (!known.empty()) out += "\noptions:\n";
  std::size_t width = 6;
  for (const OptionSpec& s : known) width = std::max(width, s.name.size() + (s.value.empty() ? 0 : 1 + s.value.size()));
  for (const OptionSpec& s : known) {
    std::string left = s.name + (s.value.empty() ? "" : " " + s.value);
    std::string line = "  " + left + std::string(width - left.size() + 2, ' ');
    std::size_t column = width + 4, at = column;
    for (std::string_view word : split_space(s.help)) {
      if (at + word.size() > 99) line += "\n" + std::string(column, ' '), at = column;
      line += std::string(word) + " ";
      at += word.size() + 1;
    }
    while (line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  if (!examples.empty()) out += "\nexamples:\n" + examples;
  return out;
}

}  // namespace weft::cli
