#include "telemetry/sources/prometheus_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "base/text.h"
#include "telemetry/names.h"

namespace weft::telemetry {
namespace {

bool name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':'; }
bool name_char(char c) { return name_start(c) || (c >= '0' && c <= '9'); }
void skip_blanks(std::string_view s, std::size_t& i) {
  while (i < s.size() && (s[i] == ' ' || s[i] == '\t')) ++i;
}

// A number as Go prints it, plus NaN, +Inf, -Inf. Not parse_double, which refuses infinities.
bool number(std::string_view s, double& out) {
  if (s.empty() || s.size() > 64) return false;
  std::string low = lower(s);
  if (low == "nan") return out = NAN, true;
  if (low == "inf" || low == "+inf") return out = INFINITY, true;
  if (low == "-inf") return out = -INFINITY, true;
  std::string_view digits = s[0] == '+' ? s.substr(1) : s;
  auto v = parse_double(digits);
  if (!v) return false;
  out = *v;
  return true;
}

// One line into a sample; the message says what was expected.
const char* parse_line(std::string_view line, PromSample& out) {
  out.labels.clear();
  out.at.reset();
  std::size_t i = 0;
  if (!name_start(line[0])) return "a metric name was expected";
  while (i < line.size() && name_char(line[i])) ++i;
  out.name = line.substr(0, i);
  skip_blanks(line, i);
  if (i < line.size() && line[i] == '{') {
    ++i;
    for (;;) {
      skip_blanks(line, i);
      if (i < line.size() && line[i] == '}') break;
      std::size_t start = i;
      while (i < line.size() && name_char(line[i])) ++i;
      if (i == start) return "a label name was expected";
      std::string_view key = line.substr(start, i - start);
      skip_blanks(line, i);
      if (i >= line.size() || line[i] != '=') return "'=' was expected after a label name";
      ++i;
      skip_blanks(line, i);
      if (i >= line.size() || line[i] != '"') return "a quoted label value was expected";
      std::string value;
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '\\' && i + 1 < line.size()) {
          ++i;
          value += line[i] == 'n' ? '\n' : line[i];
        } else {
          value += line[i];
        }
      }
      if (i >= line.size()) return "a label value does not end";
      ++i;
      out.labels.emplace_back(key, std::move(value));
      skip_blanks(line, i);
      if (i < line.size() && line[i] == ',') {
        ++i;
        continue;
      }
      if (i < line.size() && line[i] == '}') break;
      return "',' or '}' was expected after a label";
    }
    ++i;
  }
  std::vector<std::string_view> words = split_space(line.substr(i));
  // OpenMetrics exemplars begin with '#'.
  for (std::size_t w = 0; w < words.size(); ++w)
    if (words[w] == "#") words.resize(w);
  if (words.empty() || words.size() > 2) return "a value and at most a timestamp were expected";
  if (!number(words[0], out.value)) return "the value is no number";
  if (words.size() == 2) {
    double t;
    if (!number(words[1], t) || !std::isfinite(t)) return "the timestamp is no number";
    out.at = prometheus_time(t);
  }
  return nullptr;
}

}  // namespace

Instant prometheus_time(double t) {
  double size = std::abs(t);
  // 1e11 milliseconds is 1973, 1e11 seconds the year 5138: nothing in between is a plausible scrape.
  double scale = size < 1e11 ? 1e9 : size < 1e14 ? 1e6 : size < 1e17 ? 1e3 : 1;
  if (!(size * scale < 9e18)) return Instant();
  double whole = std::trunc(t);  // integers stay exact
  return Instant(static_cast<std::int64_t>(whole) * static_cast<std::int64_t>(scale) + static_cast<std::int64_t>((t - whole) * scale));
}

Result<PromSummary> parse_prometheus(std::string_view text, std::string_view name, const std::function<void(const PromSample&)>& each) {
  if (std::size_t bad = invalid_text_at(text); bad != std::string_view::npos)
    return fail(ErrorKind::kInvalid, fmt::format("byte {} is not text; give the output of an exporter (curl HOST:PORT/metrics)", bad),
                std::string(name));
  PromSummary summary;
  std::map<std::string, bool, std::less<>> counters;
  PromSample sample;
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = trim(text.substr(begin, end - begin));
    begin = end + 1;
    ++line_number;
    if (line.empty()) continue;
    if (line[0] == '#') {
      std::vector<std::string_view> w = split_space(line);
      if (w.size() >= 4 && w[0] == "#" && w[1] == "TYPE") counters[std::string(w[2])] = w[3] == "counter";
      continue;
    }
    if (const char* wrong = parse_line(line, sample)) {
      if (summary.bad_lines++ == 0) summary.first_bad = fmt::format("{}:{}: {}", name, line_number, wrong);
      continue;
    }
    auto typed = counters.find(sample.name);
    sample.counter = typed != counters.end() ? typed->second : sample.name.ends_with("_total");
    ++summary.samples;
    each(sample);
  }
  if (summary.bad_lines > summary.samples)
    return fail(ErrorKind::kInvalid,
                fmt::format("is not Prometheus text: {} of {} lines cannot be read, the first: {}", summary.bad_lines,
                            summary.bad_lines + summary.samples, summary.first_bad),
                std::string(name));
  return summary;
}

std::string_view canonical_metric(std::string_view name) {
  static const std::map<std::string_view, std::string_view> kNames = {
      // DCGM renamed its fields; the old names are macros now.
      {"DCGM_FI_DEV_XID_ERROR", metric::kXid},
      {"DCGM_FI_DEV_PCIE_REPLAY_TOTAL", metric::kPcieReplay},
      {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", metric::kNvlinkCrc},
      {"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL", metric::kNvlinkReplay},
      {"DCGM_FI_DEV_NVLINK_THROUGHPUT_TOTAL", metric::kNvlinkBandwidth},
      {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS", metric::kThrottle},
      {"DCGM_FI_DEV_CLOCK_EVENT_REASONS", metric::kThrottle},
      // Ascend NPU exporter.
      {"npu_chip_info_temperature", metric::kGpuTemp},
      {"npu_chip_info_hbm_temperature", metric::kMemTemp},
      {"npu_chip_info_power", metric::kPower},
      {"npu_chip_info_utilization", metric::kGpuUtil},
      {"npu_chip_info_aicore_current_freq", metric::kSmClock},
  };
  auto at = kNames.find(name);
  return at == kNames.end() ? name : at->second;
}

}  // namespace weft::telemetry
