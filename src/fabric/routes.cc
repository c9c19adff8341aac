#include "fabric/routes.h"

#include <algorithm>
#include <array>
#include <deque>
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

// One link on the way, with what a route needs to know of it.
struct Step {
  std::uint32_t to;  // forwarder it leads to (for an end point's own links: from it)
  DirectedLink link;
  double latency;  // of the link and of passing through `to`
  double rate;     // bytes per second, 0 = not known
};

// Distances of one component's forwarders to a set of them: a breadth-first search that goes on only as far as somebody asks.
struct Field {
  std::uint32_t component = kNone;
  std::vector<std::uint16_t> distance;  // by local index
  std::vector<std::uint32_t> queue;     // forwarders by rising distance, expanded up to `head`
  std::size_t head = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> step_range;  // by local index into `steps`: usable links one step nearer
  std::vector<Step> steps;
};

// How one device meets one network.
struct Place {
  std::vector<DeviceId> entries;  // where its traffic enters: itself, its own NIC, or every usable NIC of its node
  bool on_host = false;
  // Of the device itself, when it does not forward:
  std::vector<Step> ups;                          // usable links to forwarders, by forwarder
  std::vector<std::pair<DeviceId, Step>> direct;  // usable links to other end points
  std::vector<Field*> ways;                       // distances to it, one per component it touches
  bool ways_ready = false;
};

// The forwarding part of one network: switches, and cards where cards pass traffic on (meshes and tori).
struct Graph {
  bool ready = false;
  bool cards_forward = false;
  std::vector<std::uint32_t> index;  // device → forwarder, kNone for end points
  std::vector<DeviceId> device;      // forwarder → device
  std::vector<std::uint32_t> first;  // CSR of edges between forwarders
  std::vector<Edge> edges;
  std::vector<std::uint32_t> component;  // forwarder → component
  std::vector<std::uint32_t> local;      // forwarder → index inside its component
  std::vector<std::uint32_t> component_size;
  std::vector<std::uint32_t> place_of;  // device → places, kNone
  std::deque<Place> places;
  std::vector<Field*> way_in;  // by component, while a route is walked
  // By the set of forwarders next to a destination.
  std::unordered_map<std::uint64_t, std::vector<std::pair<std::vector<std::uint32_t>, std::unique_ptr<Field>>>> fields;
  std::vector<double> share, latency;  // scratch, by forwarder
};

// (from, to) → route; open addressing, routes never move.
class RouteMap {
 public:
  // The place for this pair, and whether it is new.
  std::pair<Route*, bool> at(std::uint64_t key) {
    if ((routes_.size() + 1) * 2 > keys_.size()) grow();
    std::size_t i = slot(key);
    if (values_[i] != nullptr) return {values_[i], false};
    routes_.emplace_back();
    keys_[i] = key, values_[i] = &routes_.back();
    return {values_[i], true};
  }

 private:
  std::size_t slot(std::uint64_t key) const {
    std::size_t i = mix(key) & (keys_.size() - 1);
    while (values_[i] != nullptr && keys_[i] != key) i = (i + 1) & (keys_.size() - 1);
    return i;
  }
  void grow() {
    std::vector<std::uint64_t> keys(std::max<std::size_t>(64, keys_.size() * 2));
    std::vector<Route*> values(keys.size());
    keys.swap(keys_), values.swap(values_);
    for (std::size_t k = 0; k < keys.size(); ++k)
      if (values[k] != nullptr) {
        std::size_t i = slot(keys[k]);
        keys_[i] = keys[k], values_[i] = values[k];
      }
  }
  std::deque<Route> routes_;
  std::vector<std::uint64_t> keys_;
  std::vector<Route*> values_;
};

// Hops arrive as a few rising runs: merge those instead of sorting from nothing.
void sort_hops(std::vector<RouteHop>& hops, std::vector<RouteHop>& scratch, std::vector<std::size_t>& runs) {
  auto less = [](const RouteHop& x, const RouteHop& y) { return x.link < y.link; };
  for (;;) {
    runs.assign(1, 0);
    for (std::size_t i = 1; i < hops.size(); ++i)
      if (less(hops[i], hops[i - 1])) runs.push_back(i);
    if (runs.size() == 1) return;
    if (runs.size() > 16) return std::sort(hops.begin(), hops.end(), less);
    runs.push_back(hops.size());
    scratch.resize(hops.size());
    std::size_t i = 0;
    for (; i + 2 < runs.size(); i += 2) {
      auto at = [&](std::size_t k) { return hops.begin() + static_cast<std::ptrdiff_t>(runs[k]); };
      std::merge(at(i), at(i + 1), at(i + 1), at(i + 2), scratch.begin() + static_cast<std::ptrdiff_t>(runs[i]), less);
    }
    if (i + 1 < runs.size())
      std::copy(hops.begin() + static_cast<std::ptrdiff_t>(runs[i]), hops.end(), scratch.begin() + static_cast<std::ptrdiff_t>(runs[i]));
    hops.swap(scratch);
  }
}

}  // namespace

