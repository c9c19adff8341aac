// Telemetry that a command is given instead of a twin: Prometheus text from files, directories of scrapes and addresses that are
// scraped again and again for a while, log lines and facts, a map of foreign names. Shared by `weft diagnose` and `weft inspect`.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "fabric/snapshot.h"
#include "telemetry/sources/file.h"
#include "telemetry/sources/scrape.h"

namespace weft::cli {

class TelemetryInput {
 public:
  // --metrics, --events, --map, --every; --for is the command's own (`lasts`).
  static std::vector<OptionSpec> options();
  static bool given(const Options& options) { return options.has("metrics") || options.has("events"); }

  // Reads files at once; addresses are only noted. Errors: a file that cannot be read, a wrong map.
  static Result<TelemetryInput> open(const Options& options, const fabric::Snapshot& site, telemetry::SeriesTable& series, Duration lasts);

  // The first time of what the files say; nothing when there are only addresses.
  std::optional<Instant> first() const;
  std::size_t points() const { return points_; }
  // Calls `pass` for every time there is something, in order: files first, then a scrape of all addresses every `--every` by the wall clock
  // until `lasts` is over or Ctrl-C is pressed (what was read stays). Errors: nothing at all was read; no address ever answered.
  Status read(const std::function<void(Instant, const telemetry::Batch&)>& pass, Io& io);
  // After read(): an error when nothing of it belongs to the site, so that "nothing wrong" would be a lie.
  Status anything() const;
  // What was read and what could not be, on standard error.
  void remarks(const std::string& site, std::size_t series, Io& io) const;

 private:
  telemetry::FileSummary summary() const;
  std::optional<telemetry::FileSource> files_;
  std::deque<telemetry::ScrapeSource> scrapes_;
  std::vector<std::string> failed_;  // by scrape: the last error told
  telemetry::Batch events_;
  std::vector<Instant> times_;
  telemetry::SeriesTable* series_ = nullptr;
  Duration every_ = seconds(15), lasts_ = seconds(0);
  std::size_t points_ = 0, scraped_ = 0, answers_ = 0;
};

}  // namespace weft::cli
