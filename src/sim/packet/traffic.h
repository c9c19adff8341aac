// Patterns of traffic, and what the flow model says of the same: rates shared max-min over evenly split routes.
#pragma once

#include <string_view>
#include <vector>

#include "sim/packet/engine.h"

namespace weft::sim::packet {

// "permutation" (every host sends to one other, random, nobody to itself), "incast:N" (N random hosts to host 0), "alltoall",
// "file:PATH" (lines "FROM TO BYTES [START_US [CLASS]]", hosts by name or number, # comments).
Result<std::vector<Flow>> traffic(const Network& network, std::string_view pattern, Bytes bytes, std::uint64_t seed);

// Completion of each flow in the fluid limit: every flow splits evenly over its equal-cost paths and shares links max-min with the rest; wire
// overhead and the latency of the path are counted. Knows nothing of pauses, queues or hash collisions.
std::vector<Picos> fluid_completions(const Network& network, const Config& config, const std::vector<Flow>& flows);

// When the busiest host could at best have sent and received everything: a cheap lower bound of the end.
Picos fluid_end(const Network& network, const Config& config, const std::vector<Flow>& flows);

}  // namespace weft::sim::packet