struct Routes::State {
  Snapshot snapshot;
  std::array<Graph, 5> graphs;
  std::array<RouteMap, 5> cache;
  // Scratch of one walk.
  std::vector<RouteHop> hops, merged;
  std::vector<std::size_t> runs;
  std::vector<std::uint32_t> level, next;
  double width = 0;

  explicit State(Snapshot s) : snapshot(std::move(s)) {}

  bool carries(LinkId id, Network n) const { return (snapshot.link(id).networks & bit(n)) && snapshot.carries(id); }

  double pass_latency(DeviceId d) const {
    const DeviceModel* m = snapshot.model_of(d);
    return m && m->port_latency && snapshot.device(d).kind == DeviceKind::kSwitch ? m->port_latency->value() : 0;
  }
  Step step(std::uint32_t to, LinkId l, bool forward, double pass) const {
    return {to, directed(l, forward),
            (static_cast<double>(snapshot.link(l).latency_ns) + snapshot.health(l).extra_latency_ns) * 1e-9 + pass,
            snapshot.payload_rate(l).value()};
  }

  Graph& graph(Network n) {
    Graph& g = graphs[static_cast<std::size_t>(n)];
    if (g.ready) return g;
    g.ready = true;
    g.index.assign(snapshot.device_count(), kNone);
    g.place_of.assign(snapshot.device_count(), kNone);
    // Cards pass traffic on where one of them is joined to another.
    for (DeviceId card : snapshot.cards()) {
      for (PortId p : snapshot.ports_of(card)) {
        LinkId l = snapshot.port(p).link;
        if (l.ok() && (snapshot.link(l).networks & bit(n)) &&
            snapshot.device(snapshot.port(snapshot.peer(p)).device).kind == DeviceKind::kCard)
          g.cards_forward = true;
      }
      if (g.cards_forward) break;
    }
    auto add = [&](DeviceId d) {
      if (!on_network(d, n)) return;
      g.index[d.v] = static_cast<std::uint32_t>(g.device.size());
      g.device.push_back(d);
    };
    for (DeviceKind k : {DeviceKind::kSwitch, DeviceKind::kOcs, DeviceKind::kCpu})
      for (DeviceId d : snapshot.of_kind(k))
        if (k != DeviceKind::kCpu || n == Network::kHost) add(d);
    if (g.cards_forward)
      for (DeviceId d : snapshot.cards()) add(d);
    // Edges of what is built; health is looked at when walking.
    g.first.assign(1, 0);
    for (DeviceId d : g.device) {
      for (PortId p : snapshot.ports_of(d)) {
        LinkId l = snapshot.port(p).link;
        if (!l.ok() || !(snapshot.link(l).networks & bit(n))) continue;
        std::uint32_t to = g.index[snapshot.port(snapshot.peer(p)).device.v];
        if (to != kNone) g.edges.push_back({to, l});
      }
      g.first.push_back(static_cast<std::uint32_t>(g.edges.size()));
    }
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
    g.way_in.assign(g.component_size.size(), nullptr);
    g.share.assign(g.device.size(), 0);
    g.latency.assign(g.device.size(), 0);
    return g;
  }

  Place& place(Graph& g, Network n, DeviceId d) {
    std::uint32_t& at = g.place_of[d.v];
    if (at != kNone) return g.places[at];
    at = static_cast<std::uint32_t>(g.places.size());
    Place& p = g.places.emplace_back();
    p.entries = entries(d, n);
    p.on_host = on_network(d, Network::kHost);
    if (g.index[d.v] != kNone) return p;
    for (PortId port : snapshot.ports_of(d)) {
      LinkId l = snapshot.port(port).link;
      if (!l.ok() || !carries(l, n)) continue;
      DeviceId far = snapshot.port(snapshot.peer(port)).device;
      bool forward = snapshot.link(l).a == port;
      if (std::uint32_t f = g.index[far.v]; f != kNone) p.ups.push_back(step(f, l, forward, 0));
      else p.direct.emplace_back(far, step(kNone, l, forward, 0));
    }
    std::stable_sort(p.ups.begin(), p.ups.end(), [](const Step& x, const Step& y) { return x.to < y.to; });
    return p;
  }

