// The planner's fast path: time and memory of a training step in closed form. The same formulas as the step's graph (workload/layer.h,
// shard.h, memory.h) and the collectives (collective/envelope.h), without writing the graph out; tests hold it against the flow
// simulator and against workload::memory_of.
#pragma once

#include <vector>

#include "collective/envelope.h"
#include "plan/machine.h"
#include "plan/software.h"
#include "workload/layer.h"
#include "workload/types.h"

namespace weft::plan {

// Seconds of one step, as the slowest stage sees it; they sum to `step`.
struct Time {
  double compute = 0, tp = 0, cp = 0, ep = 0, pp = 0, bubble = 0, zero3 = 0, dp = 0, optimizer = 0, other = 0;
  double step = 0;
};
// Bytes of one card of the stage that needs most; they sum to `total`.
struct MemoryUse {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, recomputed = 0, ends = 0, gathered = 0, framework = 0;
  double total = 0;
  int stage = 0;
};
struct Estimate {
  Time time;
  MemoryUse memory;
};

// What does not depend on pp, dp, zero, schedule and virtual stages: computed once per (tp, cp, ep, micro-batch, sp, recompute).
struct Prepared {
  struct Layer {                       // seconds per micro-batch
    double forward = 0, backward = 0;  // computation, recomputation included in backward
    double tp = 0, cp = 0, ep = 0;     // exposed communication, forward and backward together
    double ep_hideable = 0;            // all of the expert exchange, for schedules that hide it
    double backward_comm = 0;          // share of tp + cp + ep in the backward pass, seconds
    double dense = 0, expert = 0;      // parameters on one rank
    double activations = 0;            // bytes kept for one micro-batch
  } layer[2];                          // dense, experts
  double cp_gather = 0;                // seconds to gather a layer's keys and values
  double head_forward = 0, head_backward = 0, head_tp = 0, embedding_tp = 0;
  double first_end = 0, last_end = 0, shared_end = 0;  // parameters of embedding, head; when both lie in one stage
  double boundary = 0;                                 // bytes of a stage boundary
  double input = 0;                                    // bytes of one layer's input (full recomputation keeps it)
  double embedding_mask = 0, logits = 0;               // bytes
};

class Estimator {
 public:
  // Errors: the card's figures are not known.
  static Result<Estimator> make(const workload::Model& model, const Machine& machine, const Software& software,
                                workload::Precision precision);

  Prepared prepare(const workload::Strategy& s) const;
  Estimate combine(const Prepared& p, const workload::Strategy& s) const;
  // The strategy must be valid for the model.
  Estimate estimate(const workload::Strategy& s) const { return combine(prepare(s), s); }

  const workload::Model& model() const { return model_; }
  const Machine& machine() const { return machine_; }
  const Software& software() const { return software_; }
  double memory_limit() const { return limit_; }  // bytes of the card; infinite when unknown

 private:
  const collective::Envelope& envelope(workload::Collective kind, int members, int stride) const;
  double hide(double comm, double share, double window) const;

  workload::Model model_;
  Machine machine_;
  Software software_;
  workload::ComputeRate rate_;
  double limit_ = 0;
  struct Slot {
    std::uint64_t key = 0;
    collective::Envelope envelope;
  };
  mutable std::vector<Slot> slots_;  // open addressing; copies of an Estimator are independent (one per thread)
  mutable std::size_t used_ = 0;
};

// FLOPs of the whole step that count for MFU (workload::model_flops), seconds, cards, peak → share of peak.
double mfu(const workload::Model& model, const workload::Strategy& s, double step, const fabric::DeviceModel& card);

}  // namespace weft::plan
