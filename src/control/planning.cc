// From diagnoses to incidents and plans, within the limits.
#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "control/impl.h"

namespace weft::control {

std::string Loop::Impl::forbidden(const ActionPlan& plan) {
  Instant now = clock.now();
  while (!starts.empty() && now - starts.front() > hours(1)) starts.pop_front();
  while (!failures.empty() && now - failures.front() > options.limits.breaker_window) failures.pop_front();
  if (plan.empty()) return {};
  if (static_cast<int>(failures.size()) >= options.limits.breaker_failures)
    return fmt::format("circuit breaker open: {} plans failed within {}", failures.size(), human(options.limits.breaker_window));
  if (static_cast<int>(starts.size() + plan.actions.size()) > options.limits.actions_per_hour)
    return fmt::format("rate limit: {} actions in the last hour, at most {}", starts.size(), options.limits.actions_per_hour);
  fabric::Delta all;
  for (const Action& a : plan.actions) {
    all.links.insert(all.links.end(), a.effect.links.begin(), a.effect.links.end());
    all.devices.insert(all.devices.end(), a.effect.devices.begin(), a.effect.devices.end());
  }
  auto next = fabric::apply(*snapshot, all);
  if (!next) return next.error().text();
  std::size_t out = 0, before = 0;
  for (fabric::DeviceId c : snapshot->cards()) out += !next->usable(c), before += !snapshot->usable(c);
  if (out > before && static_cast<double>(out) > options.limits.max_isolated_share * static_cast<double>(snapshot->cards().size()))
    return fmt::format("{} of {} cards would be isolated, more than {:.0f} %", out, snapshot->cards().size(),
                       100 * options.limits.max_isolated_share);
  return {};
}

bool Loop::Impl::under_way(const Run& r) {
  return r.stage == Run::Stage::kActions || r.stage == Run::Stage::kRetest || r.stage == Run::Stage::kProve;
}

bool Loop::Impl::busy(const std::string& incident) const {
  return std::any_of(runs.begin(), runs.end(), [&](const Run& r) { return r.plan.incident == incident && under_way(r); });
}

bool Loop::Impl::touches_busy_job(const ActionPlan& plan) const {
  for (const Action& a : plan.actions)
    if (a.kind == heal::action::kJobStop || a.kind == heal::action::kJobStart)
      for (const Run& r : runs)
        if (r.stage == Run::Stage::kActions)
          for (const Action& b : r.plan.actions)
            if (b.target == a.target) return true;
  return false;
}

std::vector<heal::JobView> Loop::Impl::views() const {
  std::vector<heal::JobView> out;
  for (const auto& [name, j] : jobs)
    if (j.submitted && !j.view.placement.cards.empty()) out.push_back(j.view);
  return out;
}

std::vector<heal::JobView> Loop::Impl::planning_views(const Run* self) const {
  std::vector<heal::JobView> out = views();
  for (heal::JobView& v : out) {
    const JobState& j = jobs.at(v.job.name);
    v.stuck = j.stuck(clock.now());
    const Run* moving = mover("job/" + v.job.name, self);
    if (!moving) continue;
    for (const Action& a : moving->plan.actions)
      if (a.kind == heal::action::kJobStart && a.target == "job/" + v.job.name) {
        v.placement.cards.clear();
        for (const Json& c : a.parameters->at("cards"))
          if (auto card = snapshot->find_device(c.get<std::string>())) v.placement.cards.push_back(*card);
        v.running = true, v.aborted = v.stuck = false;
      }
  }
  return out;
}

std::vector<fabric::DeviceId> Loop::Impl::bad_parts(const Incident* but) const {
  std::vector<fabric::DeviceId> out;
  for (const Incident& i : incidents) {
    if (&i == but || i.diagnosis.causes.empty() || i.diagnosis.undecided || !i.located.ns()) continue;
    if (i.state == IncidentState::kClosed || i.state == IncidentState::kReleased) continue;
    const diagnose::Cause& c = i.diagnosis.causes[0];
    const diagnose::FaultClass* k = diagnose::find_fault_class(c.fault);
    auto part = snapshot->find_device(c.entity);
    if (!k || !part || (k->remedy != "card" && k->remedy != "node" && k->remedy != "reset")) continue;
    fabric::DeviceId node = k->remedy == "node" ? snapshot->container(*part, fabric::DeviceKind::kNode) : fabric::DeviceId{};
    out.push_back(node.ok() ? node : *part);
  }
  return out;
}

Status Loop::Impl::plan_for(Incident& incident, Means means) {
  heal::Context context;
  context.snapshot = snapshot.get();
  context.jobs = planning_views(nullptr);
  context.bad = bad_parts(&incident);
  context.last_resort = means == Means::kLastResort, context.give_up = means == Means::kGiveUp;
  context.incident = incident.id;
  context.plan_id = fmt::format("P{:04}", next_plan);
  context.now = clock.now();
  context.plans_tried = tried[incident.id];
  ActionPlan plan = heal::make_plan(incident.diagnosis, context);
  if (touches_busy_job(plan)) return {};  // next tick
  ++next_plan, ++tried[incident.id];
  if (std::string no = forbidden(plan); !no.empty()) {
    plan.actions.clear();
    plan.retest = {};
    plan.proves.clear();
    plan.release_when = "never";
    plan.reason = "declined: " + no;
    plan.report = (plan.report.empty() ? "" : plan.report + (plan.report.ends_with(".") ? " " : ". ")) +
                  "Limit reached, not acted on: " + no + ". " + by_hand(plan);
  }
  if (options.dry_run && !plan.empty()) plan.reason += " (dry run: nothing is started)";
  WEFT_TRY(journal("plan", plan.id, plan.cause.entity, plan.reason, Json::object(), heal::to_json(plan, *snapshot)));
  incident.plans.push_back(plan);
  incident.state =
      plan.empty() ? incident.diagnosis.undecided ? IncidentState::kUndecided : IncidentState::kReported : IncidentState::kActing;
  if (!plan.report.empty()) say("report", &incident, plan.report);
  if (plan.empty() && plan.report.empty()) say("report", &incident, plan.reason);
  WEFT_TRY(note(incident));
  if (plan.empty() || options.dry_run) return {};
  Run run;
  run.plan = std::move(plan);
  runs.push_back(std::move(run));
  return advance(runs.back());
}

std::string Loop::Impl::summary(const diagnose::Cause& cause, const diagnose::Diagnosis& d) {
  std::string text;
  int shown = 0;
  for (const std::string& key : cause.explained)
    for (const auto& f : d.findings)
      if (f.sign + "@" + f.entity == key && !f.evidence.empty() && shown < 2) text += (shown++ ? "; " : "") + f.evidence[0].text;
  return text;
}

std::string Loop::Impl::by_hand(const ActionPlan& plan) const {
  std::string held;
  for (const Incident& i : incidents)
    if (i.isolated.ns() && !i.released.ns() && !i.diagnosis.causes.empty() && i.state != IncidentState::kClosed)
      held += (held.empty() ? "" : ", ") + i.diagnosis.causes[0].entity;
  return "Operator: " + (held.empty() ? std::string() : "repair and release what is out (" + held + "), or ") + "isolate " +
         plan.cause.entity + " by hand and start its jobs from their checkpoints; it is tried again when the limit allows.";
}

Status Loop::Impl::see(const diagnose::Diagnosis& d) {
  auto at = by_key.find(d.key);
  Instant now = clock.now();
  if (at == by_key.end()) {
    if (d.over) return {};
    Incident fresh;
    fresh.id = fmt::format("I{:04}", next_incident++);
    fresh.diagnosis = d;
    fresh.severity = d.severity;
    fresh.first_sample = d.since.ns() ? d.since : now;
    fresh.detected = now;
    incidents.push_back(std::move(fresh));
    at = by_key.emplace(d.key, incidents.size() - 1).first;
    Incident& i = incidents.back();
    std::string text = d.findings.empty()               ? "something changed"
                       : d.findings[0].evidence.empty() ? d.findings[0].sign + " " + d.findings[0].entity
                                                        : d.findings[0].entity + ": " + d.findings[0].evidence[0].text;
    say("detect", &i, text);
    WEFT_TRY(note(i));
  }
  Incident& i = incidents[at->second];
  if (i.state == IncidentState::kClosed) return {};
  bool changed =
      i.diagnosis.causes.empty() != d.causes.empty() ||
      (!d.causes.empty() && (i.diagnosis.causes[0].fault != d.causes[0].fault || i.diagnosis.causes[0].entity != d.causes[0].entity));
  bool planned = !i.plans.empty();
  // Once a plan works on it the incident keeps the diagnosis the plan was made for; later symptoms are the plan's own wake.
  if (!planned || (changed && !busy(i.id) && i.state != IncidentState::kRecovered && i.state != IncidentState::kReleased)) {
    if (!d.over) i.diagnosis = d;
    i.severity = std::max(i.severity, d.severity);
  }
  if (d.over) {
    if (!busy(i.id) && i.state != IncidentState::kRecovered && i.state != IncidentState::kReleased) {
      i.state = IncidentState::kClosed, i.closed = now;
      // Gone before it was even judged: one short flap of thousands a day is worth a line, not an alarm.
      bool passing = i.plans.empty() && !i.diagnosis.settled;
      if (passing) i.severity = telemetry::Severity::kInfo;
      say("note", &i,
          (i.diagnosis.causes.empty() ? std::string() : i.diagnosis.causes[0].entity + ": ") +
              (passing ? "symptoms are gone before anything had to be done" : "symptoms are gone"));
      return note(i);
    }
    return {};
  }
  if (!d.settled || d.causes.empty()) return {};
  // The same cause is already in hand (a restart gives the diagnoser new keys): one incident, one plan.
  if (!planned)
    for (Incident& other : incidents)
      if (&other != &i && !other.plans.empty() && other.state != IncidentState::kClosed && other.state != IncidentState::kReleased &&
          !other.diagnosis.causes.empty() && other.diagnosis.causes[0].fault == d.causes[0].fault &&
          other.diagnosis.causes[0].entity == d.causes[0].entity) {
        i.state = IncidentState::kClosed, i.closed = now;
        say("note", &i, "the same as " + other.id);
        by_key[d.key] = static_cast<std::size_t>(&other - incidents.data());
        return note(i);
      }
  if (!i.located.ns()) {
    i.located = now;
    const diagnose::Cause& c = i.diagnosis.causes.empty() ? d.causes[0] : i.diagnosis.causes[0];
    const diagnose::FaultClass* k = diagnose::find_fault_class(c.fault);
    std::string evidence = summary(c, i.diagnosis);
    say("locate", &i, fmt::format("{}: {}{}", c.entity, k ? k->title : c.fault, evidence.empty() ? "" : ": " + evidence), c.confidence);
    for (const auto& m : c.impact)
      say("impact", &i,
          fmt::format("{} {}{}{}", m.job, fmt::join(m.groups, " "), m.primitive.empty() ? "" : ", " + m.primitive,
                      m.slowdown > 0                    ? fmt::format(", step +{:.1f} %", m.slowdown * 100)
                      : m.tail == diagnose::Tail::kStop ? ", job stops"
                                                        : ""));
    WEFT_TRY(note(i));
  }
  // A report was all there was to do; a cause found since then may be one that can be acted on.
  bool upgraded = planned && !busy(i.id) &&
                  (i.state == IncidentState::kReported || i.state == IncidentState::kUndecided || i.state == IncidentState::kRecovered) &&
                  tried[i.id] < 3 && !acts(i.plans.back()) && waited(i.id) &&
                  (i.plans.back().cause.fault != d.causes[0].fault || i.plans.back().cause.entity != d.causes[0].entity);
  if (upgraded) i.diagnosis = d;
  if ((!planned || upgraded) && std::find(wanted.begin(), wanted.end(), i.id) == wanted.end()) wanted.push_back(i.id);
  return {};
}

bool Loop::Impl::acts(const ActionPlan& plan) {
  return std::any_of(plan.actions.begin(), plan.actions.end(), [](const Action& a) { return a.kind != heal::action::kWorkOrder; });
}

bool Loop::Impl::waited(const std::string& incident) const {
  auto at = replan_after.find(incident);
  return at == replan_after.end() || clock.now() >= at->second;
}

Status Loop::Impl::retry(Incident& i) {
  if (busy(i.id) || !waited(i.id) || options.dry_run) return {};
  if (i.plans.empty()) return i.state == IncidentState::kOpen && i.diagnosis.key.starts_with("watch/") ? plan_for(i) : Status{};
  if (i.state == IncidentState::kReported && i.plans.back().reason.starts_with("declined: ")) return again_within_limits(i);
  if (i.state != IncidentState::kActing) return {};
  int done = tried[i.id];
  bool hanging = std::any_of(i.plans.back().proves.begin(), i.plans.back().proves.end(), [&](const std::string& entity) {
    auto at = jobs.find(entity.substr(entity.find('/') + 1));
    return at != jobs.end() && !mover(entity, nullptr) && (!at->second.view.running || at->second.stuck(clock.now()));
  });
  bool watched = !i.diagnosis.causes.empty() && i.diagnosis.causes[0].fault == "no_progress";
  if (watched && done >= 2 && hanging) return plan_for(i, Means::kGiveUp);
  if (done < 3) return plan_for(i);
  if (hanging && done == 3) {
    say("note", &i, "three plans did not cure it: its jobs are restarted on other cards");
    return plan_for(i, Means::kLastResort);
  }
  if (hanging && done == 4) return plan_for(i, Means::kGiveUp);
  i.state = IncidentState::kReported;
  say("report", &i, std::to_string(done) + " plans did not cure it: decide by hand");
  return note(i);
}

Status Loop::Impl::again_within_limits(Incident& i) {
  Instant now = clock.now();
  if (auto at = limited_at.find(i.id); at != limited_at.end() && now - at->second < minutes(1)) return {};
  limited_at[i.id] = now;
  heal::Context context;
  context.snapshot = snapshot.get(), context.jobs = planning_views(nullptr), context.bad = bad_parts(&i);
  context.incident = i.id, context.plan_id = "P0000", context.now = now;
  if (ActionPlan plan = heal::make_plan(i.diagnosis, context); plan.empty() || !forbidden(plan).empty() || tried[i.id] >= 6) return {};
  return plan_for(i);
}

}  // namespace weft::control
