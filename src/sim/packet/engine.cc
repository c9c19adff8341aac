#include "sim/packet/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <bit>
#include <thread>
#include <utility>

#include "base/random.h"
#include "sim/packet/core.h"
#include "sim/packet/deadlock.h"
#include "sim/packet/ecmp.h"
#include "sim/packet/headroom.h"

namespace weft::sim::packet {

// ---- set-up ----------------------------------------------------------------------------------------------------------
Core::Core(const Network& network, const Config& config, const std::vector<Flow>& flows, int threads)
    : net_(network), config_(config), flows_(flows), classes_n_(config.classes.size()) {
  full_wire_ = static_cast<std::uint16_t>(config.data_wire());
  ack_wire_ = static_cast<std::uint16_t>(config.ack_frame + config.line_overhead);
  line_overhead_ = static_cast<std::int32_t>(config.line_overhead);
  data_overhead_ = static_cast<std::int32_t>(config.header + config.line_overhead);
  for (std::size_t c = 0; c < classes_n_; ++c) {
    const ClassConfig& k = config.classes[c];
    classes_.push_back({k.lossless, k.alpha, k.drop_alpha, k.xoff, k.xon_gap, k.kmin, k.kmax, k.pmax,
                        static_cast<std::int32_t>(k.weight * config.data_wire())});
    if (k.strict) strict_ |= static_cast<std::uint8_t>(1 << c);
  }
  bool selective = config.recovery == Recovery::kSelective;
  if (selective)
    window_packets_ = static_cast<std::uint32_t>(std::bit_ceil(static_cast<std::uint64_t>(config.window > 0 ? config.window * 2 : 1024)));
  if (selective) window_packets_ = std::max(window_packets_, 64u);

  nodes_.resize(network.nodes.size());
  ports_.resize(network.ports.size());
  rings_.resize(network.ports.size());
  lanes_.resize(network.ports.size() * classes_n_);
  counters_.resize(lanes_.size());
  times_base_.resize(nodes_.size());
  std::size_t leaves = 0;
  lookahead_ = kNever;
  std::int64_t least = std::min<std::int64_t>({84, ack_wire_, full_wire_, 1 + data_overhead_});
  for (std::size_t i = 0; i < network.ports.size(); ++i) {
    const Port& from = network.ports[i];
    PortState& p = ports_[i];
    p.peer = from.peer, p.peer_node = network.ports[from.peer].node;
    p.delay = from.delay.value();
    p.ps = static_cast<std::uint64_t>(8e12 / from.rate.value() * (1 << 24) + 0.5);
    p.lossy_link = from.loss > 0 || from.drop_every > 0;
    lookahead_ = std::min(lookahead_, p.delay + static_cast<Time>((static_cast<std::uint64_t>(least) * p.ps) >> 24));
  }
  lookahead_ = std::max<Time>(lookahead_, 1);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& from = network.nodes[i];
    NodeState& n = nodes_[i];
    n.first = from.first_port, n.ports = from.ports, n.host = from.host;
    n.leaves = std::bit_ceil(std::max(1u, n.ports));
    n.winner.assign(2 * static_cast<std::size_t>(n.leaves), 0);
    for (std::uint32_t l = 0; l < n.leaves; ++l) n.winner[n.leaves + l] = static_cast<std::uint16_t>(l);
    for (std::uint32_t l = n.leaves - 1; l > 0; --l) n.winner[l] = n.winner[2 * l];
    n.dirty.assign((n.ports + 63) / 64, 0);
    times_base_[i] = static_cast<std::uint32_t>(leaves);
    leaves += n.leaves;
    n.salt = config.one_hash_seed ? mix(config.seed) : mix(config.seed * 0x9e3779b97f4a7c15 + i);
    n.salt &= 0xffffffff;
    n.random = mix(config.seed ^ mix(i + 1));
    if (from.host == kNone) {
      std::int64_t left = from.buffer > 0 ? from.buffer : config.buffer;
      for (std::uint32_t p = n.first; p < n.first + n.ports; ++p)
        for (std::size_t c = 0; c < classes_n_; ++c)
          if (config.classes[c].lossless) {
            std::int64_t h = headroom_of(config, network, p, static_cast<int>(c));
            lanes_[p * classes_n_ + c].limit = static_cast<std::int32_t>(h);
            left -= h;
          }
      n.shared_size = left;
    }
  }
  times_.assign(leaves, kNever);
  // One thread plays neighbouring nodes: contiguous ranges of about equal port counts.
  threads = std::clamp(threads, 1, static_cast<int>(std::min<std::size_t>(nodes_.size(), 64)));
  std::size_t total = network.ports.size(), seen = 0;
  for (NodeState& n : nodes_) {
    n.worker = static_cast<std::uint32_t>(std::min<std::size_t>(seen * static_cast<std::size_t>(threads) / std::max<std::size_t>(1, total),
                                                                static_cast<std::size_t>(threads - 1)));
    seen += n.ports;
  }
  workers_.resize(static_cast<std::size_t>(threads));
  for (PortState& p : ports_) {
    p.remote = nodes_[p.peer_node].worker != nodes_[network.ports[static_cast<std::size_t>(&p - ports_.data())].node].worker;
    p.peer_local = static_cast<std::uint16_t>(p.peer - nodes_[p.peer_node].first);
  }
  for (std::uint32_t i = 0; i < workers_.size(); ++i) workers_[i].index = i, workers_[i].outbox.resize(workers_.size());

