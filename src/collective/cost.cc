#include "collective/cost.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft::collective {
namespace {

// What the software adds to every message (NVIDIA NCCL, src/graph/tuning.cc: ring LL128 hop 1.9 us on NVLink, 4 us on the network).
constexpr double kInnerOverhead = 1.9e-6, kOuterOverhead = 4e-6;

struct Bottleneck {
  double rate = 0;     // bytes/s that every pair reaches together
  double latency = 0;  // of the slowest pair
};

// All pairs at once, one unit each.
Bottleneck together(fabric::Routes& routes, const std::vector<std::pair<fabric::DeviceId, fabric::DeviceId>>& pairs) {
  std::map<fabric::DirectedLink, double> load;
  Bottleneck b;
  for (auto [x, y] : pairs) {
    const fabric::Route& r = routes.best(x, y);
    if (!r.reachable) return {};
    b.latency = std::max(b.latency, r.latency.value());
    for (const auto& h : r.hops) load[h.link] += static_cast<double>(h.share);
  }
  b.rate = INFINITY;
  for (auto [l, units] : load) b.rate = std::min(b.rate, routes.snapshot().effective_rate(l.link()).value() / 8 / units);
  return b;
}

bool reduces(const fabric::Snapshot& s, fabric::DeviceId card) {
  bool any = false;
  for (fabric::PortId p : s.ports_of(card)) {
    fabric::LinkId l = s.port(p).link;
    if (!l.ok() || !(s.link(l).networks & fabric::bit(fabric::Network::kScaleUp)) || s.effective_rate(l).value() <= 0) continue;
    const fabric::DeviceModel* m = s.model_of(s.port(s.peer(p)).device);
    if (!m || !m->in_network_reduction) return false;
    any = true;
  }
  return any;
}

}  // namespace

GroupShape shape_of(const std::vector<fabric::DeviceId>& cards, fabric::Routes& routes) {
  GroupShape shape;
  const fabric::Snapshot& s = routes.snapshot();
  shape.members = static_cast<int>(cards.size());
  // Domains in order of first appearance; a card in no HBD stands alone.
  std::vector<std::vector<fabric::DeviceId>> domains;
  std::map<std::uint32_t, std::size_t> index;
  for (fabric::DeviceId c : cards) {
    fabric::DomainId d = s.hbd_of(c);
    if (!d.ok()) domains.push_back({c});
    else {
      auto [at, fresh] = index.emplace(d.v, domains.size());
      if (fresh) domains.emplace_back();
      domains[at->second].push_back(c);
    }
  }
  shape.domains = static_cast<int>(domains.size());
  shape.min_per_domain = INT32_MAX, shape.max_per_domain = 0;
  std::vector<std::pair<fabric::DeviceId, fabric::DeviceId>> inner, outer;
  for (const auto& d : domains) {
    int n = static_cast<int>(d.size());
    shape.min_per_domain = std::min(shape.min_per_domain, n), shape.max_per_domain = std::max(shape.max_per_domain, n);
    if (n > 1)
      for (std::size_t i = 0; i < d.size(); ++i) inner.emplace_back(d[i], d[(i + 1) % d.size()]);
  }
  double single = INFINITY;
  if (domains.size() > 1)
    for (std::size_t k = 0; k < domains.size(); ++k) {
      const auto &a = domains[k], &b = domains[(k + 1) % domains.size()];
      for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) outer.emplace_back(a[i % a.size()], b[i % b.size()]);
      single = std::min(single, routes.best(a.back(), b[0]).width.value());
    }
  if (!inner.empty()) {
    Bottleneck b = together(routes, inner);
    shape.inner = BytesPerSecond(b.rate), shape.inner_latency = Seconds(b.latency + kInnerOverhead);
  }
  if (!outer.empty()) {
    Bottleneck b = together(routes, outer);
    shape.outer = BytesPerSecond(b.rate), shape.outer_latency = Seconds(b.latency + kOuterOverhead), shape.outer_single = BytesPerSecond(single);
  }
  // Reduction inside switches needs a single tier of reducing switches around all members.
  shape.inner_reduction = domains.size() == 1 && cards.size() > 2;
  for (std::size_t i = 0; shape.inner_reduction && i < cards.size(); ++i) shape.inner_reduction = reduces(s, cards[i]) && routes.best(cards[0], cards[i]).length <= 2;
  return shape;
}

Registry<Algorithm>& algorithms() {
  static Registry<Algorithm> registry("collective algorithm");
  return registry;
}

Choice choose(workload::Collective kind, const GroupShape& shape, Bytes bytes) {
  Choice best;
  for (const Algorithm& a : algorithms().entries()) {
    if (!a.supports(kind, shape)) continue;
    Cost c = a.cost(kind, shape, bytes);
    if (!best.algorithm || c.time < best.cost.time) best = {&a, c};
  }
  return best;
}

BytesPerSecond bus_bandwidth(workload::Collective kind, int n, Bytes bytes, Seconds time) {
  double factor = kind == workload::Collective::kAllReduce ? 2.0 * (n - 1) / n : kind == workload::Collective::kBroadcast ? 1.0 : static_cast<double>(n - 1) / n;
  return BytesPerSecond(time.value() > 0 ? factor * static_cast<double>(bytes.value()) / time.value() : 0);
}

}  // namespace weft::collective
