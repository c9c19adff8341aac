#include "control/loop.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "diagnose/diagnose.h"
#include "place/place.h"
#include "telemetry/names.h"

namespace weft::control {
namespace {

using heal::Action;
using heal::ActionPlan;

// A plan under way. Everything here is rebuilt from the journal after a crash.
struct Run {
  ActionPlan plan;
  enum class Stage { kActions, kRetest, kProve, kDone, kFailed } stage = Stage::kActions;
  std::size_t next = 0;  // action being done
  int attempt = 1;
  bool intended = false;  // the intent of (next, attempt) is in the journal
  Instant started;
  Instant not_before;
  Instant acted;         // the actions were done
  Instant measured_at;   // the retest passed; since then the jobs have to make a step
  std::string measured;  // by the retest
  // After a plan has done its work: the isolated part's way back.
  enum class Release { kNone, kWaitOrder, kTest, kUndo, kReleased, kKept } release = Release::kNone;
  int release_attempt = 1;
  bool release_intended = false;
  std::size_t undo_next = 0;
  Instant looked;
};

struct JobState {
  heal::JobView view;
  bool submitted = false;  // its description is known (after a restart: submit() comes again)
  bool started = false;
  Instant since;
  telemetry::SeriesId steps;  // of its step times
  Instant last_step, touched, restored, aborted_at, waiting_since;
  std::deque<double> recent;  // seconds of the latest steps
  std::string why;            // refused or stopped: the reason
  std::string incident;       // of its silence, or the one that stopped it
  int restarts = 0;
  std::uint64_t tried_at = 0;  // snapshot version of the last attempt to start it again
  Duration usual() const {
    if (recent.empty()) return seconds(0);
    std::vector<double> sorted(recent.begin(), recent.end());
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    return seconds(sorted[sorted.size() / 2]);
  }
  Instant alive() const { return std::max({last_step, since, touched}); }
  // Planning asks this at once, the watch only after silent_limit().
  bool stuck(Instant now) const {
    return started && view.running &&
           (view.aborted || now - std::max({last_step, since, restored}) > std::max(minutes(1), seconds(5 * to_seconds(usual()))));
  }
};

std::string attempt_id(const std::string& id, int attempt) { return attempt == 1 ? id : id + "/" + std::to_string(attempt); }

// Longest a probe may take before it counts as lost.
constexpr Duration kProbeTimeout = Duration(120'000'000'000);

}  // namespace

struct Loop::Impl {
  Clock& clock;
  std::vector<telemetry::Source*> sources;
  std::vector<Actuator*> actuators;
  telemetry::SeriesTable& series;
  store::Store& store;
  LoopOptions options;
  diagnose::Diagnoser diagnoser;
  telemetry::Batch batch;
  std::shared_ptr<const fabric::Snapshot> snapshot;
  mutable std::mutex mutex;  // guards `snapshot` alone: other threads may ask for it
  std::map<std::string, JobState> jobs;
  std::vector<Incident> incidents;
  std::map<std::string, std::size_t> by_key;  // diagnosis key → incident
  std::vector<Run> runs;
  std::map<std::string, int> tried;             // plans per incident
  std::map<std::string, Instant> replan_after;  // incident → when a further plan may come
  std::deque<Instant> starts;                   // of actions, for the rate limit
  std::deque<Instant> failures;                 // of plans, for the circuit breaker
  std::map<std::string, int> isolations;        // entity → times isolated (a lemon stays out)
  int next_plan = 1, next_incident = 1;
  bool breaker_said = false;
  std::function<void(const Line&)> listener;
  std::atomic<bool> stopping{false};
  bool jobs_changed = true;

  Impl(fabric::Snapshot s, Clock& c, std::vector<telemetry::Source*> so, std::vector<Actuator*> ac, telemetry::SeriesTable& se,
       store::Store& st, const LoopOptions& o)
      : clock(c),
        sources(std::move(so)),
        actuators(std::move(ac)),
        series(se),
        store(st),
        options(o),
        diagnoser(se),
        snapshot(std::make_shared<fabric::Snapshot>(std::move(s))) {
    diagnoser.set_snapshot(*snapshot);
  }

  // ---- journal and lines -----------------------------------------------------------------------------------------------
  Status journal(std::string kind, std::string subject, std::string entity, std::string why, const Json& before, const Json& after) {
    store::JournalEntry e;
    e.at = clock.now(), e.kind = std::move(kind), e.subject = std::move(subject), e.entity = std::move(entity), e.who = "weft",
    e.why = std::move(why), e.before = before, e.after = after;
    auto done = store.append(e);
    if (!done) return std::unexpected(done.error().in("journal"));
    return {};
  }

