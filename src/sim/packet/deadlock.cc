#include "sim/packet/deadlock.h"

#include <algorithm>
#include <set>

namespace weft::sim::packet {
namespace {

// A cycle of the graph, empty when there is none. Iterative depth-first search.
std::vector<std::uint32_t> cycle_of(const std::vector<std::vector<std::uint32_t>>& edges) {
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> colour(edges.size(), kNew);
  std::vector<std::pair<std::uint32_t, std::size_t>> path;
  for (std::uint32_t start = 0; start < edges.size(); ++start) {
    if (colour[start] != kNew) continue;
    path.assign(1, {start, 0});
    colour[start] = kOpen;
    while (!path.empty()) {
      auto& [at, next] = path.back();
      if (next == edges[at].size()) {
        colour[at] = kDone;
        path.pop_back();
        continue;
      }
      std::uint32_t to = edges[at][next++];
      if (colour[to] == kOpen) {
        std::vector<std::uint32_t> cycle;
        std::size_t i = path.size();
        while (path[--i].first != to) {}
        for (; i < path.size(); ++i) cycle.push_back(path[i].first);
        return cycle;
      }
      if (colour[to] == kNew) colour[to] = kOpen, path.emplace_back(to, 0);
    }
  }
  return {};
}

}  // namespace

std::vector<std::uint32_t> pause_cycle(const std::vector<PauseEdge>& paused) {
  auto index = [&](std::uint32_t port, std::uint8_t klass) {
    for (std::uint32_t i = 0; i < paused.size(); ++i)
      if (paused[i].port == port && paused[i].klass == klass) return i;
    return kNone;
  };
  std::vector<std::vector<std::uint32_t>> edges(paused.size());
  for (std::size_t i = 0; i < paused.size(); ++i)
    for (std::uint32_t to : paused[i].waits_for)
      if (std::uint32_t j = index(to, paused[i].klass); j != kNone) edges[i].push_back(j);
  std::vector<std::uint32_t> out;
  for (std::uint32_t i : cycle_of(edges)) out.push_back(paused[i].port);
  return out;
}

Dependencies buffer_dependencies(const Network& net) {
  // A packet that arrived over link e waits in the buffer behind it for the ports it may take next.
  std::vector<std::set<std::uint32_t>> next(net.ports.size());
  Dependencies out;
  std::vector<std::uint8_t> seen(net.nodes.size());
  std::vector<std::uint32_t> queue;
  // Hosts of one group behind one switch differ only in the last link, on which nothing depends: one per group is enough. A host that
  // passes traffic on is a group of its own.
  std::vector<std::uint32_t> one(net.groups, kNone);
  for (std::uint32_t h = 0; h < net.hosts.size(); ++h)
    if (one[net.group_of[h]] == kNone) one[net.group_of[h]] = h;
  for (std::uint32_t h = 0; h < net.hosts.size(); ++h) {
    if (one[net.group_of[h]] != h) continue;
    std::fill(seen.begin(), seen.end(), 0);
    queue.clear();
    for (std::uint32_t from = 0; from < net.hosts.size(); ++from)
      if (from != h) queue.push_back(net.hosts[from]), seen[net.hosts[from]] = 1;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      std::uint32_t n = queue[i];
      for (std::uint32_t p : net.ports_towards(n, h)) {
        std::uint32_t m = net.ports[net.ports[p].peer].node;
        if (m == net.hosts[h]) continue;
        for (std::uint32_t q : net.ports_towards(m, h)) next[p].insert(q);
        if (!seen[m]) seen[m] = 1, queue.push_back(m);
      }
    }
  }
  std::vector<std::vector<std::uint32_t>> edges(next.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    edges[i].assign(next[i].begin(), next[i].end());
    out.channels += !edges[i].empty(), out.edges += edges[i].size();
  }
  out.cycle = cycle_of(edges);
  return out;
}

}  // namespace weft::sim::packet
