// Hosts: what a NIC sends next, what it answers, and how it recovers what was lost.
#include "sim/packet/core.h"

#include <cmath>

#include "base/random.h"

namespace weft::sim::packet {

// ---- sending ---------------------------------------------------------------------------------------------------------
bool Core::has_more(const Tx& t, std::uint32_t flow) const {
  if (t.done) return false;
  if (!selective_.empty() && selective_[flow].lost_at < selective_[flow].lost.size()) return true;
  return t.next < t.packets && (window_packets_ == 0 || t.next - t.una < window_packets_);
}

bool Core::window_open(const Tx& t, std::uint32_t flow) const {
  std::uint32_t flying = selective_.empty() ? t.next - t.una : selective_[flow].outstanding;
  if (config_.window > 0 && flying >= static_cast<std::uint32_t>(config_.window)) return false;
  if (t.window == 0) return true;
  std::int64_t bytes = static_cast<std::int64_t>(flying) * full_wire_;
  return flying == 0 || bytes + full_wire_ <= t.window;
}

void Core::start(Worker& w, NodeState& n, std::uint32_t flow, Time now) {
  Tx& t = tx_[flow];
  if (t.started) return;
  t.started = true;
  started_[flow] = now;
  t.progress = t.next_time = now;
  add_timer(n, {now + config_.retransmit.value(), kRetransmit, flow});
  if (!control_.empty()) control_start(n, flow, now);
  reconsider(w, n, flow, now);
}

void Core::reconsider(Worker& w, NodeState& n, std::uint32_t flow, Time now) {
  Tx& t = tx_[flow];
  if (t.ready || !t.started || !has_more(t, flow) || !window_open(t, flow)) return;
  if (t.next_time > now) {
    if (!t.pacing) t.pacing = true, add_timer(n, {t.next_time, kPace, flow});
    return;
  }
  make_ready(w, n, flow, now);
}

// Into the ring of its port and class, behind the others.
void Core::make_ready(Worker& w, NodeState& n, std::uint32_t flow, Time now) {
  Tx& t = tx_[flow];
  Lane& q = lane(t.port, t.klass);
  t.ready = true;
  if (q.ready == kNone) {
    q.ready = flow, t.before = t.behind = flow;
  } else {
    Tx& first = tx_[q.ready];
    t.behind = q.ready, t.before = first.before;
    tx_[first.before].behind = flow;
    first.before = flow;
  }
  PortState& p = ports_[t.port];
  p.source |= static_cast<std::uint8_t>(1 << t.klass);
  if (p.wake == kNever && !(p.paused >> t.klass & 1)) kick(w, n, t.port, now);
}

void Core::unready(std::uint32_t flow) {
  Tx& t = tx_[flow];
  if (!t.ready) return;
  t.ready = false;
  Lane& q = lane(t.port, t.klass);
  if (t.behind == flow) {
    q.ready = kNone;
    ports_[t.port].source &= static_cast<std::uint8_t>(~(1 << t.klass));
    return;
  }
  tx_[t.before].behind = t.behind, tx_[t.behind].before = t.before;
  if (q.ready == flow) q.ready = t.behind;
}

// The next packet of the flow whose turn it is. Every flow in the ring may send.
void Core::produce(Worker& w, NodeState& n, std::uint32_t port, int klass, Time now, Packet& p) {
  Lane& q = lane(port, klass);
  std::uint32_t flow = q.ready;
  Tx& t = tx_[flow];
  std::uint32_t seq;
  if (selective_.empty()) {
    if (t.next == t.una) t.progress = now;
    seq = t.next++;
    if (seq < t.highest) ++t.resent;
    else t.highest = t.next;
  } else {
    SelectiveState& s = selective_[flow];
    if (s.outstanding == 0) t.progress = now;
    if (s.lost_at < s.lost.size()) {
      seq = s.lost[s.lost_at++];
      if (s.lost_at == s.lost.size()) s.lost.clear(), s.lost_at = 0;
      ++t.resent;
    } else {
      seq = t.next++;
      t.highest = t.next;
    }
    s.order[seq % window_packets_] = s.sendings;
    s.sent[s.sendings % s.sent.size()] = seq;
    ++s.sendings, ++s.outstanding;
  }
  p.flow = flow, p.seq = seq;
  p.hash = config_.balance == Balance::kSpray ? static_cast<std::uint32_t>(mix(t.hash + 0x9e3779b97f4a7c15 * ++t.spray)) : t.hash;
  p.to = t.to, p.extra = t.round & 0xff;
  p.wire = static_cast<std::uint16_t>(wire_of(t, seq));
  p.klass = t.klass;
  p.flags = kData | (seq + 1 == t.packets ? kLast : 0);
  p.stamp = static_cast<std::uint32_t>(now >> 8);
  ++w.sent;
  if (!control_.empty()) control_sent(n, flow, p.wire, now);
  if (t.gap > 0) {
    double gap = t.gap * p.wire;
    if (flows_[flow].poisson) {
      gap *= -std::log1p(-chance(n));
      t.next_time += static_cast<Time>(gap);  // open loop: what the port delayed does not delay the next arrival
    } else {
      t.next_time = std::max(now, t.next_time) + static_cast<Time>(gap);
    }
  }
  Time line_free = now + static_cast<Time>((p.wire * ports_[port].ps) >> 24);
  q.ready = t.behind;
  if (!has_more(t, flow) || !window_open(t, flow) || t.next_time > line_free) {
    unready(flow);
    if (t.next_time > line_free && has_more(t, flow) && !t.pacing) t.pacing = true, add_timer(n, {t.next_time, kPace, flow});
  }
}

// Nothing heard for a whole timeout: everything since the last acknowledged packet is sent again.
void Core::timeout(Worker& w, NodeState& n, std::uint32_t flow, Time now) {
  Tx& t = tx_[flow];
  if (t.done) return;
  Time rto = config_.retransmit.value();
  std::uint32_t flying = selective_.empty() ? t.next - t.una : selective_[flow].outstanding;
  if (flying > 0 && now - t.progress >= rto && !(ports_[t.port].paused >> t.klass & 1)) {
    if (selective_.empty()) {
      t.next = config_.recovery == Recovery::kGoBackZero ? 0 : t.una;
      if (config_.recovery == Recovery::kGoBackZero) t.una = 0;
      ++t.round;
    } else {
      SelectiveState& s = selective_[flow];
      s.lost.clear(), s.lost_at = 0;
      for (std::uint32_t i = t.una; i < t.next; ++i)
        if (!(s.sacked[i % window_packets_ / 64] >> (i % 64) & 1)) s.lost.push_back(i);
      s.outstanding = 0, s.oldest = s.sendings;
    }
    if (!control_.empty()) control_loss(flow, now);
    t.progress = now;
    reconsider(w, n, flow, now);
  }
  add_timer(n, {t.progress + rto > now ? t.progress + rto : now + rto, kRetransmit, flow});
}

// ---- receiving -------------------------------------------------------------------------------------------------------
void Core::receive(Worker& w, NodeState& n, std::uint32_t in, Packet& p, Time now) {
  w.last = std::max(w.last, now);
  switch (p.flags & kKindMask) {
    case kData: return receive_data(w, n, in, p, now);
    case kCnp:
      ++tx_[p.flow].cnps;
      if (!control_.empty()) control_cnp(n, p.flow, now), reconsider(w, n, p.flow, now);
      return;
    default: return receive_ack(w, n, p, now);
  }
}

void Core::reply(Worker& w, NodeState& n, std::uint32_t in, const Packet& p, Kind kind, std::uint32_t seq, std::uint16_t extra, Time now) {
  Packet a;
  a.flow = p.flow, a.seq = seq;
  a.hash = p.hash * 0x85ebca6b + 0x9e3779b9;  // its own addresses and ports: another way back
  a.to = static_cast<std::uint16_t>(flows_[p.flow].from);
  a.extra = extra;
  a.wire = ack_wire_;
  a.klass = static_cast<std::uint8_t>(config_.ack_class);
  a.flags = static_cast<std::uint8_t>(kind | (p.flags & kMarked ? kEcho : 0));
  a.stamp = p.stamp;
  enqueue(w, n, UINT32_MAX, in, a, now);
}

void Core::finish(Worker& w, NodeState& n, std::uint32_t flow, Time now) {
  rx_[flow].finished = now;
  for (std::uint32_t i = unlock_first_[flow]; i < unlock_first_[flow + 1]; ++i) {
    std::uint32_t next = unlock_[i];
    Time at = now + flows_[next].start.value();
    if (at > now) add_timer(n, {at, kStart, next});
    else start(w, n, next, now);
  }
}

void Core::receive_data(Worker& w, NodeState& n, std::uint32_t in, Packet& p, Time now) {
  Rx& r = rx_[p.flow];
  ++w.delivered;
  w.last_data = now;
  if (p.flags & kMarked) {
    ++r.marked;
    if (config_.control == Control::kDcqcn && (r.last_cnp < 0 || now - r.last_cnp >= config_.dcqcn.cnp_interval.value())) {
      r.last_cnp = now;
      reply(w, n, in, p, kCnp, r.expected, 0, now);
    }
  }
  bool complete = r.expected == r.packets;
  if (window_packets_ > 0) {  // selective repeat
    std::uint32_t ahead = 0;
    if (p.seq == r.expected) {
      ++r.expected;
      auto& bits = r.bitmap;
      while (r.expected < r.packets && !bits.empty()) {
        std::uint32_t i = r.expected % window_packets_;
        if (!(bits[i / 64] >> (i % 64) & 1)) break;
        bits[i / 64] &= ~(1ull << (i % 64));
        ++r.expected;
      }
    } else if (p.seq > r.expected) {
      if (r.bitmap.empty()) r.bitmap.assign(window_packets_ / 64, 0);
      std::uint32_t i = p.seq % window_packets_;
      r.bitmap[i / 64] |= 1ull << (i % 64);
      ahead = p.seq - r.expected + 1;
    }
    // `extra` names the packet that caused this ACK: 0 = at or below seq, else seq + extra - 1.
    reply(w, n, in, p, kAck, r.expected, static_cast<std::uint16_t>(ahead), now);
  } else if (p.seq == r.expected) {
    ++r.expected;
    ++r.since_ack;
    if (static_cast<int>(r.since_ack) >= config_.ack_every || (p.flags & kLast) || (p.flags & kMarked)) {
      r.since_ack = 0;
      reply(w, n, in, p, kAck, r.expected, 0, now);
    }
  } else if (p.seq > r.expected) {
    // One NACK per gap and sending round: the round tells a second loss of the same packet from what was still on its way.
    std::uint32_t round = p.extra & 0xff;
    if (config_.recovery == Recovery::kGoBackZero && !complete) r.expected = 0;
    if (r.nack_round != round) r.nack_round = round, reply(w, n, in, p, kNack, r.expected, static_cast<std::uint16_t>(round), now);
  } else {
    reply(w, n, in, p, kAck, r.expected, 0, now);
  }
  if (!complete && r.expected == r.packets) finish(w, n, p.flow, now);
}

// Marks `packet` as arrived and everything sent long enough before it, and not acknowledged, as lost.
void Core::selective_ack(Tx& t, SelectiveState& s, std::uint32_t cumulative, std::uint32_t packet) {
  auto bit = [&](std::uint32_t seq) -> std::pair<std::uint64_t&, std::uint64_t> {
    std::uint32_t i = seq % window_packets_;
    return {s.sacked[i / 64], 1ull << (i % 64)};
  };
  std::uint32_t newest = s.oldest;
  auto arrived = [&](std::uint32_t seq) {
    auto [word, mask] = bit(seq);
    if (word & mask) return;
    word |= mask;
    if (s.outstanding > 0) --s.outstanding;
    newest = std::max(newest, s.order[seq % window_packets_] + 1);
  };
  if (packet >= t.una && packet < t.next) arrived(packet);
  for (; t.una < cumulative && t.una < t.next; ++t.una) {
    arrived(t.una);
    auto [word, mask] = bit(t.una);
    word &= ~mask;
  }
  std::uint32_t reorder = static_cast<std::uint32_t>(config_.reorder);
  while (s.oldest + reorder + 1 < newest) {
    std::uint32_t seq = s.sent[s.oldest % s.sent.size()], order = s.oldest++;
    if (seq < t.una || s.order[seq % window_packets_] != order) continue;  // acknowledged, or sent again since
    auto [word, mask] = bit(seq);
    if (word & mask) continue;
    s.lost.push_back(seq);
    if (s.outstanding > 0) --s.outstanding;
  }
}

void Core::receive_ack(Worker& w, NodeState& n, Packet& p, Time now) {
  Tx& t = tx_[p.flow];
  if (t.done) return;
  std::uint32_t before = t.una;
  bool lost = false;
  if (window_packets_ > 0) {
    SelectiveState& s = selective_[p.flow];
    std::size_t losses = s.lost.size();
    std::uint32_t flying = s.outstanding;
    selective_ack(t, s, p.seq, p.extra == 0 ? p.seq - 1 : p.seq + p.extra - 1);
    lost = s.lost.size() > losses;
    if (flying != s.outstanding || t.una > before) t.progress = now;
    if (!control_.empty()) control_ack(p.flow, p, 1, now);
  } else {
    if ((p.flags & kKindMask) == kNack) {
      if (p.extra == (t.round & 0xff)) {
        lost = true;
        if (config_.recovery == Recovery::kGoBackZero) t.una = t.next = 0, before = 0;
        else t.una = std::max(t.una, p.seq), t.next = t.una;
        ++t.round;
        t.progress = now;
      }
    } else if (p.seq > t.una) {
      t.una = p.seq;
      if (t.next < t.una) t.next = t.una;  // acknowledged while about to be sent again
      t.progress = now;
    }
    if (!control_.empty() && t.una > before) control_ack(p.flow, p, t.una - before, now);
  }
  if (lost && !control_.empty()) control_loss(p.flow, now);
  if (t.una >= t.packets) {
    t.done = true, t.done_at = now;
    unready(p.flow);
    ++w.done;
    return;
  }
  if (t.ready && (!has_more(t, p.flow) || !window_open(t, p.flow))) unready(p.flow);
  else reconsider(w, n, p.flow, now);
}

}  // namespace weft::sim::packet