  void say(std::string phase, Incident* incident, std::string text, double confidence = -1) {
    Line line{clock.now(), std::move(phase), incident ? incident->id : "", std::move(text), confidence};
    if (incident) incident->lines.push_back(line);
    if (listener) listener(line);
  }

  Incident* incident_of(const Run& run) {
    for (Incident& i : incidents)
      if (i.id == run.plan.incident) return &i;
    return nullptr;
  }

  Json incident_json(const Incident& i) {
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
  Status note(const Incident& i) {
    auto c = i.diagnosis.causes.empty() ? diagnose::Cause{} : i.diagnosis.causes[0];
    return journal("incident", i.id, c.entity, c.fault, Json::object(), incident_json(i));
  }

  Status publish(const fabric::Delta& delta, const std::string& subject) {
    if (delta.empty()) return {};
    WEFT_ASSIGN(fabric::Snapshot next, fabric::apply(*snapshot, delta));
    WEFT_TRY(journal("publish", subject, "", delta.reason, fabric::to_json(fabric::inverse(delta, *snapshot), *snapshot),
                     fabric::to_json(delta, *snapshot)));
    set(std::move(next));
    return {};
  }
  void set(fabric::Snapshot next) {
    auto p = std::make_shared<fabric::Snapshot>(std::move(next));
    {
      std::lock_guard lock(mutex);
      snapshot = p;
    }
    diagnoser.set_snapshot(*p);
  }

  // The first actuator takes everything; several are asked in order and the first that does not refuse as invalid has it.
  Status start(const Action& action) {
    Status last = fail(ErrorKind::kUnavailable, "no actuator");
    for (Actuator* a : actuators) {
      last = a->start(action);
      if (last || last.error().kind != ErrorKind::kInvalid) return last;
    }
    return last;
  }
  Result<ActionStatus> query(const std::string& id) {
    Result<ActionStatus> last = ActionStatus{};
    for (Actuator* a : actuators) {
      last = a->query(id);
      if (last && last->state != ActionState::kUnknown) return last;
    }
    return last;
  }

  // ---- doing an action once ----------------------------------------------------------------------------------------------
  enum class Step { kWaiting, kDone, kFailed };
  // Journal before, act, journal after; called every tick until it says something else than kWaiting.
  Result<Step> perform(const Action& action, int attempt, bool& intended, Instant& started, Duration timeout, ActionStatus* result) {
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

  Action probe_action(const heal::Retest& r, const std::string& id) {
    Action a;
    a.id = id, a.kind = r.kind, a.target = r.target, a.parameters = r.parameters, a.why = "measure", a.timeout = kProbeTimeout;
    return a;
  }
  static bool passes(const heal::Retest& r, const ActionStatus& s, std::string& text) {
    if (!s.result->is_object() || !s.result->contains(r.measure) || !s.result->at(r.measure).is_number())
      return text = "no " + r.measure + " measured", false;
    double v = s.result->at(r.measure).get<double>();
    bool large = !s.result->contains("large_message_ok") || s.result->at("large_message_ok").get<bool>();
    text = fmt::format("{} {:.0f} %{}", r.measure, v * 100, large ? "" : ", large messages fail");
    return v >= r.at_least && large;
  }

  // ---- one plan, one step further --------------------------------------------------------------------------------------------
  Status advance(Run& run) {
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
            return failed(
                run, action.kind + " of " + action.target + " failed " + std::to_string(action.attempts) + " times: " + status.message);
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

  // A bandwidth is not yet a step: what the plan is about has recovered when its jobs make steps again.
  Status prove(Run& run) {
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

  // Between the plan and the start further parts may have been found bad.
  std::string met_another_fault(const Run& run, const Action& start) {
    std::vector<fabric::DeviceId> bad = bad_parts(incident_of(run));
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
  // The run, other than `self`, that is moving the job.
  const Run* mover(const std::string& job, const Run* self) const {
    for (const Run& r : runs)
      if (&r != self && r.stage == Run::Stage::kActions)
        for (const Action& a : r.plan.actions)
          if (a.target == job && (a.kind == heal::action::kJobStop || a.kind == heal::action::kJobStart)) return &r;
    return nullptr;
  }
  // Jobs move while plans run: a collective is measured where the job is, or is going to be.
  void where_the_job_is(const Run& run, Action& probe) {
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
  // The job that was to be measured is stopped for good: its cards prove nothing.
  bool nothing_to_measure(const Run& run) const {
    const heal::Retest& r = run.plan.retest;
    if (r.kind != heal::action::kProbeCollective || !r.target.starts_with("job/")) return false;
    auto at = jobs.find(r.target.substr(4));
    return at != jobs.end() && at->second.started && !at->second.view.running && !mover(r.target, &run);
  }

  // Effects of an action that was done: the snapshot, jobs, what the operator reads.
  Status done(Run& run, const Action& action) {
    WEFT_TRY(publish(action.effect, action.id));
    Incident* i = incident_of(run);
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

  Status finished(Run& run, const std::string& measured) {
    run.stage = Run::Stage::kDone;
    WEFT_TRY(journal("done", run.plan.id, run.plan.cause.entity, measured, Json::object(), Json{{"measured", measured}}));
    Incident* i = incident_of(run);
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

  std::string steps_of(const std::vector<std::string>& entities) const {
    std::string out;
    for (const std::string& entity : entities)
      if (auto at = jobs.find(entity.substr(entity.find('/') + 1)); at != jobs.end() && !at->second.recent.empty())
        out += (out.empty() ? "" : ", ") + entity + " makes steps of " + human(Seconds(at->second.recent.back()));
    return out.empty() ? "no job is on it" : out;
  }

  Status failed(Run& run, const std::string& why) {
    run.stage = Run::Stage::kFailed;
    failures.push_back(clock.now());
    WEFT_TRY(journal("failed", run.plan.id, run.plan.cause.entity, why, Json::object(), Json{{"why", why}}));
    if (Incident* i = incident_of(run)) {
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

  // ---- the way back: repaired, measured, released --------------------------------------------------------------------------------
  Status release(Run& run) {
    using R = Run::Release;
    if (run.release == R::kNone || run.release == R::kReleased || run.release == R::kKept) return {};
    Instant now = clock.now();
    Incident* i = incident_of(run);
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
          if (i)
            say("note", i, a.target + " was isolated " + std::to_string(isolations[a.target]) + " times: it stays out, decide by hand");
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

  // ---- limits --------------------------------------------------------------------------------------------------------------------
  std::string forbidden(const ActionPlan& plan) {
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

  static bool under_way(const Run& r) {
    return r.stage == Run::Stage::kActions || r.stage == Run::Stage::kRetest || r.stage == Run::Stage::kProve;
  }
  bool busy(const std::string& incident) const {
    return std::any_of(runs.begin(), runs.end(), [&](const Run& r) { return r.plan.incident == incident && under_way(r); });
  }
  // A job that another plan is moving must not be moved twice.
  bool touches_busy_job(const ActionPlan& plan) const {
    for (const Action& a : plan.actions)
      if (a.kind == heal::action::kJobStop || a.kind == heal::action::kJobStart)
        for (const Run& r : runs)
          if (r.stage == Run::Stage::kActions)
            for (const Action& b : r.plan.actions)
              if (b.target == a.target) return true;
    return false;
  }

  std::vector<heal::JobView> views() const {
    std::vector<heal::JobView> out;
    for (const auto& [name, j] : jobs)
      if (j.submitted && !j.view.placement.cards.empty()) out.push_back(j.view);
    return out;
  }
  // As a plan has to see them: a job that another run is moving is where it is going to be; whoever makes no step is marked.
  std::vector<heal::JobView> planning_views(const Run* self) const {
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
  // Parts that located incidents name and that may still be in service: no work goes there.
  std::vector<fabric::DeviceId> bad_parts(const Incident* but) const {
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

  enum class Means { kUsual, kLastResort, kGiveUp };
  Status plan_for(Incident& incident, Means means = Means::kUsual) {
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

  // ---- diagnosis → incidents ---------------------------------------------------------------------------------------------------------
  static std::string summary(const diagnose::Cause& cause, const diagnose::Diagnosis& d) {
    std::string text;
    int shown = 0;
    for (const std::string& key : cause.explained)
      for (const auto& f : d.findings)
        if (f.sign + "@" + f.entity == key && !f.evidence.empty() && shown < 2) text += (shown++ ? "; " : "") + f.evidence[0].text;
    return text;
  }

  // What is left to a person when a limit stops the loop.
  std::string by_hand(const ActionPlan& plan) const {
    std::string held;
    for (const Incident& i : incidents)
      if (i.isolated.ns() && !i.released.ns() && !i.diagnosis.causes.empty() && i.state != IncidentState::kClosed)
        held += (held.empty() ? "" : ", ") + i.diagnosis.causes[0].entity;
    return "Operator: " + (held.empty() ? std::string() : "repair and release what is out (" + held + "), or ") + "isolate " +
           plan.cause.entity + " by hand and start its jobs from their checkpoints; it is tried again when the limit allows.";
  }

  std::vector<std::string> wanted;  // incidents that want a plan once everything of this tick is known

  Status see(const diagnose::Diagnosis& d) {
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
  static bool acts(const ActionPlan& plan) {
    return std::any_of(plan.actions.begin(), plan.actions.end(), [](const Action& a) { return a.kind != heal::action::kWorkOrder; });
  }
  bool waited(const std::string& incident) const {
    auto at = replan_after.find(incident);
    return at == replan_after.end() || clock.now() >= at->second;
  }

  // Plans that failed: another one, made on the newest snapshot, or the operator.
  Status retry(Incident& i) {
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
  // A limit is looked at again when something came back or time has passed.
  Status again_within_limits(Incident& i) {
    Instant now = clock.now();
    if (auto at = limited_at.find(i.id); at != limited_at.end() && now - at->second < minutes(1)) return {};
    limited_at[i.id] = now;
    heal::Context context;
    context.snapshot = snapshot.get(), context.jobs = planning_views(nullptr), context.bad = bad_parts(&i);
    context.incident = i.id, context.plan_id = "P0000", context.now = now;
    if (ActionPlan plan = heal::make_plan(i.diagnosis, context); plan.empty() || !forbidden(plan).empty() || tried[i.id] >= 6) return {};
    return plan_for(i);
  }
  std::map<std::string, Instant> limited_at;

  // ---- jobs: who makes no step although it should --------------------------------------------------------------------------
  void hear_steps() {
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
  std::unordered_map<std::uint32_t, JobState*> by_steps;

  Status watch_jobs() {
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
      cause.fault = "no_progress", cause.entity = entity, cause.layer = diagnose::Layer::kJob, cause.confidence = 1,
      cause.since = j.alive();
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
  Incident* find_incident(const std::string& id) {
    for (Incident& i : incidents)
      if (i.id == id) return &i;
    return nullptr;
  }
  // A stopped job starts again as soon as the machine has changed and it fits.
  Status wait_for_room(const std::string& name, JobState& j) {
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
    bool starts_it =
        std::any_of(plan.actions.begin(), plan.actions.end(), [](const Action& a) { return a.kind == heal::action::kJobStart; });
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

  void tell_jobs() {
    if (!jobs_changed) return;
    jobs_changed = false;
    std::vector<diagnose::RunningJob> list;
    for (const auto& [name, j] : jobs)
      if (j.submitted && j.started) list.push_back({j.view.job, j.view.placement, j.since, j.view.running});
    diagnoser.set_jobs(std::move(list));
  }

  Status tick() {
    Instant now = clock.now();
    batch.clear();
    for (telemetry::Source* s : sources)
      if (Status polled = s->poll(now, batch); !polled) {
        // A source that is away is told once; what it would have said stays unknown.
        say("note", nullptr, "source " + s->name() + ": " + polled.error().text());
      }
    for (const auto& e : batch.events)
      if (e.kind == "step_aborted" && e.entity.starts_with("job/")) {
        if (auto at = jobs.find(e.entity.substr(4)); at != jobs.end() && e.at >= at->second.since)
          at->second.view.aborted = true, at->second.aborted_at = e.at;
      } else if (e.kind == "checkpoint_saved" && e.entity.starts_with("job/"))
        if (auto at = jobs.find(e.entity.substr(4)); at != jobs.end())
          if (auto step = std::strtoll(e.code.c_str(), nullptr, 10); step > at->second.view.last_checkpoint_step)
            at->second.view.last_checkpoint_step = step;
    hear_steps();
    diagnoser.ingest(batch);
    tell_jobs();
    for (const diagnose::Diagnosis& d : diagnoser.evaluate(now)) WEFT_TRY(see(d));
    WEFT_TRY(watch_jobs());
    for (const std::string& id : std::exchange(wanted, {}))
      if (Incident* i = find_incident(id); i && !busy(id)) WEFT_TRY(plan_for(*i));
    for (Incident& i : incidents) WEFT_TRY(retry(i));
    for (std::size_t r = 0; r < runs.size(); ++r) {
      if (under_way(runs[r])) WEFT_TRY(advance(runs[r]));
      if (runs[r].stage == Run::Stage::kDone || runs[r].stage == Run::Stage::kFailed) WEFT_TRY(release(runs[r]));
    }
    tell_jobs();
    return {};
  }

  Status submit(const workload::Job& job) {
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

  // ---- after a crash --------------------------------------------------------------------------------------------------------------------
  Status recover() {
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

  // Splits "P0012.3/2", "P0012.test/2", "P0012.release", "P0012.3.undo/2".
  struct Part {
    std::string middle;
    int attempt = 1;
    bool undo = false;
  };
  static Part part_of(const std::string& id) {
    Part p;
    std::size_t dot = id.find('.'), slash = id.find('/');
    p.middle = id.substr(dot + 1, slash == std::string::npos ? std::string::npos : slash - dot - 1);
    if (slash != std::string::npos) p.attempt = static_cast<int>(std::strtol(id.c_str() + slash + 1, nullptr, 10));
    if (p.middle.ends_with(".undo")) p.undo = true, p.middle.resize(p.middle.size() - 5);
    return p;
  }

  void restore_intent(Run& r, const store::JournalEntry& e) {
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

  Status restore_outcome(Run& r, const store::JournalEntry& e) {
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
  std::vector<std::pair<std::string, std::size_t>> pending_effects;  // outcomes whose publication may be missing

  // Died between "outcome" and "publish" (or "job"): the effect is published now. Publishing what is already so changes nothing.
  Status complete_effects() {
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

  void restore_incident(const store::JournalEntry& e) {
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
    c.fault = j.at("fault").get<std::string>(), c.entity = j.at("entity").get<std::string>(),
    c.confidence = j.at("confidence").get<double>();
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
};

Loop::Loop(fabric::Snapshot snapshot, Clock& clock, std::vector<telemetry::Source*> sources, std::vector<Actuator*> actuators,
           telemetry::SeriesTable& series, store::Store& store, const LoopOptions& options)
    : impl_(std::make_unique<Impl>(std::move(snapshot), clock, std::move(sources), std::move(actuators), series, store, options)) {}
Loop::~Loop() = default;

Status Loop::recover() {
  WEFT_TRY(impl_->recover());
  return impl_->complete_effects();
}
Status Loop::submit(const workload::Job& job) { return impl_->submit(job); }
Status Loop::tick() { return impl_->tick(); }
Status Loop::run(Instant until) {
  while (!impl_->stopping && impl_->clock.now() < until) {
    impl_->clock.wait_until(std::min(until, impl_->clock.now() + impl_->options.tick));
    WEFT_TRY(impl_->tick());
  }
  return {};
}
void Loop::stop() { impl_->stopping = true; }
std::shared_ptr<const fabric::Snapshot> Loop::snapshot() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->snapshot;
}
std::vector<Incident> Loop::incidents() const { return impl_->incidents; }
Status begin_run(store::Store& store, const fabric::Snapshot& snapshot, const std::string& site, std::uint64_t seed, Instant at) {
  std::string hash = fmt::format("{:016x}", snapshot.content_hash());
  std::int64_t after = 0;
  std::string last_site, last_hash;
  for (;;) {
    WEFT_ASSIGN(auto entries, store.read(after, 1000));
    if (entries.empty()) break;
    for (const store::JournalEntry& e : entries) {
      after = e.sequence;
      if (e.kind == "run" && e.after->is_object())
        last_site = e.after->value("site", std::string()), last_hash = e.after->value("content", std::string());
    }
  }
  if (after > 0 && last_hash != hash)
    return fail(ErrorKind::kConflict, last_hash.empty() ? "the journal does not say of which site it is: name another file"
                                      : last_site == site
                                          ? "the journal is of an earlier form of site '" + site + "': name another file"
                                          : "the journal is of site '" + last_site + "', this is '" + site + "': name another file");
  store::JournalEntry e;
  e.at = at, e.kind = "run", e.subject = site, e.who = "weft", e.why = fmt::format("twin with seed {}", seed);
  e.before = Json::object(), e.after = Json{{"site", site}, {"content", hash}, {"seed", seed}};
  auto done = store.append(e);
  if (!done) return std::unexpected(done.error().in("journal"));
  return {};
}

Duration silent_limit(Duration usual_step) { return std::max(minutes(3), seconds(20 * to_seconds(usual_step))); }
std::vector<JobHealth> Loop::job_health() const {
  std::vector<JobHealth> out;
  for (const auto& [name, j] : impl_->jobs)
    out.push_back({name, !j.view.placement.cards.empty(), j.view.running && j.started, j.last_step, j.usual(), j.why});
  return out;
}
std::vector<heal::JobView> Loop::jobs() const { return impl_->views(); }
void Loop::on_line(std::function<void(const Line&)> listener) { impl_->listener = std::move(listener); }

}  // namespace weft::control
