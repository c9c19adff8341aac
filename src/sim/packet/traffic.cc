#include "sim/packet/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/random.h"
#include "base/text.h"
#include "sim/share.h"

namespace weft::sim::packet {
namespace {

Result<std::vector<Flow>> from_file(const Network& net, const std::string& path) {
  WEFT_ASSIGN(std::string text, read_file(path, 256u << 20));
  std::map<std::string, std::uint32_t, std::less<>> names;
  for (std::uint32_t h = 0; h < net.hosts.size(); ++h) names[net.nodes[net.hosts[h]].name] = h;
  std::vector<Flow> out;
  int line_number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++line_number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    auto bad = [&](const std::string& why) { return fail(ErrorKind::kInvalid, why, fmt::format("{}:{}", path, line_number)); };
    std::vector<std::string_view> w = split_space(line);
    if (w.size() < 3 || w.size() > 5) return bad("FROM TO BYTES [START_US [CLASS]]");
    Flow f;
    for (int i = 0; i < 2; ++i) {
      std::uint32_t host = 0;
      if (auto at = names.find(w[static_cast<std::size_t>(i)]); at != names.end()) {
        host = at->second;
      } else {
        auto n = parse_int(w[static_cast<std::size_t>(i)]);
        if (!n || *n < 0 || static_cast<std::size_t>(*n) >= net.hosts.size())
          return bad(fmt::format("no host '{}'; there are {}, 0 to {} or by name", w[static_cast<std::size_t>(i)], net.hosts.size(),
                                 net.hosts.size() - 1));
        host = static_cast<std::uint32_t>(*n);
      }
      (i == 0 ? f.from : f.to) = host;
    }
    auto bytes = parse_int(w[2]);
    if (!bytes || *bytes < 1) return bad(fmt::format("'{}' is no number of bytes", w[2]));
    f.bytes = *bytes;
    if (w.size() > 3) {
      auto start = parse_double(w[3]);
      if (!start || *start < 0 || *start > 1e9) return bad(fmt::format("'{}' is no start in us", w[3]));
      f.start = to_picos(Seconds(*start * 1e-6));
    }
    if (w.size() > 4) {
      auto klass = parse_int(w[4]);
      if (!klass || *klass < 0 || *klass > 7) return bad(fmt::format("unknown priority '{}'", w[4]));
      f.klass = static_cast<std::uint8_t>(*klass);
    }
    out.push_back(f);
  }
  if (out.empty()) return fail(ErrorKind::kInvalid, "no flows", path);
  return out;
}

}  // namespace