  tx_.resize(flows.size());
  rx_.resize(flows.size());
  started_.assign(flows.size(), -1);
  cable_count_.assign(network.ports.size(), 0);
  if (config.control != Control::kNone) control_.resize(flows.size());
  if (selective) selective_.resize(flows.size());
  unlock_first_.assign(flows.size() + 1, 0);
  for (const Flow& f : flows)
    if (f.after >= 0) ++unlock_first_[static_cast<std::size_t>(f.after) + 1];
  for (std::size_t i = 0; i < flows.size(); ++i) unlock_first_[i + 1] += unlock_first_[i];
  unlock_.resize(unlock_first_.back());
  std::vector<std::uint32_t> at(unlock_first_.begin(), unlock_first_.end() - 1);
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    const Flow& f = flows[i];
    Tx& t = tx_[i];
    t.packets = static_cast<std::uint32_t>((f.bytes + config.mtu - 1) / config.mtu);
    std::int64_t last = f.bytes - static_cast<std::int64_t>(t.packets - 1) * config.mtu;
    t.last_wire = static_cast<std::uint16_t>(config.pad_last ? full_wire_ : last + data_overhead_);
    t.to = static_cast<std::uint16_t>(f.to), t.klass = f.klass;
    t.hash = flow_hash(f.from, f.to, i, config.seed);
    if (f.rate.value() > 0) t.gap = 8e12 / f.rate.value();
    std::uint32_t node = network.hosts[f.from];
    std::vector<std::uint32_t> out = network.ports_towards(node, f.to);
    t.port = out.size() == 1 ? out[0] : out[(static_cast<std::uint64_t>(t.hash) * out.size()) >> 32];
    rx_[i].packets = t.packets;
    if (selective) {
      SelectiveState& s = selective_[i];
      s.sacked.assign(window_packets_ / 64, 0);
      s.order.assign(window_packets_, 0);
      s.sent.assign(window_packets_ * 4, 0);
    }
    if (config.control == Control::kNscc) {
      double rtt = 0;
      std::uint32_t from_node = node;
      for (int hop = 0; hop < 64 && from_node != network.hosts[f.to]; ++hop) {
        std::uint32_t p = network.ports_towards(from_node, f.to)[0];
        rtt += 2 * static_cast<double>(ports_[p].delay) + static_cast<double>(((full_wire_ + ack_wire_) * ports_[p].ps) >> 24);
        from_node = ports_[p].peer_node;
      }
      control_[i].base_rtt = static_cast<Time>(rtt);
    }
    if (f.after >= 0) unlock_[at[static_cast<std::size_t>(f.after)]++] = i;
    else nodes_[node].timers.push_back({f.start.value(), kStart, i});
  }
  for (std::uint32_t i = 0; i < network.events.size(); ++i) {
    const LinkEvent& e = network.events[i];
    nodes_[network.ports[e.port].node].timers.push_back({e.at.value(), kLink, i});
  }
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    NodeState& n = nodes_[i];
    if (n.timers.empty()) continue;
    std::make_heap(n.timers.begin(), n.timers.end());
    schedule(workers_[n.worker], i, n.timers.front().at);
  }
}

// ---- windows ---------------------------------------------------------------------------------------------------------
void Core::schedule(Worker& w, std::uint32_t node, Time t) { schedule_window(w, node, t / lookahead_); }

