// One step of a job as a graph of computes and communications. Ranks with the same program share it: `programs` holds each
// distinct program once, `program_of` says which rank runs which; groups and peers are resolved per rank. Laws: bytes per group
// equal the closed formulas of account.h; every collective is entered by all members in the same order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "workload/types.h"

namespace weft::workload {

enum class OpKind : std::uint8_t { kCompute, kCollective, kSend, kRecv, kDelay };
enum class Collective : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast };
std::string_view collective_name(Collective c);  // "all-reduce" …

struct Op {
  OpKind kind;
  Collective collective{};  // kCollective
  Dim dim{};                // kCollective: which of the rank's groups; kSend/kRecv: kPp (or kCp)
  std::int16_t peer = 0;    // kSend/kRecv: offset along dim in the group (+1 next stage, -1 previous), wraps
  std::uint16_t label = 0;  // index into Dag::labels, e.g. "attention fwd"
  bool async = false;       // communication that compute need not wait for until the matching `wait`
  std::int32_t wait = -1;   // before this op, wait for the async op at this index of the program; -1 none
  Seconds compute{0};       // kCompute, kDelay: on a card of normal speed
  Bytes bytes{0};           // collective: full vector (all-gather, reduce-scatter: gathered size; all-to-all: a rank's send buffer)
};

struct Program {
  std::vector<Op> ops;  // in issue order of one rank
};

struct Dag {
  std::string job;
  std::vector<Program> programs;
  std::vector<std::uint32_t> program_of;  // by rank
  std::vector<Group> groups;              // as in Placement
  std::vector<std::string> labels;
  Flops flops_per_step{0};  // model FLOPs, whole job (6·N·D plus attention), for MFU
  std::int64_t tokens_per_step = 0;
};

}  // namespace weft::workload
