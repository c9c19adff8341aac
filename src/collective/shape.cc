// GroupShape of real cards: who shares an HBD with whom, and what one member reaches inside and outside.
#include <algorithm>
#include <limits>

#include "collective/cost.h"
#include "collective/planes.h"
#include "collective/usage.h"

namespace weft::collective {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::Network;

double rate_on(const fabric::Snapshot& s, DeviceId d, Network n) {
  double sum = 0;
  for (fabric::PortId p : s.ports_of(d))
    if (fabric::LinkId l = s.port(p).link; l.ok() && (s.link(l).networks & fabric::bit(n))) sum += s.payload_rate(l).value();
  return sum;
}

// The switches next to a card on the network all reduce, or none counts: a rank's data crosses every one of them.
bool reduces(const fabric::Snapshot& s, DeviceId d, Network n) {
  bool any = false;
  for (fabric::PortId p : s.ports_of(d)) {
    fabric::LinkId l = s.port(p).link;
    if (!l.ok() || !(s.link(l).networks & fabric::bit(n))) continue;
    DeviceId peer = s.port(s.peer(p)).device;
    const fabric::DeviceModel* m = s.model_of(peer);
    if (s.device(peer).kind != DeviceKind::kSwitch || !m || !m->in_network_reduction) return false;
    any = true;
  }
  return any;
}

// What a member sees of the scale-up network:
using View = std::vector<std::pair<std::uint32_t, double>>;  // device, rate, of each usable link; ordered
View view_of(const fabric::Snapshot& s, DeviceId d) {
  View v;
  for (fabric::PortId p : s.ports_of(d))
    if (fabric::LinkId l = s.port(p).link;
        l.ok() && (s.link(l).networks & fabric::bit(Network::kScaleUp)) && s.effective_rate(l).value() > 0)
      v.emplace_back(s.port(s.peer(p)).device.v, s.payload_rate(l).value());
  std::sort(v.begin(), v.end());
  return v;
}

// Fills what closed forms ask of a group in one domain or of the domains of a larger one: cables between members, and whether the closed
// forms are exact: all members side by side on the same switches, or joined by equal cables each to each.
void look_at_wiring(const fabric::Snapshot& s, const std::vector<std::vector<DeviceId>>& domains, GroupShape& shape) {
  bool same = domains.size() == 1, equal = same;
  std::size_t peers = SIZE_MAX;
  for (const auto& here : domains) {
    if (here.size() < 2) continue;
    std::vector<std::uint32_t> members;
    for (DeviceId d : here) members.push_back(d.v);
    std::sort(members.begin(), members.end());
    View first;
    double cable = 0;
    for (DeviceId d : here) {
      View v = view_of(s, d);
      std::size_t reached = 0;
      for (std::size_t i = 0, j; i < v.size(); i = j) {
        double rate = 0;
        for (j = i; j < v.size() && v[j].first == v[i].first; ++j) rate += v[j].second;
        bool card = s.device(DeviceId{v[i].first}).kind == DeviceKind::kCard;
        shape.direct = shape.direct || card;
        if (card && std::binary_search(members.begin(), members.end(), v[i].first)) {
          ++reached;
          if (cable == 0) cable = rate;
          equal = equal && rate == cable;
        }
      }
      peers = std::min(peers, reached);
      if (first.empty()) first = v;
      same = same && v == first;
    }
  }
  shape.peers = peers == SIZE_MAX ? 0 : static_cast<int>(peers);
  shape.routed = !(shape.direct ? equal && shape.peers == shape.members - 1 : same);
}

using Pair = std::pair<DeviceId, DeviceId>;
struct Together {
  double rate = 0;     // that every pair reaches while all send
  double latency = 0;  // of the slowest
};

Together together(fabric::Routes& routes, const std::vector<Pair>& pairs, Network n) {
  Together out;
  std::vector<std::pair<std::uint32_t, double>> load;
  for (auto [a, b] : pairs) {
    const fabric::Route& r = routes.between(a, b, n);
    if (!r.reachable) return {};
    out.latency = std::max(out.latency, r.latency.value());
    for (const fabric::RouteHop& h : r.hops) load.emplace_back(h.link.v, static_cast<double>(h.share));
  }
  std::stable_sort(load.begin(), load.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  out.rate = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0, j; i < load.size(); i = j) {
    double units = 0;
    for (j = i; j < load.size() && load[j].first == load[i].first; ++j) units += load[j].second;
    out.rate = std::min(out.rate, routes.snapshot().payload_rate(fabric::DirectedLink{load[i].first}.link()).value() / units);
  }
  return out;
}

}  // namespace

