// What no machine part is guilty of: experts, garbage collection, placement; and storage.
#include "diagnose/cause.h"
#include "telemetry/names.h"

namespace weft::diagnose {
namespace {

double job_only(const Case& c) { return c.part().job >= 0 ? 0 : -1000; }

double storage_only(const Case& c) {
  return c.part().device.ok() && c.context().machine.snapshot().device(c.part().device).kind == fabric::DeviceKind::kStorage ? 0 : -1000;
}

// Several jobs at the same time.
double judge_storm(const Case& c) {
  double veto = storage_only(c);
  std::vector<const Finding*> slow = c.found("checkpoint_slow", Where::kAnywhere);
  if (slow.empty()) return veto - 3.0;
  return veto + (slow.size() >= 2 ? 1.5 : 0);
}

WEFT_REGISTER(causes(), {"expert_imbalance",
                         "mixture-of-experts load unbalanced",
                         {{"imbalance_up", Lift::kSame}},
                         {{"imbalance_up", Where::kSame, 5.0},
                          {"comm_ep_slow", Where::kSame, 1.0},
                          {"comm_ep_p99", Where::kSame, 0.5},
                          {"compute_slow", Where::kSame, 0.1},
                          {"rank_late", Where::kJob, 0.2},
                          {"ranks_late_changing", Where::kSame, 0.1}},
                         "token histogram per expert; clocks and errors are clean",
                         15,
                         nullptr,
                         job_only});

WEFT_REGISTER(causes(), {"gc_pauses",
                         "garbage collection at random ranks",
                         {{"ranks_late_changing", Lift::kSame}},
                         {{"ranks_late_changing", Where::kSame, 5.0},
                          {"wait_up", Where::kSame, 0.2},
                          {"imbalance_up", Where::kSame, -4.0},
                          {"data_slow", Where::kSame, -1.0},
                          {"link_flap", Where::kJob, -1.5}},
                         "fix the collection interval on all ranks: the pauses fall together and vanish from the others",
                         20,
                         nullptr,
                         job_only});

WEFT_REGISTER(causes(), {"placement_across_tiers",
                         "a group lies across the wrong tier",
                         {{"job_misplaced", Lift::kSame}},
                         {{"job_misplaced", Where::kSame, 4.5}, {"comm_*", Where::kSame, 0.5}},
                         "place the job again: the time changes at once, no part does",
                         15,
                         nullptr,
                         job_only});

WEFT_REGISTER(causes(), {"slow_data_loading",
                         "data loading slow",
                         {{"data_slow", Lift::kStorage}, {"storage_slow", Lift::kSame}},
                         {{"data_slow", Where::kJob, 4.0, 1.0},
                          {"storage_slow", Where::kSame, 1.5},
                          {"io_wait", Where::kAnywhere, 0.3},
                          {"cpu_busy", Where::kAnywhere, 0},
                          {"checkpoint_slow", Where::kJob, -1.5},
                          {"storage_write_burst", Where::kSame, -0.7}},
                         "run with synthetic data: fast means storage or loader",
                         15,
                         nullptr,
                         storage_only});

WEFT_REGISTER(causes(), {"checkpoint_storm",
                         "checkpoints of several jobs written together",
                         {{"checkpoint_slow", Lift::kStorage}, {"storage_write_burst", Lift::kSame}},
                         {{"checkpoint_slow", Where::kJob, 3.5, 1.5},
                          {"storage_write_burst", Where::kSame, 1.0},
                          {"storage_slow", Where::kSame, 1.0},
                          {"io_wait", Where::kAnywhere, 0.3},
                          {"data_slow", Where::kJob, 0.1},
                          {"step_spikes", Where::kJob, 0.2}},
                         "do the slow saves of the jobs fall together? stagger them",
                         10,
                         nullptr,
                         judge_storm});

}  // namespace
}  // namespace weft::diagnose
