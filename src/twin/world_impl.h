// The inside of World, shared by world.cc (time and truth), actions.cc (the actuator) and probes.cc (what a probe measures).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "twin/emit.h"
#include "twin/fault.h"
#include "twin/jobs.h"
#include "twin/traffic.h"
#include "twin/world.h"

namespace weft::twin {

struct World::Impl {
  Impl(fabric::Snapshot snapshot, telemetry::SeriesTable& series, const WorldOptions& options, Parameters parameters);

  // ---- time
  void tick();
  void apply_faults(double dt);
  void crowd(JobRun& job, double share);  // neighbour traffic
  void compose();                         // knobs and administration → real
  void drain_lines();
  Jobs::Stall stall(const JobRun& job) const;
  void see(Active& a);  // showing → when, and which groups
  std::vector<std::string> groups_of(const Active& a) const;
  void cure(Active& a);
  Instant next_export(int node) const;

  // ---- faults
  Result<std::string> inject(const FaultSpec& spec);
  Result<Target> resolve(const FaultEntry& entry, const FaultSpec& spec, Random& random) const;
  std::vector<Target> candidates(Sits sits) const;
  bool in_use(Sits sits, const Target& t) const;  // by an active job

  // ---- actions
  struct Run {
    heal::Action action;
    control::ActionStatus status;
    Instant due;
    double waited = 0;
    bool fails = false;
  };
  Status start(const heal::Action& action);
  Result<Duration> plan(const heal::Action& action);  // checks the target; how long it takes
  void finish(Run& run);
  Status perform(const heal::Action& action);   // the effect itself
  Json measure(const heal::Action& action);     // probes.cc
  double stress_speed(const Card& card) const;  // probes.cc: compute speed once warm under full load
  void cure_by(std::string_view kind, fabric::DeviceId device, fabric::LinkId link, int job, std::string_view key);
  void kill_jobs_on(const std::function<bool(const Card&)>& which, std::string why);

  WorldOptions options;
  Parameters parameters;
  Random random;
  State state;
  telemetry::SeriesTable& series;
  Noise noise;
  Emit emit;
  Traffic traffic;
  Jobs jobs;
  fabric::Snapshot real;
  std::uint64_t network_key = 0;
  std::uint64_t ticks = 0;
  std::vector<Active> faults;
  bool knobs_dirty = true;
  std::map<std::string, Run> runs;   // by action id
  std::vector<std::string> pending;  // ids under way, in order of start
  std::vector<Effect> effects;
  std::function<void(const Effect&)> listener;
  struct Hold {
    std::string owner, reason;
    std::vector<fabric::LinkId> links;  // of a switch: out of service with it
  };
  std::map<fabric::DeviceId, Hold> cordons;
  std::map<int, Instant> rebooting;             // node → up again
  std::vector<Instant> down_since, changed_at;  // by link; Instant() = never
  std::vector<fabric::LinkState> last_state;
  std::vector<int> changes;  // of carrier, by link
  telemetry::Batch batch;    // not yet polled
};

}  // namespace weft::twin
