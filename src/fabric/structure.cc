#include "fabric/structure.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace weft::fabric {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

bool carries(const Snapshot& s, LinkId l, Network n) { return l.ok() && (s.link(l).networks & bit(n)) && s.carries(l); }
bool forwards(const Snapshot& s, DeviceId d, bool cards) {
  DeviceKind k = s.device(d).kind;
  return k == DeviceKind::kSwitch || k == DeviceKind::kOcs || (cards && k == DeviceKind::kCard);
}
bool cards_forward(const Snapshot& s, Network n) {
  for (DeviceId card : s.cards())
    for (PortId p : s.ports_of(card))
      if (LinkId l = s.port(p).link;
          l.ok() && (s.link(l).networks & bit(n)) && s.device(s.port(s.peer(p)).device).kind == DeviceKind::kCard)
        return true;
  return false;
}

// Vertices: forwarders, and end points (a NIC or BMC stands for its node).
struct Mesh {
  std::vector<DeviceId> device;                  // vertex → device
  std::vector<std::uint32_t> vertex;             // device → vertex
  std::vector<std::vector<std::uint32_t>> next;  // neighbours, parallel links once or more
  std::vector<bool> forward, end_point;
};

Mesh mesh_of(const Snapshot& s, Network n) {
  Mesh m;
  m.vertex.assign(s.device_count(), kNone);
  bool cards = cards_forward(s, n);
  auto vertex = [&](DeviceId d) {
    bool f = forwards(s, d, cards);
    DeviceId stands = d;
    if (!f)
      if (DeviceKind k = s.device(d).kind; k == DeviceKind::kNic || k == DeviceKind::kBmc)
        if (DeviceId node = s.container(d, DeviceKind::kNode); node.ok()) stands = node;
    std::uint32_t& v = m.vertex[stands.v];
    if (v == kNone) {
      v = static_cast<std::uint32_t>(m.device.size());
      m.device.push_back(stands);
      m.next.emplace_back();
      m.forward.push_back(f);
      m.end_point.push_back(!f || s.device(d).kind == DeviceKind::kCard);
    }
    return v;
  };
  for (std::uint32_t d = 0; d < s.device_count(); ++d)
    for (PortId p : s.ports_of(DeviceId{d}))
      if (s.port(p).networks & bit(n)) {
        std::uint32_t v = vertex(DeviceId{d});
        LinkId l = s.port(p).link;
        if (!carries(s, l, n)) continue;
        std::uint32_t w = vertex(s.port(s.peer(p)).device);
        if (w != v) m.next[v].push_back(w);
      }
  for (auto& list : m.next) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return m;
}

}  // namespace

struct Reachability::State {
  Mesh m;
  std::vector<std::uint32_t> component;  // of forwarders alone: an end point joined to two of them does not join them
  std::uint32_t components = 0;

  // The components an end point touches; a direct cable between two end points counts as a component of its own.
  std::vector<std::uint32_t> touches(std::uint32_t v) const {
    std::vector<std::uint32_t> set;
    if (v == kNone) return set;
    if (m.forward[v]) set.push_back(component[v]);
    for (std::uint32_t w : m.next[v]) set.push_back(m.forward[w] ? component[w] : components + std::min(v, w));
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
    return set;
  }
  Reach of(const std::vector<std::uint32_t>& end_points) const {
    std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> classes;
    for (std::uint32_t v : end_points) classes[touches(v)].push_back(v);
    Reach out;
    out.end_points = end_points.size();
    auto device = [&](std::uint32_t v) { return v == kNone ? DeviceId{} : m.device[v]; };
    for (auto a = classes.begin(); a != classes.end(); ++a)
      for (auto b = a; b != classes.end(); ++b) {
        if (a == b && !a->first.empty()) continue;
        std::vector<std::uint32_t> both;
        std::set_intersection(a->first.begin(), a->first.end(), b->first.begin(), b->first.end(), std::back_inserter(both));
        std::size_t na = a->second.size(), nb = b->second.size(), pairs = a == b ? na * (na - 1) / 2 : na * nb;
        if (!both.empty() || pairs == 0) continue;
        out.unreachable_pairs += pairs;
        if (!out.example_a.ok())
          out.example_a = device(a->second.front()), out.example_b = device(a == b ? b->second.back() : b->second.front());
      }
    return out;
  }
};

Reachability::Reachability(const Snapshot& s, Network n) : state_(std::make_unique<State>()) {
  Mesh& m = state_->m = mesh_of(s, n);
  auto& component = state_->component;
  component.assign(m.device.size(), kNone);
  std::vector<std::uint32_t> queue;
  for (std::uint32_t v = 0; v < m.device.size(); ++v) {
    if (!m.forward[v] || component[v] != kNone) continue;
    queue.assign(1, v);
    component[v] = state_->components;
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (std::uint32_t w : m.next[queue[i]])
        if (m.forward[w] && component[w] == kNone) component[w] = state_->components, queue.push_back(w);
    ++state_->components;
  }
}
Reachability::~Reachability() = default;

