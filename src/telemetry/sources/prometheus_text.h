// The Prometheus text exposition format (and what exporters make of it): HELP/TYPE comments, escaped label values, NaN and infinities,
// trailing timestamps in milliseconds, or in seconds where an exporter got it wrong. docs/telemetry.md describes the mapping to parts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft::telemetry {

struct PromSample {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string>> labels;  // as written, values unescaped
  double value = 0;
  std::optional<Instant> at;  // none: the time of the scrape
  bool counter = false;       // by TYPE, or by a name ending in _total
};

struct PromSummary {
  std::size_t samples = 0;
  std::size_t bad_lines = 0;
  std::string first_bad;  // "file:12: …"
};

// Calls `each` per sample, in order. Single bad lines are counted and skipped; text that is mostly no such format, or not text at all,
// is an error (invalid) that names the first bad line.
Result<PromSummary> parse_prometheus(std::string_view text, std::string_view name, const std::function<void(const PromSample&)>& each);

// 1606402000 is seconds, 1606402000000 milliseconds (the format), with 16 and more digits micro- and nanoseconds.
Instant prometheus_time(double timestamp);

// The name this product uses: DCGM's new spellings and the NPU exporter's metrics become the catalogue's names; others stay.
std::string_view canonical_metric(std::string_view name);

}  // namespace weft::telemetry
