// `weft up [SITE]`: the whole product at once on the twin: inspect, place, train, faults from a scenario, find, heal, retest, record; in the
// terminal and on the page. Not a capability of its own, so it lives here alone.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdio>

#include "base/embedded.h"
#include "base/report.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/session.h"
#include "fabric/site.h"
#include "scenario/run.h"
#include "serve/server.h"

namespace weft::cli {
namespace {

std::atomic<bool> interrupted{false};
void on_signal(int) { interrupted = true; }

const std::vector<OptionSpec> kOptions = {
    {"--site", "SITE", "the same as naming it first (default lab-32)"},
    {"--scenario", "NAME|FILE", "jobs and faults (default: the site's tour, scenarios/tour-SITE.yaml)"},
    {"--for", "TIME", "end by itself after this much virtual time, e.g. 30m (default: until Ctrl-C)"},
    {"--speed", "X|max", "virtual seconds per real second (default 30)"},
    {"--seed", "N", "seed of the twin (default 1)"},
    {"--port", "N", "port of the page (default 7717; 0 = any free port)"},
    {"--no-page", "", "no HTTP server"},
    {"--store", "FILE", "keep the journal in this SQLite file (default: in memory)"},
    {"--json", "", "one JSON object a line instead of text"},
    {"--allow-unknown", "", "jobs start although the inspection could not see something"},
    {"--dry-run", "", "plan and journal, start nothing"},
};
constexpr const char* kExamples =
    "  weft up lab-32\n  weft up pod-144 --speed 60\n  weft up lab-32 --for 30m --speed max --no-page --json\n";

struct Printer {
  Io& io;
  bool json;
  Instant start;

