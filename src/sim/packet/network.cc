#include "sim/packet/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weft::sim::packet {

std::vector<std::uint32_t> Network::ports_towards(std::uint32_t node, std::uint32_t host) const {
  std::uint32_t e = towards(node, host);
  if (e == kNone) return {};
  if (e & kSingle) return {e ^ kSingle};
  return {set_ports.begin() + set_first[e], set_ports.begin() + set_first[e + 1]};
}

void Network::set_route(std::uint32_t node, std::uint32_t host, const std::vector<std::uint32_t>& by) {
  if (row[node] == kNone) return;  // one port: nothing to choose
  std::uint32_t entry = kNone;
  if (by.size() == 1) {
    entry = kSingle | by[0];
  } else if (!by.empty()) {
    entry = static_cast<std::uint32_t>(set_first.size() - 1);
    set_ports.insert(set_ports.end(), by.begin(), by.end());
    set_first.push_back(static_cast<std::uint32_t>(set_ports.size()));
  }
  table[static_cast<std::size_t>(row[node]) * groups + group_of[host]] = entry;
}

std::uint32_t Network::port_to(std::uint32_t node, std::uint32_t neighbour) const {
  for (std::uint32_t p = nodes[node].first_port; p < nodes[node].first_port + nodes[node].ports; ++p)
    if (ports[ports[p].peer].node == neighbour) return p;
  return kNone;
}

int Network::hops(std::uint32_t from_host, std::uint32_t to_host) const {
  std::uint32_t at = hosts[from_host];
  for (int n = 0; n <= 64; ++n) {
    if (at == hosts[to_host]) return n;
    std::vector<std::uint32_t> out = ports_towards(at, to_host);
    if (out.empty()) return 0;
    at = ports[ports[out[0]].peer].node;
  }
  return 0;
}

std::string Network::port_name(std::uint32_t port) const {
  const Node& n = nodes[ports[port].node];
  return fmt::format("{}:{}", n.name, port - n.first_port);
}

std::uint32_t NetworkBuilder::add_node(std::string name, bool host, std::int64_t buffer, std::uint32_t origin) {
  auto id = static_cast<std::uint32_t>(net_.nodes.size());
  Node n;
  n.name = std::move(name), n.buffer = buffer, n.origin = origin;
  if (host) n.host = static_cast<std::uint32_t>(net_.hosts.size()), net_.hosts.push_back(id);
  net_.nodes.push_back(std::move(n));
  return id;
}

void NetworkBuilder::add_cable(std::uint32_t a, std::uint32_t b, BitsPerSecond rate, Picos delay, std::uint32_t origin, Picos back) {
  cables_.push_back({a, b, rate, delay, back.value() < 0 ? delay : back, origin});
}

namespace {

// Entries are interned: equal sets of ports are stored once.
struct Sets {
  Network& net;
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  std::uint32_t entry(const std::vector<std::uint32_t>& ports) {
    if (ports.empty()) return kNone;
    if (ports.size() == 1) return Network::kSingle | ports[0];
    auto [at, fresh] = known.try_emplace(ports, static_cast<std::uint32_t>(net.set_first.size() - 1));
    if (fresh) {
      net.set_ports.insert(net.set_ports.end(), ports.begin(), ports.end());
      net.set_first.push_back(static_cast<std::uint32_t>(net.set_ports.size()));
    }
    return at->second;
  }
};

}  // namespace

