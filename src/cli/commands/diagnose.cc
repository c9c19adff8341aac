// `weft diagnose SITE --metrics FILE|URL…`: what is wrong, from scrapes and logs a site has kept or addresses that are scraped now. Exit
// code 1 when something is.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/report.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/telemetry_input.h"
#include "diagnose/diagnose.h"
#include "diagnose/report.h"
#include "fabric/site.h"
#include "telemetry/windows.h"

namespace weft::cli {
namespace {

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = {{"--site", "SITE", "the same as naming it first"}};
  for (OptionSpec& o : TelemetryInput::options()) out.push_back(std::move(o));
  out.insert(out.end(), {
                            {"--for", "TIME", "how long to scrape addresses (default 60s)"},
                            {"--jobs", "FILE", "YAML list of jobs with their cards by rank, for impact and late ranks"},
                            {"--findings", "", "also list weak symptoms that belong to no incident"},
                            {"--json", "", "JSON instead of the report"},
                            {"--html", "", "HTML report"},
                            {"--out", "FILE", "write the result to a file"},
                        });
  return out;
}
constexpr const char* kExamples =
    "  weft diagnose site.yaml --metrics scrapes/\n  weft diagnose lab-32 --metrics now.prom --events kernel.jsonl --json\n"
    "  weft diagnose site.yaml --metrics http://host1:9400/metrics --metrics http://host1:9100/metrics --every 5s --for 10m\n"
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
  const std::vector<OptionSpec> known = specs();
  auto parsed = parse_options(words, known);
  if (!parsed) return report_error(parsed.error(), io);
  const Options& options = *parsed;
  if (options.has("help")) {
    io.out << usage_text("weft diagnose SITE --metrics FILE|URL… [options]",
                         "Finds what is wrong from kept or scraped telemetry: ranked causes with evidence, impact and the test that would "
                         "settle it. Exit code 0: nothing, 1: something.",
                         known, kExamples);
    return 0;
  }
  std::string name = !options.positional.empty() ? options.positional[0] : options.get("site");
  if (name.empty() || options.positional.size() > 1)
    return report_error(Error{ErrorKind::kInvalid, "name one site: weft diagnose SITE --metrics FILE (weft list shows sites)", ""}, io);
  if (!TelemetryInput::given(options))
    return report_error(
        Error{ErrorKind::kInvalid,
              "give telemetry: --metrics FILE or URL (output of an exporter, a directory of scrapes, an address to scrape) or "
              "--events FILE",
              ""},
        io);
  auto lasts = options.seconds("for", 60);
  if (!lasts) return report_error(lasts.error(), io);
  auto site = fabric::load_site(name);
  if (!site) return report_error(site.error(), io);
  telemetry::SeriesTable series;
  auto input = TelemetryInput::open(options, *site, series, seconds(*lasts));
  if (!input) return report_error(input.error(), io);

  diagnose::Diagnoser diagnoser(series);
  diagnoser.set_snapshot(*site);
  if (options.has("jobs")) {
    auto jobs = read_jobs(options.get("jobs"), *site, input->first().value_or(SystemClock().now()));
    if (!jobs) return report_error(jobs.error(), io);
    diagnoser.set_jobs(std::move(*jobs));
  }
  std::map<std::string, diagnose::Diagnosis> incidents;
  Instant last;
  auto pass = [&](Instant now, const telemetry::Batch& batch) {
    last = now;
    diagnoser.ingest(batch);
    for (const diagnose::Diagnosis& d : diagnoser.evaluate(now)) {
      diagnose::Diagnosis& kept = incidents[d.key];
      bool was_settled = kept.settled;
      if (!d.over) kept = d;
      kept.over = d.over;
      kept.settled |= was_settled;
    }
  };
  if (Status done = input->read(pass, io); !done) return report_error(done.error(), io);
  if (Status any = input->anything(); !any) return report_error(any.error(), io);
  // What the last second said needs a moment to settle.
  for (int i = 1; i <= 3; ++i) pass(last + seconds(1), {});

  std::vector<diagnose::Diagnosis> list;
  for (auto& [key, d] : incidents)
    if (d.settled || !d.over) list.push_back(d);
  input->remarks(name, series.size(), io);
  if (input->points() < 20)
    io.err << fmt::format("only {} points in time: states, flags and peers can be judged, own history cannot\n", input->points());
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

WEFT_REGISTER(commands(), {"diagnose", "what is wrong, from scrapes and logs, kept or live: ranked causes, evidence, impact", run});

}  // namespace
}  // namespace weft::cli