  void line(const control::Line& l) {
    if (json) {
      Json j = {{"at", iso8601(l.at)}, {"clock", clock_text(l.at - start)}, {"phase", l.phase}, {"incident", l.incident}, {"text", l.text}};
      if (l.confidence >= 0) j["confidence"] = l.confidence;
      io.out << dump_json(j, -1) << "\n" << std::flush;
      return;
    }
    const char *on = "", *off = "";
    if (io.terminal) {
      off = "\033[0m";
      on = l.phase == "detect" || l.phase == "locate"                           ? "\033[33m"
           : l.phase == "isolate" || l.phase == "rearrange"                     ? "\033[35m"
           : l.phase == "resume" || l.phase == "retest" || l.phase == "release" ? "\033[32m"
                                                                                : "\033[36m";
    }
    // Long text goes on under the text column, so that 100 columns are enough.
    std::string text = l.text + (l.confidence >= 0 ? fmt::format("   {:.2f}", l.confidence) : "");
    std::string head = fmt::format("{}  {}{:<9}{} ", clock_text(l.at - start), on, l.phase, off);
    bool first = true;
    while (!text.empty() || first) {
      std::size_t cut = text.size();
      if (cut > 80) {
        cut = text.rfind(' ', 80);
        if (cut == std::string::npos || cut < 40) cut = std::min<std::size_t>(text.size(), 80);
        // Never inside a UTF-8 sequence.
        while (cut < text.size() && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) ++cut;
      }
      io.out << (first ? head : std::string(20, ' ')) << text.substr(0, cut) << "\n";
      text.erase(0, cut < text.size() && text[cut] == ' ' ? cut + 1 : cut);
      first = false;
    }
    io.out << std::flush;
  }
};

// Two jobs side by side for a site without a tour: half its usable cards each, tensor parallel inside a node.
Result<scenario::Scenario> default_tour(const std::string& site, const fabric::Snapshot& snapshot) {
  if (auto tour = scenario::read_scenario("tour-" + site)) return tour;
  else if (tour.error().kind != ErrorKind::kNotFound) return tour;
  if (snapshot.cards().size() < 2) return fail(ErrorKind::kInvalid, "site '" + site + "' has fewer than two cards: nothing to run on it");
  fabric::DeviceId node = snapshot.device(snapshot.cards()[0]).parent;
  int per_node = 0;
  for (fabric::DeviceId c : snapshot.children(node)) per_node += snapshot.device(c).kind == fabric::DeviceKind::kCard;
  int tp = 1;
  while (tp * 2 <= std::min(per_node, 8)) tp *= 2;
  int dp = std::max<int>(1, static_cast<int>(snapshot.cards().size()) / 4 / tp);
  std::string text = "site: " + site + "\nfor: 30m\njobs:\n";
  for (const char* name : {"alpha", "beta"})
    text += fmt::format("  - {{name: {}, model: llama-3-8b, strategy: {{tp: {}, dp: {}}}}}\n", name, tp, dp);
  return scenario::parse_scenario(text, "default tour of " + site);
}

int run(const std::vector<std::string>& words, Io& io) {
  auto parsed = parse_options(words, kOptions);
  if (!parsed) return report_error(parsed.error(), io);
  const Options& options = *parsed;
  if (options.has("help")) {
    io.out << usage_text(
        "weft up [SITE] [options]",
        "Brings up a site in the digital twin: inspects it, places jobs, injects the scenario's faults, finds and heals them.", kOptions,
        kExamples);
    return 0;
  }
  if (options.positional.size() > 1 || (options.has("site") && !options.positional.empty()))
    return report_error(Error{ErrorKind::kInvalid, "one site at a time; see 'weft up --help'", ""}, io);
  std::string site = options.positional.empty() ? options.get("site", "lab-32") : options.positional[0];
  auto lasts = options.seconds("for", 0);
  auto seed = options.integer("seed", 1, 0, INT64_MAX / 2), port = options.integer("port", 7717, 0, 65535);
  double speed = 30;
  if (options.get("speed") == "max") speed = 0;
  else {
    auto s = options.number("speed", 30, 0.01, 1e6);
    if (!s) return report_error(s.error(), io);
    speed = *s;
  }
  if (!lasts) return report_error(lasts.error(), io);
  if (options.has("for") && *lasts <= 0)
    return report_error(Error{ErrorKind::kInvalid, "--for takes a time above 0 such as 30m; without it the run goes on until Ctrl-C", ""},
                        io);
  if (!seed) return report_error(seed.error(), io);
  if (!port) return report_error(port.error(), io);

  auto snapshot = fabric::load_site(site);
  if (!snapshot) return report_error(snapshot.error(), io);
  auto tour = options.has("scenario") ? scenario::read_scenario(options.get("scenario")) : default_tour(site, *snapshot);
  if (!tour) return report_error(tour.error(), io);
  if (options.has("scenario") && tour->site != site && options.positional.empty() && !options.has("site")) {
    site = tour->site;
    snapshot = fabric::load_site(site);
    if (!snapshot) return report_error(snapshot.error(), io);
  }
  auto rules = inspect::Rules::built_in();
  if (!rules) return report_error(rules.error(), io);

  telemetry::SeriesTable series;
  twin::WorldOptions world_options;
  world_options.seed = static_cast<std::uint64_t>(*seed);
  world_options.sample_every = tour->sample_every;
  twin::World world(*snapshot, series, world_options);
  for (const auto& job : tour->jobs)
    if (Status s = world.add_job(job); !s) return report_error(s.error(), io);
  for (const auto& fault : tour->faults)
    if (auto s = world.inject(fault); !s) return report_error(s.error(), io);

  serve::Feed feed(*snapshot, series);
  std::unique_ptr<serve::Server> server;
  if (!options.has("no-page")) {
    auto started = serve::Server::start(feed, {.port = static_cast<int>(*port)});
    // A taken port must not stop the work: the terminal shows the same.
    if (!started) io.err << "weft: " << started.error().text() << "; going on without the page\n";
    else server = std::move(*started);
  }
  const store::BackendEntry* backend = store::backends().find(options.has("store") ? "sqlite" : "memory");
  if (!backend) return report_error(Error{ErrorKind::kInternal, "no store backend", ""}, io);
  auto store = backend->open(options.get("store"));
  if (!store) return report_error(store.error(), io);

  if (Status s = control::begin_run(**store, *snapshot, site, static_cast<std::uint64_t>(*seed), world.now()); !s)
    return report_error(s.error().in(options.get("store")), io);

  SystemClock real;
  PacedClock clock(world, real, speed);
  TapSource source(world, [&](const telemetry::Batch& b) { feed.add(b); });
  Printer printer{io, options.has("json"), world.now()};
  Instant start = world.now(), end = *lasts > 0 ? start + seconds(*lasts) : Instant(INT64_MAX);
  auto say = [&](const control::Line& l) { printer.line(l), feed.add(l); };
  if (!options.has("json")) {
    io.out << fmt::format("weft {}: site {}, {} nodes, {} cards, {} links, in the digital twin (seed {})\n", WEFT_VERSION, site,
                          snapshot->of_kind(fabric::DeviceKind::kNode).size(), snapshot->cards().size(), snapshot->link_count(), *seed);
    if (server) io.out << "page: " << server->url() << "   (Ctrl-C ends)\n";
    io.out << std::flush;
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);

  // Inspection: half a minute of telemetry, then the checks.
  inspect::Observation seen(series);
  Instant looked = start + seconds(30);
  for (Instant t = start; t < looked; t = t + tour->sample_every) {
    world.wait_until(t + tour->sample_every);
    auto batch = source.look_ahead(world.now());
    if (!batch) return report_error(batch.error(), io);
    seen.add(*batch);
  }
  inspect::Inspection inspection = inspect::inspect({*snapshot, seen, *rules});
  const bool allow_unknown = options.has("allow-unknown");
  feed.set_inspection(inspection);
  say({world.now(), "inspect", "",
       fmt::format("{} checks of {}: {} pass, {} fail, {} unknown; gate {}", inspection.cells.size(), site, inspection.passed,
                   inspection.failed, inspection.unknown, inspection.gate(allow_unknown) ? "open" : "closed"),
       -1});
  for (const inspect::Cell& c : inspection.cells)
    if (c.verdict == inspect::Verdict::kFail)
      say({world.now(), "inspect", "",
           fmt::format("failed: {} of {}: {} (wanted {}); {}", c.check, c.entity, c.value, c.threshold, c.remedy), -1});

  control::LoopOptions loop_options;
  loop_options.tick = loop_options.diagnose_every = tour->sample_every;
  loop_options.dry_run = options.has("dry-run");
  loop_options.seed = static_cast<std::uint64_t>(*seed);
  control::Loop loop(*snapshot, clock, {&source}, {&world}, series, **store, loop_options);
  loop.on_line(say);
  Instant published;
  auto publish = [&] {
    auto entries = (*store)->audit("", "", Instant(INT64_MIN), Instant(INT64_MAX), 300);
    if (entries) feed.set_audit(*entries);
    feed.publish(loop, world.now(), start, speed, true);
  };
  clock.after_advance([&] {
    if (interrupted) loop.stop(), clock.stopping() = true;
    if (!server) return;
    Instant now = real.now();
    if (now - published < milliseconds(400)) return;
    published = now;
    publish();
  });
  if (Status s = loop.recover(); !s) return report_error(s.error(), io);
  if (inspection.gate(allow_unknown)) {
    for (const auto& job : tour->jobs)
      if (Status s = loop.submit(job); !s) return report_error(s.error(), io);
  } else {
    say({world.now(), "note", "",
         "the gate is closed: no job starts until what failed is repaired and what is unknown is seen (--allow-unknown opens it)", -1});
  }
  if (Status s = loop.run(end); !s) return report_error(s.error(), io);

  // Summary and verdict, judged against the twin's truth after the run.
  auto rows = scenario::judge(*tour, static_cast<std::uint64_t>(*seed), *snapshot, loop.incidents(), world.truths(), world.effects(),
                              scenario::job_ends(loop, world), world.now());
  int failed = inspection.gate(allow_unknown) ? 0 : 1;
  Json list = Json::array();
  Table table;
  table.columns = {
      {"incident of"}, {"found"}, {"detect", Align::kRight, "s"}, {"locate", Align::kRight, "s"}, {"recover", Align::kRight, "s"},
      {"verdict"}};
  for (const auto& r : rows) {
    // Faults that had not come yet when the run ended decide nothing.
    bool due = true;
    for (const auto& t : world.truths())
      if (t.fault + " " + t.entity == r.truth && t.from + seconds(60) > world.now()) due = false;
    if (!due) continue;
    failed += r.verdict == "fail";
    list.push_back(scenario::to_json(r));
    auto cell = [](double v) { return v < 0 ? std::string("-") : fmt::format("{:.0f}", v); };
    table.rows.push_back(
        {r.truth, r.found, cell(r.detect_s), cell(r.locate_s), cell(r.recover_s), r.verdict + (r.why.empty() ? "" : ": " + r.why)});
  }
  // Ended by hand while something was being healed: the answer is not known yet, and that is no pass.
  std::vector<std::string> open;
  for (const auto& i : loop.incidents())
    if (i.severity > telemetry::Severity::kInfo && (i.state == control::IncidentState::kOpen || i.state == control::IncidentState::kActing))
      open.push_back(i.id);
  bool unfinished = interrupted && !open.empty();
  std::string verdict = failed ? "fail" : unfinished ? "unfinished" : "pass";
  if (unfinished)
    say({world.now(), "note", "", fmt::format("ended while {} {} open", fmt::join(open, ", "), open.size() == 1 ? "was" : "were"), -1});
  if (options.has("json"))
    io.out << dump_json({{"summary", list},
                         {"verdict", verdict},
                         {"virtual_seconds", to_seconds(world.now() - start)},
                         {"series", world.series_count()}},
                        -1)
           << "\n";
  else {
    Report report;
    report.title = fmt::format("After {} of virtual time: {} incidents, verdict {}", clock_text(world.now() - start),
                               loop.incidents().size(), verdict);
    report.sections.emplace_back().tables.push_back(std::move(table));
    io.out << "\n" << to_text(report);
  }
  if (server) publish(), feed.finish(verdict);
  return failed || unfinished ? 1 : 0;
}

WEFT_REGISTER(commands(), {"up", "bring up a site in the digital twin and keep it well", run});

}  // namespace
}  // namespace weft::cli
