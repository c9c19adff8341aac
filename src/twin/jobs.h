// The jobs of the machine and their scheduler: start, stop, checkpoint, resume, hang and death, step after step. Step times come from
// the simulator for the present state of the machine (cached by state), jitter and the job's own oddities on top.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fabric/snapshot.h"
#include "sim/flow.h"
#include "telemetry/types.h"
#include "twin/noise.h"
#include "twin/state.h"
#include "workload/types.h"

namespace weft::twin {

enum class JobPhase : std::uint8_t { kQueued, kStarting, kRunning, kSaving, kStalled, kDead, kStopped };
std::string_view phase_name(JobPhase phase);

// One step as simulated: by rank, in seconds.
struct StepProfile {
  double step = 0, mfu = 0;
  double first_token = 0;  // inference: prefill of a prompt, and the way of its keys and values to the ranks that decode
  std::vector<double> compute;
  std::vector<std::array<double, 5>> comm, wait;
  std::vector<sim::LinkLoad> links;  // bytes of one step
  std::string algorithms;            // as the library logs them
  bool runs = false;                 // false: some rank has no route
  std::string why;
};

struct JobRun {
  workload::Job job;
  std::string entity;  // "job/NAME"
  JobPhase phase = JobPhase::kQueued;
  double phase_left = 0;          // seconds of starting or saving
  workload::Placement placement;  // where its ranks really are
  std::vector<int> cards;         // by rank, into State::cards
  std::shared_ptr<const StepProfile> profile;
  workload::Dag dag, prefill;  // inference: dag is one decoding step
  std::int64_t step = 0, saved_step = 0;
  Instant stepped;  // when its last step ended
  double since_save = 0, since_start = 0;
  int warm_up = 0;
  // The step under way, as drawn.
  double step_seconds = 0, left = 0, data = 0, bump = 0, save_seconds = 0, imbalance = 0;
  std::vector<double> rank_compute, rank_wait, group_seconds;
  // Trouble.
  double stalled_for = 0, dying_for = -1;
  bool barked = false;     // watchdog lines printed
  double last_ops = -1e9;  // when operation records were last told
  double baseline = 0;     // usual step, for "slow"
  int hung_rank = -1;
  bool stop_after_save = false;
  std::vector<int> stalled_groups;
  std::string trouble;
  bool scattered = false;  // as started
  // Which groups use a link: sorted by link.
  std::vector<std::pair<fabric::LinkId, int>> uses;
  std::vector<bool> crossed;     // by group: its links carry foreign traffic
  std::vector<double> launched;  // collectives by rank
  // Own oddities (N2, N4).
  int bump_period = 0;
  double bump_size = 0;
  int kind_of_dim[5] = {-1, -1, -1, -1, -1};
  Bytes bytes_of_dim[5]{};
  struct Ids {
    telemetry::SeriesId step, number, mfu, compute, comm[5], p99[5], wait, data, save, imbalance, ttft, tpot;
    std::vector<telemetry::SeriesId> group, rank_compute, rank_wait, launched;
  } ids;
  bool active() const { return phase == JobPhase::kRunning || phase == JobPhase::kSaving || phase == JobPhase::kStalled; }
};

class Jobs {
 public:
  using Simulate = std::function<Result<std::vector<sim::Timeline>>(const fabric::Snapshot&, const std::vector<sim::JobInput>&)>;

  Jobs(State& state, telemetry::SeriesTable& series, const Random& random, bool noise, Simulate simulate);

  Status add(const workload::Job& job);
  JobRun* find(std::string_view entity);  // "job/NAME" or NAME
  std::vector<JobRun>& all() { return jobs_; }
  const std::vector<JobRun>& all() const { return jobs_; }
  // Scheduler's answers. `card_free` says whether a card may be used.
  Status start(JobRun& job, const std::vector<fabric::DeviceId>& cards, bool resume, const fabric::Snapshot& real);
  void stop(JobRun& job);
  void relaunch(JobRun& job, const fabric::Snapshot& real);  // by the launcher itself, from the last checkpoint, same cards
  // A serving job has nothing to save: its weights are in storage.
  bool can_save(const JobRun& job) const { return job.phase == JobPhase::kRunning && job.job.kind == workload::JobKind::kTraining; }
  void save(JobRun& job, bool then_stop = false);  // begins a checkpoint after this step
  int owner_of(int card) const;                    // job index, -1 when free

  // One tick: `stall(job, groups, why)` tells whether its traffic is held up. Appends what the framework reports.
  struct Stall {
    bool held = false;
    std::vector<int> groups;  // that hold it; empty: all wait for data
    int hung_rank = -1;
    std::string why;
  };
  void tick(double dt, const fabric::Snapshot& real, std::uint64_t network_key, const std::function<Stall(const JobRun&)>& stall,
            telemetry::Batch& out);
  // Bytes per second on each directed link by the collectives of running jobs.
  void add_traffic(std::vector<double>& directed) const;
  void emit_counters(Instant at, telemetry::Batch& out);  // exporter rate
  std::size_t simulated() const { return simulated_; }

 private:
  void refresh(const fabric::Snapshot& real, std::uint64_t network_key);
  void draw(JobRun& job);
  void finish_step(JobRun& job, Instant at, telemetry::Batch& out);
  void report(JobRun& job, Instant at, double extra, telemetry::Batch& out);
  void tell_ops(JobRun& job, Instant end, bool complete, telemetry::Batch& out);
  void die(JobRun& job, const std::string& why);
  void place(JobRun& job, const fabric::Snapshot& real);
  double save_time(const JobRun& job) const;
  double first_token(const JobRun& job, const sim::JobInput& decode, const fabric::Snapshot& real);

  State& state_;
  telemetry::SeriesTable& series_;
  Noise noise_;
  Simulate simulate_;
  std::vector<JobRun> jobs_;
  std::map<std::uint64_t, std::vector<std::shared_ptr<const StepProfile>>> cache_;
  std::uint64_t key_ = 0;
  std::size_t simulated_ = 0;
};

}  // namespace weft::twin
