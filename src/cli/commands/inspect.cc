// `weft inspect SITE`: the pre-training inspection of the twin, or of a site by its exporters' text, as report or JSON; the exit code is
// the gate.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/telemetry_input.h"
#include "fabric/site.h"
#include "inspect/inspect.h"
#include "twin/world.h"

namespace weft::cli {
namespace {

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = {
      {"--site", "SITE", "the same as naming it first"},
      {"--level", "NAME", "ordinary (deep, scale-up and scale-out levels follow)"},
      {"--for", "TIME", "how long to observe the twin, or to scrape addresses (default 60s)"},
      {"--seed", "N", "seed of the twin (default 1)"},
      {"--fault", "NAME[@TARGET]", "with this fault in the twin from the start, to see a check fail (may be repeated)", true},
  };
  for (OptionSpec& o : TelemetryInput::options()) out.push_back(std::move(o));
  out.insert(out.end(), {
                            {"--rules", "FILE", "thresholds instead of the built-in ones"},
                            {"--check", "NAME", "only this check (may be repeated)", true},
                            {"--allow-unknown", "", "unknown results do not close the gate"},
                            {"--dry", "", "list the checks, observe nothing"},
                            {"--json", "", "JSON instead of the report"},
                            {"--html", "", "HTML report"},
                            {"--out", "FILE", "write the result to a file"},
                        });
  return out;
}
constexpr const char* kExamples =
    "  weft inspect lab-32\n  weft inspect lab-32 --fault link_half_rate --json\n  weft inspect pod-144 --html --out inspection.html\n"
    "  weft inspect site.yaml --metrics http://host1:9400/metrics --metrics http://host2:9400/metrics --events facts.jsonl\n"
    "  weft inspect site.yaml --metrics scrapes/ --allow-unknown\n";

int emit(const std::string& text, const Options& options, Io& io) {
  if (!options.has("out")) {
    io.out << text;
    return 0;
  }
  if (Status s = write_file(options.get("out"), text); !s) return report_error(s.error(), io);
  return 0;
}

int run(const std::vector<std::string>& words, Io& io) {
  const std::vector<OptionSpec> known = specs();
  auto parsed = parse_options(words, known);
  if (!parsed) return report_error(parsed.error(), io);
  const Options& options = *parsed;
  if (options.has("help")) {
    io.out << usage_text(
        "weft inspect SITE [options]",
        "Says whether work may start: exit code 0 when the gate is open, 1 when it is closed. Observes the twin, or with --metrics and "
        "--events the site itself.",
        known, kExamples);
    return 0;
  }
  std::vector<std::string> only;
  if (options.has("check")) only = options.given.at("check");
  for (const std::string& name : only)
    if (!inspect::checks().find(name))
      return report_error(Error{ErrorKind::kInvalid, "no check '" + name + "'; known: " + inspect::checks().names(), ""}, io);
  if (options.has("dry")) {
    for (const auto& c : inspect::checks().entries())
      io.out << fmt::format("{:<26} {:<18} {}\n", c.name, inspect::item_name(c.item), c.help);
    return 0;
  }
  if (options.has("level") && options.get("level") != "ordinary")
    return report_error(Error{ErrorKind::kInvalid, "level '" + options.get("level") + "' is not there; use --level ordinary", ""}, io);
  std::string site = !options.positional.empty() ? options.positional[0] : options.get("site");
  if (site.empty() || options.positional.size() > 1)
    return report_error(Error{ErrorKind::kInvalid, "name one site: weft inspect SITE (weft list shows them)", ""}, io);
  auto lasts = options.seconds("for", 60);
  auto seed = options.integer("seed", 1, 0, INT64_MAX / 2);
  if (!lasts) return report_error(lasts.error(), io);
  if (!seed) return report_error(seed.error(), io);
  if (*lasts < 2 && !TelemetryInput::given(options))
    return report_error(Error{ErrorKind::kInvalid, "--for must be at least 2s: counters need two readings", ""}, io);
  Result<inspect::Rules> rules = inspect::Rules::built_in();
  if (options.has("rules")) {
    auto text = read_file(options.get("rules"), 16 << 20);
    if (!text) return report_error(text.error(), io);
    rules = inspect::Rules::parse(*text, options.get("rules"));
  }
  if (!rules) return report_error(rules.error(), io);
  auto snapshot = fabric::load_site(site);
  if (!snapshot) return report_error(snapshot.error(), io);

  telemetry::SeriesTable series;
  inspect::Observation seen(series);
  if (TelemetryInput::given(options)) {
    for (const char* other : {"fault", "seed"})
      if (options.has(other))
        return report_error(
            Error{ErrorKind::kInvalid, fmt::format("--{} is of the twin, --metrics and --events of a real site: give one", other), ""}, io);
    auto input = TelemetryInput::open(options, *snapshot, series, weft::seconds(*lasts));
    if (!input) return report_error(input.error(), io);
    auto add = [&](Instant, const telemetry::Batch& batch) { seen.add(batch); };
    if (Status done = input->read(add, io); !done) return report_error(done.error(), io);
    input->remarks(site, series.size(), io);
  } else {
    twin::WorldOptions world_options;
    world_options.seed = static_cast<std::uint64_t>(*seed);
    twin::World world(*snapshot, series, world_options);
    if (options.has("fault"))
      for (const std::string& word : options.given.at("fault")) {
        twin::FaultSpec fault;
        std::size_t at = word.find('@');
        fault.fault = word.substr(0, at);
        if (at != std::string::npos) fault.target = word.substr(at + 1);
        if (auto target = world.inject(fault); !target) return report_error(target.error(), io);
        else io.err << "twin: " << fault.fault << " on " << *target << "\n";
      }
    Instant end = world.now() + weft::seconds(*lasts);
    while (world.now() < end) {
      world.wait_until(world.now() + world_options.sample_every);
      telemetry::Batch batch;
      if (Status s = world.poll(world.now(), batch); !s) return report_error(s.error(), io);
      seen.add(batch);
    }
  }
  inspect::Inspection result = inspect::inspect({*snapshot, seen, *rules}, only);
  std::string text = options.has("json")   ? dump_json(inspect::to_json(result)) + "\n"
                     : options.has("html") ? to_html(inspect::to_report(result, *snapshot))
                                           : to_text(inspect::to_report(result, *snapshot));
  if (int code = emit(text, options, io)) return code;
  return result.gate(options.has("allow-unknown")) ? 0 : 1;
}

WEFT_REGISTER(commands(), {"inspect", "pre-training inspection: may work start?", run});

}  // namespace
}  // namespace weft::cli
