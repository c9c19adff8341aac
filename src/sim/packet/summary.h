// What a run of the packet model comes to: completion times, pauses, marks, drops, the most troubled ports, and how each pause spread.
#pragma once

#include <string>
#include <vector>

#include "sim/packet/engine.h"

namespace weft::sim::packet {

struct Percentiles {
  Picos least{0}, median{0}, p90{0}, p99{0}, p999{0}, most{0};
  Picos mean{0};
};
// Of the flows that finished; nearest rank.
Percentiles completion(const std::vector<FlowResult>& flows);
Percentiles acknowledged(std::vector<FlowResult> flows);  // the same at the sender: the last ACK

struct PortTotal {
  std::uint32_t port = 0;
  std::uint8_t klass = 0;
  Counters counters;
};
// Ports with the most pause time, then the deepest queues; at most n.
std::vector<PortTotal> most_troubled(const Network& network, const Config& config, const Outcome& out, std::size_t n);

struct Totals {
  std::uint64_t pauses = 0, marks = 0, drops = 0, resent = 0, payload = 0;
  Picos paused{0};  // summed over ports and classes
  std::int64_t queue_max = 0;
  double imbalance = 1;  // busiest over mean of the ports of an equal-cost set, the worst set with at least 1 MB
  std::string imbalance_at;
};
Totals totals(const Network& network, const Config& config, const Outcome& out);

// Why the answer is "no"; empty when the run is whole: all flows finished, nothing lost in a lossless class, not cut.
std::vector<std::string> complaints(const Network& network, const Config& config, const Outcome& out);

// Who stopped whom, as lines indented under the queue where it began (its own node does not wait for anybody).
std::vector<std::string> pause_tree(const Network& network, const Outcome& out, std::size_t most);

}  // namespace weft::sim::packet
