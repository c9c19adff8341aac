// The packet simulator: every packet and every ACK crosses every link, in integer picoseconds.
// Nodes meet only over cables, and a cable takes at least its delay: all nodes can therefore be played one after another for one such
// window (the lookahead), each with its own small set of ports in cache, or on several threads. Inside a node events are ordered by
// (time, port); results are the same bytes on any number of threads. See docs/packet.md.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "sim/packet/config.h"
#include "sim/packet/network.h"

namespace weft::sim::packet {

// Bytes from one host to another.
struct Flow {
  std::uint32_t from = 0, to = 0;  // hosts
  std::int64_t bytes = 0;
  Picos start{0};
  std::uint8_t klass = 0;
  BitsPerSecond rate{0};    // on the wire, at most; 0 = as fast as the port and the control allow
  bool poisson = false;     // with `rate`: exponential spacing of that mean
  std::int32_t after = -1;  // starts `start` after that flow has arrived (it must end where this one begins), -1 = at `start`
};

struct FlowResult {
  Picos started{-1}, finished{-1};  // first byte sent, last byte received in order; -1 = never
  Picos acknowledged{-1};           // the sender heard of it: what a completion queue of RDMA reports
  std::int64_t delivered = 0;       // payload bytes in order
  std::uint32_t packets = 0, resent = 0, marked = 0, cnps = 0;
  std::int64_t delivered_before = 0;  // before RunControl::observe_from
  Picos mean_rtt{0};                  // with window control: over its ACKs
};

// Seen at one (port, class) over the run.
struct alignas(64) Counters {            // what every packet touches lies in the first line
  std::uint64_t packets = 0, bytes = 0;  // sent; bytes on the wire
  std::uint64_t payload = 0;
  std::uint64_t arrivals = 0;
  std::uint32_t histogram[16]{};  // arrivals by queue found: empty, < 1 KiB, < 2 KiB … ≥ 8 MiB
  std::int64_t queue_max = 0;     // bytes
  double queue_sum = 0;           // over arrivals: mean seen by an arriving packet is queue_sum / arrivals
  double queue_squares = 0;
  std::uint64_t marks = 0, drops = 0;
  std::uint64_t pauses = 0;  // XOFF frames obeyed
  Picos paused{0};
};

// Packets that did not arrive, by reason.
struct Losses {
  std::uint64_t lossless_full = 0;  // headroom overrun: a lossless class lost data
  std::uint64_t lossy_full = 0;
  std::uint64_t corrupted = 0;  // on the cable
  std::uint64_t link_down = 0;
  std::uint64_t no_route = 0;
  std::uint64_t too_long = 0;  // hops
  std::uint64_t watchdog = 0;
  std::uint64_t total() const { return lossless_full + lossy_full + corrupted + link_down + no_route + too_long + watchdog; }
};

// One queue that was told to stop, and the queue its packets wait for.
struct PauseEdge {
  std::uint32_t port = 0;
  std::uint8_t klass = 0;
  std::vector<std::uint32_t> waits_for;  // ports of the next node that hold its packets
  std::int64_t bytes = 0;
};

enum class Ending : std::uint8_t { kComplete, kHorizon, kStalled, kStopped };

struct Outcome {
  Ending ending = Ending::kComplete;
  Picos end{0};  // time of the last event
  std::vector<FlowResult> flows;
  std::vector<Counters> counters;  // port × classes
  Losses losses;
  std::uint64_t data_sent = 0, data_delivered = 0, in_flight = 0;  // data packets; sent = delivered + lost + in flight
  std::uint64_t packet_hops = 0, pause_frames = 0, events = 0;
  std::size_t unfinished = 0;
  bool negative = false;                                     // a queue or account was below zero at the end: a fault of ours
  std::vector<PauseEdge> paused;                             // when stalled or cut: queues stopped at the end
  std::vector<std::uint32_t> deadlock;                       // ports of a cycle of stopped queues, empty when there is none
  std::vector<std::pair<Picos, std::int64_t>> queue_series;  // deepest queue of the network over time
};

struct RunControl {
  int threads = 1;
  Picos observe_from{0};        // counters of ports begin here
  Picos sample{0};              // spacing of queue_series, 0 = none
  Picos stall{50'000'000'000};  // no packet moved for so long: stalled
  // Called now and then with the share of packets delivered and the simulated time.
  std::function<void(double, Picos)> progress;
  const std::atomic<bool>* stop = nullptr;
};

// Packet-hops (data and ACK) the flows need at least.
std::uint64_t estimate_packet_hops(const Network& network, const Config& config, const std::vector<Flow>& flows);

Result<Outcome> simulate(const Network& network, const Config& config, const std::vector<Flow>& flows, const RunControl& control = {});

}  // namespace weft::sim::packet
