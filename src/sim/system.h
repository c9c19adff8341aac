// Jobs on a machine as the engine sees them: ranks with compiled programs, channels (a group's communicator, or one sender towards one
// receiver) and the links each channel loads. Built once per run, folded by `fold`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collective/cost.h"
#include "sim/flow.h"

namespace weft::sim {

// One way a program communicates: a collective of one dim, or sends to (receives from) one peer offset.
struct Role {
  workload::OpKind kind;
  workload::Dim dim;
  std::int16_t peer;
  bool operator==(const Role&) const = default;
};

struct CompiledOp {
  workload::OpKind kind;
  workload::Collective collective;
  bool async = false;
  std::uint16_t label = 0;
  std::int16_t role = -1;  // index into CompiledProgram::roles; -1: nothing to communicate (group of one)
  std::int32_t slot = -1;  // async: where the instance is kept
  std::int32_t wait_slot = -1;
  std::int64_t bytes = 0;
  double seconds = 0;
};

struct CompiledProgram {
  std::vector<Role> roles;
  std::vector<CompiledOp> ops;
  std::int32_t slots = 0;
  // Distinct (collective, bytes) per role.
  std::vector<std::vector<std::pair<workload::Collective, std::int64_t>>> uses;
};

// How an operation runs on channels of one shape.
struct OpPlan {
  std::string algorithm;
  Picos latency{0};
  std::vector<std::pair<std::uint32_t, double>> phases;  // pattern, factor on the operation's bytes
};

// Links of one pattern on one channel.
struct Usage {
  std::uint32_t pattern;
  double scale = 0;                                     // the busiest link's share of the pattern
  std::vector<std::pair<std::uint32_t, double>> links;  // dense link, weight (busiest 1)
};

struct Channel {
  std::uint32_t job;
  workload::OpKind kind;  // kCollective or kSend
  workload::Dim dim;
  std::int32_t group = -1;         // index into Dag::groups
  std::uint32_t from = 0, to = 0;  // kSend: global ranks
  std::uint32_t shape = 0;
  Picos latency{0};  // kSend
  std::vector<Usage> usages;
  const Usage* usage(std::uint32_t pattern) const;
};

struct Rank {
  std::uint32_t job, rank;  // rank inside the job
  std::uint32_t program;    // index into System::programs
  double slowdown = 1;
  std::uint32_t first_role = 0;  // into System::role_channel
};

struct System {
  std::vector<const workload::Dag*> dags;
  std::vector<std::uint32_t> first_rank;  // global rank of each job's rank 0; one more at the end
  std::vector<CompiledProgram> programs;
  std::vector<Rank> ranks;
  std::vector<std::uint32_t> role_channel;
  std::vector<Channel> channels;
  std::vector<std::uint32_t> links;  // dense link → DirectedLink::v, ascending
  std::vector<double> capacity;      // bytes per second
  std::vector<collective::GroupShape> shapes;
  // By (collective, bytes, shape). Point-to-point operations need none: pattern 0, latency of the channel.
  std::map<std::tuple<workload::Collective, std::int64_t, std::uint32_t>, OpPlan> plans;

  const workload::Group& group(const Channel& c) const { return dags[c.job]->groups[static_cast<std::size_t>(c.group)]; }
  std::string channel_name(const Channel& c) const;  // "tp3", "pp 3 to 4"
};

constexpr std::uint32_t kMessagePattern = 0;

Result<System> build_system(const fabric::Snapshot& snapshot, const std::vector<JobInput>& jobs, const RunOptions& options);

}  // namespace weft::sim
