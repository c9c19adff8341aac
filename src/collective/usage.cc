#include "collective/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "collective/planes.h"

namespace weft::collective {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::Network;
using fabric::Route;
using fabric::RouteHop;
using fabric::Snapshot;

DeviceId end_of(const Snapshot& s, const RouteHop& hop, bool source) {
  const fabric::Link& l = s.link(hop.link.link());
  return s.port(hop.link.forward() == source ? l.a : l.b).device;
}

// Does the hop belong to the attachment of this card alone (its own ports, its NICs, the host links to them)?
bool own(const Snapshot& s, const RouteHop& hop, DeviceId card, DeviceId node) {
  if (s.link(hop.link.link()).networks & fabric::bit(Network::kHost)) return s.container(end_of(s, hop, true), DeviceKind::kNode) == node;
  for (bool source : {true, false}) {
    DeviceId d = end_of(s, hop, source);
    if (d == card) return true;
    if (s.device(d).kind == DeviceKind::kNic && s.container(d, DeviceKind::kNode) == node) return true;
  }
  return false;
}

// Devices next to `d` on the network, one entry a usable link. False when one of them is a card: then routes pass through cards.
bool neighbours(const Snapshot& s, DeviceId d, Network n, std::vector<std::uint32_t>& out) {
  for (fabric::PortId p : s.ports_of(d)) {
    fabric::LinkId l = s.port(p).link;
    if (!l.ok() || !(s.link(l).networks & fabric::bit(n)) || s.effective_rate(l).value() <= 0) continue;
    DeviceId peer = s.port(s.peer(p)).device;
    if (s.device(peer).kind == DeviceKind::kCard) return false;
    out.push_back(peer.v);
  }
  return true;
}

}  // namespace

double rounded(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  return std::isfinite(x) ? std::ldexp(std::round(mantissa * 0x1p33) * 0x1p-33, exponent) : x;
}

UsageBuilder::UsageBuilder(fabric::Routes& routes) : routes_(routes), load_(routes.snapshot().link_count() * 2, 0.0) {}

void UsageBuilder::add(std::uint32_t link, double share) {
  if (load_[link] == 0) touched_.push_back(link);
  load_[link] += share;
}

std::vector<LinkUse> UsageBuilder::take(double& scale) {
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  scale = 0;
  for (std::uint32_t l : touched_) scale = std::max(scale, load_[l]);
  std::vector<LinkUse> out;
  out.reserve(touched_.size());
  for (std::uint32_t l : touched_) {
    if (load_[l] > 0) out.push_back({l, rounded(load_[l] / scale)});
    load_[l] = 0;
  }
  touched_.clear();
  scale = rounded(scale);
  return out;
}

Result<const Route*> UsageBuilder::route(DeviceId from, DeviceId to) {
  const Route& r = routes_.best(from, to);
  if (!r.reachable) {
    const Snapshot& s = routes_.snapshot();
    return fail(ErrorKind::kUnavailable,
                fmt::format("no usable way from {} to {}: restore a link or place the job elsewhere", s.name(from), s.name(to)));
  }
  return &r;
}

Result<std::vector<LinkUse>> UsageBuilder::of(DeviceId from, DeviceId to, double& scale) {
  WEFT_ASSIGN(const Route* r, route(from, to));
  for (const RouteHop& h : r->hops) add(h.link.v, static_cast<double>(h.share));
  return take(scale);
}

Result<std::vector<LinkUse>> UsageBuilder::of(const Phase& phase, std::span<const DeviceId> cards, bool single_domain, double& scale) {
  bool switches = std::any_of(phase.begin(), phase.end(), [](const Edge& e) { return e.from == kSwitches || e.to == kSwitches; });
  bool dense = cards.size() > 32 && phase.size() > cards.size() * 8;
  Status done = switches ? add_switches(phase, cards, single_domain) : dense ? add_dense(phase, cards) : add_edges(phase, cards);
  std::vector<LinkUse> out = take(scale);
  if (!done) return std::unexpected(done.error());
  return out;
}

Status UsageBuilder::add_edges(const Phase& phase, std::span<const DeviceId> cards) {
  for (const Edge& e : phase) {
    WEFT_ASSIGN(const Route* r, route(cards[e.from], cards[e.to]));
    for (const RouteHop& h : r->hops) add(h.link.v, e.share * static_cast<double>(h.share));
  }
  return {};
}