void Core::schedule_window(Worker& w, std::uint32_t node, std::int64_t window) {
  NodeState& n = nodes_[node];
  if (window >= n.scheduled) return;
  n.scheduled = window;
  if (window < w.window + Worker::kWheel) {
    w.wheel[static_cast<std::size_t>(window % Worker::kWheel)].push_back(node);
  } else {
    w.far.emplace_back(-window, node);
    std::push_heap(w.far.begin(), w.far.end());
  }
}

// The next window in which any node of this worker has something to do.
std::int64_t Core::next_window(Worker& w) {
  std::int64_t far = INT64_MAX;
  while (!w.far.empty()) {
    auto [window, node] = w.far.front();
    if (nodes_[node].scheduled == -window) {
      far = -window;
      break;
    }
    std::pop_heap(w.far.begin(), w.far.end());  // stale
    w.far.pop_back();
  }
  for (std::int64_t i = w.window; i < w.window + Worker::kWheel && i < far; ++i) {
    auto& bucket = w.wheel[static_cast<std::size_t>(i % Worker::kWheel)];
    for (std::uint32_t node : bucket)
      if (nodes_[node].scheduled == i) return i;
    bucket.clear();
  }
  return far;
}

// What the next node will touch, while this one is played.
void Core::prefetch(std::uint32_t node) const {
  const NodeState& n = nodes_[node];
  const char* times = reinterpret_cast<const char*>(&times_[times_base_[node]]);
  for (std::uint32_t i = 0; i < n.leaves; i += 8) __builtin_prefetch(times + i * sizeof(Time));
  for (std::uint32_t p = n.first; p < n.first + n.ports; ++p) {
    __builtin_prefetch(&ports_[p]);
    __builtin_prefetch(&rings_[p]);
    for (std::size_t c = 0; c < classes_n_; ++c) {
      __builtin_prefetch(&lanes_[p * classes_n_ + c]);
      __builtin_prefetch(&counters_[p * classes_n_ + c]);
    }
  }
}

void Core::play_window(Worker& w, std::int64_t window) {
  w.window = window;
  while (!w.far.empty() && -w.far.front().first < window + Worker::kWheel) {
    auto [at, node] = w.far.front();
    std::pop_heap(w.far.begin(), w.far.end());
    w.far.pop_back();
    if (nodes_[node].scheduled == -at) w.wheel[static_cast<std::size_t>(-at % Worker::kWheel)].push_back(node);
  }
  auto& bucket = w.wheel[static_cast<std::size_t>(window % Worker::kWheel)];
  Time until = (window + 1) * lookahead_;
  for (std::size_t i = 0; i < bucket.size(); ++i) {
    std::uint32_t node = bucket[i];
    if (nodes_[node].scheduled != window) continue;
    nodes_[node].scheduled = INT64_MAX;
    if (i + 2 < bucket.size()) __builtin_prefetch(&nodes_[bucket[i + 2]]);
    if (i + 1 < bucket.size()) prefetch(bucket[i + 1]);
    play(w, node, until);
  }
  bucket.clear();
}

// What other workers sent to this one's nodes, in their order.
void Core::drain(Worker& w) {
  for (Worker& from : workers_) {
    auto& box = from.outbox[w.index];
    for (auto& [port, packet] : box) {
      Ring& r = rings_[port];
      bool first = r.empty();
      r.push(packet);
      if (first) {
        std::uint32_t node = net_.ports[port].node, local = port - nodes_[node].first;
        nodes_[node].dirty[local >> 6] |= 1ull << (local & 63);
        schedule(w, node, packet.time);
      }
    }
    box.clear();
  }
}

bool Core::stopped_somewhere() const {
  return std::any_of(ports_.begin(), ports_.end(), [](const PortState& p) { return (p.paused & (p.queued | p.source)) != 0; });
}

// Counters begin anew: what came before was getting under way.
void Core::observe() {
  for (Counters& c : counters_) c = Counters{};
  for (ControlState& s : control_) s.rtt_sum = 0, s.rtts = 0;
  delivered_before_.resize(rx_.size());
  for (std::size_t i = 0; i < rx_.size(); ++i) delivered_before_[i] = static_cast<std::int64_t>(rx_[i].expected) * config_.mtu;
}

