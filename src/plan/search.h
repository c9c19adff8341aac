// The best strategies for a model on a machine: every configuration is priced in full (memory and time). With `prune`, blocks of
// configurations are skipped whose computation alone takes longer than the worst strategy kept: the answer is the same, found sooner (a
// test). Threads share nothing; the result does not depend on their number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/estimate.h"

namespace weft::plan {

struct SearchSpace {
  int cards = 8;
  int global_batch = 1024;  // sequences
  int sequence = 4096;
  workload::Precision precision = workload::Precision::kBf16;
  bool flash = true;
  int max_tp = 1 << 20, max_micro_batch = 16;
  std::vector<int> zero = {1, 2, 3};
  bool schedules = true;  // zero-bubble and dual-pipe too
  bool prune = true;
  int keep = 10;
  int threads = 2;
};
struct Candidate {
  workload::Strategy strategy;
  Estimate estimate;
};
struct SearchResult {
  std::vector<Candidate> best;  // fits, by step time; ties by memory, then by order of enumeration
  std::uint64_t priced = 0;     // configurations with full memory and time
  std::uint64_t skipped_blocks = 0;
  std::uint64_t too_large = 0;   // priced, do not fit
  bool any = false;              // some strategy divides
  Candidate nearest;             // smallest memory of all priced: what comes nearest when nothing fits
  std::string first_constraint;  // why there is none, in words; empty when there is one
};
SearchResult search(const Estimator& estimator, const SearchSpace& space);

}  // namespace weft::plan
