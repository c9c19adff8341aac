// The two ends of a flow inside the packet engine. How they act is in host.cc.
#pragma once

#include "sim/packet/state.h"

namespace weft::sim::packet {

// Sender's side of a flow; lives on the sending host.
struct Tx {
  std::uint32_t packets = 0, next = 0, una = 0, highest = 0;
  std::uint32_t hash = 0;
  std::uint32_t port = 0;
  std::uint32_t before = kNone, behind = kNone;  // neighbours in the ready ring
  std::uint16_t to = 0, last_wire = 0;
  std::uint16_t round = 0;
  std::uint8_t klass = 0;
  bool ready = false, started = false, done = false, pacing = false;
  Time next_time = 0;       // pacing: not before
  Time progress = 0;        // last time una moved or something was sent from idle
  double gap = 0;           // picoseconds per wire byte by rate control, 0 = line rate
  std::int64_t window = 0;  // bytes in flight allowed, 0 = no limit
  std::int64_t inflight = 0;
  std::uint32_t resent = 0, cnps = 0;
  std::uint32_t spray = 0;
  Time done_at = -1;
};

struct Rx {
  std::uint32_t expected = 0, packets = 0;
  std::uint32_t nack_round = kNone;
  std::uint32_t since_ack = 0, marked = 0;
  Time last_cnp = -1;
  Time finished = -1;
  std::vector<std::uint64_t> bitmap;  // selective repeat: received beyond `expected`
  std::uint32_t restart_round = 0;    // go-back-0
};

// Selective repeat: what is missing, by order of sending.
struct SelectiveState {
  std::vector<std::uint64_t> sacked;  // ring by packet number: acknowledged beyond una
  std::vector<std::uint32_t> order;   // ring by packet number: when last sent (count of sendings)
  std::vector<std::uint32_t> sent;    // ring by count of sendings: packet number
  std::vector<std::uint32_t> lost;    // to be sent again, first in first out
  std::size_t lost_at = 0;
  std::uint32_t sendings = 0, oldest = 0;
  std::uint32_t outstanding = 0;
};

}  // namespace weft::sim::packet
