// The flow model: max-min fair sharing over routes with latency, event-driven, several jobs at once. A collective is one activity
// whose edges progress together (its algorithm's bytes per link), so contention between groups and jobs is exact in the fluid
// sense, and time never falls below the port floor. Ranks, groups and links that cannot be told apart are folded (equitable
// partition), so a healthy 16,384-card step costs as little as its distinct stages; a fault refines only what it touches.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "sim/timeline.h"

namespace weft::sim {

struct JobInput {
  const workload::Dag* dag = nullptr;
  const workload::Placement* placement = nullptr;
  // Relative compute time per rank (1 = as in the Dag); empty = from the snapshot's speed_factor.
  std::vector<double> slowdown;
  Seconds start{0};
};

struct RunOptions {
  bool fold = true;
  bool record_ops = false;
  std::string algorithm;                   // force this collective algorithm; empty = choose by predicted time
  std::uint64_t max_events = 200'000'000;  // then an error, never a hang
};

// One step of every job, together. Deterministic. Errors: a rank without a route, a dag that deadlocks (names the operation).
Result<std::vector<Timeline>> run(const fabric::Snapshot& snapshot, const std::vector<JobInput>& jobs, const RunOptions& options = {});

// A single collective on these cards, nothing else on the network: time and per-link bytes.
struct CollectiveRun {
  Seconds time{0};
  std::string algorithm;
  std::vector<LinkLoad> links;
};
Result<CollectiveRun> run_collective(const fabric::Snapshot& snapshot, const std::vector<fabric::DeviceId>& cards,
                                     workload::Collective kind, Bytes bytes, const RunOptions& options = {});

}  // namespace weft::sim