  // One field per component that the device touches; several where it is joined to several planes.
  const std::vector<Field*>& ways_to(Graph& g, Place& p, DeviceId d) {
    if (p.ways_ready) return p.ways;
    p.ways_ready = true;
    std::vector<std::uint32_t> targets;
    if (g.index[d.v] != kNone) targets = {g.index[d.v]};
    for (const Step& s : p.ups)
      if (targets.empty() || targets.back() != s.to) targets.push_back(s.to);
    std::stable_sort(targets.begin(), targets.end(), [&](std::uint32_t x, std::uint32_t y) { return g.component[x] < g.component[y]; });
    for (std::size_t i = 0, j = 0; i < targets.size(); i = j) {
      while (j < targets.size() && g.component[targets[j]] == g.component[targets[i]]) ++j;
      p.ways.push_back(field(g, {targets.begin() + static_cast<std::ptrdiff_t>(i), targets.begin() + static_cast<std::ptrdiff_t>(j)}));
    }
    return p.ways;
  }

  Field* field(Graph& g, const std::vector<std::uint32_t>& targets) {
    std::uint64_t key = 1;
    for (std::uint32_t t : targets) key = mix(key ^ t);
    auto& bucket = g.fields[key];
    for (auto& [set, f] : bucket)
      if (set == targets) return f.get();
    auto f = std::make_unique<Field>();
    f->component = g.component[targets[0]];
    f->distance.assign(g.component_size[f->component], kFar);
    f->step_range.assign(f->distance.size(), {kNone, 0});
    f->queue = targets;
    for (std::uint32_t t : targets) f->distance[g.local[t]] = 0;
    bucket.emplace_back(targets, std::move(f));
    return bucket.back().second.get();
  }

  // Distance of forwarder f, or kFar when it is more than `limit` or there is no way.
  std::uint32_t distance(const Graph& g, Network n, Field& w, std::uint32_t f, std::uint32_t limit) const {
    std::uint16_t& wanted = w.distance[g.local[f]];
    while (wanted == kFar && w.head < w.queue.size()) {
      std::uint32_t at = w.queue[w.head];
      std::uint16_t d = w.distance[g.local[at]];
      if (d >= limit) break;
      ++w.head;
      for (std::uint32_t e = g.first[at]; e < g.first[at + 1]; ++e) {
        std::uint16_t& to = w.distance[g.local[g.edges[e].to]];
        if (to == kFar && carries(g.edges[e].link, n)) to = static_cast<std::uint16_t>(d + 1), w.queue.push_back(g.edges[e].to);
      }
    }
    return wanted;
  }

  // The distance of `f` is known, so everything nearer is too.
  std::span<const Step> steps_from(const Graph& g, Network n, Field& w, std::uint32_t f) const {
    auto& [begin, count] = w.step_range[g.local[f]];
    if (begin == kNone) {
      begin = static_cast<std::uint32_t>(w.steps.size());
      for (std::uint32_t e = g.first[f]; e < g.first[f + 1]; ++e) {
        std::uint32_t to = g.edges[e].to;
        if (w.distance[g.local[to]] + 1 != w.distance[g.local[f]] || !carries(g.edges[e].link, n)) continue;
        bool forward = snapshot.port(snapshot.link(g.edges[e].link).a).device == g.device[f];
        w.steps.push_back(step(to, g.edges[e].link, forward, pass_latency(g.device[to])));
      }
      count = static_cast<std::uint32_t>(w.steps.size()) - begin;
    }
    return std::span(w.steps).subspan(begin, count);
  }

  void take(const Step& s, double part) {
    hops.push_back({s.link, static_cast<float>(part)});
    width = std::min(width, s.rate / part);
  }

