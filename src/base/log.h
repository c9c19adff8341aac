// Remarks for people and log collectors, one logfmt line each: `level=warning folder=control msg="plan declined" plan=P12`. Results go to
// standard output, remarks to the stream given here (standard error). Handed in like a clock: there is no global log.
#pragma once

#include <initializer_list>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace weft {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogField {
  std::string_view key;
  std::string value;
};

class Log {
 public:
  Log() = default;  // says nothing
  // With a clock every line begins with time=…. Both must outlive the log.
  explicit Log(std::ostream& out, LogLevel least = LogLevel::kInfo, const Clock* clock = nullptr)
      : out_(&out), least_(least), clock_(clock) {}

  // Any thread; lines are never mixed. Control characters and quotes in values are escaped.
  void say(LogLevel level, std::string_view folder, std::string_view message, std::initializer_list<LogField> fields = {});
  void debug(std::string_view folder, std::string_view message, std::initializer_list<LogField> fields = {}) {
    say(LogLevel::kDebug, folder, message, fields);
  }
  void info(std::string_view folder, std::string_view message, std::initializer_list<LogField> fields = {}) {
    say(LogLevel::kInfo, folder, message, fields);
  }
  void warning(std::string_view folder, std::string_view message, std::initializer_list<LogField> fields = {}) {
    say(LogLevel::kWarning, folder, message, fields);
  }
  void error(std::string_view folder, std::string_view message, std::initializer_list<LogField> fields = {}) {
    say(LogLevel::kError, folder, message, fields);
  }

 private:
  std::ostream* out_ = nullptr;
  LogLevel least_ = LogLevel::kInfo;
  const Clock* clock_ = nullptr;
  std::mutex mutex_;
};

}  // namespace weft
