// `weft twin SITE --socket PATH`: the world as a process of its own, for crash tests and demonstrations.
#include <fmt/format.h>

#include <atomic>
#include <csignal>

#include "cli/command.h"
#include "cli/options.h"
#include "fabric/site.h"
#include "scenario/scenario.h"
#include "twin/fault.h"
#include "twin/process.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"--site", "SITE", "site file or known site; the scenario's own when left out"},
    {"--socket", "PATH", "unix socket to serve on (required)"},
    {"--effects", "FILE", "append every effect to this file, one JSON object a line, synced to disk"},
    {"--scenario", "NAME|FILE", "its jobs become known to the scheduler, its faults are injected at their times"},
    {"--seed", "N", "seed of the world (default 1)"},
    {"--sample", "T", "sampling, e.g. 1s or 10s (default: the scenario's, else 1s)"},
    {"--actuator-failure", "P", "share of actions that fail (default 0.03)"},
    {"--faults", "", "list the faults that can be injected, and end"},
};

std::atomic<bool> stopped{false};
void stop(int) { stopped = true; }

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft twin [SITE] --socket PATH",
                         "Runs the digital twin of a site behind a socket; time moves only when a client waits.", kOptions,
                         "  weft twin lab-32 --socket /tmp/twin.sock --effects effects.log\n  weft twin --scenario link_down --socket "
                         "/tmp/twin.sock --seed 7\n");
    return 0;
  }
  if (options->has("faults")) {
    for (const twin::FaultEntry& f : twin::faults().entries())
      io.out << fmt::format("{:<30} {}{}\n", f.name, f.help, f.decoy ? " (benign)" : "");
    return 0;
  }
  auto bad = [&](std::string message) { return report_error(Error{ErrorKind::kInvalid, std::move(message), ""}, io); };
  if (options->positional.size() > 1) return bad("one site only; usage: weft twin SITE --socket PATH");
  if (!options->has("socket")) return bad("--socket PATH is needed: where the controller finds the twin");
  auto seed = options->integer("seed", 1, 0, INT64_MAX / 2);
  auto sample = options->seconds("sample", 0);
  auto failure = options->number("actuator-failure", 0.03, 0, 1);
  if (!seed) return report_error(seed.error(), io);
  if (!sample) return report_error(sample.error(), io);
  if (!failure) return report_error(failure.error(), io);
  std::string site = options->positional.empty() ? options->get("site") : options->positional[0];
  scenario::Scenario play;
  if (options->has("scenario")) {
    auto read = scenario::read_scenario(options->get("scenario"));
    if (!read) return report_error(read.error(), io);
    play = std::move(*read);
    if (site.empty()) site = play.site;
  }
  if (site.empty()) return bad("no site; usage: weft twin SITE --socket PATH");
  auto snapshot = fabric::load_site(site);
  if (!snapshot) return report_error(snapshot.error(), io);
  telemetry::SeriesTable series;
  twin::WorldOptions world_options;
  world_options.seed = static_cast<std::uint64_t>(*seed);
  world_options.actuator_failure = *failure;
  world_options.sample_every = *sample > 0 ? seconds(*sample) : play.sample_every;
  twin::World world(*snapshot, series, world_options);
  for (const workload::Job& job : play.jobs)
    if (auto s = world.add_job(job); !s) return report_error(s.error(), io);
  for (const twin::FaultSpec& fault : play.faults)
    if (auto s = world.inject(fault); !s) return report_error(s.error(), io);
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
  io.err << fmt::format("twin of {}: {} series, seed {}, on {}\n", site, world.series_count(), *seed, options->get("socket"));
  auto served = twin::serve(world, series, site, options->get("socket"), options->get("effects"), &stopped);
  if (!served) return report_error(served.error(), io);
  return 0;
}

WEFT_REGISTER(commands(), {"twin", "the simulated world as its own process", run});

}  // namespace
}  // namespace weft::cli
