#include "sim/packet/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weft::sim::packet {

Percentiles completion(const std::vector<FlowResult>& flows) {
  std::vector<std::int64_t> t;
  double sum = 0;
  for (const FlowResult& f : flows)
    if (f.finished.value() >= 0) t.push_back((f.finished - f.started).value()), sum += static_cast<double>(t.back());
  Percentiles out;
  if (t.empty()) return out;
  std::sort(t.begin(), t.end());
  auto at = [&](double q) { return Picos(t[std::min(t.size() - 1, static_cast<std::size_t>(q * static_cast<double>(t.size())))]); };
  out.least = Picos(t.front()), out.median = at(0.5), out.p90 = at(0.9), out.p99 = at(0.99), out.p999 = at(0.999),
  out.most = Picos(t.back());
  out.mean = Picos(static_cast<std::int64_t>(sum / static_cast<double>(t.size())));
  return out;
}

Percentiles acknowledged(std::vector<FlowResult> flows) {
  for (FlowResult& f : flows) f.finished = f.acknowledged;
  return completion(flows);
}

std::vector<PortTotal> most_troubled(const Network&, const Config& config, const Outcome& out, std::size_t n) {
  std::vector<PortTotal> all;
  std::size_t classes = config.classes.size();
  for (std::size_t i = 0; i < out.counters.size(); ++i)
    if (out.counters[i].queue_max > 0 || out.counters[i].pauses > 0 || out.counters[i].drops > 0)
      all.push_back({static_cast<std::uint32_t>(i / classes), static_cast<std::uint8_t>(i % classes), out.counters[i]});
  n = std::min(n, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), all.end(), [](const PortTotal& a, const PortTotal& b) {
    return std::tuple(-a.counters.paused.value(), -a.counters.queue_max, a.port, a.klass) <
           std::tuple(-b.counters.paused.value(), -b.counters.queue_max, b.port, b.klass);
  });
  all.resize(n);
  return all;
}

Totals totals(const Network& net, const Config& config, const Outcome& out) {
  Totals t;
  std::size_t classes = config.classes.size();
  for (const Counters& c : out.counters) {
    t.pauses += c.pauses, t.marks += c.marks, t.drops += c.drops, t.paused += c.paused;
    t.queue_max = std::max(t.queue_max, c.queue_max);
  }
  for (const FlowResult& f : out.flows) t.resent += f.resent, t.payload += static_cast<std::uint64_t>(f.delivered);
  for (std::size_t s = 0; !out.counters.empty() && s + 1 < net.set_first.size(); ++s) {
    std::uint64_t sum = 0, most = 0;
    std::uint32_t busiest = 0, many = net.set_first[s + 1] - net.set_first[s];
    for (std::uint32_t i = net.set_first[s]; i < net.set_first[s + 1]; ++i) {
      std::uint64_t bytes = 0;
      for (std::size_t c = 0; c < classes; ++c) bytes += out.counters[net.set_ports[i] * classes + c].bytes;
      sum += bytes;
      if (bytes > most) most = bytes, busiest = net.set_ports[i];
    }
    if (sum < 1'000'000) continue;
    double ratio = static_cast<double>(most) * many / static_cast<double>(sum);
    if (ratio > t.imbalance) t.imbalance = ratio, t.imbalance_at = net.port_name(busiest);
  }
  return t;
}

std::vector<std::string> complaints(const Network& net, const Config& config, const Outcome& out) {
  std::vector<std::string> no;
  if (out.losses.lossless_full > 0) {
    std::string where;
    for (std::size_t i = 0; i < out.counters.size() && where.empty(); ++i)
      if (out.counters[i].drops > 0 && config.classes[i % config.classes.size()].lossless)
        where = net.port_name(static_cast<std::uint32_t>(i / config.classes.size()));
    no.push_back(fmt::format("{} packets of a lossless class were dropped, the first port is {}: the headroom is too small",
                             out.losses.lossless_full, where));
  }
  if (out.ending == Ending::kHorizon) no.push_back(fmt::format("cut at the horizon of {}", human(to_seconds(config.horizon))));
  if (out.ending == Ending::kStopped) no.push_back("interrupted");
  if (!out.deadlock.empty()) {
    std::string ports;
    for (std::uint32_t p : out.deadlock) ports += (ports.empty() ? "" : " → ") + net.port_name(p);
    no.push_back("deadlock: a cycle of stopped queues: " + ports);
  } else if (out.ending == Ending::kStalled) {
    no.push_back("stalled: queues are stopped and nothing moves");
  }
  if (out.unfinished > 0) {
    std::size_t first = 0;
    while (out.flows[first].finished.value() >= 0) ++first;
    no.push_back(fmt::format("{} of {} flows did not finish; the first is flow {} with {} bytes delivered", out.unfinished,
                             out.flows.size(), first, out.flows[first].delivered));
  }
  return no;
}

std::vector<std::string> pause_tree(const Network& net, const Outcome& out, std::size_t most) {
  // Edge of a stopped queue → queues of the next node that hold its packets. Roots are queues waited for that are not stopped themselves.
  std::set<std::uint32_t> stopped;
  for (const PauseEdge& e : out.paused) stopped.insert(e.port);
  std::set<std::uint32_t> roots;
  for (const PauseEdge& e : out.paused)
    for (std::uint32_t to : e.waits_for)
      if (!stopped.contains(to)) roots.insert(to);
  std::vector<std::string> lines;
  std::set<std::uint32_t> shown;
  auto show = [&](auto&& self, std::uint32_t port, int depth) -> void {
    if (lines.size() >= most) return;
    std::int64_t bytes = 0;
    for (const PauseEdge& e : out.paused)
      if (e.port == port) bytes += e.bytes;
    lines.push_back(fmt::format("{:{}}{}{}", "", 2 * depth, net.port_name(port),
                                depth == 0 ? " (root)" : fmt::format(", {} waiting", human(Bytes(bytes)))));
    if (!shown.insert(port).second) return;
    for (const PauseEdge& e : out.paused)
      if (std::find(e.waits_for.begin(), e.waits_for.end(), port) != e.waits_for.end()) self(self, e.port, depth + 1);
  };
  for (std::uint32_t r : roots) show(show, r, 0);
  return lines;
}

}  // namespace weft::sim::packet