// Cards attached to the same switches are interchangeable beyond their own links: with classes A, B of cards the bytes in the middle
// depend on the class pair only, those on a card's own links on (card, class of the other end) or even on the card alone.
UsageBuilder::Attachment UsageBuilder::attach(std::span<const DeviceId> cards, Network network) {
  const Snapshot& s = routes_.snapshot();
  Attachment out;
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  std::vector<std::uint32_t> key, entry;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    key.clear();
    bool plain = true;
    fabric::DomainId hbd = s.hbd_of(cards[i]);
    if (network == Network::kScaleUp) {
      plain = hbd.ok() && neighbours(s, cards[i], network, key);
      std::sort(key.begin(), key.end());
      key.push_back(hbd.v);
    } else {
      std::size_t far = 0;
      while (far < cards.size() && (cards[far] == cards[i] || (hbd.ok() && s.hbd_of(cards[far]) == hbd))) ++far;
      const Route* r = far < cards.size() ? &routes_.between(cards[i], cards[far], network) : nullptr;
      plain = r && r->reachable;
      entry.clear();  // devices through which the card enters the network
      DeviceId node = s.container(cards[i], DeviceKind::kNode);
      for (std::size_t h = 0; plain && h < r->hops.size(); ++h)
        if (own(s, r->hops[h], cards[i], node))
          for (bool source : {true, false})
            if (DeviceId d = end_of(s, r->hops[h], source); d == cards[i] || s.device(d).kind == DeviceKind::kNic) entry.push_back(d.v);
      std::sort(entry.begin(), entry.end());
      entry.erase(std::unique(entry.begin(), entry.end()), entry.end());
      for (std::uint32_t d : entry) plain = plain && neighbours(s, DeviceId{d}, network, key);
      std::sort(key.begin(), key.end());
    }
    if (!plain) key.assign({UINT32_MAX, cards[i].v});
    auto [at, fresh] = known.emplace(key, static_cast<std::uint32_t>(out.members.size()));
    if (fresh) out.members.emplace_back();
    out.class_of.push_back(at->second);
    out.members[at->second].push_back(static_cast<std::uint32_t>(i));
  }
  return out;
}

Status UsageBuilder::add_dense(const Phase& phase, std::span<const DeviceId> cards) {
  const Snapshot& s = routes_.snapshot();
  Attachment up = attach(cards, Network::kScaleUp), out = attach(cards, Network::kScaleOut);
  std::vector<std::int8_t> inside(up.members.size() * up.members.size(), -1);
  Phase up_edges, out_edges, direct;
  for (const Edge& e : phase) {
    DeviceId a = cards[static_cast<std::size_t>(e.from)], b = cards[static_cast<std::size_t>(e.to)];
    fabric::DomainId hbd = s.hbd_of(a);
    std::int8_t* in =
        &inside[up.class_of[static_cast<std::size_t>(e.from)] * up.members.size() + up.class_of[static_cast<std::size_t>(e.to)]];
    if (hbd.ok() && hbd == s.hbd_of(b)) {
      if (*in < 0) *in = routes_.best_network(a, b) == Network::kScaleUp;
      if (*in) {
        up_edges.push_back(e);
        continue;
      }
    }
    DeviceId node = s.container(a, DeviceKind::kNode);
    (node.ok() && node == s.container(b, DeviceKind::kNode) ? direct : out_edges).push_back(e);  // NICs of one node: no leg in the middle
  }
  WEFT_TRY(add_edges(direct, cards));
  WEFT_TRY(add_grouped(up_edges, cards, up));
  return add_grouped(out_edges, cards, out);
}

