// The registry of importers and what is common to all of them: is this text, and whose is it?
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "fabric/importers/importer.h"

namespace weft::fabric {

Registry<ImporterEntry>& importers() {
  static Registry<ImporterEntry> registry("importer");
  return registry;
}

namespace {

std::string unix_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 >= text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

}  // namespace

Result<Observed> import_text(std::string_view text, const std::string& file, const std::string& format) {
  if (text.size() > kMaxImportBytes)
    return fail(ErrorKind::kInvalid,
                fmt::format("the file has {}, more than the {} that is read; cut it to one machine",
                            human(Bytes(static_cast<std::int64_t>(text.size()))), human(Bytes(kMaxImportBytes))),
                file);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (trim(text).empty()) return fail(ErrorKind::kInvalid, "the file is empty; give the output of one of: " + importers().names(), file);
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    return fail(ErrorKind::kInvalid, "the file is UTF-16; save it as UTF-8", file);
  if (std::size_t at = invalid_text_at(text); at != std::string_view::npos)
    return fail(ErrorKind::kInvalid, fmt::format("byte {} is not text (UTF-8); this looks like a binary or damaged file", at + 1),
                fmt::format("{}:{}", file, std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1));
  std::string clean;
  if (text.find('\r') != std::string_view::npos) clean = unix_lines(text), text = clean;

  const ImporterEntry* chosen = nullptr;
  if (!format.empty()) {
    chosen = importers().find(format);
    if (!chosen) {
      std::vector<std::string> known;
      for (const auto& e : importers().entries()) known.push_back(e.name);
      std::string near = nearest_word(format, known);
      return fail(ErrorKind::kNotFound, fmt::format("no import format '{}'{}; known: {}", format,
                                                    near.empty() ? "" : ", did you mean '" + near + "'?", importers().names()));
    }
  } else {
    std::string also;
    for (const ImporterEntry& e : importers().entries())
      if (e.recognises(text)) {
        if (!chosen) chosen = &e;
        else also += ", " + e.name;
      }
    if (!chosen)
      return fail(ErrorKind::kInvalid,
                  "no importer recognises this text; known formats: " + importers().names() + " (choose one with --format NAME)", file);
    if (!also.empty())
      return fail(ErrorKind::kInvalid,
                  fmt::format("several importers recognise this text: {}{}; choose one with --format NAME", chosen->name, also), file);
  }
  auto observed = chosen->read(text, file);
  if (!observed) return observed;
  observed->format = chosen->name;
  collect_contradictions(*observed);
  return observed;
}

}  // namespace weft::fabric