void Core::run(const RunControl& control, Outcome& out) {
  std::vector<std::int64_t> next(workers_.size());
  std::uint64_t packets = 0;
  for (const Tx& t : tx_) packets += t.packets;
  Time horizon = config_.horizon.value(), sample = control.sample.value(), sampled = 0;
  std::int64_t window = 0;
  bool over = false, observing = control.observe_from.value() <= 0;
  std::uint64_t turns = 0, moved = 0;
  Time moved_at = 0;
  // Between windows, on one thread: what comes next, and whether the run is over.
  auto decide = [&]() noexcept {
    window = *std::min_element(next.begin(), next.end());
    std::uint64_t done = 0, delivered = 0, hops = 0;
    for (const Worker& w : workers_) done += w.done, delivered += w.delivered, hops += w.hops;
    if (done == tx_.size() || window == INT64_MAX) over = true, out.ending = done == tx_.size() ? Ending::kComplete : Ending::kStalled;
    else if (window > horizon / lookahead_) over = true, out.ending = Ending::kHorizon;
    else if (control.stop && control.stop->load(std::memory_order_relaxed)) over = true, out.ending = Ending::kStopped;
    if (over) return;
    Time now = window * lookahead_;
    if (hops != moved) moved = hops, moved_at = now;
    if (now - moved_at > control.stall.value() && stopped_somewhere()) {
      over = true, out.ending = Ending::kStalled;
      return;
    }
    if (!observing && now >= control.observe_from.value()) observed_from_ = now, observe(), observing = true;
    if (sample > 0 && now >= sampled) {
      std::int64_t deepest = 0;
      for (const Lane& q : lanes_) deepest = std::max<std::int64_t>(deepest, q.bytes);
      series_.emplace_back(now, deepest);
      sampled = now + sample;
    }
    if (control.progress && (turns & 1023) == 0)
      control.progress(packets == 0 ? 1 : std::min(1.0, static_cast<double>(delivered) / static_cast<double>(packets)), Picos(now));
    ++turns;
  };
  for (std::size_t i = 0; i < workers_.size(); ++i) next[i] = next_window(workers_[i]);
  decide();
  if (workers_.size() == 1) {
    while (!over) {
      play_window(workers_[0], window);
      next[0] = next_window(workers_[0]);
      decide();
    }
  } else {
    std::barrier played(static_cast<std::ptrdiff_t>(workers_.size()));
    std::barrier decided(static_cast<std::ptrdiff_t>(workers_.size()), decide);
    auto work = [&](std::size_t i) {
      while (!over) {
        play_window(workers_[i], window);
        played.arrive_and_wait();
        drain(workers_[i]);
        next[i] = next_window(workers_[i]);
        decided.arrive_and_wait();
      }
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < workers_.size(); ++i) threads.emplace_back(work, i);
    work(0);
  }
  collect(out);
}

// ---- results ---------------------------------------------------------------------------------------------------------
void Core::collect(Outcome& out) {
  for (const Worker& w : workers_) {
    out.end = std::max(out.end, Picos(std::max(w.last, w.last_data)));
    out.losses.lossless_full += w.losses.lossless_full, out.losses.lossy_full += w.losses.lossy_full;
    out.losses.corrupted += w.losses.corrupted, out.losses.link_down += w.losses.link_down;
    out.losses.no_route += w.losses.no_route, out.losses.too_long += w.losses.too_long, out.losses.watchdog += w.losses.watchdog;
    out.data_sent += w.sent, out.data_delivered += w.delivered;
    out.packet_hops += w.hops, out.pause_frames += w.pauses, out.events += w.events;
  }
  out.flows.resize(flows_.size());
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    FlowResult& f = out.flows[i];
    const Rx& r = rx_[i];
    f.started = Picos(started_[i]), f.finished = Picos(r.finished), f.acknowledged = Picos(tx_[i].done_at);
    f.packets = r.packets, f.marked = r.marked, f.resent = tx_[i].resent, f.cnps = tx_[i].cnps;
    f.delivered =
        r.finished >= 0 ? flows_[i].bytes : std::min<std::int64_t>(flows_[i].bytes, static_cast<std::int64_t>(r.expected) * config_.mtu);
    if (!delivered_before_.empty()) f.delivered_before = std::min(flows_[i].bytes, delivered_before_[i]);
    if (!control_.empty() && control_[i].rtts > 0)
      f.mean_rtt = Picos(static_cast<std::int64_t>(control_[i].rtt_sum / static_cast<double>(control_[i].rtts)));
    out.unfinished += r.finished < 0;
  }
  auto is_data = [](const Packet& p) { return (p.flags & kKindMask) == kData; };
  for (const Ring& r : rings_)
    for (std::uint32_t i = r.head; i != r.tail; ++i) out.in_flight += is_data(r.data[i & r.mask]);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const NodeState& n = nodes_[i];
    for (std::uint32_t p = n.first; p < n.first + n.ports; ++p)
      for (std::size_t c = 0; c < classes_n_; ++c) {
        Lane& q = lane(p, static_cast<int>(c));
        out.negative |=
            q.bytes < 0 || q.shared < 0 || q.over < 0 || n.shared_used < 0 || (q.head == kNone && (q.bytes != 0 || q.packets != 0));
        for (std::uint32_t s = q.head; s != kNone; s = n.pool[s].next) out.in_flight += is_data(n.pool[s].p);
        if (!(ports_[p].paused >> c & 1)) continue;
        count(p, static_cast<int>(c)).paused += Picos(std::max<Time>(0, out.end.value() - std::max(q.paused_since, observed_from_)));
        PauseEdge e;
        e.port = p, e.klass = static_cast<std::uint8_t>(c), e.bytes = q.bytes;
        // What fills the account of the port behind: queues of the next node that hold packets from it.
        const NodeState& next = nodes_[ports_[p].peer_node];
        std::uint32_t local = ports_[p].peer - next.first;
        for (std::uint32_t o = next.first; o < next.first + next.ports; ++o)
          for (std::uint32_t s = lane(o, static_cast<int>(c)).head; s != kNone; s = next.pool[s].next)
            if (next.pool[s].p.time == static_cast<Time>(local)) {
              e.waits_for.push_back(o);
              break;
            }
        out.paused.push_back(std::move(e));
      }
  }
  out.counters = std::move(counters_);
  for (auto [at, bytes] : series_) out.queue_series.emplace_back(Picos(at), bytes);
}