Result<Network> NetworkBuilder::build() {
  Network& net = net_;
  if (net.hosts.size() < 2) return fail(ErrorKind::kInvalid, "packet network: fewer than two hosts; nothing to send to");
  if (net.hosts.size() > 65535)
    return fail(ErrorKind::kInvalid, fmt::format("packet network: {} hosts; the packet model holds at most 65,535", net.hosts.size()));
  for (const Cable& c : cables_) {
    if (c.rate.value() < 1e6 || c.rate.value() > 1e14)
      return fail(ErrorKind::kInvalid, fmt::format("the rate of {} to {} is {}; give it (1 Mb/s to 100 Tb/s)", net.nodes[c.a].name,
                                                   net.nodes[c.b].name, human(c.rate)));
    if (c.delay.value() < 0 || c.delay.value() > 1'000'000'000'000)
      return fail(ErrorKind::kInvalid, fmt::format("the delay of {} to {} is {} ps; 0 to 1 s is possible", net.nodes[c.a].name,
                                                   net.nodes[c.b].name, c.delay.value()));
    ++net.nodes[c.a].ports, ++net.nodes[c.b].ports;
  }
  std::uint32_t at = 0;
  for (Node& n : net.nodes) n.first_port = at, at += n.ports, n.ports = 0;
  net.ports.resize(at);
  for (const Cable& c : cables_) {
    std::uint32_t a = net.nodes[c.a].first_port + net.nodes[c.a].ports++, b = net.nodes[c.b].first_port + net.nodes[c.b].ports++;
    net.ports[a] = {c.a, b, c.rate, c.delay, 0, 0, c.origin == kNone ? kNone : c.origin * 2};
    net.ports[b] = {c.b, a, c.rate, c.back, 0, 0, c.origin == kNone ? kNone : c.origin * 2 + 1};
  }
  auto neighbour = [&](std::uint32_t port) { return net.ports[net.ports[port].peer].node; };
  auto forwards = [&](std::uint32_t node) { return net.nodes[node].host == kNone || hosts_forward_; };

  // Destination groups: by the switches a host hangs on; a host that forwards is its own group.
  std::map<std::vector<std::uint32_t>, std::uint32_t> group_ids;
  std::vector<std::vector<std::uint32_t>> members;
  for (std::uint32_t h = 0; h < net.hosts.size(); ++h) {
    std::vector<std::uint32_t> key;
    if (hosts_forward_) key = {net.hosts[h]};
    else
      for (std::uint32_t p = net.nodes[net.hosts[h]].first_port, e = p + net.nodes[net.hosts[h]].ports; p < e; ++p)
        key.push_back(neighbour(p));
    std::sort(key.begin(), key.end());
    key.erase(std::unique(key.begin(), key.end()), key.end());
    if (key.empty()) return fail(ErrorKind::kInvalid, fmt::format("{} has no cable; every host needs one", net.nodes[net.hosts[h]].name));
    auto [g, fresh] = group_ids.try_emplace(key, static_cast<std::uint32_t>(members.size()));
    if (fresh) members.emplace_back();
    net.group_of.push_back(g->second);
    net.rank_in_group.push_back(static_cast<std::uint32_t>(members[g->second].size()));
    members[g->second].push_back(h);
  }
  net.groups = static_cast<std::uint32_t>(members.size());
  std::uint32_t rows = 0;
  for (const Node& n : net.nodes) net.row.push_back(n.ports > 1 ? rows++ : kNone);
  net.table.assign(static_cast<std::size_t>(rows) * net.groups, kNone);
  net.set_first.assign(1, 0);
  Sets sets{net, {}};
  std::vector<std::uint32_t> distance, queue, ports;
  for (const auto& [roots, g] : group_ids) {
    distance.assign(net.nodes.size(), kNone);
    queue = roots;
    for (std::uint32_t r : roots) distance[r] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      std::uint32_t n = queue[i];
      if (!forwards(n)) continue;  // a host takes a route but passes nothing on
      for (std::uint32_t p = net.nodes[n].first_port, e = p + net.nodes[n].ports; p < e; ++p)
        if (std::uint32_t m = neighbour(p); distance[m] == kNone) distance[m] = distance[n] + 1, queue.push_back(m);
    }
    for (std::uint32_t n : queue) {
      if (net.row[n] == kNone) continue;
      std::uint32_t& entry = net.table[static_cast<std::size_t>(net.row[n]) * net.groups + g];
      if (distance[n] == 0 && !hosts_forward_) {  // attached: one entry per host of the group
        entry = Network::kLocal | static_cast<std::uint32_t>(net.local.size());
        for (std::uint32_t h : members[g]) {
          ports.clear();
          for (std::uint32_t p = net.nodes[n].first_port, e = p + net.nodes[n].ports; p < e; ++p)
            if (neighbour(p) == net.hosts[h]) ports.push_back(p);
          net.local.push_back(sets.entry(ports));
        }
        continue;
      }
      ports.clear();
      for (std::uint32_t p = net.nodes[n].first_port, e = p + net.nodes[n].ports; p < e; ++p)
        if (std::uint32_t m = neighbour(p); distance[m] + 1 == distance[n] && forwards(m)) ports.push_back(p);
      entry = sets.entry(ports);
    }
  }
  return std::move(net_);
}

