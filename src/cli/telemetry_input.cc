#include "cli/telemetry_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "base/clock.h"
#include "base/text.h"
#include "base/yaml.h"
#include "telemetry/names.h"

namespace weft::cli {
namespace {

std::atomic<bool> interrupted{false};
void on_signal(int) { interrupted = true; }

bool is_address(const std::string& s) { return s.starts_with("http://") || s.starts_with("https://"); }

// A host that answers on one port is up, whatever its other exporters do: of several `up` of one host at one time the largest counts.
void join_up(telemetry::Batch& batch, const telemetry::SeriesTable& series) {
  for (std::size_t i = 0; i < batch.samples.size(); ++i) {
    telemetry::Sample& s = batch.samples[i];
    if (series.metric(s.series) != telemetry::metric::kNodeUp) continue;
    for (std::size_t j = i + 1; j < batch.samples.size();)
      if (batch.samples[j].series == s.series && batch.samples[j].at == s.at) {
        s.value = std::max(s.value, batch.samples[j].value);
        batch.samples.erase(batch.samples.begin() + static_cast<std::ptrdiff_t>(j));
      } else {
        ++j;
      }
  }
}

}  // namespace

std::vector<OptionSpec> TelemetryInput::options() {
  return {
      {"--metrics", "FILE|URL",
       "Prometheus text: a scrape, a directory of scrapes, or an address to scrape, also a Prometheus server's /federate (may be "
       "repeated)",
       true},
      {"--events", "FILE", "log lines and facts, one JSON object a line (may be repeated; docs/diagnose.md)", true},
      {"--map", "FILE", "YAML map of foreign host or device names to names of the site"},
      {"--every", "TIME", "time between scrapes of an address, and between files that carry no time (default 15s)"},
  };
}

Result<TelemetryInput> TelemetryInput::open(const Options& options, const fabric::Snapshot& site, telemetry::SeriesTable& series,
                                            Duration lasts) {
  TelemetryInput out;
  out.series_ = &series, out.lasts_ = lasts;
  WEFT_ASSIGN(double every, options.seconds("every", 15));
  if (every <= 0) return fail(ErrorKind::kInvalid, "--every must be above zero");
  out.every_ = seconds(every);
  telemetry::LabelMap labels(site);
  if (options.has("map")) {
    WEFT_ASSIGN(Yaml map, Yaml::parse_file(options.get("map")));
    for (const auto& [foreign, target] : map.entries()) {
      WEFT_ASSIGN(auto text, target.text());
      if (!site.find_device(text) && !site.find_port(text)) return target.error("no part '" + text + "' in the site");
      labels.add(foreign, text);
    }
  }
  std::vector<std::string> files;
  if (options.has("metrics"))
    for (const std::string& from : options.given.at("metrics")) {
      if (!is_address(from)) files.push_back(from);
      else out.scrapes_.emplace_back(from, labels, series, Duration(1));  // how often is decided here
    }
  out.failed_.resize(out.scrapes_.size());
  if (!files.empty()) {
    telemetry::FileOptions file_options;
    file_options.every = out.every_;
    WEFT_ASSIGN(out.files_, telemetry::FileSource::open(files, labels, series, file_options));
  }
  if (options.has("events"))
    for (const std::string& file : options.given.at("events")) {
      WEFT_ASSIGN(std::string text, read_file(file));
      WEFT_TRY(telemetry::read_events(text, file, out.events_));
    }
  if (out.files_) out.times_ = out.files_->times();
  for (const auto& e : out.events_.events) out.times_.push_back(e.at);
  for (const auto& f : out.events_.facts) out.times_.push_back(f.at);
  std::sort(out.times_.begin(), out.times_.end());
  out.times_.erase(std::unique(out.times_.begin(), out.times_.end()), out.times_.end());
  if (out.times_.empty() && out.scrapes_.empty()) return fail(ErrorKind::kInvalid, "the files hold no sample and no event");
  return out;
}

std::optional<Instant> TelemetryInput::first() const { return times_.empty() ? std::nullopt : std::optional(times_.front()); }

Status TelemetryInput::read(const std::function<void(Instant, const telemetry::Batch&)>& pass, Io& io) {
  Instant before(INT64_MIN);
  for (Instant now : times_) {
    telemetry::Batch batch;
    if (files_) WEFT_TRY(files_->poll(now, batch));
    for (const auto& e : events_.events)
      if (e.at > before && e.at <= now) batch.events.push_back(e);
    for (const auto& f : events_.facts)
      if (f.at > before && f.at <= now) batch.facts.push_back(f);
    before = now;
    ++points_;
    pass(now, batch);
  }
  if (scrapes_.empty()) return {};
  SystemClock clock;
  interrupted = false;
  auto old_int = std::signal(SIGINT, on_signal), old_term = std::signal(SIGTERM, on_signal);
  Instant start = clock.now(), end = start + lasts_;
  std::string last_error;
  for (Instant due = start; due <= end && !interrupted; due = due + every_) {
    while (clock.now() < due && !interrupted) clock.wait_until(std::min(due, clock.now() + milliseconds(100)));
    if (interrupted) break;
    Instant now = clock.now();
    telemetry::Batch batch;
    for (std::size_t i = 0; i < scrapes_.size(); ++i) {
      std::size_t had = batch.samples.size();
      Status ok = scrapes_[i].poll(now, batch);
      std::string error = ok ? "" : ok.error().text();
      if (ok) ++answers_, scraped_ += batch.samples.size() - had;
      if (error != failed_[i]) io.err << (ok ? scrapes_[i].name() + ": answers again" : error) << "\n";
      failed_[i] = error;
      if (!ok) last_error = error;
    }
    join_up(batch, *series_);
    ++points_;
    pass(now, batch);
  }
  std::signal(SIGINT, old_int), std::signal(SIGTERM, old_term);
  if (answers_ == 0 && times_.empty())
    return fail(ErrorKind::kUnavailable, "no address answered" + (last_error.empty() ? std::string() : "; the last error: " + last_error));
  return {};
}

telemetry::FileSummary TelemetryInput::summary() const {
  telemetry::FileSummary all = files_ ? files_->summary() : telemetry::FileSummary{};
  for (const auto& scrape : scrapes_) {
    const telemetry::FileSummary& s = scrape.summary();
    all.unmapped += s.unmapped, all.bad_lines += s.bad_lines;
    if (all.first_unmapped.empty()) all.first_unmapped = s.first_unmapped;
    if (all.first_bad.empty()) all.first_bad = s.first_bad;
  }
  return all;
}

// Telemetry of which nothing belongs to the site says nothing about it; "nothing wrong" would be a lie.
Status TelemetryInput::anything() const {
  telemetry::FileSummary all = summary();
  std::size_t read = (files_ ? files_->summary().samples : 0) + scraped_;
  if (all.unmapped < read || !events_.events.empty() || !events_.facts.empty() || !all.unmapped) return {};
  return fail(
      ErrorKind::kInvalid,
      fmt::format("none of the {} samples belongs to a part of this site (first: {}); give --map FILE with 'foreign name: part of the "
                  "site', or the site's own host names under node_names:",
                  all.unmapped, all.first_unmapped));
}

void TelemetryInput::remarks(const std::string& site, std::size_t series, Io& io) const {
  if (files_) {
    const telemetry::FileSummary& s = files_->summary();
    io.err << fmt::format("read {} samples of {} series in {} file{}, {} to {}\n", s.samples, series, s.files, s.files == 1 ? "" : "s",
                          iso8601(s.from), iso8601(s.to));
  }
  if (!scrapes_.empty())
    io.err << fmt::format("read {} samples of {} series by {} scrapes of {} address{}\n", scraped_, series, answers_, scrapes_.size(),
                          scrapes_.size() == 1 ? "" : "es");
  telemetry::FileSummary all = summary();
  if (all.unmapped)
    io.err << fmt::format("{} samples belong to no part of {} (first: {}); give --map FILE to name them\n", all.unmapped, site,
                          all.first_unmapped);
  if (all.bad_lines) io.err << fmt::format("{} lines could not be read, the first: {}\n", all.bad_lines, all.first_bad);
}

}  // namespace weft::cli
