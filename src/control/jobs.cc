// Jobs as the loop sees them: placed, stepping, silent, waiting for room.
#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "control/impl.h"
#include "place/place.h"
#include "telemetry/names.h"

namespace weft::control {

void Loop::Impl::hear_steps() {
  for (auto& [name, j] : jobs) {
    if (j.steps.v == UINT32_MAX) j.steps = series.find(telemetry::metric::kStepSeconds, "job/" + name);
    if (j.steps.v != UINT32_MAX) by_steps[j.steps.v] = &j;
  }
  for (const telemetry::Sample& s : batch.samples)
    if (auto at = by_steps.find(s.series.v); at != by_steps.end()) {
      JobState& j = *at->second;
      if (s.at <= j.last_step) continue;
      j.last_step = s.at, j.recent.push_back(s.value);
      if (j.recent.size() > 15) j.recent.pop_front();
    }
}

Status Loop::Impl::watch_jobs() {
  Instant now = clock.now();
  for (auto& [name, j] : jobs) {
    if (!j.submitted || !j.started || options.dry_run) continue;
    std::string entity = "job/" + name;
    bool held = mover(entity, nullptr) || std::any_of(runs.begin(), runs.end(), [&](const Run& r) {
                  return under_way(r) && std::find(r.plan.proves.begin(), r.plan.proves.end(), entity) != r.plan.proves.end();
                });
    if (held) {
      j.touched = now;
      continue;
    }
    if (!j.view.running) {
      WEFT_TRY(wait_for_room(name, j));
      continue;
    }
    if (Incident* i = find_incident(j.incident); i && (i->state == IncidentState::kActing || i->state == IncidentState::kOpen)) continue;
    Duration limit = silent_limit(j.usual());
    bool dead = j.view.aborted && now - std::max(j.aborted_at, j.touched) > seconds(45);
    if (!dead && now - j.alive() <= limit) continue;
    Incident fresh;
    fresh.id = fmt::format("I{:04}", next_incident++);
    fresh.severity = telemetry::Severity::kError;
    fresh.first_sample = j.alive(), fresh.detected = fresh.located = now;
    diagnose::Cause cause;
    cause.fault = "no_progress", cause.entity = entity, cause.layer = diagnose::Layer::kJob, cause.confidence = 1, cause.since = j.alive();
    cause.impact.push_back({name, {}, "", diagnose::Tail::kStop, 0});
    fresh.diagnosis.at = now, fresh.diagnosis.key = "watch/" + fresh.id, fresh.diagnosis.since = j.alive();
    fresh.diagnosis.severity = fresh.severity, fresh.diagnosis.settled = true, fresh.diagnosis.unknown = 0;
    fresh.diagnosis.causes.push_back(std::move(cause));
    j.incident = fresh.id;
    incidents.push_back(std::move(fresh));
    Incident& i = incidents.back();
    say("detect", &i,
        dead ? entity + ": it ended by itself and nothing has started it again"
             : fmt::format("{}: no step for {}, usually one every {}", entity, human(now - j.alive()), human(j.usual())));
    WEFT_TRY(note(i));
    wanted.push_back(i.id);
  }
  return {};
}

Status Loop::Impl::wait_for_room(const std::string& name, JobState& j) {
  Instant now = clock.now();
  if (j.why.empty() || j.tried_at == snapshot->version() || now - j.waiting_since < minutes(1)) return {};
  if (j.restarts >= j.view.job.policy.max_restarts) return {};
  j.waiting_since = now, j.tried_at = snapshot->version();
  Incident* i = find_incident(j.incident);
  if (!i || busy(i->id)) return {};
  heal::Context context;
  context.snapshot = snapshot.get(), context.jobs = planning_views(nullptr), context.bad = bad_parts(nullptr);
  context.incident = i->id, context.plan_id = fmt::format("P{:04}", next_plan), context.now = now, context.last_resort = true;
  diagnose::Diagnosis d = i->diagnosis;
  d.causes.resize(1);
  d.causes[0].impact = {{name, {}, "", diagnose::Tail::kStop, 0}};
  ActionPlan plan = heal::make_plan(d, context);
  bool starts_it = std::any_of(plan.actions.begin(), plan.actions.end(), [](const Action& a) { return a.kind == heal::action::kJobStart; });
  if (!starts_it || !forbidden(plan).empty()) return {};
  ++next_plan;
  plan.reason = "cards are free again";
  WEFT_TRY(journal("plan", plan.id, plan.cause.entity, plan.reason, Json::object(), heal::to_json(plan, *snapshot)));
  say("note", i, "job/" + name + " fits again");
  i->plans.push_back(plan), i->state = IncidentState::kActing;
  WEFT_TRY(note(*i));
  Run run;
  run.plan = std::move(plan);
  runs.push_back(std::move(run));
  return {};
}

void Loop::Impl::tell_jobs() {
  if (!jobs_changed) return;
  jobs_changed = false;
  std::vector<diagnose::RunningJob> list;
  for (const auto& [name, j] : jobs)
    if (j.submitted && j.started) list.push_back({j.view.job, j.view.placement, j.since, j.view.running});
  diagnoser.set_jobs(std::move(list));
}

Status Loop::Impl::submit(const workload::Job& job) {
  if (Status ok = workload::validate(job.model, job.strategy); !ok) return std::unexpected(ok.error().in("job " + job.name));
  WEFT_ASSIGN(auto groups, workload::make_groups(job.strategy));
  JobState& state = jobs[job.name];
  state.view.job = job;
  state.view.placement.job = job.name;
  state.view.placement.groups = groups;
  bool restored = state.started || std::any_of(runs.begin(), runs.end(), [&](const Run& r) {
                    return r.plan.cause.entity == "job/" + job.name && r.stage == Run::Stage::kActions;
                  });
  state.submitted = true, jobs_changed = true;
  if (restored) return {};
  place::Request request;
  request.job = job;
  request.seed = options.seed;
  place::Occupancy occupied;
  for (const heal::JobView& v : views()) occupied.placements.push_back(v.placement);
  place::Answer answer = place::place(*snapshot, occupied, request);
  if (const auto* refused = std::get_if<place::Refusal>(&answer)) {
    state.submitted = false, state.why = refused->text;
    say("place", nullptr, "job/" + job.name + " refused: " + refused->text);
    return journal("refused", job.name, "job/" + job.name, refused->text, Json::object(), Json{{"constraint", refused->constraint}});
  }
  const auto& placement = std::get<workload::Placement>(answer);
  state.view.placement = placement;
  ActionPlan plan;
  plan.id = fmt::format("P{:04}", next_plan++);
  plan.snapshot_version = snapshot->version(), plan.policy = "submit", plan.reason = "new job", plan.release_when = "never";
  plan.cause.entity = "job/" + job.name;
  Json cards = Json::array();
  for (fabric::DeviceId c : placement.cards) cards.push_back(snapshot->name(c));
  Action start;
  start.id = plan.id + ".1", start.kind = heal::action::kJobStart, start.target = "job/" + job.name, start.why = "new job",
  start.timeout = minutes(5), start.attempts = 5;
  start.parameters = Json{{"cards", cards}, {"resume", false}};
  plan.actions.push_back(start);
  WEFT_TRY(journal("plan", plan.id, plan.cause.entity, plan.reason, Json::object(), heal::to_json(plan, *snapshot)));
  say("place", nullptr,
      fmt::format("job/{}: {} on {} cards {} … {}, {} groups{}", job.name, job.model.name, placement.cards.size(),
                  snapshot->name(placement.cards.front()), snapshot->name(placement.cards.back()), placement.groups.size(),
                  job.kind == workload::JobKind::kInference ? ", serving" : ", predicted step " + human(Seconds(placement.score))));
  Run run;
  run.plan = std::move(plan);
  runs.push_back(std::move(run));
  return advance(runs.back());
}

}  // namespace weft::control
