#include "place/repair.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "place/layout.h"

namespace weft::place {

using fabric::DeviceId;

namespace {

// Free cards of one domain, clean ones in whole nodes first, then clean loose ones, then weak ones.
struct Reserve {
  const fabric::Snapshot& s;
  const Pool& pool;
  std::set<DeviceId> taken;

  std::vector<DeviceId> whole_node(fabric::DomainId hbd, std::size_t cards) const {
    for (bool clean : {true, false})
      for (const FreeDomain& d : pool.domains) {
        if (d.hbd != hbd) continue;
        for (const FreeNode& n : d.nodes) {
          if (n.cards.size() < cards || n.cards.size() != n.size) continue;
          bool fits = true;
          for (DeviceId c : n.cards) fits = fits && !taken.contains(c) && (!clean || !pool.weak[c.v]);
          if (fits) return n.cards;
        }
      }
    return {};
  }
  // One card, in `node` if it can be, else the node with the fewest free cards that still has one (holes stay small).
  DeviceId one(fabric::DomainId hbd, DeviceId node) const {
    DeviceId best;
    std::array<std::uint64_t, 3> best_key{};
    for (const FreeDomain& d : pool.domains) {
      if (d.hbd != hbd) continue;
      for (const FreeNode& n : d.nodes) {
        std::uint64_t room = 0;
        for (DeviceId c : n.cards) room += !taken.contains(c);
        for (DeviceId c : n.cards) {
          if (taken.contains(c)) continue;
          std::array<std::uint64_t, 3> key{pool.weak[c.v], n.id != node, room};
          if (!best.ok() || key < best_key) best = c, best_key = key;
        }
      }
    }
    return best;
  }
};

}  // namespace

std::optional<workload::Placement> repair(const fabric::Snapshot& s, const Occupancy& occupied, const Request& request) {
  const workload::Strategy& st = request.job.strategy;
  auto world = static_cast<std::size_t>(st.world()), t = static_cast<std::size_t>(st.tp);
  if (request.keep.size() != world || !workload::validate(request.job.model, st)) return std::nullopt;
  for (DeviceId c : request.keep)
    if (!c.ok() || c.v >= s.device_count()) return std::nullopt;
  auto groups = workload::make_groups(st);
  if (!groups) return std::nullopt;
  Pool pool = free_cards(s, occupied, request, false);
  std::vector<DeviceId> cards = request.keep;
  Reserve reserve{s, pool, {}};
  std::vector<std::size_t> broken;
  std::map<DeviceId, std::vector<std::size_t>> by_node;
  for (std::size_t r = 0; r < world; ++r) {
    if (pool.allowed[cards[r].v] && reserve.taken.insert(cards[r]).second) continue;
    broken.push_back(r);
    by_node[s.container(cards[r], fabric::DeviceKind::kNode)].push_back(r);
  }
  std::set<std::size_t> open(broken.begin(), broken.end());

  // A node that is lost as a whole: a whole free node of the same domain, card by card, so that rails stay.
  for (const auto& [node, ranks] : by_node) {
    if (!node.ok() || ranks.size() < 2) continue;
    std::vector<DeviceId> other = reserve.whole_node(s.hbd_of(cards[ranks[0]]), ranks.size());
    if (other.empty()) continue;
    std::vector<DeviceId> rest = other;
    for (std::size_t r : ranks) {
      std::uint16_t index = s.device(cards[r]).index;
      auto same = std::find_if(rest.begin(), rest.end(), [&](DeviceId c) { return s.device(c).index == index; });
      if (same == rest.end()) same = rest.begin();
      cards[r] = *same;
      rest.erase(same);
      reserve.taken.insert(cards[r]);
      open.erase(r);
    }
  }
  // Single cards, in the same domain.
  for (std::size_t r : broken) {
    if (!open.contains(r)) continue;
    fabric::DomainId hbd = s.hbd_of(cards[r]);
    DeviceId c = hbd.ok() || t == 1 ? reserve.one(hbd, s.container(cards[r], fabric::DeviceKind::kNode)) : DeviceId{};
    if (!c.ok()) continue;
    cards[r] = c;
    reserve.taken.insert(c);
    open.erase(r);
  }
  // Groups that their domain cannot mend move as a whole: to the domain with the most free places, so that they stay together.
  std::set<std::size_t> homeless;
  for (std::size_t r : open) homeless.insert(r / t);
  if (!homeless.empty()) {
    for (std::size_t g : homeless)
      for (std::size_t k = 0; k < t; ++k) reserve.taken.erase(cards[g * t + k]);
    std::vector<std::vector<Slot>> places;
    for (FreeDomain d : pool.domains) {
      for (FreeNode& n : d.nodes) {
        std::vector<DeviceId> left;
        std::vector<std::uint16_t> index;
        for (std::size_t i = 0; i < n.cards.size(); ++i)
          if (!reserve.taken.contains(n.cards[i])) left.push_back(n.cards[i]), index.push_back(n.index[i]);
        n.cards = left, n.index = index;
      }
      std::erase_if(d.nodes, [](const FreeNode& n) { return n.cards.empty(); });
      places.push_back(slots_of(d, st.tp));
    }
    std::stable_sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    auto next = homeless.begin();
    for (const auto& slots : places)
      for (const Slot& slot : slots) {
        if (next == homeless.end()) break;
        std::copy(slot.begin(), slot.end(), cards.begin() + static_cast<std::ptrdiff_t>(*next * t));
        ++next;
      }
    if (next != homeless.end()) return std::nullopt;
  }
  fabric::Routes routes(s);
  Scorer scorer(routes, request.job);
  Answer mended = finish(s, pool, request, scorer, cards, *groups);
  auto* p = std::get_if<workload::Placement>(&mended);
  if (!p) return std::nullopt;
  if (!homeless.empty()) {
    // Torn over domains: a fresh placement elsewhere may be better by more than the move costs (two parts in a hundred of every step).
    Request fresh = request;
    fresh.keep.clear();
    Answer elsewhere = place(s, occupied, fresh);
    if (auto* q = std::get_if<workload::Placement>(&elsewhere); q && q->score < p->score * 0.98) return *q;
  }
  return *p;
}

}  // namespace weft::place
