#include "base/log.h"

#include "base/display.h"

namespace weft {
namespace {

constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};

// Quoted only when needed, as logfmt readers expect.
std::string value_text(std::string_view raw) {
  std::string clean = printable(raw, true), out;
  bool quote = clean.empty() || clean.find_first_of(" =\"\\\n") != std::string::npos;
  if (!quote) return clean;
  for (char c : clean) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else out += c;
  }
  return "\"" + out + "\"";
}

}  // namespace

void Log::say(LogLevel level, std::string_view folder, std::string_view message, std::initializer_list<LogField> fields) {
  if (!out_ || level < least_) return;
  std::string line;
  if (clock_) line += "time=" + iso8601(clock_->now()) + " ";
  line += std::string("level=") + kLevels[static_cast<int>(level)] + " folder=" + std::string(folder) + " msg=" + value_text(message);
  for (const LogField& f : fields) line += " " + std::string(f.key) + "=" + value_text(f.value);
  line += '\n';
  std::lock_guard lock(mutex_);
  out_->write(line.data(), static_cast<std::streamsize>(line.size()));
  out_->flush();
}

}  // namespace weft
