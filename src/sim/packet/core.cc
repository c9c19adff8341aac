// Ports and switches: the hot path.
#include "sim/packet/core.h"
#include "sim/packet/ecmp.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace weft::sim::packet {

void Ring::grow() {
  std::uint32_t size = data ? (mask + 1) * 2 : 8;
  auto bigger = std::make_unique<Packet[]>(size);
  std::uint32_t n = tail - head;
  for (std::uint32_t i = 0; i < n; ++i) bigger[i] = data[(head + i) & mask];
  data = std::move(bigger), mask = size - 1, head = 0, tail = n;
}

std::uint64_t Core::random(NodeState& n) {  // splitmix64, a stream per node
  std::uint64_t z = (n.random += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void Core::add_timer(NodeState& n, Timer t) {
  n.timers.push_back(t);
  std::push_heap(n.timers.begin(), n.timers.end());
}

// Tournament over the node's ports: winner[1] is the port with the earliest time, ties to the lower port.
inline void Core::update(NodeState& n, std::uint32_t local) {
  const Time* t = times_.data() + times_base_[static_cast<std::size_t>(&n - nodes_.data())];
  std::uint16_t* winner = n.winner.data();
  for (std::uint32_t i = (local + n.leaves) >> 1; i != 0; i >>= 1) {
    std::uint16_t a = winner[2 * i], b = winner[2 * i + 1];
    std::uint16_t best = t[b] < t[a] ? b : a;
    if (best == winner[i] && best != local) return;
    winner[i] = best;
  }
}

inline void Core::refresh_time(NodeState& n, std::uint32_t port) {
  const PortState& p = ports_[port];
  std::uint32_t local = port - n.first;
  times_[times_base_[static_cast<std::size_t>(&n - nodes_.data())] + local] = std::min(p.wake, p.arrive);
  update(n, local);
}

inline void Core::set_wake(NodeState& n, std::uint32_t port, Time t) {
  if (ports_[port].wake == t) return;
  ports_[port].wake = t;
  refresh_time(n, port);
}

void Core::play(Worker& w, std::uint32_t node, Time until) {
  NodeState& n = nodes_[node];
  for (std::uint32_t port = n.first; port < n.first + n.ports; ++port) {
    const Ring& r = rings_[port];
    if (!r.empty()) __builtin_prefetch(&r.data[r.head & r.mask]);
  }
  for (std::size_t word = 0; word < n.dirty.size(); ++word)
    for (std::uint64_t bits = std::exchange(n.dirty[word], 0); bits != 0; bits &= bits - 1) {
      std::uint32_t port = n.first + static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
      const Ring& r = rings_[port];
      ports_[port].arrive = r.empty() ? kNever : r.data[r.head & r.mask].time;
      refresh_time(n, port);
    }
  const Time* times = times_.data() + times_base_[node];
  for (;;) {
    std::uint32_t local = n.winner[1];
    Time t = times[local];
    if (!n.timers.empty() && n.timers.front().at <= t) {
      Timer timer = n.timers.front();
      if (timer.at >= until) break;
      std::pop_heap(n.timers.begin(), n.timers.end());
      n.timers.pop_back();
      ++w.events;
      fire(w, n, node, timer);
      continue;
    }
    if (t >= until) break;
    ++w.events;
    std::uint32_t port = n.first + local;
    PortState& p = ports_[port];
    if (p.wake <= p.arrive) {
      p.wake = kNever;
      transmit(w, n, port, t);
      refresh_time(n, port);
      continue;
    }
    Ring& r = rings_[port];
    Packet packet = r.data[r.head++ & r.mask];
    __builtin_prefetch(&r.data[(r.head + 2) & r.mask]);  // 32 bytes each: the next line
    p.arrive = r.empty() ? kNever : r.data[r.head & r.mask].time;
    refresh_time(n, port);
    if ((packet.flags & kKindMask) == kPause) {
      auto xoff = static_cast<std::uint8_t>(packet.seq), meant = static_cast<std::uint8_t>(packet.seq >> 8);
      Time response = config_.pause_response.value();
      if (response == 0) apply_pause(w, n, port, xoff, meant, t);
      else add_timer(n, {t + response, kPauseApply, local | (packet.seq << 16)});
    } else if (n.host == packet.to) {
      receive(w, n, port, packet, t);
    } else {
      forward(w, node, port, packet, t);
    }
  }
  Time next = n.timers.empty() ? times[n.winner[1]] : std::min(times[n.winner[1]], n.timers.front().at);
  if (next != kNever) schedule(w, node, next);
}

// Which port of the equal-cost set; kNone when the destination cannot be reached.
inline std::uint32_t Core::pick_out(NodeState& n, std::uint32_t node, const Packet& p) {
  std::uint32_t e = net_.towards(node, p.to);
  if (e == kNone) return kNone;
  if (e & Network::kSingle) return e ^ Network::kSingle;
  const std::uint32_t* ports = net_.set_ports.data() + net_.set_first[e];
  std::uint32_t many = net_.set_first[e + 1] - net_.set_first[e];
  std::uint64_t x = salted(p.hash, n.salt);
  std::uint32_t at = ecmp_index(x, many);
  if (config_.balance == Balance::kAdaptive) {
    std::uint32_t best = kNone;
    std::int64_t least = INT64_MAX;
    for (std::uint32_t i = 0; i < many; ++i) {
      std::uint32_t q = ports[at + i < many ? at + i : at + i - many];
      if (ports_[q].down & kLinkDown) continue;
      std::int64_t load = 0;
      for (std::size_t c = 0; c < classes_n_; ++c) load += lanes_[q * classes_n_ + c].bytes;
      if (load < least) least = load, best = q;
      if (load == 0) break;
    }
    return best;
  }
  if (!(ports_[ports[at]].down & kLinkDown)) return ports[at];
  // The switch knows that its own port is down: hash again over the ones that are left.
  std::uint32_t alive = 0;
  for (std::uint32_t i = 0; i < many; ++i) alive += !(ports_[ports[i]].down & kLinkDown);
  if (alive == 0) return ports[at];
  auto skip = static_cast<std::uint32_t>(((x & 0xffffffff) * alive) >> 32);
  for (std::uint32_t i = 0; i < many; ++i)
    if (!(ports_[ports[i]].down & kLinkDown) && skip-- == 0) return ports[i];
  return ports[at];
}

void Core::forward(Worker& w, std::uint32_t node, std::uint32_t in, Packet& p, Time now) {
  NodeState& n = nodes_[node];
  if ((p.flags & kKindMask) == kData) {
    p.extra = static_cast<std::uint16_t>(p.extra + 256);  // hops in the upper byte
    if ((p.extra >> 8) >= config_.hop_limit) {
      ++w.losses.too_long;
      return;
    }
  }
  std::uint32_t out = pick_out(n, node, p);
  if (out == kNone) {
    if ((p.flags & kKindMask) == kData) ++w.losses.no_route;
    return;
  }
  enqueue(w, n, in - n.first, out, p, now);
}

// in_local: the local port it came by, UINT32_MAX for what the node itself sends.
void Core::enqueue(Worker& w, NodeState& n, std::uint32_t in_local, std::uint32_t out, Packet& p, Time now) {
  PortState& o = ports_[out];
  int c = p.klass;
  Lane& q = lane(out, c);
  Counters& count_out = count(out, c);
  ++count_out.arrivals;
  if (o.free_at <= now && !(o.queued | o.source | o.send_xoff | o.send_xon | o.down) && !(o.paused >> c & 1)) {
    ++count_out.histogram[0];
    emit(w, n, out, p, now);  // nothing before it: straight on
    return;
  }
  bool data = (p.flags & kKindMask) == kData;
  if ((o.down & kLinkDown) || (o.down && q.storm)) {
    ++count_out.drops;
    if (data) ++((o.down & kLinkDown) ? w.losses.link_down : w.losses.watchdog);
    return;
  }
  std::int32_t frame = p.wire - line_overhead_;
  ++count_out.histogram[std::min<int>(std::bit_width(static_cast<std::uint32_t>(q.bytes) >> 10) + (q.bytes > 0), 15)];
  count_out.queue_sum += q.bytes;
  count_out.queue_squares += static_cast<double>(q.bytes) * q.bytes;
  const ClassRun& k = classes_[static_cast<std::size_t>(c)];
  bool account = n.shared_size > 0 && in_local != UINT32_MAX;
  if (account) {
    std::uint32_t in = n.first + in_local;
    Lane& g = lane(in, c);
    if (k.lossless) {
      double free = static_cast<double>(n.shared_size - n.shared_used);
      auto threshold = k.alpha > 0 ? static_cast<std::int64_t>(k.alpha * std::max(free, 0.0)) : k.xoff;
      if (g.over > 0 || g.shared + frame > threshold) {
        if (g.over + frame > g.limit) {
          ++count_out.drops;
          if (data) ++w.losses.lossless_full;
          return;
        }
        g.over += frame;
        if (!g.xoff) {
          g.xoff = 1;
          ports_[in].send_xoff |= static_cast<std::uint8_t>(1 << c);
          ports_[in].send_xon &= static_cast<std::uint8_t>(~(1 << c));
          kick(w, n, in, now);
          if (config_.refresh_pause) {
            add_timer(n, {now + pause_time(ports_[in]) / 2, kPauseRefresh, in_local | (static_cast<std::uint32_t>(c) << 16)});
          }
        }
      } else {
        g.shared += frame, n.shared_used += frame;
      }
    } else {
      double free = static_cast<double>(n.shared_size - n.shared_used);
      if (static_cast<double>(q.bytes + frame) > k.drop_alpha * free || free < frame) {
        ++count_out.drops;
        if (data) ++w.losses.lossy_full;
        return;
      }
      g.shared += frame, n.shared_used += frame;
    }
  }
  if (k.kmax > 0 && data && !config_.mark_at_dequeue && q.bytes >= k.kmin &&
      chance(n) < red_probability(config_.classes[static_cast<std::size_t>(c)], q.bytes))
    p.flags |= kMarked, ++count_out.marks;
  std::uint32_t slot = n.free_slot;
  if (slot == kNone) {
    slot = static_cast<std::uint32_t>(n.pool.size());
    n.pool.emplace_back();
  } else {
    n.free_slot = n.pool[slot].next;
  }
  p.time = account ? static_cast<Time>(in_local) : -1;
  n.pool[slot].p = p;
  n.pool[slot].next = kNone;
  if (q.tail == kNone) q.head = slot;
  else n.pool[q.tail].next = slot;
  q.tail = slot;
  ++q.packets;
  q.bytes += frame;
  count_out.queue_max = std::max<std::int64_t>(count_out.queue_max, q.bytes);
  o.queued |= static_cast<std::uint8_t>(1 << c);
  if (o.wake == kNever && !(o.paused >> c & 1)) kick(w, n, out, now);
}

// How long an XOFF lasts: quanta of 512 bit times of the port.
Time Core::pause_time(const PortState& p) const {
  std::uint64_t bits = static_cast<std::uint64_t>(config_.pause_quanta) * 512;
  return static_cast<Time>((bits * p.ps / 8) >> 24);
}

void Core::kick(Worker& w, NodeState& n, std::uint32_t port, Time now) {
  PortState& p = ports_[port];
  if (p.down & kLinkDown) return;
  if (p.free_at > now) {
    if (p.wake == kNever) set_wake(n, port, p.free_at);
    return;
  }
  transmit(w, n, port, now);
  refresh_time(n, port);
}

// Strict classes first, the highest number first; the rest by deficit round robin (Shreedhar and Varghese, 1996).
int Core::pick_class(PortState& p, std::uint32_t id, std::uint8_t available) {
  if (std::uint8_t s = available & strict_) return std::bit_width(s) - 1;
  if (std::has_single_bit(available)) return std::countr_zero(available);
  for (;;) {
    int c = p.current;
    if (available >> c & 1) {
      Lane& q = lane(id, c);
      if (q.deficit > 0) return c;
    }
    do c = (c + 1) % static_cast<int>(classes_n_);
    while (!(available >> c & 1));
    p.current = static_cast<std::uint8_t>(c);
    Lane& q = lane(id, c);
    q.deficit += classes_[static_cast<std::size_t>(c)].quantum;
  }
}

// The port is free: sends the next frame, if there is one, and sets the time to look again. Leaves the port's place in the tournament to
// the caller.
void Core::transmit(Worker& w, NodeState& n, std::uint32_t port, Time now) {
  PortState& p = ports_[port];
  p.wake = kNever;
  if (p.down & kLinkDown) return;
  if (p.send_xoff | p.send_xon) {
    send_pause(w, port, now);
  } else {
    auto available = static_cast<std::uint8_t>((p.queued | p.source) & ~p.paused);
    if (available == 0) return;
    bool contended = !std::has_single_bit(static_cast<std::uint8_t>(available & ~strict_));
    int c = pick_class(p, port, available);
    Lane& q = lane(port, c);
    if (p.queued >> c & 1) {
      std::uint32_t slot = q.head;
      Packet packet = n.pool[slot].p;
      q.head = n.pool[slot].next;
      n.pool[slot].next = n.free_slot, n.free_slot = slot;
      --q.packets;
      if (q.head == kNone) q.tail = kNone, p.queued &= static_cast<std::uint8_t>(~(1 << c));
      std::int32_t frame = packet.wire - line_overhead_;
      const ClassRun& k = classes_[static_cast<std::size_t>(c)];
      if (config_.mark_at_dequeue && k.kmax > 0 && (packet.flags & kKindMask) == kData && q.bytes >= k.kmin &&
          chance(n) < red_probability(config_.classes[static_cast<std::size_t>(c)], q.bytes))
        packet.flags |= kMarked, ++count(port, c).marks;
      q.bytes -= frame;
      if (contended && !(strict_ >> c & 1)) q.deficit -= packet.wire;
      if (q.head == kNone && !(p.source >> c & 1)) q.deficit = std::min(q.deficit, 0);
      auto in = static_cast<std::uint32_t>(packet.time);
      bool charged = packet.time >= 0;
      emit(w, n, port, packet, now);
      if (charged) release(w, n, n.first + in, c, frame, now);
    } else {
      Packet packet;
      produce(w, n, port, c, now, packet);
      if (contended && !(strict_ >> c & 1)) q.deficit -= packet.wire;
      emit(w, n, port, packet, now);
    }
  }
  if ((p.send_xoff | p.send_xon) || ((p.queued | p.source) & ~p.paused)) p.wake = p.free_at;
}

bool Core::lost_on_cable(NodeState& n, std::uint32_t port, const Packet& p) {
  const Port& cable = net_.ports[port];
  if (cable.drop_every > 0 && (p.flags & kKindMask) == kData && ++cable_count_[port] % cable.drop_every == 0) return true;
  return cable.loss > 0 && chance(n) < cable.loss;
}

void Core::emit(Worker& w, NodeState& n, std::uint32_t port, Packet& p, Time now) {
  PortState& o = ports_[port];
  o.free_at = now + static_cast<Time>((p.wire * o.ps + (1u << 23)) >> 24);
  Counters& k = count(port, p.klass);
  ++k.packets;
  k.bytes += p.wire;
  ++w.hops;
  if ((p.flags & kKindMask) == kData) k.payload += static_cast<std::uint64_t>(p.wire - data_overhead_);
  if (o.lossy_link && lost_on_cable(n, port, p)) {
    ++k.drops;
    if ((p.flags & kKindMask) == kData) ++w.losses.corrupted;
    return;
  }
  p.time = o.free_at + o.delay;
  onto_cable(w, o, p);
}

inline void Core::onto_cable(Worker& w, const PortState& o, const Packet& p) {
  if (o.remote) {
    w.outbox[nodes_[o.peer_node].worker].push_back({o.peer, p});
    return;
  }
  Ring& r = rings_[o.peer];
  bool first = r.empty();
  r.push(p);
  if (first) {
    nodes_[o.peer_node].dirty[o.peer_local >> 6] |= 1ull << (o.peer_local & 63);
    schedule(w, o.peer_node, p.time);
  }
}

// One MAC control frame says it for all classes that changed: 64 bytes, 84 on the wire.
void Core::send_pause(Worker& w, std::uint32_t port, Time now) {
  PortState& p = ports_[port];
  Packet f{};
  f.flags = kPause, f.wire = 84;
  f.seq = p.send_xoff | static_cast<std::uint32_t>(p.send_xoff | p.send_xon) << 8;
  p.send_xoff = p.send_xon = 0;
  ++w.pauses;
  p.free_at = now + static_cast<Time>((f.wire * p.ps + (1u << 23)) >> 24);
  f.time = p.free_at + p.delay;
  onto_cable(w, p, f);
}

// A packet that came in by in_port has left its queue: gives its bytes back, and says XON when enough is free.
void Core::release(Worker& w, NodeState& n, std::uint32_t in_port, int klass, std::int32_t bytes, Time now) {
  Lane& g = lane(in_port, klass);
  std::int32_t over = std::min(g.over, bytes);
  g.over -= over;
  g.shared -= bytes - over, n.shared_used -= bytes - over;
  if (!g.xoff || g.over > 0) return;
  const ClassRun& k = classes_[static_cast<std::size_t>(klass)];
  double free = static_cast<double>(n.shared_size - n.shared_used);
  auto threshold = k.alpha > 0 ? static_cast<std::int64_t>(k.alpha * std::max(free, 0.0)) : k.xoff;
  if (g.shared > 0 && g.shared > threshold - k.xon_gap) return;
  g.xoff = 0;
  ports_[in_port].send_xon |= static_cast<std::uint8_t>(1 << klass);
  ports_[in_port].send_xoff &= static_cast<std::uint8_t>(~(1 << klass));
  kick(w, n, in_port, now);
}

void Core::apply_pause(Worker& w, NodeState& n, std::uint32_t port, std::uint8_t xoff, std::uint8_t meant, Time now) {
  PortState& p = ports_[port];
  for (int c = 0; c < static_cast<int>(classes_n_); ++c) {
    if (!(meant >> c & 1)) continue;
    if (!(xoff >> c & 1)) {
      if (p.paused >> c & 1) resume(w, n, port, c, now);
      continue;
    }
    Lane& q = lane(port, c);
    q.pause_until = now + pause_time(p);
    add_timer(n, {q.pause_until, kPauseExpire, (port - n.first) | static_cast<std::uint32_t>(c) << 16});
    ++count(port, c).pauses;
    if (p.paused >> c & 1) continue;
    p.paused |= static_cast<std::uint8_t>(1 << c);
    q.paused_since = now;
    if (config_.watchdog.value() > 0)
      add_timer(n, {now + config_.watchdog.value(), kWatch, (port - n.first) | static_cast<std::uint32_t>(c) << 16});
    if (p.wake != kNever && !(p.send_xoff | p.send_xon) && !((p.queued | p.source) & ~p.paused)) set_wake(n, port, kNever);
  }
}

void Core::resume(Worker& w, NodeState& n, std::uint32_t port, int klass, Time now) {
  PortState& p = ports_[port];
  Lane& q = lane(port, klass);
  p.paused &= static_cast<std::uint8_t>(~(1 << klass));
  count(port, klass).paused += Picos(now - std::max(q.paused_since, observed_from_));
  if ((p.queued | p.source) >> klass & 1) kick(w, n, port, now);
}

void Core::drop_queue(Worker& w, NodeState& n, std::uint32_t port, int klass, Time now) {
  PortState& p = ports_[port];
  Lane& q = lane(port, klass);
  while (q.head != kNone) {
    std::uint32_t slot = q.head;
    Packet packet = n.pool[slot].p;
    q.head = n.pool[slot].next;
    n.pool[slot].next = n.free_slot, n.free_slot = slot;
    std::int32_t frame = packet.wire - line_overhead_;
    --q.packets, q.bytes -= frame;
    ++count(port, klass).drops;
    if ((packet.flags & kKindMask) == kData) ++((p.down & kLinkDown) ? w.losses.link_down : w.losses.watchdog);
    if (packet.time >= 0) release(w, n, n.first + static_cast<std::uint32_t>(packet.time), klass, frame, now);
  }
  q.tail = kNone;
  p.queued &= static_cast<std::uint8_t>(~(1 << klass));
}

// PFC watchdog: a queue stopped for the whole detection time is emptied, and what comes for it is dropped until no XOFF has come for the
// restoration time.
void Core::watch(Worker& w, NodeState& n, std::uint32_t port, int klass, Time now) {
  PortState& p = ports_[port];
  Lane& q = lane(port, klass);
  std::uint32_t arg = (port - n.first) | static_cast<std::uint32_t>(klass) << 16;
  if (q.storm) {
    Time last_xoff = q.pause_until - pause_time(p), quiet = last_xoff + config_.watchdog_restore.value();
    if (now < quiet) return add_timer(n, {quiet, kWatch, arg});
    q.storm = 0;
    std::uint8_t storms = 0;
    for (int c = 0; c < static_cast<int>(classes_n_); ++c) storms |= lane(port, c).storm;
    if (!storms) p.down &= static_cast<std::uint8_t>(~kStorm);
    return;
  }
  // Resumed and stopped again since: that pause has its own timer.
  if (!(p.paused >> klass & 1) || now - q.paused_since < config_.watchdog.value() || !(p.queued >> klass & 1)) return;
  q.storm = 1, p.down |= kStorm;
  drop_queue(w, n, port, klass, now);
  add_timer(n, {now + config_.watchdog_restore.value(), kWatch, arg});
}

void Core::link_event(Worker& w, NodeState& n, const LinkEvent& e, Time now) {
  PortState& p = ports_[e.port];
  if (e.rate_factor <= 0) {
    p.down |= kLinkDown;
    set_wake(n, e.port, kNever);
    for (int c = 0; c < static_cast<int>(classes_n_); ++c) drop_queue(w, n, e.port, c, now);
    p.send_xoff = p.send_xon = 0;
    return;
  }
  p.ps = static_cast<std::uint64_t>(8e12 / (net_.ports[e.port].rate.value() * e.rate_factor) * (1 << 24) + 0.5);
  if (!(p.down & kLinkDown)) return;
  p.down &= static_cast<std::uint8_t>(~kLinkDown);
  // What was agreed before the link went down holds no more.
  for (int c = 0; c < static_cast<int>(classes_n_); ++c) {
    if (p.paused >> c & 1) resume(w, n, e.port, c, now);
    if (lane(e.port, c).xoff) p.send_xoff |= static_cast<std::uint8_t>(1 << c);
  }
  kick(w, n, e.port, now);
}

void Core::fire(Worker& w, NodeState& n, std::uint32_t node, const Timer& t) {
  std::uint32_t port = n.first + (t.arg & 0xffff);
  int klass = static_cast<int>(t.arg >> 16 & 0xff);
  (void)node;
  switch (t.kind) {
    case kStart: return start(w, n, t.arg, t.at);
    case kPace: tx_[t.arg].pacing = false; return reconsider(w, n, t.arg, t.at);
    case kPauseApply: return apply_pause(w, n, port, static_cast<std::uint8_t>(t.arg >> 16), static_cast<std::uint8_t>(t.arg >> 24), t.at);
    case kPauseExpire:
      if ((ports_[port].paused >> klass & 1) && lane(port, klass).pause_until <= t.at) resume(w, n, port, klass, t.at);
      return;
    case kPauseRefresh: {
      if (!lane(port, klass).xoff || (ports_[port].down & kLinkDown)) return;
      ports_[port].send_xoff |= static_cast<std::uint8_t>(1 << klass);
      kick(w, n, port, t.at);
      return add_timer(n, {t.at + std::max<Time>(1, pause_time(ports_[port]) / 2), kPauseRefresh, t.arg});
    }
    case kRetransmit: return timeout(w, n, t.arg, t.at);
    case kControlTimer: control_timer(n, t.arg, t.at); return reconsider(w, n, t.arg, t.at);
    case kLink: return link_event(w, n, net_.events[t.arg], t.at);
    case kWatch: return watch(w, n, port, klass, t.at);
    default: return;
  }
}

}  // namespace weft::sim::packet