Status UsageBuilder::add_grouped(const Phase& phase, std::span<const DeviceId> cards, const Attachment& groups) {
  const Snapshot& s = routes_.snapshot();
  std::size_t n = cards.size(), k = groups.members.size();
  if (phase.empty() || k * 2 > n) return add_edges(phase, cards);
  std::vector<DeviceId> node;
  for (DeviceId c : cards) node.push_back(s.container(c, DeviceKind::kNode));
  std::vector<double> sent(n * k, 0), received(n * k, 0), middle(k * k, 0);
  for (const Edge& e : phase) {
    auto from = static_cast<std::size_t>(e.from), to = static_cast<std::size_t>(e.to);
    std::uint32_t a = groups.class_of[from], b = groups.class_of[to];
    sent[from * k + b] += e.share;
    received[to * k + a] += e.share;
    middle[a * k + b] += e.share;
  }
  // A member of class c that is not card x, and not in its node if that can be.
  auto other = [&](std::uint32_t c, std::uint32_t x) {
    for (std::uint32_t m : groups.members[c])
      if (m != x && node[m] != node[x]) return m;
    return groups.members[c][0] == x ? groups.members[c].back() : groups.members[c][0];
  };
  // Shares on a card's own links, named by the device at their far end, to tell whether they depend on the partner.
  auto own_shares = [&](const Route& r, std::uint32_t x) {
    std::vector<std::pair<std::uint32_t, float>> out;
    for (const RouteHop& h : r.hops)
      if (own(s, h, cards[x], node[x]))
        out.emplace_back(
            end_of(s, h, end_of(s, h, true) == cards[x] || s.device(end_of(s, h, true)).kind == DeviceKind::kNic ? false : true).v,
            h.share);
    std::sort(out.begin(), out.end());
    return out;
  };
  std::vector<bool> fixed_out(k, true), fixed_in(k, true);
  for (std::uint32_t a = 0; a < k; ++a) {
    std::vector<std::pair<std::uint32_t, float>> first_out, first_in;
    bool any_out = false, any_in = false;
    for (std::uint32_t b = 0; b < k; ++b) {
      std::uint32_t x = groups.members[a][0];
      for (bool away : {true, false}) {
        double bytes = away ? middle[a * k + b] : middle[b * k + a];
        if (bytes <= 0) continue;
        std::uint32_t y = other(b, x);
        WEFT_ASSIGN(const Route* r, away ? route(cards[x], cards[y]) : route(cards[y], cards[x]));
        auto shares = own_shares(*r, x);
        auto& first = away ? first_out : first_in;
        bool& any = away ? any_out : any_in;
        if (!any) first = shares, any = true;
        else if (shares != first) (away ? fixed_out : fixed_in)[a] = false;
        if (!away) continue;
        for (const RouteHop& h : r->hops)
          if (!own(s, h, cards[x], node[x]) && !own(s, h, cards[y], node[y])) add(h.link.v, bytes * static_cast<double>(h.share));
      }
    }
  }
  for (std::uint32_t i = 0; i < n; ++i)
    for (bool away : {true, false}) {
      const std::vector<double>& part = away ? sent : received;
      bool fixed = (away ? fixed_out : fixed_in)[groups.class_of[i]];
      double sum = 0;
      if (fixed)
        for (std::uint32_t c = 0; c < k; ++c) sum += part[i * k + c];
      for (std::uint32_t c = 0; c < k; ++c) {
        if (part[i * k + c] <= 0) continue;
        std::uint32_t y = other(c, i);
        WEFT_ASSIGN(const Route* r, away ? route(cards[i], cards[y]) : route(cards[y], cards[i]));
        for (const RouteHop& h : r->hops)
          if (own(s, h, cards[i], node[i])) add(h.link.v, (fixed ? sum : part[i * k + c]) * static_cast<double>(h.share));
        if (fixed) break;
      }
    }
  return {};
}

// Each card exchanges with the switches next to it. In one domain the data are cut over the planes (switches that reach each other) that
// every member is in; a card that has lost its link to a plane takes the plane from all. Where members hang on different switches of
// a plane, each of these sends its sum up once and gets the result once; drawn as a ring of switches, whose links up and down carry just
// that. Across domains (InfiniBand SHARP) each member's way to the next stands for its way up and down; links between switches then
// carry more than a reducing tree would.
Status UsageBuilder::add_switches(const Phase& phase, std::span<const DeviceId> cards, bool single_domain) {
  std::size_t n = cards.size();
  if (!single_domain) {
    Phase ring;
    for (const Edge& e : phase)
      if (e.to == kSwitches) ring.push_back({e.from, static_cast<int>((e.from + 1) % n), e.share});
    return add_edges(ring, cards);
  }
  std::vector<Plane> planes = common_planes(cards, routes_);
  if (planes.empty())
    return fail(ErrorKind::kUnavailable, fmt::format("no switches that every card of the group reaches, from {} on, to reduce in",
                                                     routes_.snapshot().name(cards[0])));
  double largest = 0;
  for (const Edge& e : phase) largest = std::max(largest, e.share);
  for (const Plane& plane : planes) {
    for (const Edge& e : phase) {
      const auto& links = plane.links[static_cast<std::size_t>(e.to == kSwitches ? e.from : e.to)];
      double part = e.share * plane.share / static_cast<double>(links.size());
      for (const Plane::Link& l : links) add(l.away.v ^ (e.to == kSwitches ? 0u : 1u), part);
    }
    std::vector<std::vector<std::uint32_t>> sets;
    for (const auto& links : plane.links) {
      std::vector<std::uint32_t> set;
      for (const Plane::Link& l : links) set.push_back(l.to.v);
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
      if (std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(std::move(set));
    }
    // Sets that share a switch meet there already.
    for (std::size_t k = 0; sets.size() > 1 && k < sets.size(); ++k) {
      const auto &here = sets[k], &there = sets[(k + 1) % sets.size()];
      for (std::size_t i = 0; i < here.size(); ++i) {
        DeviceId from{here[i]}, to{there[i % there.size()]};
        if (std::binary_search(there.begin(), there.end(), here[i])) continue;
        const Route& r = routes_.between(from, to, Network::kScaleUp);
        double part = largest * plane.share / static_cast<double>(here.size());
        for (const RouteHop& h : r.hops) add(h.link.v, part * static_cast<double>(h.share));
      }
    }
  }
  return {};
}

}  // namespace weft::collective