Result<std::vector<Flow>> traffic(const Network& net, std::string_view pattern, Bytes bytes, std::uint64_t seed) {
  auto n = static_cast<std::uint32_t>(net.hosts.size());
  Random random = Random(seed).fork("traffic");
  std::vector<Flow> out;
  auto add = [&](std::uint32_t from, std::uint32_t to) {
    Flow f;
    f.from = from, f.to = to, f.bytes = bytes.value();
    out.push_back(f);
  };
  auto shuffled = [&](std::uint32_t first) {
    std::vector<std::uint32_t> v;
    for (std::uint32_t i = first; i < n; ++i) v.push_back(i);
    for (std::size_t i = v.size(); i > 1; --i)
      std::swap(v[i - 1], v[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
    return v;
  };
  if (pattern == "permutation") {
    std::vector<std::uint32_t> to;
    bool fixed = true;
    while (fixed) {  // about e tries
      to = shuffled(0);
      fixed = false;
      for (std::uint32_t i = 0; i < n; ++i) fixed |= to[i] == i;
    }
    for (std::uint32_t i = 0; i < n; ++i) add(i, to[i]);
    return out;
  }
  if (pattern.starts_with("incast:")) {
    auto many = parse_int(pattern.substr(7));
    if (!many || *many < 1 || static_cast<std::uint64_t>(*many) >= n)
      return fail(ErrorKind::kInvalid, fmt::format("pattern {}: 1 to {} senders on this network of {} hosts", pattern, n - 1, n));
    std::vector<std::uint32_t> senders = shuffled(1);
    senders.resize(static_cast<std::size_t>(*many));
    for (std::uint32_t s : senders) add(s, 0);
    return out;
  }
  if (pattern == "alltoall") {
    if (static_cast<std::uint64_t>(n) * (n - 1) > 8'000'000)
      return fail(ErrorKind::kInvalid,
                  fmt::format("an all-to-all of {} hosts has {} flows; at most 8 million", n, static_cast<std::uint64_t>(n) * (n - 1)));
    // Every host begins with its next neighbour, as libraries do, so that no receiver is everybody's first.
    for (std::uint32_t d = 1; d < n; ++d)
      for (std::uint32_t i = 0; i < n; ++i) add(i, (i + d) % n);
    return out;
  }
  if (pattern.starts_with("file:")) return from_file(net, std::string(pattern.substr(5)));
  return fail(ErrorKind::kInvalid, fmt::format("unknown pattern '{}'; known: permutation, incast:N, alltoall, file:PATH", pattern));
}

std::vector<Picos> fluid_completions(const Network& net, const Config& config, const std::vector<Flow>& flows) {
  std::vector<double> capacity;
  for (const Port& p : net.ports) capacity.push_back(p.rate.value() / 8e12);  // bytes per picosecond
  std::vector<std::vector<std::pair<std::uint32_t, double>>> links(flows.size());
  std::vector<Sharing::FlowSpec> specs;
  std::vector<double> wire, latency;
  std::map<std::uint32_t, double> at, next;
  std::map<std::uint32_t, double> share;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const Flow& f = flows[i];
    share.clear(), at.clear();
    at[net.hosts[f.from]] = 1;
    double late = 0, busiest = 0;
    for (int hop = 0; hop < 64 && !(at.size() == 1 && at.begin()->first == net.hosts[f.to]); ++hop) {
      next.clear();
      double slowest = 0;
      for (auto [node, part] : at) {
        if (node == net.hosts[f.to]) {
          next[node] += part;
          continue;
        }
        std::vector<std::uint32_t> ports = net.ports_towards(node, f.to);
        for (std::uint32_t p : ports) {
          share[p] += part / static_cast<double>(ports.size());
          next[net.ports[net.ports[p].peer].node] += part / static_cast<double>(ports.size());
          slowest = std::max(slowest, static_cast<double>(net.ports[p].delay.value()) +
                                          (hop == 0 ? 0 : static_cast<double>(config.data_wire()) / capacity[p]));
        }
      }
      late += slowest;
      at.swap(next);
    }
    double solo = 1e300;
    for (auto [p, part] : share) busiest = std::max(busiest, part);
    for (auto [p, part] : share) links[i].emplace_back(p, part / busiest), solo = std::min(solo, capacity[p] / (part / busiest));
    auto packets = (f.bytes + config.mtu - 1) / config.mtu;
    double total =
        static_cast<double>(config.pad_last ? packets * config.data_wire() : f.bytes + packets * (config.header + config.line_overhead));
    wire.push_back(total * busiest);
    latency.push_back(late);
    specs.push_back({solo, nullptr});
  }
  for (std::size_t i = 0; i < flows.size(); ++i) specs[i].links = &links[i];
  Sharing sharing(capacity, specs);
  std::vector<Picos> out(flows.size(), Picos(-1));
  std::vector<double> left = wire, since(flows.size(), 0);
  std::vector<std::uint32_t> running;
  std::vector<std::pair<double, std::uint32_t>> waiting;
  std::vector<std::vector<std::uint32_t>> unlocks(flows.size());
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    if (flows[i].after < 0) waiting.emplace_back(static_cast<double>(flows[i].start.value()), i);
    else unlocks[static_cast<std::size_t>(flows[i].after)].push_back(i);
  }
  auto later = [](const auto& a, const auto& b) { return a > b; };
  std::make_heap(waiting.begin(), waiting.end(), later);
  double now = 0;
  while (!running.empty() || !waiting.empty()) {
    double end = 1e300;
    for (std::uint32_t f : running) end = std::min(end, sharing.rate(f) > 0 ? now + left[f] / sharing.rate(f) : 1e300);
    double start = waiting.empty() ? 1e300 : waiting.front().first, then = std::min(end, start);
    if (then >= 1e300) break;
    for (std::uint32_t f : running) left[f] -= sharing.rate(f) * (then - now);
    now = then;
    std::vector<std::uint32_t> still;
    for (std::uint32_t f : running) {
      if (left[f] > 1e-6 * wire[f]) {
        still.push_back(f);
        continue;
      }
      sharing.end(f);
      out[f] = Picos(static_cast<std::int64_t>(now + latency[f]));
      for (std::uint32_t u : unlocks[f]) {
        waiting.emplace_back(now + latency[f] + static_cast<double>(flows[u].start.value()), u);
        std::push_heap(waiting.begin(), waiting.end(), later);
      }
    }
    running.swap(still);
    while (!waiting.empty() && waiting.front().first <= now) {
      std::uint32_t f = waiting.front().second;
      std::pop_heap(waiting.begin(), waiting.end(), later);
      waiting.pop_back();
      sharing.begin(f);
      running.push_back(f);
    }
    sharing.update();
  }
  return out;
}

Picos fluid_end(const Network& net, const Config& config, const std::vector<Flow>& flows) {
  std::vector<double> in(net.hosts.size()), out(net.hosts.size());
  std::int64_t last = 0;
  for (const Flow& f : flows) {
    double wire = static_cast<double>(f.bytes) * static_cast<double>(config.data_wire()) / static_cast<double>(config.mtu);
    in[f.to] += wire, out[f.from] += wire;
    last = std::max(last, f.start.value());
  }
  double longest = 0;
  for (std::size_t h = 0; h < net.hosts.size(); ++h) {
    const Node& n = net.nodes[net.hosts[h]];
    double rate = 0;
    for (std::uint32_t p = n.first_port; p < n.first_port + n.ports; ++p) rate += net.ports[p].rate.value() / 8e12;
    longest = std::max(longest, std::max(in[h], out[h]) / rate);
  }
  return Picos(last + static_cast<std::int64_t>(longest));
}

}  // namespace weft::sim::packet
