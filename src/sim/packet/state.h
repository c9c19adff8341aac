// Inside the packet engine: what the hot path touches, in cache-line sized records. Not for users of the model.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "sim/packet/engine.h"

namespace weft::sim::packet {

using Time = std::int64_t;  // picoseconds
constexpr Time kNever = INT64_MAX;

enum Kind : std::uint8_t { kData = 0, kAck = 1, kNack = 2, kCnp = 3, kPause = 4 };
constexpr std::uint8_t kKindMask = 7, kMarked = 8, kEcho = 16, kLast = 32;

struct Packet {
  Time time;  // on a cable: arrival. In a queue: local port it came by, -1 own
  std::uint32_t flow;
  std::uint32_t seq;    // data: number of the packet; ACK, NACK: next one expected; pause: XOFF classes, then classes meant << 8
  std::uint32_t hash;   // what a switch hashes
  std::uint16_t to;     // host
  std::uint16_t extra;  // data: sending round (go-back-N) ; ACK: how far ahead of seq the packet was that caused it
  std::uint16_t wire;   // bytes on the wire
  std::uint8_t klass;
  std::uint8_t flags;   // Kind | marks
  std::uint32_t stamp;  // send time of the data packet in units of 256 ps; ACKs bring it back
};
static_assert(sizeof(Packet) == 32);

constexpr std::uint8_t kLinkDown = 1, kStorm = 2;

// FIFO of packets on one cable, in one direction; owned by the receiving port.
struct Ring {
  std::unique_ptr<Packet[]> data;
  std::uint32_t head = 0, tail = 0, mask = 0;  // empty: head == tail
  bool empty() const { return head == tail; }
  void push(const Packet& p) {
    if (!data || tail - head > mask) grow();
    data[tail++ & mask] = p;
    __builtin_prefetch(&data[(tail + 1) & mask], 1);
  }
  void grow();
};

struct alignas(64) PortState {
  Time free_at = 0;
  Time wake = kNever;    // when this port has something to send and is free
  Time arrive = kNever;  // head of its ring, as last looked at
  Time delay = 0;
  std::uint64_t ps = 0;  // picoseconds per byte, 24 fractional bits
  std::uint32_t peer = 0;
  std::uint32_t peer_node = 0;
  std::uint8_t queued = 0;                   // classes with packets
  std::uint8_t source = 0;                   // classes with flows ready to send (hosts)
  std::uint8_t paused = 0;                   // classes stopped by the peer
  std::uint8_t down = 0;                     // kLinkDown, kStorm
  std::uint8_t send_xoff = 0, send_xon = 0;  // pause frames to send
  std::uint8_t current = 0;                  // DWRR
  std::uint8_t lossy_link = 0;
  std::uint8_t remote = 0;       // the peer is played by another thread
  std::uint16_t peer_local = 0;  // the peer's number on its node
};
static_assert(sizeof(PortState) == 64);

// One class on one port: egress queue, and the ingress account of what came in by this port.
struct alignas(64) Lane {
  std::uint32_t head = kNone, tail = kNone;  // slots in the node's pool
  std::uint32_t packets = 0;
  std::int32_t bytes = 0;
  std::int32_t deficit = 0;
  std::int32_t shared = 0, over = 0, limit = 0;  // ingress: shared part, part in headroom, headroom
  Time paused_since = 0, pause_until = 0;
  std::uint32_t ready = kNone;  // hosts: ring of flows ready to send
  std::uint8_t xoff = 0, storm = 0;
};
static_assert(sizeof(Lane) == 64);

enum TimerKind : std::uint32_t { kStart, kPace, kPauseApply, kPauseExpire, kPauseRefresh, kRetransmit, kControlTimer, kLink, kWatch };
struct Timer {
  Time at;
  std::uint32_t kind, arg;
  bool operator<(const Timer& o) const {
    return at != o.at ? at > o.at : kind != o.kind ? kind > o.kind : arg > o.arg;
  }  // heap: least first
};

struct Slot {
  Packet p;
  std::uint32_t next;
};

struct NodeState {
  std::uint32_t first = 0, ports = 0, host = kNone;
  std::uint32_t leaves = 1;           // of the tournament over ports, a power of two
  std::vector<std::uint16_t> winner;  // 1-based heap of port indices
  std::vector<std::uint64_t> dirty;   // ports whose ring was empty and is not any more
  std::vector<Slot> pool;
  std::uint32_t free_slot = kNone;
  std::vector<Timer> timers;
  std::int64_t shared_size = 0, shared_used = 0;  // switches
  std::uint64_t salt = 0, random = 0;
  std::int64_t scheduled = INT64_MAX;  // window
  std::uint32_t worker = 0;
  std::uint64_t events = 0;
};

}  // namespace weft::sim::packet
