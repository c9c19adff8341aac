// Runs one scenario with one seed and judges it. The loop is the product's own; the twin's truth is read only after the run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "scenario/scenario.h"

namespace weft::scenario {

struct Row {
  std::string name;  // scenario, and the fault when it has several: "double/link_down"
  std::uint64_t seed = 0;
  int cause_rank = 0;                                   // 1 = ranked first; 0 = not among the causes
  double detect_s = -1, locate_s = -1, recover_s = -1;  // after the first exported sample beyond its threshold; -1 = never
  std::string verdict;                                  // "pass", "fail", "undecided"
  std::string why;                                      // of a fail or undecided; "" else
  std::string truth, found;                             // "link_down cable/C0003", first-ranked cause
};

struct RunOptions {
  std::uint64_t seed = 1;
  double actuator_failure = -1;  // < 0: the world's default
  std::string store;             // SQLite file; "" = memory
  bool dry_run = false;
  std::function<void(const control::Line&)> on_line;
};

struct Outcome {
  std::vector<Row> rows;
  std::vector<control::Incident> incidents;
  std::size_t series = 0;
  Duration virtual_time = seconds(0);
};

// How a job fared: the loop's view (placed, running, why) and the twin's (its last step).
struct JobEnd {
  control::JobHealth health;
  std::string phase;  // of the twin
  Instant stepped;    // end of its last step; Instant() when it never made one
};
std::vector<JobEnd> job_ends(const control::Loop& loop, const twin::World& world);

Result<Outcome> run(const Scenario& scenario, const RunOptions& options);

// Pure: what the incidents say against the truth. `effects` prove that no innocent part was isolated, `jobs` that what recovered makes
// steps; a job that should run and makes none is a row of its own. `now`: the end of the run.
std::vector<Row> judge(const Scenario& scenario, std::uint64_t seed, const fabric::Snapshot& snapshot,
                       const std::vector<control::Incident>& incidents, const std::vector<twin::Truth>& truths,
                       const std::vector<twin::Effect>& effects, const std::vector<JobEnd>& jobs, Instant now);

Json to_json(const Row& row);

}  // namespace weft::scenario
