// One action, exactly once: journal before, act, journal after. The only writer of journal and snapshot.
#include <nlohmann/json.hpp>

#include "control/impl.h"

namespace weft::control {

Status Loop::Impl::journal(std::string kind, std::string subject, std::string entity, std::string why, const Json& before,
                           const Json& after) {
  store::JournalEntry e;
  e.at = clock.now(), e.kind = std::move(kind), e.subject = std::move(subject), e.entity = std::move(entity), e.who = "weft",
  e.why = std::move(why), e.before = before, e.after = after;
  auto done = store.append(e);
  if (!done) return std::unexpected(done.error().in("journal"));
  return {};
}

void Loop::Impl::say(std::string phase, Incident* incident, std::string text, double confidence) {
  Line line{clock.now(), std::move(phase), incident ? incident->id : "", std::move(text), confidence};
  if (incident) incident->lines.push_back(line);
  if (listener) listener(line);
}

Incident* Loop::Impl::find_incident(const std::string& id) {
  for (Incident& i : incidents)
    if (i.id == id) return &i;
  return nullptr;
}

Json Loop::Impl::incident_json(const Incident& i) {
  auto c = i.diagnosis.causes.empty() ? diagnose::Cause{} : i.diagnosis.causes[0];
  return {{"state", static_cast<int>(i.state)},
          {"severity", static_cast<int>(i.severity)},
          {"key", i.diagnosis.key},
          {"fault", c.fault},
          {"entity", c.entity},
          {"confidence", c.confidence},
          {"first_sample", i.first_sample.ns()},
          {"detected", i.detected.ns()},
          {"located", i.located.ns()},
          {"isolated", i.isolated.ns()},
          {"recovered", i.recovered.ns()},
          {"released", i.released.ns()},
          {"closed", i.closed.ns()}};
}

Status Loop::Impl::note(const Incident& i) {
  auto c = i.diagnosis.causes.empty() ? diagnose::Cause{} : i.diagnosis.causes[0];
  return journal("incident", i.id, c.entity, c.fault, Json::object(), incident_json(i));
}

Status Loop::Impl::publish(const fabric::Delta& delta, const std::string& subject) {
  if (delta.empty()) return {};
  WEFT_ASSIGN(fabric::Snapshot next, fabric::apply(*snapshot, delta));
  WEFT_TRY(journal("publish", subject, "", delta.reason, fabric::to_json(fabric::inverse(delta, *snapshot), *snapshot),
                   fabric::to_json(delta, *snapshot)));
  set(std::move(next));
  return {};
}

void Loop::Impl::set(fabric::Snapshot next) {
  auto p = std::make_shared<fabric::Snapshot>(std::move(next));
  {
    std::lock_guard lock(mutex);
    snapshot = p;
  }
  diagnoser.set_snapshot(*p);
}

Status Loop::Impl::start(const Action& action) {
  Status last = fail(ErrorKind::kUnavailable, "no actuator");
  for (Actuator* a : actuators) {
    last = a->start(action);
    if (last || last.error().kind != ErrorKind::kInvalid) return last;
  }
  return last;
}

Result<ActionStatus> Loop::Impl::query(const std::string& id) {
  Result<ActionStatus> last = ActionStatus{};
  for (Actuator* a : actuators) {
    last = a->query(id);
    if (last && last->state != ActionState::kUnknown) return last;
  }
  return last;
}

Result<Loop::Impl::Step> Loop::Impl::perform(const Action& action, int attempt, bool& intended, Instant& started, Duration timeout,
                                             ActionStatus* result) {
  std::string id = attempt_id(action.id, attempt);
  Instant now = clock.now();
  if (!intended) {
    Action shown = action;
    shown.id = id;
    WEFT_TRY(journal("intent", id, action.target, action.why, Json::object(), heal::to_json(shown, *snapshot)));
    intended = true, started = now;
    starts.push_back(now);
    Status begun = start(shown);
    if (!begun && begun.error().kind != ErrorKind::kUnavailable) {
      WEFT_TRY(journal("outcome", id, action.target, begun.error().text(), Json::object(),
                       Json{{"state", "refused"}, {"message", begun.error().text()}}));
      return Step::kFailed;
    }
    return Step::kWaiting;
  }
  auto status = query(id);
  if (!status) return now - started > timeout ? Step::kFailed : Step::kWaiting;
  if (status->state == ActionState::kUnknown) {
    // Never arrived (the peer was away, or we died in between): the same id again is harmless.
    Action again = action;
    again.id = id;
    (void)start(again);
  }
  bool late = (status->state == ActionState::kRunning || status->state == ActionState::kUnknown) && now - started > timeout;
  if (status->state != ActionState::kDone && status->state != ActionState::kFailed && !late) return Step::kWaiting;
  Json after = {{"state", status->state == ActionState::kDone ? "done"
                          : late                              ? "late"
                                                              : "failed"},
                {"message", status->message},
                {"result", *status->result}};
  WEFT_TRY(journal("outcome", id, action.target, status->message, Json::object(), after));
  if (result) *result = *status;
  return status->state == ActionState::kDone ? Step::kDone : Step::kFailed;
}

}  // namespace weft::control
