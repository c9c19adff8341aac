// Plays a folded system in integer picoseconds: ranks issue their operations in order, channels run theirs one after another, flows share
// links. Events are ordered by (time, sequence).
#pragma once

#include "sim/fold.h"

namespace weft::sim {

// What one rank class did, in picoseconds.
struct RankTally {
  std::int64_t end = 0, compute = 0;
  std::int64_t comm[5]{}, wait[5]{};
  struct Late {
    std::uint32_t channel, last;  // channel class, rank class that arrived last
    std::int64_t sum;
  };
  std::vector<Late> late;
};

struct Played {
  std::vector<RankTally> ranks;    // by rank class
  std::vector<double> flow_bytes;  // by flow: bytes on the busiest link, whole run
  struct Record {                  // one collective of a channel class
    std::uint32_t channel;
    workload::Collective kind;
    std::uint16_t label;
    std::int64_t bytes, first, ready, end;
    std::uint32_t last;  // rank class
    const OpPlan* plan;
  };
  std::vector<Record> records;
  std::uint64_t events = 0;
};

Result<Played> play(const System& system, const Folded& folded, const std::vector<JobInput>& jobs, const RunOptions& options);

}  // namespace weft::sim
