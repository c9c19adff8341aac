#include "place/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "place/repair.h"
#include "place/score.h"

namespace weft::place {

using fabric::DeviceId;

Registry<StrategyEntry>& strategies() {
  static Registry<StrategyEntry> registry("placement strategy");
  return registry;
}

namespace {

// Cards that can reach each other over links that carry something: union by smaller id. O(links).
std::vector<std::uint32_t> islands(const fabric::Snapshot& s) {
  std::vector<std::uint32_t> up(s.device_count());
  std::iota(up.begin(), up.end(), 0u);
  auto root = [&](std::uint32_t v) {
    while (up[v] != v) v = up[v] = up[up[v]];
    return v;
  };
  auto join = [&](std::uint32_t a, std::uint32_t b) {
    a = root(a), b = root(b);
    if (a != b) up[std::max(a, b)] = std::min(a, b);
  };
  constexpr fabric::NetworkSet kTraffic = fabric::bit(fabric::Network::kScaleUp) | fabric::bit(fabric::Network::kScaleOut);
  for (std::uint32_t l = 0; l < s.link_count(); ++l)
    if ((s.link(fabric::LinkId{l}).networks & kTraffic) && s.effective_rate(fabric::LinkId{l}).value() > 0)
      join(s.port(s.link(fabric::LinkId{l}).a).device.v, s.port(s.link(fabric::LinkId{l}).b).device.v);
  // A node's cards and NICs reach each other through the host.
  for (DeviceId node : s.of_kind(fabric::DeviceKind::kNode))
    for (DeviceId c : s.children(node))
      if (auto k = s.device(c).kind; k == fabric::DeviceKind::kCard || k == fabric::DeviceKind::kNic) join(node.v, c.v);
  for (std::uint32_t v = 0; v < up.size(); ++v) up[v] = root(v);
  return up;
}

}  // namespace

Answer place(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request) {
  const StrategyEntry* strategy = strategies().find(request.strategy);
  if (!strategy) return Refusal{"strategy", "no placement strategy '" + request.strategy + "'; known: " + strategies().names()};
  if (!request.keep.empty()) {
    Answer mended = repair(snapshot, occupied, request);
    const auto* no = std::get_if<Refusal>(&mended);
    if (!no || no->constraint != "keep") return mended;  // cards of another shape: as a new job
  }
  Answer answer = strategy->run(snapshot, occupied, request);
  if (auto* p = std::get_if<workload::Placement>(&answer))
    if (std::string why = illegal(snapshot, occupied, request, *p); !why.empty()) return Refusal{"reachability", why};
  return answer;
}

std::string illegal(const fabric::Snapshot& s, const Occupancy& occupied, const Request& request, const workload::Placement& p) {
  const workload::Strategy& st = request.job.strategy;
  if (p.cards.size() != static_cast<std::size_t>(st.world())) return fmt::format("{} cards for {} ranks", p.cards.size(), st.world());
  std::set<DeviceId> seen;
  std::vector<bool> busy(s.device_count(), false), avoid(s.device_count(), false);
  for (const workload::Placement& other : occupied.placements) {
    if (other.job == request.job.name) continue;
    for (DeviceId c : other.cards) busy[c.v] = true;
    for (DeviceId c : other.spares) busy[c.v] = true;
  }
  for (DeviceId d : request.avoid)
    if (d.ok() && d.v < avoid.size()) avoid[d.v] = true;
  auto check = [&](DeviceId c, const std::string& who) -> std::string {
    if (!c.ok() || c.v >= s.device_count() || s.device(c).kind != fabric::DeviceKind::kCard) return who + " is not on a card";
    if (!seen.insert(c).second) return who + " shares " + s.name(c) + " with another";
    if (busy[c.v]) return who + " is on " + s.name(c) + ", which another job uses or keeps as a spare";
    if (!s.usable(c)) return who + " is on " + s.name(c) + ", which is failed or cordoned";
    for (DeviceId at = c; at.ok(); at = s.device(at).parent)
      if (avoid[at.v]) return who + " is on " + s.name(c) + ", which is to be avoided";
    return {};
  };
  for (std::size_t r = 0; r < p.cards.size(); ++r)
    if (std::string why = check(p.cards[r], fmt::format("rank {}", r)); !why.empty()) return why;
  std::set<DeviceId> spare_nodes;
  for (DeviceId c : p.spares) {
    if (std::string why = check(c, "a spare"); !why.empty()) return why;
    spare_nodes.insert(s.container(c, fabric::DeviceKind::kNode));
  }
  if (static_cast<int>(spare_nodes.size()) < request.job.policy.spare_nodes)
    return fmt::format("{} spare nodes kept, {} asked for", spare_nodes.size(), request.job.policy.spare_nodes);
  auto t = static_cast<std::size_t>(st.tp);
  for (std::size_t r = 0; t > 1 && r < p.cards.size(); ++r) {
    fabric::DomainId home = s.hbd_of(p.cards[r - r % t]);
    if (!home.ok() || s.hbd_of(p.cards[r]) != home)
      return fmt::format("tensor-parallel group tp{} is not inside one high-bandwidth domain: {} and {}", r / t, s.name(p.cards[r - r % t]),
                         s.name(p.cards[r]));
  }
  if (p.cards.size() > 1) {
    auto island = islands(s);
    for (std::size_t r = 1; r < p.cards.size(); ++r)
      if (island[p.cards[r].v] != island[p.cards[0].v])
        return fmt::format("no path over usable links between {} and {}; repair a link, or use fewer cards on one side", s.name(p.cards[0]),
                           s.name(p.cards[r]));
  }
  return {};
}

}  // namespace weft::place