  // Adds hops of `weight` of the traffic from a to b. False when there is no way.
  bool walk(Network n, DeviceId a, DeviceId b, double weight, int& length, double& worst) {
    Graph& g = graph(n);
    Place &from = place(g, n, a), &to = place(g, n, b);
    // Cables between two end points: one link is the shortest way there is.
    std::size_t cables = 0;
    for (const auto& [far, s] : from.direct) cables += far == b;
    if (cables > 0) {
      for (const auto& [far, s] : from.direct)
        if (far == b) take(s, weight / static_cast<double>(cables)), worst = std::max(worst, s.latency);
      length = std::max(length, 1);
      return true;
    }
    const std::vector<Field*>& ways = ways_to(g, to, b);
    for (Field* w : ways) g.way_in[w->component] = w;
    bool found = spread(g, n, g.index[a.v], from, g.index[b.v], to, weight, length, worst);
    for (Field* w : ways) g.way_in[w->component] = nullptr;
    return found;
  }

  bool spread(Graph& g, Network n, std::uint32_t a, const Place& from, std::uint32_t b, const Place& to, double weight, int& length,
              double& worst) {
    auto& share = g.share;
    auto& latency = g.latency;
    // `level`: forwarders that hold traffic now, all at one distance from b.
    level.clear();
    std::uint32_t at = kFar;
    if (a != kNone) {
      if (Field* w = g.way_in[g.component[a]]) at = distance(g, n, *w, a, kFar - 1);
      if (at == kFar) return false;
      level.push_back(a);
      share[a] = weight, latency[a] = 0;
    } else {
      std::size_t nearest = 0;
      for (const Step& s : from.ups) {
        Field* w = g.way_in[g.component[s.to]];
        std::uint32_t d = w ? distance(g, n, *w, s.to, std::min<std::uint32_t>(at, kFar - 1)) : kFar;
        if (d < at) at = d, nearest = 0;
        nearest += d == at && d != kFar;
      }
      if (at == kFar) return false;
      double part = weight / static_cast<double>(nearest);
      for (const Step& s : from.ups) {
        Field* w = g.way_in[g.component[s.to]];
        if (!w || w->distance[g.local[s.to]] != at) continue;
        take(s, part);
        if (share[s.to] == 0) level.push_back(s.to), latency[s.to] = 0;
        share[s.to] += part;
        latency[s.to] = std::max(latency[s.to], s.latency + pass_latency(g.device[s.to]));
      }
    }
    int steps = a != kNone ? 0 : 1;
    for (; at > 0; --at, ++steps) {
      next.clear();
      for (std::uint32_t f : level) {
        std::span<const Step> on = steps_from(g, n, *g.way_in[g.component[f]], f);
        double part = share[f] / static_cast<double>(on.size());
        for (const Step& s : on) {
          take(s, part);
          if (share[s.to] == 0) next.push_back(s.to), latency[s.to] = 0;
          share[s.to] += part;
          latency[s.to] = std::max(latency[s.to], latency[f] + s.latency);
        }
        share[f] = 0;
      }
      level.swap(next);
    }
    for (std::uint32_t f : level) {
      if (b != kNone) {
        worst = std::max(worst, latency[f] - pass_latency(g.device[f]));
      } else {
        auto [low, high] =
            std::equal_range(to.ups.begin(), to.ups.end(), Step{f, {}, 0, 0}, [](const Step& x, const Step& y) { return x.to < y.to; });
        double part = share[f] / static_cast<double>(high - low);
        for (auto s = low; s != high; ++s) {
          take({f, {s->link.v ^ 1}, s->latency, s->rate}, part);
          worst = std::max(worst, latency[f] + s->latency);
        }
      }
      share[f] = 0;
    }
    length = std::max(length, steps + (b != kNone ? 0 : 1));
    return true;
  }

  // As walk, but only how far it is; -1 when there is no way.
  int length_of(Network n, DeviceId a, DeviceId b) {
    if (a == b) return 0;
    Graph& g = graph(n);
    Place &from = place(g, n, a), &to = place(g, n, b);
    for (const auto& [far, s] : from.direct)
      if (far == b) return 1;
    std::uint32_t best = kFar;
    for (Field* w : ways_to(g, to, b)) {
      if (std::uint32_t f = g.index[a.v]; f != kNone && g.component[f] == w->component)
        best = std::min(best, distance(g, n, *w, f, kFar - 1));
      for (const Step& s : from.ups)
        if (g.component[s.to] == w->component)
          if (std::uint32_t d = distance(g, n, *w, s.to, kFar - 1); d != kFar) best = std::min(best, d + 1);
    }
    return best == kFar ? -1 : static_cast<int>(best) + (g.index[b.v] != kNone ? 0 : 1);
  }

