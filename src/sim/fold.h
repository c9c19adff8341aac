// The quotient of a System: one rank, channel and link for each class that nothing can tell apart, with multiplicities. Without
// folding every class has one member; the engine cannot see the difference.
#pragma once

#include "sim/system.h"

namespace weft::sim {

// One pattern of one channel class on link classes: `amount` bytes on the busiest link of a channel put weight · amount on each link of a
// class, where weight sums over the class's channels on that link.
struct Flow {
  std::uint32_t channel;
  std::uint32_t pattern;
  double scale;
  double solo;                                           // bytes per second on the busiest link with nothing else about
  std::vector<std::pair<std::uint32_t, double>> links;   // all
  std::vector<std::pair<std::uint32_t, double>> shared;  // those that others could fill as well
};

struct RankClass {
  std::uint32_t first;  // lowest global rank
  std::uint32_t members = 1;
  std::vector<std::uint32_t> channel;  // by role: channel class
};

struct ChannelClass {
  std::uint32_t first;  // a channel of the class
  std::uint32_t members = 1;
  std::int32_t lowest_group = -1;
  std::uint32_t parties = 0;  // rank classes among its ranks
  std::uint32_t first_flow = 0, flows = 0;
};

struct LinkClass {
  std::uint32_t first;  // lowest DirectedLink::v
  std::uint32_t members = 1;
  double capacity = 0;
};

struct Folded {
  std::vector<RankClass> ranks;
  std::vector<ChannelClass> channels;
  std::vector<LinkClass> links;
  std::vector<Flow> flows;  // by channel class
  std::vector<std::uint32_t> rank_class, channel_class;
};

Folded fold(const System& system, bool merge);

}  // namespace weft::sim
