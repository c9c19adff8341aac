// Congestion control: DCQCN (Zhu et al., SIGCOMM 2015), Swift (Kumar et al., SIGCOMM 2020), DCTCP (Alizadeh et al., SIGCOMM 2010) and the
// sender-side control of Ultra Ethernet as its public simulator has it.
#include <algorithm>
#include <cmath>

#include "sim/packet/core.h"

namespace weft::sim::packet {
namespace {

// Bytes per picosecond of a port.
double line_rate(const PortState& p) { return static_cast<double>(1 << 24) / static_cast<double>(p.ps); }

Time rtt_of(const Packet& p, Time now) { return static_cast<Time>(static_cast<std::uint32_t>(now >> 8) - p.stamp) << 8; }

}  // namespace

void Core::control_start(NodeState&, std::uint32_t flow, Time) {
  Tx& t = tx_[flow];
  ControlState& s = control_[flow];
  double line = line_rate(ports_[t.port]);
  s.rate = s.target = line;
  switch (config_.control) {
    case Control::kSwift:
      s.window = std::max(1.0, static_cast<double>(config_.swift.base_target.value()) * line / full_wire_);
      t.window = static_cast<std::int64_t>(s.window) * full_wire_;
      break;
    case Control::kDctcp:
      s.window = config_.dctcp.first_window;
      t.window = static_cast<std::int64_t>(s.window) * full_wire_;
      break;
    case Control::kNscc: {
      s.base_rtt = static_cast<Time>(s.base_rtt);
      s.reference = line * static_cast<double>(s.base_rtt);  // bandwidth-delay product, bytes
      s.window = config_.nscc.window_bdp * s.reference;
      t.window = std::max<std::int64_t>(full_wire_, static_cast<std::int64_t>(s.window));
      break;
    }
    default: break;
  }
}

void Core::control_sent(NodeState& n, std::uint32_t flow, std::int32_t wire, Time now) {
  if (config_.control != Control::kDcqcn) return;
  ControlState& s = control_[flow];
  Tx& t = tx_[flow];
  if (t.gap == 0) return;  // at line rate no limiter is installed
  s.byte_count += wire;
  if (s.byte_count < config_.dcqcn.byte_counter) return;
  s.byte_count = 0;
  ++s.byte_stage;
  dcqcn_increase(s, line_rate(ports_[t.port]));
  t.gap = s.rate < line_rate(ports_[t.port]) ? 1 / s.rate : 0;
  (void)n, (void)now;
}

void Core::dcqcn_increase(ControlState& s, double line) {
  const Dcqcn& d = config_.dcqcn;
  auto f = static_cast<std::uint32_t>(d.fast_recovery);
  std::uint32_t high = std::max(s.byte_stage, s.time_stage), low = std::min(s.byte_stage, s.time_stage);
  if (high > f) {  // the first F events only recover
    double step = low > f && d.hyper.value() > 0 ? static_cast<double>(low - f) * d.hyper.value() : d.additive.value();
    s.target = std::min(line, s.target + step / 8e12);
  }
  s.rate = (s.rate + s.target) / 2;
  if (s.rate > line * 0.9999) s.rate = line;
}

void Core::control_cnp(NodeState& n, std::uint32_t flow, Time now) {
  if (config_.control != Control::kDcqcn) return;
  const Dcqcn& d = config_.dcqcn;
  ControlState& s = control_[flow];
  Tx& t = tx_[flow];
  if (t.done) return;
  s.target = s.rate;
  s.rate = std::max(s.rate * (1 - s.alpha / 2), d.minimum.value() / 8e12);
  s.alpha = (1 - d.g) * s.alpha + d.g;
  s.byte_count = 0, s.byte_stage = s.time_stage = 0;
  bool running = s.rate_timer != kNever;
  s.rate_timer = now + d.rate_timer.value(), s.alpha_timer = now + d.alpha_timer.value();
  if (!running) add_timer(n, {std::min(s.rate_timer, s.alpha_timer), kControlTimer, flow});
  t.gap = 1 / s.rate;
}

void Core::control_timer(NodeState& n, std::uint32_t flow, Time now) {
  ControlState& s = control_[flow];
  Tx& t = tx_[flow];
  const Dcqcn& d = config_.dcqcn;
  if (t.done) {
    s.rate_timer = kNever;
    return;
  }
  double line = line_rate(ports_[t.port]);
  if (now >= s.alpha_timer) s.alpha *= 1 - d.g, s.alpha_timer = now + d.alpha_timer.value();
  if (now >= s.rate_timer) {
    ++s.time_stage;
    dcqcn_increase(s, line);
    s.rate_timer = now + d.rate_timer.value();
    t.gap = s.rate < line ? 1 / s.rate : 0;
  }
  if (t.gap == 0 && s.target >= line) {  // back at line rate: the limiter is taken out
    s.rate_timer = kNever;
    return;
  }
  add_timer(n, {std::min(s.rate_timer, s.alpha_timer), kControlTimer, flow});
}

void Core::control_ack(std::uint32_t flow, const Packet& p, std::uint32_t acked, Time now) {
  ControlState& s = control_[flow];
  Tx& t = tx_[flow];
  Time rtt = rtt_of(p, now);
  s.rtt_sum += static_cast<double>(rtt), ++s.rtts;
  switch (config_.control) {
    case Control::kSwift: {
      const Swift& k = config_.swift;
      auto base = static_cast<double>(k.base_target.value());
      double range = k.fs_range * base, a = range / (1 / std::sqrt(k.fs_min) - 1 / std::sqrt(k.fs_max)), b = -a / std::sqrt(k.fs_max);
      double target = base + std::clamp(a / std::sqrt(s.window) + b, 0.0, range);
      auto delay = static_cast<double>(rtt);
      if (delay < target) {
        s.window += s.window >= 1 ? k.additive * acked / s.window : k.additive * acked;
      } else if (s.last_cut < 0 || now - s.last_cut >= rtt) {
        s.window *= std::max(1 - k.beta * (delay - target) / delay, 1 - k.max_decrease);
        s.last_cut = now;
      }
      s.window = std::max(s.window, k.min_window);
      t.window = std::max<std::int64_t>(1, static_cast<std::int64_t>(s.window)) * full_wire_;
      t.gap = s.window < 1 ? delay / (s.window * full_wire_) : 0;
      return;
    }
    case Control::kDctcp: {
      s.acked += acked;
      bool echo = p.flags & kEcho;
      if (echo) s.marked += acked;
      if (echo && s.last_cut < 0) {  // once per window, at the first mark
        s.window = std::max(1.0, s.window * (1 - s.alpha / 2));
        s.last_cut = now;
      } else if (s.last_cut < 0) {
        s.window += static_cast<double>(acked) / s.window;
      }
      if (t.una >= s.round_end) {
        s.alpha += config_.dctcp.g * (static_cast<double>(s.marked) / std::max(1u, s.acked) - s.alpha);
        s.acked = s.marked = 0, s.round_end = t.next, s.last_cut = -1;
      }
      t.window = static_cast<std::int64_t>(s.window) * full_wire_;
      return;
    }
    case Control::kNscc: {
      double mss = full_wire_, base = static_cast<double>(s.base_rtt), target = config_.nscc.target_rtt * base;
      double scale = s.reference / 150'000, delay = std::max(0.0, static_cast<double>(rtt) - base), bytes = acked * mss;
      constexpr double kReferenceRtt = 12e6;
      bool echo = p.flags & kEcho;
      s.average = s.average == 0 ? delay : s.average + 0.0125 * (delay - s.average);
      if (!echo && delay < target) {
        s.grow += 4 * mss * scale * (target / kReferenceRtt) / target * (target - delay) * bytes / mss * 1e-6 * 1e6 / mss * mss / 1.0;
        if (delay < 1e6 && now - s.good_since > s.base_rtt) s.grow += bytes * 0.25 * scale * mss;
      } else if (!echo) {
        s.grow += 5 * mss * scale * bytes / mss;
      } else if (delay >= target) {
        if (s.last_cut < 0 || now - s.last_cut >= rtt) {
          double average = std::max(s.average, target);
          s.window *= std::max(1 - 0.8 * (average - target) / std::max(average, 1.0), 0.5);
          s.last_cut = now;
        }
      }
      if (delay >= 1e6) s.good_since = now;
      s.reference = s.reference;
      s.acked += acked;
      if (s.acked >= 8) {
        s.window += s.grow / s.window + 0.15 * mss * scale;
        s.grow = 0, s.acked = 0;
      }
      double most = config_.nscc.window_bdp * s.reference;
      s.window = std::clamp(s.window, mss, std::max(most, mss));
      t.window = static_cast<std::int64_t>(s.window);
      return;
    }
    default: return;
  }
}

void Core::control_loss(std::uint32_t flow, Time now) {
  ControlState& s = control_[flow];
  Tx& t = tx_[flow];
  if (config_.control == Control::kSwift || config_.control == Control::kDctcp) {
    if (s.last_cut >= 0 && now - s.last_cut < 1'000'000) return;
    s.window = std::max(s.window / 2, config_.control == Control::kSwift ? config_.swift.min_window : 1.0);
    t.window = std::max<std::int64_t>(1, static_cast<std::int64_t>(s.window)) * full_wire_;
    s.last_cut = now;
  } else if (config_.control == Control::kNscc) {
    s.window = std::max<double>(full_wire_, s.window - full_wire_);
    t.window = static_cast<std::int64_t>(s.window);
  }
}

}  // namespace weft::sim::packet