  bool on_network(DeviceId d, Network n) const {
    for (PortId p : snapshot.ports_of(d))
      if (snapshot.port(p).networks & bit(n)) return true;
    return false;
  }

  std::vector<DeviceId> entries(DeviceId d, Network n) const {
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
    if (snapshot.device(d).kind == DeviceKind::kCard && !nics.empty() && cards > 0) {
      // Rail: NIC i serves cards i·cards/nics … of its node.
      DeviceId own = nics[std::min<std::size_t>(snapshot.device(d).index * nics.size() / cards, nics.size() - 1)];
      if (live(own)) return {own};
    }
    for (DeviceId nic : nics)
      if (live(nic)) usable.push_back(nic);
    return usable;
  }

  void compute(DeviceId from, DeviceId to, Network n, Route& route) {
    if (from == to) {
      route.reachable = true;
      return;
    }
    Graph& g = graph(n);
    const Place &source = place(g, n, from), &sink = place(g, n, to);
    if (source.entries.empty() || sink.entries.empty()) return;
    hops.clear();
    width = std::numeric_limits<double>::infinity();
    bool simple = source.entries.size() * sink.entries.size() == 1;
    int length = 0;
    double worst = 0, weight = 1.0 / static_cast<double>(source.entries.size() * sink.entries.size());
    for (DeviceId a : source.entries)
      for (DeviceId b : sink.entries) {
        int here = 0;
        double latency = 0;
        if (a != b && !walk(n, a, b, weight, here, latency)) return;
        // The host leg, where the site describes it.
        for (auto [x, y] : {std::pair{from, a}, std::pair{b, to}}) {
          if (x == y || !on_network(x, Network::kHost) || !on_network(y, Network::kHost)) continue;
          int host = 0;
          double host_latency = 0;
          if (walk(Network::kHost, x, y, weight, host, host_latency)) here += host, latency += host_latency, simple = false;
        }
        length = std::max(length, here);
        worst = std::max(worst, latency);
      }
    sort_hops(hops, merged, runs);
    if (simple) {
      route.hops.assign(hops.begin(), hops.end());
    } else {  // parts of several ways may share a link
      for (const RouteHop& h : hops)
        if (!route.hops.empty() && route.hops.back().link == h.link) route.hops.back().share += h.share;
        else route.hops.push_back(h);
      width = std::numeric_limits<double>::infinity();
      for (const RouteHop& h : route.hops)
        width = std::min(width, snapshot.payload_rate(h.link.link()).value() / static_cast<double>(h.share));
    }
    route.width = BytesPerSecond(route.hops.empty() ? 0 : width);
    route.length = length;
    route.latency = Seconds(worst);
    route.reachable = true;
  }
};

Routes::Routes(Snapshot snapshot) : state_(std::make_unique<State>(std::move(snapshot))) {}
Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;

const Route& Routes::between(DeviceId from, DeviceId to, Network network) {
  auto [route, fresh] = state_->cache[static_cast<std::size_t>(network)].at(std::uint64_t{from.v} << 32 | to.v);
  if (fresh) state_->compute(from, to, network, *route);
  return *route;
}

int Routes::length(DeviceId from, DeviceId to, Network network) {
  if (from == to) return 0;
  Graph& g = state_->graph(network);
  const Place &a = state_->place(g, network, from), &b = state_->place(g, network, to);
  int longest = a.entries.empty() || b.entries.empty() ? -1 : 0;
  for (DeviceId x : a.entries)
    for (DeviceId y : b.entries) {
      int l = state_->length_of(network, x, y);
      if (l < 0) return -1;
      longest = std::max(longest, l);
    }
  return longest;
}

Network Routes::best_network(DeviceId from, DeviceId to) {
  DomainId a = state_->snapshot.hbd_of(from), b = state_->snapshot.hbd_of(to);
  if (a.ok() && a == b && between(from, to, Network::kScaleUp).reachable) return Network::kScaleUp;
  return Network::kScaleOut;
}

const Route& Routes::best(DeviceId from, DeviceId to) {
  DomainId a = state_->snapshot.hbd_of(from);
  if (a.ok() && a == state_->snapshot.hbd_of(to))
    if (const Route& up = between(from, to, Network::kScaleUp); up.reachable) return up;
  return between(from, to, Network::kScaleOut);
}
const Snapshot& Routes::snapshot() const { return state_->snapshot; }

}  // namespace weft::fabric
