// What congestion control keeps per flow inside the packet engine. How it acts is in control.cc.
#pragma once

#include "sim/packet/state.h"

namespace weft::sim::packet {

// Rate or window control of one flow (control.cc).
struct ControlState {
  double rate = 0, target = 0, alpha = 1;  // DCQCN: bytes per picosecond
  std::int64_t byte_count = 0;
  std::uint32_t byte_stage = 0, time_stage = 0;
  Time rate_timer = kNever, alpha_timer = kNever;
  bool cnp_seen = false;
  double window = 0, reference = 0;  // packets (Swift, DCTCP) or bytes (NSCC, HPCC)
  Time last_cut = -1, base_rtt = 0, smoothed = 0, line_rtt = 0;
  std::uint32_t round_end = 0, acked = 0, marked = 0, stage = 0;
  double grow = 0, average = 0, quick = 0;
  Time quick_end = 0, good_since = 0;
  double hpcc_u = 0;
  double rtt_sum = 0;
  std::uint64_t rtts = 0;
};

}  // namespace weft::sim::packet
