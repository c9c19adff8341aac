// What a simulated step looks like: when each rank computed, communicated and waited, and what each link carried.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "fabric/routes.h"
#include "workload/dag.h"

namespace weft::sim {

// Of one class of ranks that Dag × Placement × Snapshot cannot tell apart.
struct RankTime {
  int rank = 0;  // lowest rank of the class
  int members = 1;
  Seconds end{0};
  Seconds compute{0};
  Seconds comm[5]{};   // exposed time in communication per Dim (transfer itself)
  Seconds wait[5]{};   // waiting for later members, per Dim
  int waits_for = -1;  // rank most waited for, -1 none
};

struct LinkLoad {
  fabric::DirectedLink link;  // lowest id of the class
  int members = 1;
  double bytes = 0;        // per member link
  double utilisation = 0;  // bytes / (effective rate · step)
};

// One operation of one group: for OpRecords and lateness.
struct GroupOp {
  std::int32_t group = -1;  // index into Dag::groups (lowest of the class)
  int members = 1;
  workload::Collective kind{};
  std::uint16_t label = 0;
  Bytes bytes{0};
  Picos first_arrival{0}, last_arrival{0}, end{0};
  int last_rank = -1;
  std::string algorithm;
};

struct Timeline {
  Picos step{0};
  std::vector<RankTime> ranks;  // by lowest rank
  std::vector<int> class_of;    // rank → index into ranks
  std::vector<LinkLoad> links;  // loaded ones, by id
  std::vector<GroupOp> ops;     // when asked for (RunOptions::record_ops)
  double mfu = 0;               // model FLOPs / (bf16 peak · step); 0 when the peak of a card is not known
  std::uint64_t events = 0;
};

}  // namespace weft::sim