Reach Reachability::all() const {
  std::vector<std::uint32_t> points;
  for (std::uint32_t v = 0; v < state_->m.device.size(); ++v)
    if (state_->m.end_point[v]) points.push_back(v);
  return state_->of(points);
}
Reach Reachability::among(std::span<const DeviceId> end_points) const {
  std::vector<std::uint32_t> points;
  for (DeviceId d : end_points) points.push_back(state_->m.vertex[d.v]);
  return state_->of(points);
}
Reach reach(const Snapshot& s, Network n, std::span<const DeviceId> among) {
  Reachability r(s, n);
  return among.empty() ? r.all() : r.among(among);
}

namespace {

using Cluster = std::vector<std::uint32_t>;

// Vertices that hang together when end points are walked through too.
std::vector<Cluster> clusters_of(const Mesh& m) {
  std::vector<Cluster> out;
  std::vector<bool> seen(m.device.size());
  for (std::uint32_t v = 0; v < m.device.size(); ++v) {
    if (seen[v]) continue;
    seen[v] = true;
    Cluster c{v};
    for (std::size_t i = 0; i < c.size(); ++i)
      for (std::uint32_t w : m.next[c[i]])
        if (!seen[w]) seen[w] = true, c.push_back(w);
    out.push_back(std::move(c));
  }
  return out;
}

// Removing one switch after another and looking again: exact, O(switches × links) of the cluster.
void cut_by_trial(const Mesh& m, const Cluster& cluster, Network n, std::vector<std::uint32_t>& component, std::vector<CutPoint>& out) {
  Cluster queue;
  // End points outside the largest group that one set of joined forwarders serves.
  auto outside = [&](std::uint32_t removed) {
    for (std::uint32_t v : cluster) component[v] = kNone;
    std::size_t total = 0, best = 0;
    for (std::uint32_t v : cluster) total += m.end_point[v];
    for (std::uint32_t v : cluster) {
      if (!m.forward[v] || component[v] != kNone || v == removed) continue;
      queue.assign(1, v);
      component[v] = v;
      std::size_t served = 0;
      for (std::size_t i = 0; i < queue.size(); ++i) {
        served += m.end_point[queue[i]];
        for (std::uint32_t w : m.next[queue[i]])
          if (w != removed && component[w] != v) component[w] = v, m.forward[w] ? queue.push_back(w) : void(served += m.end_point[w]);
      }
      best = std::max(best, served);
    }
    return total - best;
  };
  std::size_t healthy = outside(kNone);
  for (std::uint32_t v : cluster)
    if (m.forward[v] && !m.end_point[v])
      if (std::size_t cut = outside(v); cut > healthy) out.push_back({n, m.device[v], cut - healthy});
}

// Articulation points (Hopcroft and Tarjan, 1973), taking it that end points pass traffic on: so none too many, but one may be missed where an
// end point is all that joins two parts. O(links).
void cut_by_search(const Mesh& m, const Cluster& cluster, Network n, std::vector<CutPoint>& out) {
  auto size = static_cast<std::uint32_t>(m.device.size());
  std::vector<std::uint32_t> seen(size, kNone), low(size, 0), parent(size, kNone), at(size, 0), weight(size, 0), order;
  std::vector<std::uint32_t> apart(size, 0), largest(size, 0);  // end points in parts that hang on a vertex alone
  std::uint32_t clock = 0;
  std::uint32_t root = cluster.front();
  std::vector<std::uint32_t> stack{root};
  seen[root] = low[root] = clock++;
  while (!stack.empty()) {
    std::uint32_t v = stack.back();
    if (at[v] == 0) weight[v] = m.end_point[v];
    if (at[v] < m.next[v].size()) {
      std::uint32_t w = m.next[v][at[v]++];
      if (seen[w] == kNone) parent[w] = v, seen[w] = low[w] = clock++, stack.push_back(w);
      else if (w != parent[v]) low[v] = std::min(low[v], seen[w]);
      continue;
    }
    stack.pop_back();
    order.push_back(v);
    if (std::uint32_t p = parent[v]; p != kNone) {
      low[p] = std::min(low[p], low[v]);
      weight[p] += weight[v];
      if (low[v] >= seen[p]) apart[p] += weight[v], largest[p] = std::max(largest[p], weight[v]);
    }
  }
  std::uint32_t total = weight[root];
  for (std::uint32_t v : order) {
    if (!m.forward[v] || m.end_point[v]) continue;
    std::uint32_t rest = v == root ? 0 : total - apart[v];  // what stays with the part above
    std::uint32_t cut = total - std::max(rest, largest[v]);
    if (apart[v] > 0 && cut > 0) out.push_back({n, m.device[v], cut});
  }
}

}  // namespace