std::vector<std::vector<int>> domain_order(const std::vector<DeviceId>& cards, fabric::Routes& routes) {
  std::vector<std::vector<int>> domains;
  std::vector<std::pair<std::uint32_t, std::size_t>> at;  // HBD → position in domains; few
  for (int i = 0; i < static_cast<int>(cards.size()); ++i) {
    fabric::DomainId h = routes.snapshot().hbd_of(cards[i]);
    std::size_t found = domains.size();
    if (h.ok()) {
      for (auto it = at.rbegin(); it != at.rend(); ++it)
        if (it->first == h.v) {
          found = it->second;
          break;
        }
      if (found == domains.size()) at.emplace_back(h.v, found);
      else if (const auto& here = domains[found]; routes.best_network(cards[here.front()], cards[i]) != Network::kScaleUp ||
                                                  routes.best_network(cards[here.back()], cards[i]) != Network::kScaleUp)
        found = domains.size();
    }
    if (found == domains.size()) domains.emplace_back();
    domains[found].push_back(i);
  }
  return domains;
}

GroupShape shape_of(const std::vector<DeviceId>& cards, fabric::Routes& routes) {
  const fabric::Snapshot& s = routes.snapshot();
  GroupShape shape;
  shape.members = static_cast<int>(cards.size());
  std::vector<std::vector<DeviceId>> domains;
  for (const auto& positions : domain_order(cards, routes)) {
    domains.emplace_back();
    for (int i : positions) domains.back().push_back(cards[i]);
  }
  shape.domains = static_cast<int>(std::max<std::size_t>(domains.size(), 1));
  std::vector<Pair> inside, across;
  double inner = std::numeric_limits<double>::infinity();
  std::size_t low = SIZE_MAX, high = 0;
  shape.inner_reduction = shape.outer_reduction = true;
  for (std::size_t k = 0; k < domains.size(); ++k) {
    const auto& here = domains[k];
    const auto& there = domains[(k + 1) % domains.size()];
    low = std::min(low, here.size());
    high = std::max(high, here.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (here.size() > 1) {
        inside.emplace_back(here[i], here[(i + 1) % here.size()]);
        inner = std::min(inner, rate_on(s, here[i], Network::kScaleUp));
        shape.inner_reduction = shape.inner_reduction && reduces(s, here[i], Network::kScaleUp);
      }
      if (domains.size() > 1) {
        across.emplace_back(here[i], there[i % there.size()]);
        shape.outer_reduction = shape.outer_reduction && reduces(s, here[i], Network::kScaleOut);
      }
    }
  }
  shape.min_per_domain = static_cast<int>(low == SIZE_MAX ? 1 : low);
  shape.max_per_domain = static_cast<int>(std::max<std::size_t>(high, 1));
  if (high > 1) {
    Together ring = together(routes, inside, Network::kScaleUp);
    double pair = ring.rate;
    shape.inner = BytesPerSecond(inner);
    // A pair that reaches (nearly) the whole rate is no limit of its own; the split over many links leaves rounding behind.
    shape.inner_pair = BytesPerSecond(pair >= inner * (1 - 1e-6) ? inner : pair);
    shape.inner_latency = Seconds(ring.latency) + kInnerOverhead;
    look_at_wiring(s, domains, shape);
    if (shape.routed && shape.domains == 1 && shape.inner_reduction) shape.inner_reduction = !common_planes(cards, routes).empty();
    for (int h = 2; shape.direct && shape.members <= kReachMembers && h < static_cast<int>(high); h *= 2) {
      inside.clear();
      for (const auto& here : domains)
        for (std::size_t i = 0; i < here.size() && here.size() > static_cast<std::size_t>(h); ++i)
          inside.emplace_back(here[i], here[(i + static_cast<std::size_t>(h)) % here.size()]);
      Together far = together(routes, inside, Network::kScaleUp);
      shape.reach.emplace_back(rounded(far.rate), rounded(far.latency));
    }
  } else {
    shape.inner_reduction = false;
  }
  if (domains.size() > 1) {
    Together ring = together(routes, across, Network::kScaleOut);
    shape.outer = BytesPerSecond(ring.rate);
    shape.outer_latency = Seconds(ring.latency) + kOuterOverhead;
  } else {
    shape.outer_reduction = false;
  }
  return shape;
}

}  // namespace weft::collective
