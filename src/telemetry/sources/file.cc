#include "telemetry/sources/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "telemetry/names.h"

namespace weft::telemetry {
namespace {

namespace fs = std::filesystem;

// "scrape-1767225600.prom" → that time.
std::optional<Instant> time_in_name(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0) {
    while (end > 0 && !(name[end - 1] >= '0' && name[end - 1] <= '9')) --end;
    std::size_t begin = end;
    while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
    if (end - begin >= 9 && end - begin <= 19) {
      auto n = parse_int(std::string_view(name).substr(begin, end - begin));
      if (n) return prometheus_time(static_cast<double>(*n));
    }
    end = begin;
  }
  return std::nullopt;
}

// "host7-3.prom", "host7.prom", "host7/3.prom" → the first of these names that the site knows.
std::string host_in_name(const fs::path& path, const LabelMap& labels) {
  std::string stem = path.stem().string(), bare = stem;
  while (!bare.empty() && ((bare.back() >= '0' && bare.back() <= '9') || bare.back() == '.' || bare.back() == ':')) bare.pop_back();
  if (!bare.empty() && (bare.back() == '-' || bare.back() == '_')) bare.pop_back();
  for (const std::string& name : {stem, bare, path.parent_path().filename().string()})
    if (!name.empty() && labels.knows(name)) return name;
  return "";
}

// "2026-01-01T00:14:07Z", fraction allowed.
std::optional<Instant> iso_time(std::string_view s) {
  auto digits = [&](std::size_t at, std::size_t n, int& out) {
    if (at + n > s.size()) return false;
    auto v = parse_int(s.substr(at, n));
    if (!v || *v < 0) return false;
    out = static_cast<int>(*v);
    return true;
  };
  int y, mo, d, h, mi, se;
  if (s.size() < 20 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || !digits(0, 4, y) ||
      !digits(5, 2, mo) || !digits(8, 2, d) || !digits(11, 2, h) || !digits(14, 2, mi) || !digits(17, 2, se))
    return std::nullopt;
  if (mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || se > 60 || y < 1970 || y > 2200) return std::nullopt;
  std::int64_t ns = 0;
  std::size_t i = 19;
  if (s[i] == '.') {
    std::int64_t scale = 100'000'000;
    for (++i; i < s.size() && s[i] >= '0' && s[i] <= '9'; ++i, scale /= 10) ns += (s[i] - '0') * scale;
  }
  if (i + 1 != s.size() || s[i] != 'Z') return std::nullopt;
  // Days since the epoch (Howard Hinnant's civil calendar).
  int yy = mo <= 2 ? y - 1 : y, era = yy / 400, yoe = yy - era * 400;
  int doy = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1, doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
  std::int64_t days = static_cast<std::int64_t>(era) * 146097 + doe - 719468;
  return Instant(((days * 24 + h) * 60 + mi) * 60'000'000'000LL + se * 1'000'000'000LL + ns);
}

}  // namespace

Result<FileSummary> read_prometheus(std::string_view text, std::string_view name, Instant at, const LabelMap& labels, SeriesTable& series,
                                    Batch& into) {
  FileSummary out;
  std::set<std::pair<std::string, std::string_view>> told;
  auto fact = [&](const std::string& entity, std::string_view key, const std::string& value, Instant when) {
    if (!value.empty() && told.emplace(entity, key).second)
      into.facts.push_back({when, entity, std::string(key), value, std::string(name)});
  };
  auto each = [&](const PromSample& s) {
    LabelMap::Target target = labels.map(s);
    std::string_view metric = canonical_metric(s.name);
    auto label = [&](std::string_view key) -> std::string {
      for (const auto& [k, v] : s.labels)
        if (k == key) return v;
      return "";
    };
    if (target.mapped) {
      Instant when = s.at.value_or(at);
      if (s.name == "node_uname_info") fact(target.entity, fact::kKernel, label("release"), when);
      else if (s.name == "node_infiniband_info") fact(target.entity, fact::kFirmware, label("firmware_version"), when);
      else if (s.name == "node_network_mtu_bytes" && labels.kind_of(target.entity) == fabric::DeviceKind::kNic)
        fact(target.entity, fact::kMtu, fmt::format("{:.0f}", s.value), when);
      else if (s.name.starts_with("DCGM_"))
        if (std::string node = labels.node_of(target.entity); !node.empty())
          fact(node, fact::kDriver, label("DCGM_FI_DRIVER_VERSION"), when);
    }
    if (!target.mapped) {
      if (out.unmapped++ == 0) out.first_unmapped = fmt::format("{} of '{}'", s.name, target.entity);
    }
    const MetricInfo* info = find_metric(metric);
    MetricKind kind = info ? info->kind : s.counter ? MetricKind::kCounter : MetricKind::kGauge;
    into.samples.push_back({series.intern(metric, target.entity, target.labels, kind), s.at.value_or(at), s.value});
  };
  WEFT_ASSIGN(PromSummary summary, parse_prometheus(text, name, each));
  out.files = 1, out.samples = summary.samples, out.bad_lines = summary.bad_lines, out.first_bad = summary.first_bad;
  return out;
}

