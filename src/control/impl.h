// Inside the loop, shared by the files of this folder: the state, and what each file does with it. applier does one action exactly once,
// progress takes a plan through its actions and retest, release brings isolated parts back, planning turns diagnoses into plans within
// the limits, jobs watches who makes no step, recovery reads the journal after a crash.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "control/loop.h"
#include "diagnose/diagnose.h"

namespace weft::control {

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

inline std::string attempt_id(const std::string& id, int attempt) { return attempt == 1 ? id : id + "/" + std::to_string(attempt); }

// Longest a probe may take before it counts as lost.
inline constexpr Duration kProbeTimeout = Duration(120'000'000'000);

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
  std::vector<std::string> wanted;                                   // incidents that want a plan once everything of this tick is known
  std::map<std::string, Instant> limited_at;                         // incident → when a limit last stopped its plan
  std::unordered_map<std::uint32_t, JobState*> by_steps;             // series of step times → job
  std::vector<std::pair<std::string, std::size_t>> pending_effects;  // outcomes whose publication may be missing

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

  // ---- loop.cc
  Status tick();

  // ---- applier.cc
  Status journal(std::string kind, std::string subject, std::string entity, std::string why, const Json& before, const Json& after);
  void say(std::string phase, Incident* incident, std::string text, double confidence = -1);
  Incident* find_incident(const std::string& id);
  Json incident_json(const Incident& i);
  Status note(const Incident& i);
  Status publish(const fabric::Delta& delta, const std::string& subject);
  void set(fabric::Snapshot next);
  // The first actuator takes everything; several are asked in order and the first that does not refuse as invalid has it.
  Status start(const Action& action);
  Result<ActionStatus> query(const std::string& id);
  enum class Step { kWaiting, kDone, kFailed };
  // Journal before, act, journal after; called every tick until it says something else than kWaiting.
  Result<Step> perform(const Action& action, int attempt, bool& intended, Instant& started, Duration timeout, ActionStatus* result);

  // ---- progress.cc
  Action probe_action(const heal::Retest& r, const std::string& id);
  static bool passes(const heal::Retest& r, const ActionStatus& s, std::string& text);
  Status advance(Run& run);
  // A bandwidth is not yet a step: what the plan is about has recovered when its jobs make steps again.
  Status prove(Run& run);
  // Between the plan and the start further parts may have been found bad.
  std::string met_another_fault(const Run& run, const Action& start);
  // The run, other than `self`, that is moving the job.
  const Run* mover(const std::string& job, const Run* self) const;
  // Jobs move while plans run: a collective is measured where the job is, or is going to be.
  void where_the_job_is(const Run& run, Action& probe);
  // The job that was to be measured is stopped for good: its cards prove nothing.
  bool nothing_to_measure(const Run& run) const;
  // Effects of an action that was done: the snapshot, jobs, what the operator reads.
  Status done(Run& run, const Action& action);
  Status finished(Run& run, const std::string& measured);
  std::string steps_of(const std::vector<std::string>& entities) const;
  Status failed(Run& run, const std::string& why);

  // ---- release.cc
  Status release(Run& run);

  // ---- planning.cc
  std::string forbidden(const ActionPlan& plan);
  static bool under_way(const Run& r);
  bool busy(const std::string& incident) const;
  // A job that another plan is moving must not be moved twice.
  bool touches_busy_job(const ActionPlan& plan) const;
  std::vector<heal::JobView> views() const;
  // As a plan has to see them: a job that another run is moving is where it is going to be; whoever makes no step is marked.
  std::vector<heal::JobView> planning_views(const Run* self) const;
  // Parts that located incidents name and that may still be in service: no work goes there.
  std::vector<fabric::DeviceId> bad_parts(const Incident* but) const;
  enum class Means { kUsual, kLastResort, kGiveUp };
  Status plan_for(Incident& incident, Means means = Means::kUsual);
  static std::string summary(const diagnose::Cause& cause, const diagnose::Diagnosis& d);
  // What is left to a person when a limit stops the loop.
  std::string by_hand(const ActionPlan& plan) const;
  Status see(const diagnose::Diagnosis& d);
  static bool acts(const ActionPlan& plan);
  bool waited(const std::string& incident) const;
  // Plans that failed: another one, made on the newest snapshot, or the operator.
  Status retry(Incident& i);
  // A limit is looked at again when something came back or time has passed.
  Status again_within_limits(Incident& i);

  // ---- jobs.cc
  void hear_steps();
  Status watch_jobs();
  // A stopped job starts again as soon as the machine has changed and it fits.
  Status wait_for_room(const std::string& name, JobState& j);
  void tell_jobs();
  Status submit(const workload::Job& job);

  // ---- recovery.cc
  Status recover();
  // Splits "P0012.3/2", "P0012.test/2", "P0012.release", "P0012.3.undo/2".
  struct Part {
    std::string middle;
    int attempt = 1;
    bool undo = false;
  };
  static Part part_of(const std::string& id);
  void restore_intent(Run& r, const store::JournalEntry& e);
  Status restore_outcome(Run& r, const store::JournalEntry& e);
  // Died between "outcome" and "publish" (or "job"): the effect is published now. Publishing what is already so changes nothing.
  Status complete_effects();
  void restore_incident(const store::JournalEntry& e);
};

}  // namespace weft::control