std::uint64_t estimate_packet_hops(const Network& network, const Config& config, const std::vector<Flow>& flows) {
  std::uint64_t total = 0;
  for (const Flow& f : flows)
    total +=
        static_cast<std::uint64_t>((f.bytes + config.mtu - 1) / config.mtu) * static_cast<std::uint64_t>(network.hops(f.from, f.to)) * 2;
  return total;
}

namespace {

// A route that ends nowhere. (One that goes round and round can be simulated: packets have a hop limit.)
bool dead_end(const Network& network, const Flow& f) {
  std::uint32_t at = network.hosts[f.from];
  for (int hop = 0; hop < 64 && at != network.hosts[f.to]; ++hop) {
    std::vector<std::uint32_t> out = network.ports_towards(at, f.to);
    if (out.empty()) return true;
    at = network.ports[network.ports[out[0]].peer].node;
  }
  return false;
}

Status check_flows(const Network& network, const Config& config, const std::vector<Flow>& flows) {
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const Flow& f = flows[i];
    auto bad = [&](const std::string& why) { return fail(ErrorKind::kInvalid, fmt::format("flow {}: {}", i, why)); };
    if (f.from >= network.hosts.size() || f.to >= network.hosts.size())
      return bad(fmt::format("host {} does not exist; there are {}", std::max(f.from, f.to), network.hosts.size()));
    if (f.from == f.to) return bad(fmt::format("host {} sends to itself", f.from));
    if (f.bytes <= 0) return bad(fmt::format("{} bytes; at least 1", f.bytes));
    if (f.bytes / config.mtu >= UINT32_MAX / 2) return bad(fmt::format("{} bytes are more than 2^31 packets; split the flow", f.bytes));
    if (f.klass >= config.classes.size())
      return bad(fmt::format("unknown priority {}; there are classes 0 to {}", f.klass, config.classes.size() - 1));
    if (f.start.value() < 0) return bad("starts before time 0");
    if (dead_end(network, f))
      return bad(fmt::format("no route from {} to {}", network.nodes[network.hosts[f.from]].name, network.nodes[network.hosts[f.to]].name));
    if (f.after >= 0) {
      if (static_cast<std::size_t>(f.after) >= flows.size() || static_cast<std::size_t>(f.after) == i)
        return bad(fmt::format("waits for flow {}, which is none", f.after));
      if (flows[static_cast<std::size_t>(f.after)].to != f.from)
        return bad(fmt::format("waits for flow {}, which does not end at its host", f.after));
    }
  }
  return {};
}

}  // namespace

Result<Outcome> simulate(const Network& network, const Config& config, const std::vector<Flow>& flows, const RunControl& control) {
  WEFT_TRY(check(config, network));
  WEFT_TRY(check_flows(network, config, flows));
  Outcome out;
  Core core(network, config, flows, control.threads);
  core.run(control, out);
  out.deadlock = pause_cycle(out.paused);
  return out;
}

}  // namespace weft::sim::packet
