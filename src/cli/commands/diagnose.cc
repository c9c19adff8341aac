// `weft diagnose SITE --metrics FILE…`: what is wrong, from scrapes and logs a site has kept. Exit code 1 when something is.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "base/report.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cli/command.h"
#include "cli/options.h"
#include "diagnose/diagnose.h"
#include "diagnose/report.h"
#include "fabric/site.h"
#include "telemetry/sources/file.h"
#include "telemetry/windows.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"--site", "SITE", "the same as naming it first"},
    {"--metrics", "FILE", "Prometheus text: a scrape, or a directory of scrapes in the order of their names (may be repeated)"},
    {"--events", "FILE", "log lines and facts, one JSON object a line (may be repeated; docs/diagnose.md)"},
    {"--jobs", "FILE", "YAML list of jobs with their cards by rank, for impact and late ranks"},
    {"--map", "FILE", "YAML map of foreign host or device names to names of the site"},
    {"--every", "TIME", "time between files that carry no time (default 15s)"},
    {"--findings", "", "also list weak symptoms that belong to no incident"},
    {"--json", "", "JSON instead of the report"},
    {"--html", "", "HTML report"},
    {"--out", "FILE", "write the result to a file"},
};
constexpr const char* kExamples =
    "  weft diagnose site.yaml --metrics scrapes/\n  weft diagnose lab-32 --metrics now.prom --events kernel.jsonl --json\n"
    "  weft diagnose lab-32 --metrics scrapes/ --jobs jobs.yaml --html --out why.html\n";

// - {name: alpha, model: …, strategy: {tp: 8, dp: 2}, cards: [sn1/node1/card0, …]}
Result<std::vector<diagnose::RunningJob>> read_jobs(const std::string& file, const fabric::Snapshot& site, Instant since) {
  WEFT_ASSIGN(Yaml root, Yaml::parse_file(file));
  std::vector<diagnose::RunningJob> out;
  Yaml list = root.kind() == Yaml::Kind::kMap && root.has("jobs") ? root.get("jobs") : root;
  for (const Yaml& item : list.items()) {
    diagnose::RunningJob job;
    job.since = since;
    WEFT_TRY(item.only({"name", "strategy", "cards"}));
    WEFT_ASSIGN(job.job.name, item.get("name").text());
    WEFT_TRY(item.get("strategy").only({"tp", "pp", "dp", "ep", "cp"}));
    for (auto [key, field] : {std::pair{"tp", &job.job.strategy.tp},
                              {"pp", &job.job.strategy.pp},
                              {"dp", &job.job.strategy.dp},
                              {"ep", &job.job.strategy.ep},
                              {"cp", &job.job.strategy.cp}})
      if (item.get("strategy").has(key)) {
        WEFT_ASSIGN(std::int64_t n, item.get("strategy").get(key).integer(1, 1'000'000));
        *field = static_cast<int>(n);
      }
    std::set<fabric::DeviceId> seen;
    for (const Yaml& c : item.get("cards").items()) {
      WEFT_ASSIGN(std::string name, c.text());
      auto card = site.find_device(name);
      if (!card || site.device(*card).kind != fabric::DeviceKind::kCard) return c.error("no card '" + name + "' in the site");
      if (!seen.insert(*card).second) return c.error("card '" + name + "' is given twice");
      job.placement.cards.push_back(*card);
    }
    if (static_cast<int>(job.placement.cards.size()) != job.job.strategy.world())
      return item.error(fmt::format("{} cards for {} ranks (tp x pp x dp x cp): give one card per rank", job.placement.cards.size(),
                                    job.job.strategy.world()));
    WEFT_ASSIGN(job.placement.groups, workload::make_groups(job.job.strategy));
    job.placement.job = job.job.name;
    out.push_back(std::move(job));
  }
  return out;
}

