// The engine's state and its parts: windows and workers (engine.cc), ports and switches (core.cc), hosts (host.cc), rate and window
// control (control.cc). Everything a node does while it is played touches only its own ports, flows and timers; cables are the only way out.
#pragma once

#include "sim/packet/control.h"
#include "sim/packet/host.h"
#include "sim/packet/state.h"

namespace weft::sim::packet {

struct ClassRun {
  bool lossless;
  double alpha, drop_alpha;
  std::int64_t xoff, xon_gap, kmin, kmax;
  double pmax;
  std::int32_t quantum;
};

struct Worker {
  std::uint32_t index = 0;
  static constexpr std::int64_t kWheel = 1024;
  std::vector<std::vector<std::uint32_t>> wheel{static_cast<std::size_t>(kWheel)};
  std::vector<std::pair<std::int64_t, std::uint32_t>> far;  // heap of (window, node)
  std::int64_t window = 0;
  std::vector<std::vector<std::pair<std::uint32_t, Packet>>> outbox;  // by worker: receiving port, packet
  Losses losses;
  std::uint64_t sent = 0, delivered = 0, hops = 0, pauses = 0, events = 0, done = 0;
  Time last = 0;       // last event that moved a packet
  Time last_data = 0;  // last data packet delivered
};

class Core {
 public:
  Core(const Network& network, const Config& config, const std::vector<Flow>& flows, int threads);
  void run(const RunControl& control, Outcome& out);

 private:
  friend struct Collector;
  // core.cc
  void play(Worker& w, std::uint32_t node, Time until);
  void forward(Worker& w, std::uint32_t node, std::uint32_t in, Packet& p, Time now);
  void enqueue(Worker& w, NodeState& n, std::uint32_t in_local, std::uint32_t out, Packet& p, Time now);
  void transmit(Worker& w, NodeState& n, std::uint32_t port, Time now);
  void emit(Worker& w, NodeState& n, std::uint32_t port, Packet& p, Time now);
  bool lost_on_cable(NodeState& n, std::uint32_t port, const Packet& p);
  void onto_cable(Worker& w, const PortState& o, const Packet& p);
  void send_pause(Worker& w, std::uint32_t port, Time now);
  void kick(Worker& w, NodeState& n, std::uint32_t port, Time now);
  void set_wake(NodeState& n, std::uint32_t port, Time t);
  void release(Worker& w, NodeState& n, std::uint32_t in_port, int klass, std::int32_t bytes, Time now);
  std::uint32_t pick_out(NodeState& n, std::uint32_t node, const Packet& p);
  int pick_class(PortState& port, std::uint32_t id, std::uint8_t available);
  void apply_pause(Worker& w, NodeState& n, std::uint32_t port, std::uint8_t xoff, std::uint8_t meant, Time now);
  void resume(Worker& w, NodeState& n, std::uint32_t port, int klass, Time now);
  void fire(Worker& w, NodeState& n, std::uint32_t node, const Timer& t);
  void link_event(Worker& w, NodeState& n, const LinkEvent& e, Time now);
  Time pause_time(const PortState& p) const;
  void watch(Worker& w, NodeState& n, std::uint32_t port, int klass, Time now);
  void drop_queue(Worker& w, NodeState& n, std::uint32_t port, int klass, Time now);
  void update(NodeState& n, std::uint32_t local);
  void refresh_time(NodeState& n, std::uint32_t port);
  static std::uint64_t random(NodeState& n);
  static double chance(NodeState& n) { return static_cast<double>(random(n) >> 11) * 0x1p-53; }
  static void add_timer(NodeState& n, Timer t);
  // engine.cc
  void schedule(Worker& w, std::uint32_t node, Time t);
  void schedule_window(Worker& w, std::uint32_t node, std::int64_t window);
  std::int64_t next_window(Worker& w);
  void prefetch(std::uint32_t node) const;
  void play_window(Worker& w, std::int64_t window);
  void drain(Worker& w);
  void collect(Outcome& out);
  void observe();
  bool stopped_somewhere() const;
  // host.cc
  void receive(Worker& w, NodeState& n, std::uint32_t in, Packet& p, Time now);
  void receive_data(Worker& w, NodeState& n, std::uint32_t in, Packet& p, Time now);
  void receive_ack(Worker& w, NodeState& n, Packet& p, Time now);
  void reply(Worker& w, NodeState& n, std::uint32_t in, const Packet& p, Kind kind, std::uint32_t seq, std::uint16_t extra, Time now);
  void produce(Worker& w, NodeState& n, std::uint32_t port, int klass, Time now, Packet& out);
  void start(Worker& w, NodeState& n, std::uint32_t flow, Time now);
  void make_ready(Worker& w, NodeState& n, std::uint32_t flow, Time now);
  void unready(std::uint32_t flow);
  bool window_open(const Tx& t, std::uint32_t flow) const;
  bool has_more(const Tx& t, std::uint32_t flow) const;
  void reconsider(Worker& w, NodeState& n, std::uint32_t flow, Time now);
  void timeout(Worker& w, NodeState& n, std::uint32_t flow, Time now);
  void finish(Worker& w, NodeState& n, std::uint32_t flow, Time now);
  void selective_ack(Tx& t, SelectiveState& s, std::uint32_t cumulative, std::uint32_t packet);
  // control.cc
  void control_start(NodeState& n, std::uint32_t flow, Time now);
  void control_sent(NodeState& n, std::uint32_t flow, std::int32_t wire, Time now);
  void control_ack(std::uint32_t flow, const Packet& p, std::uint32_t acked, Time now);
  void control_cnp(NodeState& n, std::uint32_t flow, Time now);
  void control_timer(NodeState& n, std::uint32_t flow, Time now);
  void control_loss(std::uint32_t flow, Time now);
  void dcqcn_increase(ControlState& s, double line);

