// Scrapes kept as files: one file, or a directory of them in the order of their names. Samples without a timestamp get the time in the
// file's name (its last run of 9 or more digits, seconds to nanoseconds), else start + n × every, n being how many earlier files hold the
// same series: pages of different hosts stand beside each other, pages of one host follow each other. A page that names no host belongs
// to the host its file or folder is named after (host7.prom, host7-3.prom, host7/3.prom), when the site knows it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "telemetry/sources/label_map.h"
#include "telemetry/types.h"

namespace weft::telemetry {

struct FileOptions {
  Instant start = Instant(1'767'225'600'000'000'000);  // of files that say no time
  Duration every = seconds(15);
};

struct FileSummary {
  std::size_t files = 0, samples = 0, unmapped = 0, bad_lines = 0;
  std::string first_bad, first_unmapped;
  Instant from, to;
};

// Adds one exposition to `into`. `at`: time of samples without one. Settings that exporters tell in labels become facts: kernel
// (node_uname_info), driver (DCGM), firmware (node_infiniband_info), and MTU (node_network_mtu_bytes of a device that is a NIC of the site).
Result<FileSummary> read_prometheus(std::string_view text, std::string_view name, Instant at, const LabelMap& labels, SeriesTable& series,
                                    Batch& into);

class FileSource : public Source {
 public:
  // Errors: a path that does not exist, a directory without files, a file that is no such text. Reads everything at once.
  static Result<FileSource> open(const std::vector<std::string>& paths, const LabelMap& labels, SeriesTable& series,
                                 const FileOptions& options = {});
  Status poll(Instant until, Batch& into) override;
  std::string name() const override { return "file"; }
  const FileSummary& summary() const { return summary_; }
  std::vector<Instant> times() const;  // distinct times of samples, sorted

 private:
  std::vector<Sample> samples_;  // by time
  std::vector<Fact> facts_;      // by time
  std::size_t next_ = 0, next_fact_ = 0;
  FileSummary summary_;
};

// Log lines as JSON, one object a line: {"at": "2026-01-01T00:00:00Z" | seconds, "entity", "kind", "code", "text", "severity"}.
// Facts too: {"at", "entity", "key", "value"}.
Status read_events(std::string_view text, std::string_view name, Batch& into);

}  // namespace weft::telemetry
