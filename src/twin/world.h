// The supernode nobody has on the desk: cards, links, switches, power, cooling, storage, software and jobs in virtual time. It emits
// the telemetry a real site emits and obeys the same actions, some of which fail or answer late. The truth (which fault is where) is for
// the scenario judge alone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "control/actuator.h"
#include "fabric/snapshot.h"
#include "telemetry/types.h"
#include "workload/types.h"

namespace weft::twin {

struct WorldOptions {
  std::uint64_t seed = 1;
  Instant start = Instant(1'767'225'600'000'000'000);  // 2026-01-01T00:00:00Z
  Duration sample_every = seconds(1);
  double actuator_failure = 0.03;    // share of actions that fail
  double actuator_delay_factor = 1;  // scales how long effects take
  bool noise = true;                 // ordinary noise of healthy machines; off only in unit tests
  bool every_series = false;         // every series at sample_every instead of each exporter's own rate (benchmark)
};

// A fault to come, as scenario files say it. Magnitude 1 is the catalogue's middle; each seed draws × 0.5 … × 2 unless given.
struct FaultSpec {
  std::string fault;            // registry name = diagnose fault class id (decoys: own names)
  std::string target;           // canonical name; "" lets the seed choose a fitting one
  Duration at = seconds(0);     // after the start of the world
  Duration lasts = seconds(0);  // 0 = until cured
  double magnitude = 0;         // 0 = drawn
  std::map<std::string, std::string> parameters;
};

// The truth about an injected fault, for the judge.
struct Truth {
  std::string fault;
  std::string entity;  // canonical
  Instant from;
  Instant visible;  // first exported sample beyond its threshold; Instant() while none
  bool cured = false;
  Instant cured_at;
  double magnitude = 1;
  std::vector<std::string> groups;  // "job/NAME:ep3" that the fault touches
};

// A job as the world lives it, for the judge.
struct JobTruth {
  std::string name;
  std::string phase;  // "running", "stalled", "dead", "stopped" …
  std::int64_t step = 0;
  Instant stepped;  // end of its last step; Instant() when it never made one
};

// One effect as the world lived it: for the crash test.
struct Effect {
  Instant at;
  std::string action_id, kind, target;
  bool succeeded = true;
};

class World : public Clock, public telemetry::Source, public control::Actuator {
 public:
  World(fabric::Snapshot snapshot, telemetry::SeriesTable& series, const WorldOptions& options);
  ~World() override;

  Status add_job(const workload::Job& job);  // known to the scheduler, not yet started
  // Returns the canonical target chosen. Without a target in the spec the seed chooses among the fitting parts that jobs use when the
  // fault begins (truths() names it then); what is returned is the choice should nothing be in use.
  Result<std::string> inject(const FaultSpec& fault);

  // Clock
  Instant now() const override;
  void wait_until(Instant t) override;  // lives until t
  // Source
  Status poll(Instant until, telemetry::Batch& into) override;
  std::string name() const override { return "twin"; }
  // Actuator
  Status start(const heal::Action& action) override;
  Result<control::ActionStatus> query(const std::string& id) override;

  // For the judge and tests only.
  std::vector<Truth> truths() const;
  std::vector<JobTruth> job_truths() const;
  std::vector<Effect> effects() const;
  const fabric::Snapshot& real() const;  // true state of the machine
  std::size_t series_count() const;
  std::size_t simulated() const;  // steps simulated so far: one per state of machine and placement
  // Called with each effect as it happens: the append-only log of process mode.
  void on_effect(std::function<void(const Effect&)> listener);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  friend struct WorldInside;  // tests of the twin itself
};

}  // namespace weft::twin