std::vector<CutPoint> cut_points(const Snapshot& s, Network n) {
  Mesh m = mesh_of(s, n);
  std::vector<CutPoint> out;
  std::vector<std::uint32_t> scratch(m.device.size());
  for (const Cluster& cluster : clusters_of(m)) {
    std::size_t switches = 0, edges = 0;
    for (std::uint32_t v : cluster) switches += m.forward[v] && !m.end_point[v], edges += m.next[v].size();
    if (switches * edges <= 100'000'000) cut_by_trial(m, cluster, n, scratch, out);
    else cut_by_search(m, cluster, n, out);
  }
  std::sort(out.begin(), out.end(), [](const CutPoint& x, const CutPoint& y) { return x.device < y.device; });
  return out;
}

BitsPerSecond bisection(const Snapshot& s, Network n, std::span<const DeviceId> end_points) {
  // All of the first half is the source, all of the second the sink; between them the forwarders (Dinic's algorithm, in kb/s).
  std::unordered_map<std::uint32_t, std::uint32_t> node;
  struct Arc {
    std::uint32_t to;
    std::int64_t left;
  };
  std::vector<Arc> arcs;
  std::vector<std::vector<std::uint32_t>> out(2);
  for (std::size_t i = 0; i < end_points.size(); ++i) node[end_points[i].v] = i < end_points.size() / 2 ? 0 : 1;
  std::vector<DeviceId> queue(end_points.begin(), end_points.end());
  std::unordered_map<std::uint64_t, std::uint32_t> arc_of;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    DeviceId d = queue[i];
    std::uint32_t v = node[d.v];
    for (PortId p : s.ports_of(d)) {
      LinkId l = s.port(p).link;
      if (!carries(s, l, n)) continue;
      DeviceId far = s.port(s.peer(p)).device;
      if (s.link(l).rate.value() <= 0) return BitsPerSecond(0);
      auto [at, fresh] = node.emplace(far.v, static_cast<std::uint32_t>(out.size()));
      if (fresh) {
        if (!forwards(s, far, true)) {  // other end points (storage) take no part
          node.erase(at);
          continue;
        }
        out.emplace_back();
        queue.push_back(far);
      }
      std::uint32_t w = at->second;
      if (w == v) continue;
      // Each link is met from both ends; each meeting adds its own direction.
      auto [arc, none] = arc_of.emplace(std::uint64_t{std::min(v, w)} << 32 | std::max(v, w), static_cast<std::uint32_t>(arcs.size()));
      if (none) {
        arcs.push_back({std::max(v, w), 0}), arcs.push_back({std::min(v, w), 0});
        out[std::min(v, w)].push_back(arc->second), out[std::max(v, w)].push_back(arc->second + 1);
      }
      arcs[arc->second + (v > w)].left += static_cast<std::int64_t>(s.effective_rate(l).value() / 1000);
    }
  }
  std::int64_t flow = 0;
  std::vector<std::uint32_t> level(out.size()), at(out.size()), bfs, path;
  for (;;) {
    std::fill(level.begin(), level.end(), kNone);
    level[0] = 0;
    bfs.assign(1, 0);
    for (std::size_t i = 0; i < bfs.size(); ++i)
      for (std::uint32_t a : out[bfs[i]])
        if (arcs[a].left > 0 && level[arcs[a].to] == kNone) level[arcs[a].to] = level[bfs[i]] + 1, bfs.push_back(arcs[a].to);
    if (level[1] == kNone) break;
    std::fill(at.begin(), at.end(), 0);
    path.clear();
    std::uint32_t v = 0;
    for (;;) {
      if (v == 1) {
        std::int64_t least = INT64_MAX;
        for (std::uint32_t a : path) least = std::min(least, arcs[a].left);
        for (std::uint32_t a : path) arcs[a].left -= least, arcs[a ^ 1].left += least;
        flow += least;
        v = 0;
        path.clear();
        continue;
      }
      if (at[v] < out[v].size()) {
        std::uint32_t a = out[v][at[v]];
        if (arcs[a].left > 0 && level[arcs[a].to] == level[v] + 1) {
          path.push_back(a);
          v = arcs[a].to;
        } else {
          ++at[v];
        }
        continue;
      }
      if (path.empty()) break;
      v = arcs[path.back() ^ 1].to;
      path.pop_back();
      ++at[v];
    }
  }
  return BitsPerSecond(static_cast<double>(flow) * 1000);
}

}  // namespace weft::fabric
