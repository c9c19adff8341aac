// The way back of an isolated part: repaired, measured, released; a lemon stays out.
#include <nlohmann/json.hpp>

#include "control/impl.h"

namespace weft::control {

Status Loop::Impl::release(Run& run) {
  using R = Run::Release;
  if (run.release == R::kNone || run.release == R::kReleased || run.release == R::kKept) return {};
  Instant now = clock.now();
  Incident* i = find_incident(run.plan.incident);
  if (run.release == R::kWaitOrder) {
    if (now - run.looked < seconds(30)) return {};
    run.looked = now;
    bool any = false, open = false;
    for (const Action& a : run.plan.actions) {
      if (a.kind != heal::action::kWorkOrder) continue;
      any = true;
      bool known = false;
      for (int attempt = a.attempts; attempt >= 1; --attempt) {
        auto status = query(attempt_id(a.id, attempt));
        if (!status) return {};  // asked again later
        if (status->state == ActionState::kUnknown) continue;
        open = open || status->state == ActionState::kRunning, known = true;
        break;
      }
      if (!known) {  // the plan failed before people were called
        Action order = a;
        WEFT_TRY(journal("intent", order.id, order.target, order.why, Json::object(), heal::to_json(order, *snapshot)));
        (void)start(order);
        if (i) say("note", i, "work order " + order.id + ": " + order.why);
        open = true;
      }
    }
    if (!any || open) return {};
    run.release = R::kTest, run.release_intended = false;
    if (i) say("note", i, "work order done, measuring " + run.plan.release_test.target);
  }
  if (run.release == R::kTest) {
    std::string text = "no test set";
    if (!run.plan.release_test.kind.empty()) {
      Action probe = probe_action(run.plan.release_test, run.plan.id + ".release");
      ActionStatus status;
      WEFT_ASSIGN(Step step, perform(probe, run.release_attempt, run.release_intended, run.started, kProbeTimeout, &status));
      if (step == Step::kWaiting) return {};
      if (step == Step::kFailed || !passes(run.plan.release_test, status, text)) {
        if (run.release_attempt < 3) {
          ++run.release_attempt, run.release_intended = false, run.looked = now;
          run.release = R::kWaitOrder;
          return {};
        }
        run.release = R::kKept;
        if (i) say("note", i, run.plan.release_test.target + " stays out of service: " + text);
        return journal("kept", run.plan.id, run.plan.release_test.target, text, Json::object(), Json::object());
      }
    }
    // Lemon: what came back once today and failed again stays out until a person decides.
    for (const Action& a : run.plan.actions)
      if (isolations[a.target] >= 3) {
        run.release = R::kKept;
        if (i) say("note", i, a.target + " was isolated " + std::to_string(isolations[a.target]) + " times: it stays out, decide by hand");
        return journal("kept", run.plan.id, a.target, "isolated repeatedly", Json::object(), Json::object());
      }
    run.release = R::kUndo, run.undo_next = 0, run.release_intended = false, run.release_attempt = 1;
    if (i) say("retest", i, run.plan.release_test.target + ": " + text);
  }
  if (run.release == R::kUndo) {
    // Backwards through the actions that have an undo.
    while (run.undo_next < run.plan.actions.size()) {
      const Action& a = run.plan.actions[run.plan.actions.size() - 1 - run.undo_next];
      if (a.undo_kind.empty()) {
        ++run.undo_next;
        continue;
      }
      Action undo;
      undo.id = a.id + ".undo", undo.kind = a.undo_kind, undo.target = a.target, undo.parameters = a.undo_parameters,
      undo.why = "release after a measured retest", undo.timeout = a.timeout;
      WEFT_ASSIGN(Step step, perform(undo, run.release_attempt, run.release_intended, run.started, a.timeout, nullptr));
      if (step == Step::kWaiting) return {};
      run.release_intended = false;
      if (step == Step::kFailed) {
        if (++run.release_attempt <= 5) return {};
        run.release = R::kKept;
        return journal("kept", run.plan.id, a.target, "the release itself failed", Json::object(), Json::object());
      }
      run.release_attempt = 1;
      // Back to the default of a healthy part.
      fabric::Delta back;
      back.reason = "release " + a.target;
      for (const auto& c : a.effect.links) back.links.push_back({c.link, {fabric::LinkState::kUp, 1, 0, !snapshot->link(c.link).spare}});
      for (const auto& c : a.effect.devices) back.devices.push_back({c.device, {}});
      WEFT_TRY(publish(back, undo.id));
      ++run.undo_next;
    }
    run.release = R::kReleased;
    WEFT_TRY(journal("release", run.plan.id, run.plan.cause.entity, "measured and released by " + run.plan.owner, Json::object(),
                     Json::object()));
    if (i) {
      i->released = now, i->state = IncidentState::kReleased;
      say("release", i, run.plan.cause.entity + " back in service, owner " + run.plan.owner);
      WEFT_TRY(note(*i));
    }
  }
  return {};
}

}  // namespace weft::control
