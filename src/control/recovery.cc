// After a crash: what the journal says was begun is finished or undone, once.
#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "control/impl.h"

namespace weft::control {

Status Loop::Impl::recover() {
  std::int64_t after = 0, since_run = 0;
  const fabric::Snapshot built = *snapshot;
  std::map<std::string, std::size_t> run_of;  // plan id → run
  auto find_run = [&](const std::string& action_id) -> Run* {
    auto at = run_of.find(action_id.substr(0, action_id.find('.')));
    return at == run_of.end() ? nullptr : &runs[at->second];
  };
  int last_plan = 0;
  for (;;) {
    WEFT_ASSIGN(auto entries, store.read(after, 1000));
    if (entries.empty()) break;
    for (const store::JournalEntry& e : entries) {
      after = e.sequence;
      try {
        if (e.kind == "run") {
          // A new machine: what was before is history, only its numbers are not given again.
          since_run = e.sequence;
          for (const Incident& i : incidents)
            next_incident = std::max(next_incident, static_cast<int>(std::strtol(i.id.c_str() + 1, nullptr, 10)) + 1);
          runs.clear(), run_of.clear(), jobs.clear(), incidents.clear(), tried.clear(), starts.clear(), failures.clear(),
              isolations.clear(), pending_effects.clear();
          set(built);
        } else if (e.kind == "publish") {
          WEFT_ASSIGN(auto delta, fabric::delta_from_json(*e.after, *snapshot));
          WEFT_ASSIGN(fabric::Snapshot next, fabric::apply(*snapshot, delta));
          set(std::move(next));
          if (Run* r = find_run(e.subject); r && r->stage == Run::Stage::kActions && e.subject.find(".undo") == std::string::npos) {
            // The effect of this action is in; done() will not be repeated for it.
          }
        } else if (e.kind == "plan") {
          WEFT_ASSIGN(auto plan, heal::plan_from_json(*e.after, *snapshot));
          last_plan = std::max(last_plan, static_cast<int>(std::strtol(plan.id.c_str() + 1, nullptr, 10)));
          if (!plan.incident.empty()) {
            ++tried[plan.incident];
            for (Incident& i : incidents)
              if (i.id == plan.incident) i.plans.push_back(plan);
          }
          if (plan.empty()) continue;
          run_of[plan.id] = runs.size();
          Run run;
          run.plan = std::move(plan);
          runs.push_back(std::move(run));
        } else if (e.kind == "intent") {
          starts.push_back(e.at);
          if (Run* r = find_run(e.subject)) restore_intent(*r, e);
        } else if (e.kind == "outcome") {
          if (Run* r = find_run(e.subject)) WEFT_TRY(restore_outcome(*r, e));
        } else if (e.kind == "done") {
          if (Run* r = find_run(e.subject)) {
            r->stage = Run::Stage::kDone, r->intended = false;
            if (r->plan.release_when == "work_order") r->release = Run::Release::kWaitOrder;
          }
        } else if (e.kind == "failed") {
          failures.push_back(e.at);
          if (Run* r = find_run(e.subject)) {
            r->stage = Run::Stage::kFailed;
            if (r->plan.release_when == "work_order" && r->next > 0) r->release = Run::Release::kWaitOrder;
          }
        } else if (e.kind == "release" || e.kind == "kept") {
          if (Run* r = find_run(e.subject)) r->release = e.kind == "release" ? Run::Release::kReleased : Run::Release::kKept;
        } else if (e.kind == "job") {
          JobState& j = jobs[e.subject];
          j.started = true, j.since = e.at, j.view.running = e.after->at("running").get<bool>();
          j.view.placement.cards.clear();
          for (const Json& c : e.after->at("cards"))
            if (auto card = snapshot->find_device(c.get<std::string>())) j.view.placement.cards.push_back(*card);
        } else if (e.kind == "incident") {
          restore_incident(e);
        }
      } catch (const Json::exception& x) {
        return fail(ErrorKind::kCorrupt, fmt::format("journal entry {} ({}) is not readable: {}", e.sequence, e.kind, x.what()));
      }
    }
  }
  next_plan = std::max(next_plan, last_plan + 1);
  for (auto& [name, j] : jobs) j.restored = j.touched = clock.now();
  if (after > since_run) {
    std::size_t open = 0;
    for (const Run& r : runs) open += under_way(r);
    say("note", nullptr,
        fmt::format("restarted: {} journal entries, snapshot version {}, {} plans unfinished", after - since_run, snapshot->version(),
                    open));
  }
  return {};
}

Loop::Impl::Part Loop::Impl::part_of(const std::string& id) {
  Part p;
  std::size_t dot = id.find('.'), slash = id.find('/');
  p.middle = id.substr(dot + 1, slash == std::string::npos ? std::string::npos : slash - dot - 1);
  if (slash != std::string::npos) p.attempt = static_cast<int>(std::strtol(id.c_str() + slash + 1, nullptr, 10));
  if (p.middle.ends_with(".undo")) p.undo = true, p.middle.resize(p.middle.size() - 5);
  return p;
}

void Loop::Impl::restore_intent(Run& r, const store::JournalEntry& e) {
  Part p = part_of(e.subject);
  if (p.undo || p.middle == "release") {
    r.release = p.undo ? Run::Release::kUndo : Run::Release::kTest;
    r.release_intended = true, r.release_attempt = p.attempt, r.started = e.at;
    if (p.undo) {
      std::size_t index = static_cast<std::size_t>(std::strtol(p.middle.c_str(), nullptr, 10));
      r.undo_next = r.plan.actions.size() - index;
    }
    return;
  }
  if (p.middle == "test") r.stage = Run::Stage::kRetest, r.next = r.plan.actions.size();
  else {
    std::size_t index = static_cast<std::size_t>(std::strtol(p.middle.c_str(), nullptr, 10));
    // A later action under way proves that those before are done.
    r.next = index > 0 ? index - 1 : 0;
  }
  r.intended = true, r.attempt = p.attempt, r.started = e.at;
}

Status Loop::Impl::restore_outcome(Run& r, const store::JournalEntry& e) {
  Part p = part_of(e.subject);
  std::string state = e.after->at("state").get<std::string>();
  if (p.undo || p.middle == "release") {
    r.release_intended = false;
    if (p.middle == "release") {
      // Whether it passed is decided again by a fresh measurement: a probe changes nothing.
      r.release = Run::Release::kTest, r.release_attempt = p.attempt + 1;
    } else if (state == "done") {
      ++r.undo_next, r.release_attempt = 1;
    } else {
      ++r.release_attempt;
    }
    return {};
  }
  if (p.middle == "test") {
    r.stage = Run::Stage::kRetest, r.intended = false, r.attempt = p.attempt + 1;
    return {};
  }
  std::size_t index = static_cast<std::size_t>(std::strtol(p.middle.c_str(), nullptr, 10));
  if (index == 0 || index > r.plan.actions.size())
    return fail(ErrorKind::kCorrupt, "journal names an action that its plan does not have: " + e.subject);
  const Action& action = r.plan.actions[index - 1];
  if (state == "done") {
    if (action.kind == heal::action::kLinkIsolate || action.kind == heal::action::kCordon) ++isolations[action.target];
    if (action.kind == heal::action::kJobStop) {
      JobState& job = jobs[action.target.substr(4)];
      job.view.running = false;
      if (std::none_of(r.plan.actions.begin(), r.plan.actions.end(),
                       [&](const Action& b) { return b.kind == heal::action::kJobStart && b.target == action.target; }))
        job.why = action.why, job.incident = r.plan.incident;
    }
    pending_effects.push_back({r.plan.id, index - 1});
  }
  r.intended = false;
  if (state == "done" || action.best_effort) r.next = index, r.attempt = 1;
  else r.next = index - 1, r.attempt = p.attempt + 1;
  if (state != "done" && r.attempt > action.attempts && !action.best_effort) r.attempt = action.attempts;
  return {};
}

Status Loop::Impl::complete_effects() {
  for (const auto& [plan, index] : pending_effects)
    for (Run& r : runs) {
      if (r.plan.id != plan) continue;
      const Action& a = r.plan.actions[index];
      if (r.release == Run::Release::kReleased || r.release == Run::Release::kUndo) continue;
      fabric::Delta missing;
      missing.reason = a.effect.reason;
      for (const auto& c : a.effect.links)
        if (!(snapshot->health(c.link) == c.to)) missing.links.push_back(c);
      for (const auto& c : a.effect.devices)
        if (!(snapshot->health(c.device) == c.to)) missing.devices.push_back(c);
      bool last = true;  // a later action of any plan on the same part wins
      for (const auto& [other_plan, other_index] : pending_effects)
        if (std::pair(other_plan, other_index) > std::pair(plan, index))
          for (Run& o : runs)
            if (o.plan.id == other_plan && o.plan.actions[other_index].target == a.target) last = false;
      if (last) WEFT_TRY(publish(missing, a.id));
      if (last && a.kind == heal::action::kJobStart) {
        JobState& j = jobs[a.target.substr(4)];
        if (!j.started || !j.view.running) {
          j.started = j.view.running = true, j.since = clock.now();
          j.view.placement.cards.clear();
          for (const Json& c : a.parameters->at("cards"))
            if (auto card = snapshot->find_device(c.get<std::string>())) j.view.placement.cards.push_back(*card);
          WEFT_TRY(journal("job", a.target.substr(4), a.target, a.why, Json::object(),
                           Json{{"running", true}, {"cards", a.parameters->at("cards")}}));
        }
      }
    }
  pending_effects.clear();
  return {};
}

void Loop::Impl::restore_incident(const store::JournalEntry& e) {
  const Json& j = *e.after;
  Incident* i = nullptr;
  for (Incident& x : incidents)
    if (x.id == e.subject) i = &x;
  if (!i) {
    incidents.emplace_back();
    i = &incidents.back();
    i->id = e.subject;
    next_incident = std::max(next_incident, static_cast<int>(std::strtol(i->id.c_str() + 1, nullptr, 10)) + 1);
  }
  i->state = static_cast<IncidentState>(j.at("state").get<int>());
  i->severity = static_cast<telemetry::Severity>(j.at("severity").get<int>());
  i->diagnosis.key = j.at("key").get<std::string>();
  diagnose::Cause c;
  c.fault = j.at("fault").get<std::string>(), c.entity = j.at("entity").get<std::string>(), c.confidence = j.at("confidence").get<double>();
  if (!c.fault.empty()) i->diagnosis.causes = {c};
  for (auto [key, into] : {std::pair{"first_sample", &i->first_sample},
                           {"detected", &i->detected},
                           {"located", &i->located},
                           {"isolated", &i->isolated},
                           {"recovered", &i->recovered},
                           {"released", &i->released},
                           {"closed", &i->closed}})
    *into = Instant(j.at(key).get<std::int64_t>());
}

}  // namespace weft::control
