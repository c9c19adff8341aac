#include "fabric/routes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "base/random.h"

namespace weft::fabric {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr std::uint16_t kFar = UINT16_MAX;

struct Edge {
  std::uint32_t to;  // forwarder index
  LinkId link;
};

// The forwarding part of one network: switches, and cards where cards pass traffic on (meshes and tori).
struct Graph {
  bool ready = false;
  bool cards_forward = false;
  std::vector<std::uint32_t> index;       // device → forwarder, kNone for end points
  std::vector<DeviceId> device;           // forwarder → device
  std::vector<std::uint32_t> first;       // CSR of edges between forwarders
  std::vector<Edge> edges;
  std::vector<std::uint32_t> component;   // forwarder → component
  std::vector<std::uint32_t> local;       // forwarder → index inside its component
  std::vector<std::uint32_t> component_size;
};

// Distances of one component's forwarders to a set of them.
struct Field {
  // A usable link one step nearer, found when a forwarder first passes traffic this way.
  struct Step {
    std::uint32_t to;
    DirectedLink link;
    double latency;                       // of the link and of passing through `to`
  };
  std::uint32_t component = kNone;
  std::vector<std::uint16_t> distance;    // by local index
  std::vector<std::vector<Step>> steps;   // by local index; empty = not looked for yet
};

}  // namespace

struct Routes::State {
  Snapshot snapshot;
  std::array<Graph, 5> graphs;
  // By network and the set of forwarders next to the destination.
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::vector<std::uint32_t>, std::unique_ptr<Field>>>> fields;
  std::unordered_map<std::uint64_t, std::unique_ptr<Route>> cache[5];
  std::vector<double> share;              // scratch, by forwarder
  std::vector<double> latency;

  mutable std::vector<double> rates;      // bits per second by link, negative until asked for
  mutable std::vector<std::int8_t> live;  // by link: does it carry anything, negative until asked for
  std::array<std::unordered_map<std::uint32_t, std::vector<DeviceId>>, 5> entry_points;

  explicit State(Snapshot s) : snapshot(std::move(s)), rates(snapshot.link_count(), -1), live(snapshot.link_count(), -1) {}

  double rate(LinkId id) const {
    double& r = rates[id.v];
    return r < 0 ? r = snapshot.effective_rate(id).value() : r;
  }
  bool carries(LinkId id, Network n) const {
    std::int8_t& l = live[id.v];
    if (l < 0) l = snapshot.carries(id);
    return l && (snapshot.link(id).networks & bit(n));
  }

  const Graph& graph(Network n) {
    Graph& g = graphs[static_cast<std::size_t>(n)];
    if (g.ready) return g;
    g.ready = true;
    g.index.assign(snapshot.device_count(), kNone);
    auto kind_at = [&](PortId p) { return snapshot.device(snapshot.port(p).device).kind; };
    for (const Link& l : snapshot.links())
      if ((l.networks & bit(n)) && kind_at(l.a) == DeviceKind::kCard && kind_at(l.b) == DeviceKind::kCard) {
        g.cards_forward = true;
        break;
      }
    auto add = [&](DeviceId d) {
      for (PortId p : snapshot.ports_of(d))
        if (snapshot.port(p).networks & bit(n)) {
          g.index[d.v] = static_cast<std::uint32_t>(g.device.size());
          g.device.push_back(d);
          return;
        }
    };
    for (DeviceKind k : {DeviceKind::kSwitch, DeviceKind::kOcs, DeviceKind::kCpu})
      for (DeviceId d : snapshot.of_kind(k))
        if (k != DeviceKind::kCpu || n == Network::kHost) add(d);
    if (g.cards_forward)
      for (DeviceId d : snapshot.cards()) add(d);
    // Edges of what is built; health is looked at when walking.
    auto each = [&](auto visit) {
      for (std::uint32_t f = 0; f < g.device.size(); ++f)
        for (PortId p : snapshot.ports_of(g.device[f])) {
          LinkId l = snapshot.port(p).link;
          if (!l.ok() || !(snapshot.link(l).networks & bit(n))) continue;
          std::uint32_t to = g.index[snapshot.port(snapshot.peer(p)).device.v];
          if (to != kNone) visit(f, to, l);
        }
    };
    g.first.assign(g.device.size() + 1, 0);
    each([&](std::uint32_t f, std::uint32_t, LinkId) { ++g.first[f + 1]; });
    for (std::size_t i = 0; i < g.device.size(); ++i) g.first[i + 1] += g.first[i];
    g.edges.resize(g.first.back());
    std::vector<std::uint32_t> next(g.first.begin(), g.first.end() - 1);
    each([&](std::uint32_t f, std::uint32_t to, LinkId l) { g.edges[next[f]++] = {to, l}; });
    g.component.assign(g.device.size(), kNone);
    g.local.assign(g.device.size(), 0);
    std::vector<std::uint32_t> queue;
    for (std::uint32_t start = 0; start < g.device.size(); ++start) {
      if (g.component[start] != kNone) continue;
      auto c = static_cast<std::uint32_t>(g.component_size.size());
      queue.assign(1, start);
      g.component[start] = c;
      for (std::size_t i = 0; i < queue.size(); ++i) {
        g.local[queue[i]] = static_cast<std::uint32_t>(i);
        for (std::uint32_t e = g.first[queue[i]]; e < g.first[queue[i] + 1]; ++e)
          if (g.component[g.edges[e].to] == kNone) g.component[g.edges[e].to] = c, queue.push_back(g.edges[e].to);
      }
      g.component_size.push_back(static_cast<std::uint32_t>(queue.size()));
    }
    share.resize(std::max(share.size(), g.device.size()), 0);
    latency.resize(share.size(), 0);
    return g;
  }