Result<Network> fat_tree(int k, BitsPerSecond rate, Picos delay) {
  if (k < 2 || k % 2 != 0 || k > 40) return fail(ErrorKind::kInvalid, fmt::format("fat-tree of k {}: an even number from 2 to 40", k));
  NetworkBuilder b;
  int half = k / 2;
  std::vector<std::uint32_t> host, edge, aggregation, core;
  for (int p = 0; p < k; ++p) {
    for (int e = 0; e < half; ++e)
      for (int h = 0; h < half; ++h) host.push_back(b.add_node(fmt::format("pod{}/leaf{}/host{}", p, e, h), true));
    for (int e = 0; e < half; ++e) edge.push_back(b.add_node(fmt::format("pod{}/leaf{}", p, e), false));
    for (int a = 0; a < half; ++a) aggregation.push_back(b.add_node(fmt::format("pod{}/spine{}", p, a), false));
  }
  for (int c = 0; c < half * half; ++c) core.push_back(b.add_node(fmt::format("core{}", c), false));
  auto at = [](const std::vector<std::uint32_t>& v, int i) { return v[static_cast<std::size_t>(i)]; };
  for (int p = 0; p < k; ++p)
    for (int e = 0; e < half; ++e) {
      for (int h = 0; h < half; ++h) b.add_cable(at(host, (p * half + e) * half + h), at(edge, p * half + e), rate, delay);
      for (int a = 0; a < half; ++a) b.add_cable(at(edge, p * half + e), at(aggregation, p * half + a), rate, delay);
    }
  for (int p = 0; p < k; ++p)
    for (int a = 0; a < half; ++a)
      for (int c = 0; c < half; ++c) b.add_cable(at(aggregation, p * half + a), at(core, a * half + c), rate, delay);
  return b.build();
}

Result<Network> star(int hosts, BitsPerSecond rate, Picos delay) {
  NetworkBuilder b;
  std::uint32_t sw = b.add_node("switch", false);
  for (int h = 0; h < hosts; ++h) b.add_cable(b.add_node(fmt::format("host{}", h), true), sw, rate, delay);
  return b.build();
}

Result<Network> dumbbell(int hosts, BitsPerSecond rate, BitsPerSecond trunk, Picos delay) {
  NetworkBuilder b;
  std::uint32_t left = b.add_node("left", false), right = b.add_node("right", false);
  b.add_cable(left, right, trunk, delay);
  for (int h = 0; h < 2 * hosts; ++h) b.add_cable(b.add_node(fmt::format("host{}", h), true), h < hosts ? left : right, rate, delay);
  return b.build();
}

Result<Network> leaf_spine(int leaves, int spines, int hosts_per_leaf, BitsPerSecond rate, Picos delay) {
  NetworkBuilder b;
  std::vector<std::uint32_t> leaf, spine;
  for (int l = 0; l < leaves; ++l) leaf.push_back(b.add_node(fmt::format("leaf{}", l), false));
  for (int s = 0; s < spines; ++s) spine.push_back(b.add_node(fmt::format("spine{}", s), false));
  for (std::size_t l = 0; l < leaf.size(); ++l) {
    for (int h = 0; h < hosts_per_leaf; ++h) b.add_cable(b.add_node(fmt::format("leaf{}/host{}", l, h), true), leaf[l], rate, delay);
    for (std::uint32_t s : spine) b.add_cable(leaf[l], s, rate, delay);
  }
  return b.build();
}

}  // namespace weft::sim::packet
