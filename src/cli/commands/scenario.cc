// `weft scenario run|list|show`: faults at times over the twin, judged.
#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/embedded.h"
#include "base/report.h"
#include "cli/command.h"
#include "cli/options.h"
#include "scenario/run.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"--seed", "N", "first seed (default 1)"},
    {"--seeds", "K", "run seeds N, N+1, … K of them (default 1)"},
    {"--only", "NAME", "of a folder, only the scenarios whose name contains NAME"},
    {"--json", "", "one JSON document: {scenarios: [{name, seed, cause_rank, detect_s, locate_s, recover_s, verdict, why}]}"},
    {"--events", "", "print every line of the loop to standard error"},
    {"--store", "FILE", "keep the journal in this SQLite file (one scenario, one seed)"},
    {"--actuator-failure", "P", "share of actions that fail (default: the twin's)"},
    {"--dry-run", "", "plan and journal, start nothing"},
    {"--jobs", "N", "runs at a time (default: the processor's threads); the result is the same"},
};
constexpr const char* kExamples =
    "  weft scenario run link_down --events\n  weft scenario run scenarios/ --seeds 5\n  weft scenario run scenarios/ --only optic --seeds "
    "3 --json\n";

std::string seconds_cell(double s) { return s < 0 ? "-" : fmt::format("{:.0f}", s); }

