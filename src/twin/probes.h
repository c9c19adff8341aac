// What the twin's probes measure and how they say it. A probe runs on the machine as it is, with the noise of a measurement; it knows
// nothing of faults. Results come back through Actuator::query (ActionStatus::result) and as an `action_result` event whose text is the
// same JSON. Ratios are against the built machine: 1 is healthy.
//
//   probe_link        {"bandwidth_ratio", "forward_ratio", "backward_ratio", "large_message_ok", "ber" (worse end, after), "ber_a", "ber_b",
//                      "uncorrectable" (code words during the probe), "carrier_changes" (during the probe), "latency_us"}
//   probe_card        {"answers", "gemm_ratio", "memory_ok", "memory_ratio", "temperature_c", "throttled", "pcie_lanes", "host_copy_ratio"}
//   probe_node        {"answers", "cards", "gemm_ratio" (slowest card), "memory_ok", "all_reduce_ratio", "pcie_lanes", "host_ratio", "storage_ratio"}
//   probe_collective  {"bus_bandwidth_ratio", "seconds", "algorithm", "reachable"}
//   probe_storage     {"read_ratio", "write_ratio", "latency_s"}
#pragma once

#include <string_view>

namespace weft::twin {

inline constexpr double kProbeLinkSeconds = 8, kProbeCardSeconds = 15, kProbeNodeSeconds = 40, kProbeCollectiveSeconds = 8,
                        kProbeStorageSeconds = 10;
bool is_probe(std::string_view action_kind);

}  // namespace weft::twin
