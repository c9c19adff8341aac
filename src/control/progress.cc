// A plan under way, one step further each tick: actions, retest, proof by the jobs, success or failure.
#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "control/impl.h"

namespace weft::control {

Action Loop::Impl::probe_action(const heal::Retest& r, const std::string& id) {
  Action a;
  a.id = id, a.kind = r.kind, a.target = r.target, a.parameters = r.parameters, a.why = "measure", a.timeout = kProbeTimeout;
  return a;
}

bool Loop::Impl::passes(const heal::Retest& r, const ActionStatus& s, std::string& text) {
  if (!s.result->is_object() || !s.result->contains(r.measure) || !s.result->at(r.measure).is_number())
    return text = "no " + r.measure + " measured", false;
  double v = s.result->at(r.measure).get<double>();
  bool large = !s.result->contains("large_message_ok") || s.result->at("large_message_ok").get<bool>();
  text = fmt::format("{} {:.0f} %{}", r.measure, v * 100, large ? "" : ", large messages fail");
  return v >= r.at_least && large;
}

Status Loop::Impl::advance(Run& run) {
  if (run.stage == Run::Stage::kActions) {
    // Long work orders do not hold the plan up: they are started and looked at later.
    while (run.next < run.plan.actions.size()) {
      const Action& action = run.plan.actions[run.next];
      if (clock.now() < run.not_before) return {};
      if (action.kind == heal::action::kJobStart && !run.intended && !run.plan.incident.empty())
        if (std::string bad = met_another_fault(run, action); !bad.empty()) return failed(run, bad);
      ActionStatus status;
      bool fresh = !run.intended;
      WEFT_ASSIGN(Step step, perform(action, run.attempt, run.intended, run.started, action.timeout, &status));
      bool order = action.kind == heal::action::kWorkOrder;
      if (order && step == Step::kWaiting && !fresh) step = Step::kDone;
      if (step == Step::kWaiting) return {};
      if (step == Step::kFailed) {
        if (run.attempt < action.attempts) {
          ++run.attempt, run.intended = false, run.not_before = clock.now() + seconds(1);
          return {};
        }
        if (!action.best_effort)
          return failed(run,
                        action.kind + " of " + action.target + " failed " + std::to_string(action.attempts) + " times: " + status.message);
      } else {
        WEFT_TRY(done(run, action));
      }
      ++run.next, run.attempt = 1, run.intended = false;
    }
    run.stage = Run::Stage::kRetest;
    run.attempt = 1, run.intended = false;
  }
  if (run.stage == Run::Stage::kRetest) {
    if (!run.acted.ns()) run.acted = clock.now();
    if (run.plan.retest.kind.empty() || nothing_to_measure(run)) {
      run.stage = Run::Stage::kProve, run.measured_at = clock.now();
      return prove(run);
    }
    Action probe = probe_action(run.plan.retest, run.plan.id + ".test");
    if (!run.intended) where_the_job_is(run, probe);
    ActionStatus status;
    if (clock.now() < run.not_before) return {};
    WEFT_ASSIGN(Step step, perform(probe, run.attempt, run.intended, run.started, kProbeTimeout, &status));
    if (step == Step::kWaiting) return {};
    std::string text = status.message;
    if (step == Step::kDone && passes(run.plan.retest, status, text)) {
      run.stage = Run::Stage::kProve, run.measured_at = clock.now(), run.measured = text;
      return prove(run);
    }
    if (run.attempt < 3) {
      ++run.attempt, run.intended = false, run.not_before = clock.now() + seconds(2);
      return {};
    }
    return failed(run, "retest failed: " + text);
  }
  if (run.stage == Run::Stage::kProve) return prove(run);
  return {};
}

Status Loop::Impl::prove(Run& run) {
  if (!run.acted.ns()) run.acted = run.measured_at = clock.now();
  bool waiting = false;
  for (const std::string& entity : run.plan.proves) {
    auto at = jobs.find(entity.substr(entity.find('/') + 1));
    if (at == jobs.end() || !at->second.started) continue;
    const JobState& j = at->second;
    if (mover(entity, &run)) {  // another plan has it; it answers for the job
      waiting = true;
      continue;
    }
    if (!j.view.running || j.last_step > std::max(run.acted, j.since)) continue;
    if (j.view.aborted) return failed(run, entity + " died");
    Instant since = std::max(run.measured_at, j.since);
    Duration limit = std::max(minutes(2), seconds(10 * to_seconds(j.usual())));
    if (clock.now() - since > limit)
      return failed(run, entity + " makes no step, " + human(clock.now() - since) + " after the plan was done");
    waiting = true;
  }
  if (waiting) return {};
  return finished(run, run.measured);
}

std::string Loop::Impl::met_another_fault(const Run& run, const Action& start) {
  std::vector<fabric::DeviceId> bad = bad_parts(find_incident(run.plan.incident));
  for (const Json& c : start.parameters->at("cards")) {
    auto card = snapshot->find_device(c.get<std::string>());
    if (!card) continue;
    if (!snapshot->usable(*card)) return snapshot->name(*card) + " went out of service before " + start.target + " started on it";
    for (fabric::DeviceId at = *card; at.ok(); at = snapshot->device(at).parent)
      if (std::find(bad.begin(), bad.end(), at) != bad.end())
        return snapshot->name(at) + " was found at fault before " + start.target + " started on it";
  }
  return {};
}

const Run* Loop::Impl::mover(const std::string& job, const Run* self) const {
  for (const Run& r : runs)
    if (&r != self && r.stage == Run::Stage::kActions)
      for (const Action& a : r.plan.actions)
        if (a.target == job && (a.kind == heal::action::kJobStop || a.kind == heal::action::kJobStart)) return &r;
  return nullptr;
}

void Loop::Impl::where_the_job_is(const Run& run, Action& probe) {
  if (probe.kind != heal::action::kProbeCollective || !probe.target.starts_with("job/")) return;
  for (const heal::JobView& v : planning_views(&run))
    if ("job/" + v.job.name == probe.target && v.placement.cards.size() > 1) {
      Json cards = Json::array();
      for (fabric::DeviceId c : v.placement.cards) cards.push_back(snapshot->name(c));
      Json parameters = probe.parameters.get();
      parameters["cards"] = cards;
      probe.parameters = parameters;
    }
}

bool Loop::Impl::nothing_to_measure(const Run& run) const {
  const heal::Retest& r = run.plan.retest;
  if (r.kind != heal::action::kProbeCollective || !r.target.starts_with("job/")) return false;
  auto at = jobs.find(r.target.substr(4));
  return at != jobs.end() && at->second.started && !at->second.view.running && !mover(r.target, &run);
}

Status Loop::Impl::done(Run& run, const Action& action) {
  WEFT_TRY(publish(action.effect, action.id));
  Incident* i = find_incident(run.plan.incident);
  if (action.kind == heal::action::kJobStart) {
    std::string name = action.target.substr(4);
    JobState& job = jobs[name];
    job.view.running = true, job.view.aborted = false, job.started = true, job.since = clock.now(), job.why.clear();
    job.restarts += run.plan.policy != "submit";
    job.view.placement.cards.clear();
    for (const Json& c : action.parameters->at("cards"))
      if (auto card = snapshot->find_device(c.get<std::string>())) job.view.placement.cards.push_back(*card);
    jobs_changed = true;
    WEFT_TRY(journal("job", name, action.target, action.why, Json::object(),
                     Json{{"running", true}, {"cards", action.parameters->at("cards")}}));
    if (i) say("resume", i, fmt::format("{} on {} cards: {}", action.target, job.view.placement.cards.size(), action.why));
  } else if (action.kind == heal::action::kJobStop) {
    JobState& job = jobs[action.target.substr(4)];
    job.view.running = false, job.waiting_since = clock.now();
    bool comes_back = std::any_of(run.plan.actions.begin(), run.plan.actions.end(),
                                  [&](const Action& a) { return a.kind == heal::action::kJobStart && a.target == action.target; });
    if (!comes_back) job.why = action.why, job.incident = run.plan.incident, job.tried_at = snapshot->version();
    jobs_changed = true;
    if (i)
      say("rearrange", i,
          fmt::format("{} stopped{}", action.target,
                      action.parameters->value("checkpoint", false) ? ", saving first where it still can" : ""));
  } else if (action.kind == heal::action::kLinkIsolate || action.kind == heal::action::kCordon) {
    ++isolations[action.target];
    if (i) {
      if (!i->isolated.ns()) i->isolated = clock.now();
      say("isolate", i,
          fmt::format("{} out of service, owner {}, expires {}: {}", action.target, run.plan.owner, human(run.plan.expiry), action.why));
    }
  } else if (action.kind == heal::action::kSpareLinkIn) {
    if (i) say("rearrange", i, "spare link " + action.target + " " + action.why);
  } else if (action.kind == heal::action::kWorkOrder) {
    if (i) say("note", i, "work order " + action.id + ": " + action.why);
  } else if (i) {
    say("rearrange", i, action.kind + " " + action.target + ": " + action.why);
  }
  return {};
}

Status Loop::Impl::finished(Run& run, const std::string& measured) {
  run.stage = Run::Stage::kDone;
  WEFT_TRY(journal("done", run.plan.id, run.plan.cause.entity, measured, Json::object(), Json{{"measured", measured}}));
  Incident* i = find_incident(run.plan.incident);
  std::string lost;  // a job that is stopped and has no place
  for (const std::string& entity : run.plan.proves)
    if (auto at = jobs.find(entity.substr(entity.find('/') + 1)); at != jobs.end() && at->second.started && !at->second.view.running)
      lost = entity + " is stopped: " + at->second.why;
  bool moved =
      std::any_of(run.plan.actions.begin(), run.plan.actions.end(), [](const Action& a) { return a.kind == heal::action::kJobStart; });
  bool acted = !run.plan.proves.empty() || std::any_of(run.plan.actions.begin(), run.plan.actions.end(),
                                                       [](const Action& a) { return a.kind != heal::action::kWorkOrder; });
  if (i) {
    if (!lost.empty()) {
      i->state = IncidentState::kReported;
      say("report", i, lost);
    } else if (acted || !measured.empty()) {
      i->state = IncidentState::kRecovered;
      // Traffic is back when the retest passed (a step has confirmed it since); moved work is back with its first step.
      if (!i->recovered.ns()) i->recovered = moved || !run.measured_at.ns() ? clock.now() : run.measured_at;
      if (!measured.empty()) say("retest", i, run.plan.retest.target + ": " + measured);
      say("note", i,
          fmt::format("recovered {} after the first sample{}", human(i->recovered - i->first_sample),
                      run.plan.proves.empty() ? "" : "; " + steps_of(run.plan.proves)));
    } else {
      i->state = IncidentState::kReported;
    }
    WEFT_TRY(note(*i));
  }
  if (run.plan.release_when == "work_order") run.release = Run::Release::kWaitOrder;
  return {};
}

std::string Loop::Impl::steps_of(const std::vector<std::string>& entities) const {
  std::string out;
  for (const std::string& entity : entities)
    if (auto at = jobs.find(entity.substr(entity.find('/') + 1)); at != jobs.end() && !at->second.recent.empty())
      out += (out.empty() ? "" : ", ") + entity + " makes steps of " + human(Seconds(at->second.recent.back()));
  return out.empty() ? "no job is on it" : out;
}

Status Loop::Impl::failed(Run& run, const std::string& why) {
  run.stage = Run::Stage::kFailed;
  failures.push_back(clock.now());
  WEFT_TRY(journal("failed", run.plan.id, run.plan.cause.entity, why, Json::object(), Json{{"why", why}}));
  if (Incident* i = find_incident(run.plan.incident)) {
    say("note", i, "plan " + run.plan.id + " failed: " + why);
    replan_after[i->id] = clock.now() + seconds(5);
  }
  // A job that was stopped and did not come back is known as such, and started again when it can be.
  for (std::size_t k = run.next; k < run.plan.actions.size(); ++k)
    if (const Action& a = run.plan.actions[k]; a.kind == heal::action::kJobStart)
      if (auto at = jobs.find(a.target.substr(4)); at != jobs.end() && at->second.started && !at->second.view.running)
        at->second.why = why, at->second.incident = run.plan.incident;
  // What was isolated stays so, with its way back.
  if (run.plan.release_when == "work_order" && run.next > 0) run.release = Run::Release::kWaitOrder;
  return {};
}

}  // namespace weft::control