  Lane& lane(std::uint32_t port, int klass) {
    return lanes_[static_cast<std::size_t>(port) * classes_n_ + static_cast<std::size_t>(klass)];
  }
  Counters& count(std::uint32_t port, int klass) {
    return counters_[static_cast<std::size_t>(port) * classes_n_ + static_cast<std::size_t>(klass)];
  }
  std::int32_t wire_of(const Tx& t, std::uint32_t seq) const { return seq + 1 == t.packets ? t.last_wire : full_wire_; }

  const Network& net_;
  const Config& config_;
  const std::vector<Flow>& flows_;
  std::size_t classes_n_;
  std::vector<ClassRun> classes_;
  std::uint8_t strict_ = 0;
  std::uint16_t full_wire_, ack_wire_;
  std::int32_t line_overhead_, data_overhead_;
  Time lookahead_ = 1;
  std::uint32_t window_packets_ = 0;  // selective repeat: size of its rings

  std::vector<NodeState> nodes_;
  std::vector<PortState> ports_;
  std::vector<Time> times_;                // by node, padded to its tournament: earliest of wake and arrive
  std::vector<std::uint32_t> times_base_;  // by node
  std::vector<Ring> rings_;
  std::vector<Lane> lanes_;
  std::vector<Counters> counters_;
  std::vector<Tx> tx_;
  std::vector<Rx> rx_;
  std::vector<Time> started_;
  std::vector<std::uint32_t> cable_count_;  // data packets on ports that drop every n-th
  std::vector<std::int64_t> delivered_before_;
  std::vector<ControlState> control_;
  std::vector<SelectiveState> selective_;
  std::vector<std::uint32_t> unlock_first_, unlock_;  // flow → flows that wait for it
  std::vector<Worker> workers_;
  Time observed_from_ = 0;
  std::vector<std::pair<Time, std::int64_t>> series_;
};

}  // namespace weft::sim::packet
