// PFC deadlock: a cycle of queues each of which waits for room in the next. Seen at run time from stopped queues, and statically from
// routes: no cycle among (link, class) dependencies proves that there can be none (Dally and Seitz, 1987; Hu et al., HotNets 2016).
#pragma once

#include <string>
#include <vector>

#include "sim/packet/engine.h"

namespace weft::sim::packet {

// Ports of one cycle of stopped queues, empty when there is none.
std::vector<std::uint32_t> pause_cycle(const std::vector<PauseEdge>& paused);

struct Dependencies {
  std::vector<std::uint32_t> cycle;  // egress ports of one cyclic buffer dependency, in order; empty: none, the proof
  std::uint64_t channels = 0, edges = 0;
};
// Follows all equal-cost routes between all hosts (or from `sources` to `destinations`), one class. The order in which the channels can be
// removed is the proof.
Dependencies buffer_dependencies(const Network& network);

}  // namespace weft::sim::packet