Result<FileSource> FileSource::open(const std::vector<std::string>& paths, const LabelMap& labels, SeriesTable& series,
                                    const FileOptions& options) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      std::vector<std::string> inside;
      for (const auto& entry : fs::directory_iterator(path, error))
        if (entry.is_regular_file()) inside.push_back(entry.path().string());
      if (inside.empty()) return fail(ErrorKind::kInvalid, "holds no file; give the directory of the scrapes", path);
      std::sort(inside.begin(), inside.end());
      files.insert(files.end(), inside.begin(), inside.end());
    } else {
      files.push_back(path);
    }
  }
  FileSource out;
  Batch batch;
  std::map<std::uint32_t, std::int64_t> pages;  // series → files that had it
  for (const std::string& file : files) {
    WEFT_ASSIGN(std::string text, read_file(file));
    auto named = time_in_name(fs::path(file).filename().string());
    constexpr Instant kNoTime(INT64_MIN);
    Batch page;
    LabelMap own = labels;
    own.set_default_host(host_in_name(file, labels));
    WEFT_ASSIGN(FileSummary one, read_prometheus(text, file, named.value_or(kNoTime), own, series, page));
    std::int64_t nth = 0;
    std::set<std::uint32_t> here;
    for (const Sample& s : page.samples)
      if (s.at == kNoTime) here.insert(s.series.v), nth = std::max(nth, pages[s.series.v]);
    for (std::uint32_t s : here) pages[s] = nth + 1;
    Instant at = options.start + options.every * nth;
    for (Sample& s : page.samples)
      if (s.at == kNoTime) s.at = at;
    for (Fact& f : page.facts)
      if (f.at == kNoTime) f.at = at;
    batch.samples.insert(batch.samples.end(), page.samples.begin(), page.samples.end());
    batch.facts.insert(batch.facts.end(), page.facts.begin(), page.facts.end());
    if (one.samples == 0)
      return fail(ErrorKind::kInvalid, "holds no sample; give the output of an exporter (curl HOST:PORT/metrics)", file);
    out.summary_.files += 1, out.summary_.samples += one.samples, out.summary_.unmapped += one.unmapped,
        out.summary_.bad_lines += one.bad_lines;
    if (out.summary_.first_bad.empty()) out.summary_.first_bad = one.first_bad;
    if (out.summary_.first_unmapped.empty()) out.summary_.first_unmapped = one.first_unmapped;
  }
  out.samples_ = std::move(batch.samples), out.facts_ = std::move(batch.facts);
  std::stable_sort(out.facts_.begin(), out.facts_.end(), [](const Fact& a, const Fact& b) { return a.at < b.at; });
  std::stable_sort(out.samples_.begin(), out.samples_.end(), [](const Sample& a, const Sample& b) { return a.at < b.at; });
  if (!out.samples_.empty()) out.summary_.from = out.samples_.front().at, out.summary_.to = out.samples_.back().at;
  return out;
}

Status FileSource::poll(Instant until, Batch& into) {
  while (next_ < samples_.size() && samples_[next_].at <= until) into.samples.push_back(samples_[next_++]);
  while (next_fact_ < facts_.size() && facts_[next_fact_].at <= until) into.facts.push_back(facts_[next_fact_++]);
  return {};
}

std::vector<Instant> FileSource::times() const {
  std::vector<Instant> out;
  for (const Sample& s : samples_)
    if (out.empty() || out.back() != s.at) out.push_back(s.at);
  return out;
}

Status read_events(std::string_view text, std::string_view name, Batch& into) {
  std::size_t line_number = 0;
  for (std::string_view raw : split(text, '\n')) {
    ++line_number;
    std::string_view line = trim(raw);
    if (line.empty() || line[0] == '#') continue;
    std::string place = fmt::format("{}:{}", name, line_number);
    WEFT_ASSIGN(Json j, parse_json(line, place, 20));
    if (!j.is_object()) return fail(ErrorKind::kInvalid, "expected one JSON object a line: {\"at\", \"entity\", \"kind\", …}", place);
    auto word = [&](const char* key) -> std::string { return j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : ""; };
    Instant at;
    if (j.contains("at") && j["at"].is_number()) at = prometheus_time(j["at"].get<double>());
    else if (auto t = iso_time(word("at"))) at = *t;
    else return fail(ErrorKind::kInvalid, "\"at\" is missing or no time: write 2026-01-01T00:00:00Z or seconds since 1970", place);
    if (word("entity").empty()) return fail(ErrorKind::kInvalid, "\"entity\" is missing: name the part, as in \"sn1/node3/card5\"", place);
    if (!word("key").empty()) {
      into.facts.push_back({at, word("entity"), word("key"), word("value"), std::string(name)});
      continue;
    }
    if (word("kind").empty())
      return fail(ErrorKind::kInvalid, "an event needs \"kind\" (\"xid\", \"link_down\" …), a fact \"key\" and \"value\"", place);
    Event e{at, word("entity"), word("kind"), word("code"), Severity::kWarning, word("text"), std::string(name)};
    if (j.contains("code") && j["code"].is_number_integer()) e.code = std::to_string(j["code"].get<std::int64_t>());
    std::string severity = word("severity");
    if (severity == "info") e.severity = Severity::kInfo;
    else if (severity == "error") e.severity = Severity::kError;
    else if (severity == "fatal") e.severity = Severity::kFatal;
    into.events.push_back(std::move(e));
  }
  return {};
}

}  // namespace weft::telemetry
