// Watches a machine: takes in telemetry, keeps windows and findings, and answers with ranked causes, one Diagnosis per incident.
// Deterministic: the same batches in the same order give the same bytes; the order inside a batch does not matter. Never acts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "diagnose/types.h"
#include "fabric/snapshot.h"
#include "telemetry/types.h"
#include "workload/types.h"

namespace weft::telemetry {
class Windows;
}

namespace weft::diagnose {

struct RunningJob {  // what the scheduler knows of a job
  workload::Job job;
  workload::Placement placement;
  Instant since;        // start or latest resume: its baselines begin anew here
  bool running = true;  // false: stopped on purpose, no symptom of it counts
};

class Diagnoser {
 public:
  // Thresholds and priors come from data/diagnose/*.yaml (built in; WEFT_DATA overrides).
  explicit Diagnoser(telemetry::SeriesTable& series);
  ~Diagnoser();
  Diagnoser(Diagnoser&&) noexcept;
  Diagnoser& operator=(Diagnoser&&) noexcept;

  // Call whenever either changed. What is out of service, cordoned or failed in the snapshot is being taken care of: no new finding
  // is made about it or what lies inside, and what jobs feel from the change becomes their new normal.
  void set_snapshot(const fabric::Snapshot& snapshot);
  void set_jobs(std::vector<RunningJob> jobs);

  void ingest(const telemetry::Batch& batch);  // ~100 ns a sample
  // The open incidents as of `now`, oldest first; valid until the next call. Cheap when nothing is wrong. A Diagnosis keeps its `key`
  // while the same cause goes on; `settled` says that enough was seen to act; with `over` its symptoms are gone (reported once).
  const std::vector<Diagnosis>& evaluate(Instant now);

  const std::vector<Finding>& findings() const;  // all that are alive, also those too weak for an incident; as of the last evaluate()
  const telemetry::Windows& windows() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::diagnose
