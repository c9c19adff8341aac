#include "scenario/run.h"

#include "fabric/site.h"

namespace weft::scenario {

std::vector<JobEnd> job_ends(const control::Loop& loop, const twin::World& world) {
  std::vector<JobEnd> out;
  for (control::JobHealth& h : loop.job_health()) {
    JobEnd end;
    for (const twin::JobTruth& t : world.job_truths())
      if (t.name == h.name) end.phase = t.phase, end.stepped = t.stepped;
    end.health = std::move(h);
    out.push_back(std::move(end));
  }
  return out;
}

Result<Outcome> run(const Scenario& scenario, const RunOptions& options) {
  auto snapshot = fabric::load_site(scenario.site);
  if (!snapshot) return std::unexpected(snapshot.error().in(scenario.file));
  telemetry::SeriesTable series;
  twin::WorldOptions world_options;
  world_options.seed = options.seed;
  world_options.sample_every = scenario.sample_every;
  if (options.actuator_failure >= 0) world_options.actuator_failure = options.actuator_failure;
  twin::World world(*snapshot, series, world_options);
  for (const workload::Job& job : scenario.jobs) WEFT_TRY(world.add_job(job));
  for (const twin::FaultSpec& fault : scenario.faults) {
    auto target = world.inject(fault);
    if (!target) return std::unexpected(target.error().in(scenario.file));
  }
  const store::BackendEntry* backend = store::backends().find(options.store.empty() ? "memory" : "sqlite");
  if (!backend) return fail(ErrorKind::kInternal, "no store backend");
  WEFT_ASSIGN(auto store, backend->open(options.store));
  WEFT_TRY(control::begin_run(*store, *snapshot, scenario.site, options.seed, world.now()));
  control::LoopOptions loop_options;
  loop_options.tick = scenario.sample_every;
  loop_options.diagnose_every = scenario.sample_every;
  loop_options.dry_run = options.dry_run;
  loop_options.seed = options.seed;
  Instant start = world.now();
  control::Loop loop(*snapshot, world, {&world}, {&world}, series, *store, loop_options);
  if (options.on_line) loop.on_line(options.on_line);
  WEFT_TRY(loop.recover());
  for (const workload::Job& job : scenario.jobs) WEFT_TRY(loop.submit(job));
  WEFT_TRY(loop.run(start + scenario.lasts));

  Outcome outcome;
  outcome.incidents = loop.incidents();
  outcome.series = world.series_count();
  outcome.virtual_time = world.now() - start;
  outcome.rows =
      judge(scenario, options.seed, *snapshot, outcome.incidents, world.truths(), world.effects(), job_ends(loop, world), world.now());
  return outcome;
}

}  // namespace weft::scenario
