// The run-time line joined: sources → telemetry → diagnose → heal → apply. The loop sees the world through a Clock, Sources and
// Actuators; it cannot tell a twin from a site. It is the only writer of the snapshot. Every step is journalled before and after;
// recover() after a crash finishes exactly once what was begun.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "control/actuator.h"
#include "diagnose/types.h"
#include "fabric/delta.h"
#include "heal/types.h"
#include "store/store.h"
#include "telemetry/types.h"

namespace weft::control {

struct LoopOptions {
  Duration tick = seconds(1);
  Duration diagnose_every = seconds(1);  // a pass over new findings
  heal::Limits limits;
  bool dry_run = false;  // plans are made and journalled, nothing is started
  std::uint64_t seed = 1;
};

// One line an operator reads; the same as JSON for the page.
struct Line {
  Instant at;
  std::string phase;     // inspect, place, start, detect, locate, impact, isolate, rearrange, resume, retest, release, report, note
  std::string incident;  // "" when none
  std::string text;
  double confidence = -1;
};

enum class IncidentState : std::uint8_t { kOpen, kActing, kRecovered, kReported, kUndecided, kReleased, kClosed };
struct Incident {
  std::string id;  // "I0007"
  IncidentState state = IncidentState::kOpen;
  telemetry::Severity severity = telemetry::Severity::kInfo;
  diagnose::Diagnosis diagnosis;  // latest
  std::vector<heal::ActionPlan> plans;
  // Zero when it has not happened.
  Instant first_sample, detected, located, isolated, recovered, released, closed;
  std::vector<Line> lines;
};

// Marks in the journal that a new machine begins at `at` (a twin is always new): what is before it is history, recover() starts
// behind it, and times are told from it. conflict: the journal belongs to another site.
Status begin_run(store::Store& store, const fabric::Snapshot& snapshot, const std::string& site, std::uint64_t seed, Instant at);

// How a job fares as the loop sees it: by the steps it tells, not by what was asked of it.
struct JobHealth {
  std::string name;
  bool placed = false;   // it was given cards
  bool running = false;  // wanted to run
  Instant last_step;     // Instant() when it told none yet
  Duration usual_step = seconds(0);
  std::string why;  // refused or stopped: the reason
};
// A job without a step for this long hangs: 20 of its usual steps, at least three minutes.
Duration silent_limit(Duration usual_step);

class Loop {
 public:
  Loop(fabric::Snapshot snapshot, Clock& clock, std::vector<telemetry::Source*> sources, std::vector<Actuator*> actuators,
       telemetry::SeriesTable& series, store::Store& store, const LoopOptions& options);
  ~Loop();

  // Reads the journal, asks the actuators what became of unfinished actions, finishes or undoes them. Call before the first tick.
  Status recover();
  // Jobs: placed by `place` on the current snapshot, started through the actuator, journalled.
  Status submit(const workload::Job& job);
  // One pass at clock.now(): poll, detect, diagnose, plan, apply, retest, release. Never blocks on an action.
  Status tick();
  // tick() every options.tick until `until` (the clock decides how fast) or until stop() is called from another thread.
  Status run(Instant until);
  void stop();

  std::shared_ptr<const fabric::Snapshot> snapshot() const;  // thread-safe
  std::vector<Incident> incidents() const;
  std::vector<heal::JobView> jobs() const;
  std::vector<JobHealth> job_health() const;
  void on_line(std::function<void(const Line&)> listener);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::control
