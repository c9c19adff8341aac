#include "place/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "fabric/site.h"

namespace weft::place {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;

// Cards that send through `device`: itself, the cards of a NIC's rail, the cards below a first-tier switch.
void mark_users(const fabric::Snapshot& s, DeviceId device, std::vector<bool>& weak, bool through_switches) {
  const fabric::Device& d = s.device(device);
  if (d.kind == DeviceKind::kCard) {
    weak[device.v] = true;
  } else if (d.kind == DeviceKind::kNic) {
    DeviceId node = s.container(device, DeviceKind::kNode);
    if (!node.ok()) return;
    std::vector<DeviceId> cards, nics;
    for (DeviceId c : s.children(node)) {
      if (s.device(c).kind == DeviceKind::kCard) cards.push_back(c);
      if (s.device(c).kind == DeviceKind::kNic) nics.push_back(c);
    }
    for (DeviceId c : cards)
      if (nics[std::min<std::size_t>(s.device(c).index * nics.size() / cards.size(), nics.size() - 1)] == device) weak[c.v] = true;
  } else if (d.kind == DeviceKind::kSwitch && through_switches && d.tier <= 0) {
    for (fabric::PortId p : s.ports_of(device)) {
      fabric::PortId peer = s.peer(p);
      if (!peer.ok()) continue;
      DeviceId other = s.port(peer).device;
      if (s.device(other).kind != DeviceKind::kSwitch) mark_users(s, other, weak, false);
    }
  }
}

std::vector<bool> weak_cards(const fabric::Snapshot& s) {
  std::vector<bool> weak(s.device_count(), false);
  constexpr fabric::NetworkSet kTraffic = fabric::bit(fabric::Network::kScaleUp) | fabric::bit(fabric::Network::kScaleOut);
  for (const auto& [id, h] : s.link_overlay()) {
    const fabric::Link& l = s.link(id);
    if (!(l.networks & kTraffic) || (l.spare && !h.in_service)) continue;
    DeviceId a = s.port(l.a).device, b = s.port(l.b).device;
    bool trunk = s.device(a).kind == DeviceKind::kSwitch && s.device(b).kind == DeviceKind::kSwitch;
    for (DeviceId end : {a, b})
      if (trunk || s.device(end).kind != DeviceKind::kSwitch) mark_users(s, end, weak, trunk);
  }
  for (const auto& [id, h] : s.device_overlay())
    if (h.state == fabric::DeviceState::kSuspect || h.speed_factor < 1) {
      if (s.device(id).kind == DeviceKind::kNode)
        for (DeviceId c : s.children(id)) weak[c.v] = true;
      mark_users(s, id, weak, true);
    }
  return weak;
}

// The first switch of a card's way out, itself or by its node's first NIC.
std::uint64_t region_of(const fabric::Snapshot& s, DeviceId card) {
  auto out = [&](DeviceId d) -> std::uint64_t {
    for (fabric::PortId p : s.ports_of(d))
      if (s.port(p).networks & fabric::bit(fabric::Network::kScaleOut))
        if (fabric::PortId peer = s.peer(p); peer.ok()) return s.port(peer).device.v + 1;
    return 0;
  };
  if (std::uint64_t r = out(card)) return r;
  DeviceId node = s.container(card, DeviceKind::kNode);
  if (!node.ok()) return 0;
  for (DeviceId c : s.children(node))
    if (s.device(c).kind == DeviceKind::kNic)
      if (std::uint64_t r = out(c)) return r;
  return 0;
}

}  // namespace

Pool free_cards(const fabric::Snapshot& s, const Occupancy& occupied, const Request& request, bool clean_only) {
  Pool pool;
  pool.allowed.assign(s.device_count(), false);
  pool.weak = weak_cards(s);
  std::vector<bool> busy(s.device_count(), false), avoid(s.device_count(), false);
  for (const workload::Placement& p : occupied.placements) {
    if (p.job == request.job.name) continue;
    for (DeviceId c : p.cards) busy[c.v] = true;
    for (DeviceId c : p.spares) busy[c.v] = true;
  }
  for (DeviceId d : request.avoid)
    if (d.ok() && d.v < avoid.size()) avoid[d.v] = true;
  std::map<std::uint32_t, std::size_t> domain_at, kept_at;
  std::vector<bool> spare(s.device_count(), false);
  if (request.keep.empty())
    for (DeviceId n : fabric::spare_nodes(s)) spare[n.v] = true;
  for (DeviceId card : s.cards()) {
    ++pool.cards;
    bool shunned = false;
    if (!request.avoid.empty())
      for (DeviceId at = card; at.ok(); at = s.device(at).parent) shunned = shunned || avoid[at.v];
    if (!s.usable(card)) {
      ++pool.unhealthy;
      if (pool.first_unhealthy.empty()) {
        std::string why;
        for (DeviceId at = card; at.ok() && why.empty(); at = s.device(at).parent) {
          const fabric::DeviceHealth& h = s.health(at);
          if (h.state == fabric::DeviceState::kFailed || h.cordoned)
            why = s.name(at) + (h.state == fabric::DeviceState::kFailed ? " failed" : " cordoned") +
                  (h.owner.empty() ? "" : " by " + h.owner) + (h.reason.empty() ? "" : ": " + h.reason);
        }
        pool.first_unhealthy = why;
      }
      continue;
    }
    if (busy[card.v]) {
      ++pool.busy;
      continue;
    }
    if (shunned) {
      ++pool.avoided;
      continue;
    }
    if (pool.weak[card.v]) {
      ++pool.weak_free;
      if (clean_only) continue;
    }
    DeviceId node = s.container(card, DeviceKind::kNode);
    bool kept = node.ok() && spare[node.v];
    ++(kept ? pool.kept_free : pool.free);
    pool.allowed[card.v] = true;
    fabric::DomainId hbd = s.hbd_of(card);
    std::vector<FreeDomain>& domains = kept ? pool.kept : pool.domains;
    std::size_t at = domains.size();
    if (hbd.ok()) {
      auto [found, fresh] = (kept ? kept_at : domain_at).emplace(hbd.v, at);
      at = found->second;
    }
    if (at == domains.size()) domains.push_back({hbd, {}, region_of(s, card), 0});
    FreeDomain& d = domains[at];
    ++d.cards;
    if (d.nodes.empty() || d.nodes.back().id != node) {
      std::size_t size = 0;
      if (node.ok())
        for (DeviceId c : s.children(node)) size += s.device(c).kind == DeviceKind::kCard;
      d.nodes.push_back({node, std::max<std::size_t>(size, 1), {}, {}});
    }
    d.nodes.back().cards.push_back(card);
    d.nodes.back().index.push_back(s.device(card).index);
  }
  return pool;
}

std::string account_of(const Pool& p, int needed) {
  std::string out = fmt::format("need {} cards; {} of {} are free: {} failed or cordoned", needed, p.free, p.cards, p.unhealthy);
  if (!p.first_unhealthy.empty()) out += fmt::format(" (first: {})", p.first_unhealthy);
  out += fmt::format(", {} in use by other jobs or kept as their spares, {} avoided on request", p.busy, p.avoided);
  return p.kept_free ? out + fmt::format(", {} in nodes that the site keeps as spares (spare_nodes)", p.kept_free) : out;
}

}  // namespace weft::place