int run(const std::vector<std::string>& words, Io& io) {
  auto parsed = parse_options(words, kOptions);
  if (!parsed) return report_error(parsed.error(), io);
  const Options& options = *parsed;
  if (options.has("help")) {
    io.out << usage_text("weft diagnose SITE --metrics FILE… [options]",
                         "Finds what is wrong from kept telemetry: ranked causes with evidence, impact and the test that would settle it. "
                         "Exit code 0: nothing, 1: something.",
                         kOptions, kExamples);
    return 0;
  }
  std::string name = !options.positional.empty() ? options.positional[0] : options.get("site");
  if (name.empty() || options.positional.size() > 1)
    return report_error(Error{ErrorKind::kInvalid, "name one site: weft diagnose SITE --metrics FILE (weft list shows sites)", ""}, io);
  if (!options.has("metrics") && !options.has("events"))
    return report_error(Error{ErrorKind::kInvalid,
                              "give telemetry: --metrics FILE (output of an exporter, or a directory of scrapes) or --events FILE", ""},
                        io);
  auto every = options.seconds("every", 15);
  if (!every) return report_error(every.error(), io);
  if (*every <= 0) return report_error(Error{ErrorKind::kInvalid, "--every must be above zero", ""}, io);
  auto site = fabric::load_site(name);
  if (!site) return report_error(site.error(), io);

  telemetry::SeriesTable series;
  telemetry::LabelMap labels(*site);
  if (options.has("map")) {
    auto map = Yaml::parse_file(options.get("map"));
    if (!map) return report_error(map.error(), io);
    for (const auto& [foreign, target] : map->entries()) {
      auto text = target.text();
      if (!text) return report_error(text.error(), io);
      if (!site->find_device(*text) && !site->find_port(*text))
        return report_error(target.error("no part '" + *text + "' in the site").error(), io);
      labels.add(foreign, *text);
    }
  }
  telemetry::FileOptions file_options;
  file_options.every = seconds(*every);
  std::optional<telemetry::FileSource> source;
  if (options.has("metrics")) {
    auto opened = telemetry::FileSource::open(options.given.at("metrics"), labels, series, file_options);
    if (!opened) return report_error(opened.error(), io);
    source = std::move(*opened);
  }
  telemetry::Batch events;
  if (options.has("events"))
    for (const std::string& file : options.given.at("events")) {
      auto text = read_file(file);
      if (!text) return report_error(text.error(), io);
      if (Status s = telemetry::read_events(*text, file, events); !s) return report_error(s.error(), io);
    }
  std::vector<Instant> times = source ? source->times() : std::vector<Instant>{};
  for (const auto& e : events.events) times.push_back(e.at);
  for (const auto& f : events.facts) times.push_back(f.at);
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  if (times.empty()) return report_error(Error{ErrorKind::kInvalid, "the files hold no sample and no event", ""}, io);

  diagnose::Diagnoser diagnoser(series);
  diagnoser.set_snapshot(*site);
  if (options.has("jobs")) {
    auto jobs = read_jobs(options.get("jobs"), *site, times.front());
    if (!jobs) return report_error(jobs.error(), io);
    diagnoser.set_jobs(std::move(*jobs));
  }
  std::map<std::string, diagnose::Diagnosis> incidents;
  Instant before(INT64_MIN);
  auto pass = [&](Instant now) {
    telemetry::Batch batch;
    if (source) (void)source->poll(now, batch);
    for (const auto& e : events.events)
      if (e.at > before && e.at <= now) batch.events.push_back(e);
    for (const auto& f : events.facts)
      if (f.at > before && f.at <= now) batch.facts.push_back(f);
    before = now;
    diagnoser.ingest(batch);
    for (const diagnose::Diagnosis& d : diagnoser.evaluate(now)) {
      diagnose::Diagnosis& kept = incidents[d.key];
      bool was_settled = kept.settled;
      if (!d.over) kept = d;
      kept.over = d.over;
      kept.settled |= was_settled;
    }
  };
  for (Instant t : times) pass(t);
  // What the last second said needs a moment to settle.
  for (int i = 1; i <= 3; ++i) pass(times.back() + seconds(i));

  std::vector<diagnose::Diagnosis> list;
  for (auto& [key, d] : incidents)
    if (d.settled || !d.over) list.push_back(d);
  if (source) {
    const telemetry::FileSummary& s = source->summary();
    io.err << fmt::format("read {} samples of {} series in {} file{}, {} to {}\n", s.samples, series.size(), s.files,
                          s.files == 1 ? "" : "s", iso8601(s.from), iso8601(s.to));
    if (s.unmapped)
      io.err << fmt::format("{} samples belong to no part of {} (first: {}); give --map FILE to name them\n", s.unmapped, name,
                            s.first_unmapped);
    if (s.bad_lines) io.err << fmt::format("{} lines could not be read, the first: {}\n", s.bad_lines, s.first_bad);
    if (times.size() < 20)
      io.err << fmt::format("only {} points in time: states, flags and peers can be judged, own history cannot\n", times.size());
  }
  std::string text;
  if (options.has("json")) {
    Json out = {{"site", name}, {"incidents", Json::array()}};
    for (const auto& d : list) out["incidents"].push_back(diagnose::to_json(d));
    if (options.has("findings")) {
      out["findings"] = Json::array();
      for (const auto& f : diagnoser.findings()) out["findings"].push_back(diagnose::to_json(f));
    }
    text = dump_json(out) + "\n";
  } else {
    Report report = diagnose::to_report(list, "Diagnosis of " + name);
    if (options.has("findings")) {
      Table table{
          "All symptoms alive at the end",
          {{"symptom", Align::kLeft, ""}, {"part", Align::kLeft, ""}, {"strength", Align::kRight, ""}, {"what was seen", Align::kLeft, ""}},
          {}};
      for (const auto& f : diagnoser.findings())
        table.rows.push_back({f.sign, f.entity, fmt::format("{:.2f}", f.strength), f.evidence.empty() ? "" : f.evidence[0].text});
      report.sections.push_back({.heading = "Symptoms", .paragraphs = {}, .facts = {}, .tables = {table}, .charts = {}});
    }
    text = options.has("html") ? to_html(report) : to_text(report);
  }
  if (options.has("out")) {
    if (Status s = write_file(options.get("out"), text); !s) return report_error(s.error(), io);
  } else {
    io.out << text;
  }
  bool wrong = false;
  for (const auto& d : list) wrong |= d.severity > telemetry::Severity::kInfo;
  return wrong ? 1 : 0;
}

WEFT_REGISTER(commands(), {"diagnose", "what is wrong, from kept scrapes and logs: ranked causes, evidence, impact", run});

}  // namespace
}  // namespace weft::cli