  // Forwarders beside `d` that its traffic can enter: itself when it forwards, else those its usable links lead to.
  std::vector<std::uint32_t> beside(const Graph& g, Network n, DeviceId d) const {
    if (g.index[d.v] != kNone) return {g.index[d.v]};
    std::vector<std::uint32_t> out;
    for (PortId p : snapshot.ports_of(d)) {
      LinkId l = snapshot.port(p).link;
      if (!l.ok() || !carries(l, n)) continue;
      std::uint32_t f = g.index[snapshot.port(snapshot.peer(p)).device.v];
      if (f != kNone) out.push_back(f);
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  // One field per component that holds destinations; a set in several components (planes) gives several fields.
  std::vector<Field*> fields_to(const Graph& g, Network n, const std::vector<std::uint32_t>& targets) {
    std::vector<Field*> out;
    for (std::size_t i = 0; i < targets.size();) {
      std::uint32_t c = g.component[targets[i]];
      std::vector<std::uint32_t> here;
      for (std::uint32_t t : targets)
        if (g.component[t] == c) here.push_back(t);
      out.push_back(field(g, n, here));
      // Skip to the next component not handled yet.
      for (++i; i < targets.size(); ++i) {
        bool seen = false;
        for (std::size_t k = 0; k < i; ++k) seen = seen || g.component[targets[k]] == g.component[targets[i]];
        if (!seen) break;
      }
    }
    return out;
  }

  Field* field(const Graph& g, Network n, const std::vector<std::uint32_t>& targets) {
    std::uint64_t key = mix(static_cast<std::uint64_t>(n) + 1);
    for (std::uint32_t t : targets) key = mix(key ^ t);
    auto& bucket = fields[key];
    for (auto& [set, f] : bucket)
      if (set == targets && f) return f.get();
    auto f = std::make_unique<Field>();
    f->component = g.component[targets[0]];
    f->distance.assign(g.component_size[f->component], kFar);
    std::vector<std::uint32_t> queue = targets;
    for (std::uint32_t t : targets) f->distance[g.local[t]] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      std::uint16_t d = f->distance[g.local[queue[i]]];
      for (std::uint32_t e = g.first[queue[i]]; e < g.first[queue[i] + 1]; ++e) {
        std::uint16_t& to = f->distance[g.local[g.edges[e].to]];
        if (to == kFar && carries(g.edges[e].link, n)) to = static_cast<std::uint16_t>(d + 1), queue.push_back(g.edges[e].to);
      }
    }
    bucket.emplace_back(targets, std::move(f));
    return bucket.back().second.get();
  }

  const std::vector<Field::Step>& steps_from(const Graph& g, Network n, const std::vector<Field*>& ways, std::uint32_t f) {
    Field* way = ways[0];
    for (Field* w : ways)
      if (w->component == g.component[f]) way = w;
    if (way->steps.empty()) way->steps.resize(way->distance.size());
    std::vector<Field::Step>& out = way->steps[g.local[f]];
    if (!out.empty()) return out;
    for (std::uint32_t e = g.first[f]; e < g.first[f + 1]; ++e) {
      std::uint32_t to = g.edges[e].to;
      if (way->distance[g.local[to]] + 1 != way->distance[g.local[f]] || !carries(g.edges[e].link, n)) continue;
      bool forward = snapshot.port(snapshot.link(g.edges[e].link).a).device == g.device[f];
      out.push_back({to, directed(g.edges[e].link, forward), link_latency(g.edges[e].link) + pass_latency(g.device[to])});
    }
    return out;
  }

  double pass_latency(DeviceId d) const {
    const DeviceModel* m = snapshot.model_of(d);
    return m && m->port_latency && snapshot.device(d).kind == DeviceKind::kSwitch ? m->port_latency->value() : 0;
  }
  double link_latency(LinkId l) const { return (static_cast<double>(snapshot.link(l).latency_ns) + snapshot.health(l).extra_latency_ns) * 1e-9; }

  // Adds hops of `weight` of the traffic from a to b. False when there is no way.
  bool walk(Network n, DeviceId a, DeviceId b, double weight, std::vector<RouteHop>& hops, int& length, double& worst) {
    const Graph& g = graph(n);
    // Direct cables first: one link is the shortest way there is.
    std::vector<std::pair<LinkId, bool>> direct;
    for (PortId p : snapshot.ports_of(a)) {
      LinkId l = snapshot.port(p).link;
      if (l.ok() && carries(l, n) && snapshot.port(snapshot.peer(p)).device == b) direct.emplace_back(l, snapshot.link(l).a == p);
    }
    if (!direct.empty()) {
      for (auto [l, forward] : direct) {
        hops.push_back({directed(l, forward), static_cast<float>(weight / static_cast<double>(direct.size()))});
        worst = std::max(worst, link_latency(l));
      }
      length = std::max(length, 1);
      return true;
    }
    std::vector<std::uint32_t> targets = beside(g, n, b);
    if (targets.empty()) return false;
    bool b_forwards = g.index[b.v] != kNone, a_forwards = g.index[a.v] != kNone;
    std::vector<Field*> ways = fields_to(g, n, targets);
    auto distance = [&](std::uint32_t f) -> std::uint32_t {
      std::uint32_t best = kFar;
      for (const Field* w : ways)
        if (w->component == g.component[f]) best = std::min<std::uint32_t>(best, w->distance[g.local[f]]);
      return best;
    };
    // Level of forwarders that hold traffic now, all at one distance.
    std::vector<std::uint32_t> level, next;
    std::uint32_t at = kFar;
    if (a_forwards) {
      level = {g.index[a.v]};
      at = distance(level[0]);
      if (at == kFar) return false;
      share[level[0]] = weight, latency[level[0]] = 0;
    } else {
      std::vector<std::pair<LinkId, std::uint32_t>> up;
      std::vector<bool> forward;
      for (PortId p : snapshot.ports_of(a)) {
        LinkId l = snapshot.port(p).link;
        if (!l.ok() || !carries(l, n)) continue;
        std::uint32_t f = g.index[snapshot.port(snapshot.peer(p)).device.v];
        if (f == kNone) continue;
        std::uint32_t d = distance(f);
        if (d == kFar || d > at) continue;
        if (d < at) at = d, up.clear(), forward.clear();
        up.emplace_back(l, f);
        forward.push_back(snapshot.link(l).a == p);
      }
      if (up.empty()) return false;
      for (std::size_t i = 0; i < up.size(); ++i) {
        double part = weight / static_cast<double>(up.size());
        hops.push_back({directed(up[i].first, forward[i]), static_cast<float>(part)});
        std::uint32_t f = up[i].second;
        if (share[f] == 0) level.push_back(f), latency[f] = 0;
        share[f] += part;
        latency[f] = std::max(latency[f], link_latency(up[i].first) + pass_latency(g.device[f]));
      }
    }
    int steps = a_forwards ? 0 : 1;
    while (at > 0) {
      next.clear();
      for (std::uint32_t f : level) {
        const std::vector<Field::Step>& steps_on = steps_from(g, n, ways, f);
        double part = share[f] / static_cast<double>(steps_on.size());
        for (const Field::Step& step : steps_on) {
          hops.push_back({step.link, static_cast<float>(part)});
          if (share[step.to] == 0) next.push_back(step.to), latency[step.to] = 0;
          share[step.to] += part;
          latency[step.to] = std::max(latency[step.to], latency[f] + step.latency);
        }
        share[f] = 0;
      }
      level.swap(next);
      --at, ++steps;
    }
    for (std::uint32_t f : level) {
      if (b_forwards) {
        worst = std::max(worst, latency[f] - pass_latency(g.device[f]));
        share[f] = 0;
        continue;
      }
      std::vector<std::pair<LinkId, bool>> down;
      for (PortId p : snapshot.ports_of(b)) {
        LinkId l = snapshot.port(p).link;
        if (l.ok() && carries(l, n) && snapshot.port(snapshot.peer(p)).device == g.device[f]) down.emplace_back(l, snapshot.link(l).b == p);
      }
      for (auto [l, forward] : down) {
        hops.push_back({directed(l, forward), static_cast<float>(share[f] / static_cast<double>(down.size()))});
        worst = std::max(worst, latency[f] + link_latency(l));
      }
      share[f] = 0;
    }
    length = std::max(length, steps + (b_forwards ? 0 : 1));
    return true;
  }

  bool on_network(DeviceId d, Network n) const {
    for (PortId p : snapshot.ports_of(d))
      if (snapshot.port(p).networks & bit(n)) return true;
    return false;
  }

  // Where a device's traffic enters the network: itself, its own NIC, or every usable NIC of its node.
  const std::vector<DeviceId>& entries(DeviceId d, Network n) {
    auto [at, fresh] = entry_points[static_cast<std::size_t>(n)].try_emplace(d.v);
    if (fresh) at->second = find_entries(d, n);
    return at->second;
  }

  std::vector<DeviceId> find_entries(DeviceId d, Network n) const {
    if (on_network(d, n)) return {d};
    DeviceId node = snapshot.container(d, DeviceKind::kNode);
    if (!node.ok()) return {};
    std::vector<DeviceId> nics, usable;
    std::size_t cards = 0;
    for (DeviceId c : snapshot.children(node)) {
      const Device& x = snapshot.device(c);
      cards += x.kind == DeviceKind::kCard;
      if (x.kind == DeviceKind::kNic && on_network(c, n)) nics.push_back(c);
    }
    auto live = [&](DeviceId nic) {
      for (PortId p : snapshot.ports_of(nic))
        if (LinkId l = snapshot.port(p).link; l.ok() && carries(l, n)) return true;
      return false;
    };
    for (DeviceId nic : nics)
      if (live(nic)) usable.push_back(nic);
    if (usable.empty()) return {};
    if (snapshot.device(d).kind == DeviceKind::kCard && !nics.empty() && cards > 0) {
      // Rail: NIC i serves cards i·cards/nics … of its node.
      DeviceId own = nics[std::min<std::size_t>(snapshot.device(d).index * nics.size() / cards, nics.size() - 1)];
      if (live(own)) return {own};
    }
    return usable;
  }

  Route compute(DeviceId from, DeviceId to, Network n) {
    Route route;
    if (from == to) return route.reachable = true, route;
    const std::vector<DeviceId>&sources = entries(from, n), &sinks = entries(to, n);
    if (sources.empty() || sinks.empty()) return route;
    std::vector<RouteHop> hops;
    double worst = 0;
    double weight = 1.0 / static_cast<double>(sources.size() * sinks.size());
    for (DeviceId a : sources)
      for (DeviceId b : sinks) {
        int length = 0;
        double latency_here = 0;
        if (a != b && !walk(n, a, b, weight, hops, length, latency_here)) return {};
        // The host leg, where the site describes it.
        for (auto [x, y] : {std::pair{from, a}, std::pair{b, to}}) {
          if (x == y || !on_network(x, Network::kHost) || !on_network(y, Network::kHost)) continue;
          int host_length = 0;
          double host_latency = 0;
          if (walk(Network::kHost, x, y, weight, hops, host_length, host_latency)) length += host_length, latency_here += host_latency;
        }
        route.length = std::max(route.length, length);
        worst = std::max(worst, latency_here);
      }
    std::sort(hops.begin(), hops.end(), [](const RouteHop& x, const RouteHop& y) { return x.link < y.link; });
    for (const RouteHop& h : hops)
      if (!route.hops.empty() && route.hops.back().link == h.link) route.hops.back().share += h.share;
      else route.hops.push_back(h);
    double width = std::numeric_limits<double>::infinity();
    for (const RouteHop& h : route.hops) width = std::min(width, rate(h.link.link()) / 8 / static_cast<double>(h.share));
    route.width = BytesPerSecond(route.hops.empty() ? 0 : width);
    route.latency = Seconds(worst);
    route.reachable = true;
    return route;
  }
};

Routes::Routes(Snapshot snapshot) : state_(std::make_unique<State>(std::move(snapshot))) {}
Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;

const Route& Routes::between(DeviceId from, DeviceId to, Network network) {
  auto& cache = state_->cache[static_cast<std::size_t>(network)];
  auto& slot = cache[std::uint64_t{from.v} << 32 | to.v];
  if (!slot) slot = std::make_unique<Route>(state_->compute(from, to, network));
  return *slot;
}

Network Routes::best_network(DeviceId from, DeviceId to) {
  DomainId a = state_->snapshot.hbd_of(from), b = state_->snapshot.hbd_of(to);
  if (a.ok() && a == b && between(from, to, Network::kScaleUp).reachable) return Network::kScaleUp;
  return Network::kScaleOut;
}

const Route& Routes::best(DeviceId from, DeviceId to) { return between(from, to, best_network(from, to)); }
const Snapshot& Routes::snapshot() const { return state_->snapshot; }

}  // namespace weft::fabric