int run_scenarios(const Options& options, Io& io) {
  if (options.positional.size() != 2)
    return report_error(Error{ErrorKind::kInvalid, "weft scenario run NAME|FILE|FOLDER (try 'scenarios/')", ""}, io);
  auto scenarios = scenario::read_scenarios(options.positional[1]);
  if (!scenarios) return report_error(scenarios.error(), io);
  auto seed = options.integer("seed", 1, 0, INT64_MAX / 2), seeds = options.integer("seeds", 1, 1, 1'000'000);
  auto failure = options.number("actuator-failure", -1, 0, 1);
  if (!seed) return report_error(seed.error(), io);
  if (!seeds) return report_error(seeds.error(), io);
  if (!failure) return report_error(failure.error(), io);
  auto jobs = options.integer("jobs", std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, 16), 1, 256);
  if (!jobs) return report_error(jobs.error(), io);
  std::string only = options.get("only");
  std::vector<scenario::Scenario> chosen;
  for (auto& s : *scenarios)
    if (only.empty() || s.name.find(only) != std::string::npos) chosen.push_back(std::move(s));
  if (chosen.empty()) return report_error(Error{ErrorKind::kNotFound, "no scenario's name contains '" + only + "'", ""}, io);
  if (options.has("store") && (chosen.size() > 1 || *seeds > 1))
    return report_error(Error{ErrorKind::kInvalid, "--store keeps one journal: run one scenario with one seed", ""}, io);

  // Runs are independent of each other; rows keep the order of scenario and seed whatever the number of workers.
  std::size_t total = chosen.size() * static_cast<std::size_t>(*seeds);
  std::vector<std::optional<Result<std::vector<scenario::Row>>>> outcomes(total);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex printing;
  std::size_t done = 0, bad = 0;
  auto work = [&] {
    for (std::size_t i; !stop && (i = next++) < total;) {
      const scenario::Scenario& s = chosen[i / static_cast<std::size_t>(*seeds)];
      scenario::RunOptions run_options;
      run_options.seed = static_cast<std::uint64_t>(*seed) + i % static_cast<std::size_t>(*seeds);
      run_options.actuator_failure = *failure;
      run_options.store = options.get("store");
      run_options.dry_run = options.has("dry-run");
      Instant start;
      if (options.has("events"))
        run_options.on_line = [&](const control::Line& line) {
          if (!start.ns()) start = Instant(line.at.ns() / 86'400'000'000'000 * 86'400'000'000'000);
          io.err << fmt::format("{}  {:<9} {}{}\n", clock_text(line.at - start), line.phase, line.text,
                                line.confidence >= 0 ? fmt::format("   {:.2f}", line.confidence) : "");
        };
      outcomes[i] = [&]() -> Result<std::vector<scenario::Row>> {
        WEFT_ASSIGN(scenario::Outcome outcome, scenario::run(s, run_options));
        return std::move(outcome.rows);
      }();
      if (!*outcomes[i]) stop = true;
      if (total == 1) continue;
      std::lock_guard lock(printing);
      ++done;
      bool failed = !*outcomes[i];
      if (!failed)
        for (const scenario::Row& r : **outcomes[i]) failed |= r.verdict == "fail";
      bad += failed;
      if (io.terminal) io.err << fmt::format("\r{} of {} runs, {} failed ", done, total, bad) << std::flush;
      else
        io.err << fmt::format("{} of {}  {} seed {}: {}\n", done, total, s.name, run_options.seed, failed ? "fail" : "pass") << std::flush;
    }
  };
  bool alone = options.has("events") || options.has("store");
  std::size_t workers = std::min<std::size_t>(total, alone ? 1 : static_cast<std::size_t>(*jobs));
  std::vector<std::thread> crew;
  for (std::size_t w = 1; w < workers; ++w) crew.emplace_back(work);
  work();
  for (std::thread& t : crew) t.join();
  if (io.terminal && total > 1) io.err << "\r" << std::string(60, ' ') << "\r";
  std::vector<scenario::Row> rows;
  for (auto& outcome : outcomes) {
    if (!outcome) continue;  // not begun: an earlier one could not run, and is reported
    if (!*outcome) return report_error(outcome->error(), io);
    rows.insert(rows.end(), (*outcome)->begin(), (*outcome)->end());
  }

  int failed = 0, first = 0, undecided = 0, faults = 0;
  for (const scenario::Row& r : rows) {
    failed += r.verdict == "fail";
    undecided += r.verdict == "undecided";
    if (r.truth != "-") ++faults, first += r.cause_rank == 1;
  }
  if (options.has("json")) {
    Json list = Json::array();
    for (const scenario::Row& r : rows) list.push_back(scenario::to_json(r));
    io.out << dump_json({{"scenarios", list},
                         {"runs", rows.size()},
                         {"failed", failed},
                         {"undecided", undecided},
                         {"ranked_first", first},
                         {"faults", faults}})
           << "\n";
  } else {
    Report report;
    report.title = "Scenarios";
    Section& section = report.sections.emplace_back();
    Table table;
    table.columns = {{"scenario"},
                     {"seed", Align::kRight},
                     {"rank", Align::kRight},
                     {"detect", Align::kRight, "s"},
                     {"locate", Align::kRight, "s"},
                     {"recover", Align::kRight, "s"},
                     {"verdict"},
                     {"why"}};
    for (const scenario::Row& r : rows)
      table.rows.push_back({r.name, std::to_string(r.seed), r.cause_rank ? std::to_string(r.cause_rank) : "-", seconds_cell(r.detect_s),
                            seconds_cell(r.locate_s), seconds_cell(r.recover_s), r.verdict,
                            r.verdict == "pass" ? "" : r.why + (r.found.empty() ? "" : " (truth " + r.truth + ", found " + r.found + ")")});
    section.tables.push_back(std::move(table));
    section.paragraphs.push_back(fmt::format("{} rows: {} failed, {} undecided; right entity and class ranked first in {} of {} faults.",
                                             rows.size(), failed, undecided, first, faults));
    io.out << to_text(report);
  }
  return failed ? 1 : 0;
}

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  std::string verb = options->positional.empty() ? "" : options->positional[0];
  if (options->has("help") || verb.empty()) {
    (options->has("help") ? io.out : io.err) << usage_text(
        "weft scenario run NAME|FILE|FOLDER | list | show NAME",
        "Runs fault scenarios over the digital twin with the product's own loop and judges the outcome.", kOptions, kExamples);
    return options->has("help") ? 0 : 2;
  }
  if (verb == "run") return run_scenarios(*options, io);
  if (verb == "list") {
    auto all = scenario::read_scenarios("scenarios/");
    if (!all) return report_error(all.error(), io);
    for (const auto& s : *all) io.out << fmt::format("{:<28} {:<8} {}\n", s.name, s.site, s.title);
    return 0;
  }
  if (verb == "show" && options->positional.size() == 2) {
    auto text = embedded_file("scenarios/" + options->positional[1] + ".yaml");
    if (!text)
      return report_error(Error{ErrorKind::kNotFound, "no scenario '" + options->positional[1] + "' ('weft scenario list' shows them)", ""},
                          io);
    io.out << *text;
    return 0;
  }
  return report_error(Error{ErrorKind::kInvalid, "unknown verb '" + verb + "'; weft scenario run, list or show NAME", ""}, io);
}

WEFT_REGISTER(commands(), {"scenario", "inject faults into the twin and judge the answer", run});

}  // namespace
}  // namespace weft::cli
