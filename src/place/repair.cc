#include "place/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "place/layout.h"

namespace weft::place {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::DomainId;

namespace {

// A step that is slower by less than this does not count: the prediction is no better (nor is a group left torn for it).
constexpr double kWorthTearing = 0.01;
constexpr double kEqual = 0.001;

struct Mender {
  const fabric::Snapshot& s;
  const Pool& pool;  // spare nodes of the site included
  const Request& request;
  const Spread& spread;
  std::size_t t = static_cast<std::size_t>(request.job.strategy.tp);
  std::vector<DeviceId> cards = request.keep;
  std::set<DeviceId> taken;         // by the job
  std::vector<std::size_t> broken;  // ranks to move
  std::set<std::size_t> open = {};  // those not mended yet

  bool clean(DeviceId c) const { return !pool.weak[c.v]; }

  void look() {
    for (std::size_t r = 0; r < cards.size(); ++r)
      if (!pool.allowed[cards[r].v] || !taken.insert(cards[r]).second) broken.push_back(r), open.insert(r);
  }

  void mend(std::size_t rank, DeviceId card) {
    cards[rank] = card;
    taken.insert(card);
    open.erase(rank);
  }

  // A node of which several ranks are lost: a whole free node of the same domain, card by card, so that rails stay.
  void swap_nodes() {
    std::map<DeviceId, std::vector<std::size_t>> lost;
    for (std::size_t r : open) lost[s.container(cards[r], DeviceKind::kNode)].push_back(r);
    for (const auto& [node, ranks] : lost) {
      if (!node.ok() || ranks.size() < 2) continue;
      std::vector<DeviceId> other = whole_node(s.hbd_of(cards[ranks[0]]), ranks.size());
      if (other.empty()) continue;
      for (std::size_t r : ranks) {
        std::uint16_t index = s.device(cards[r]).index;
        auto same = std::find_if(other.begin(), other.end(), [&](DeviceId c) { return s.device(c).index == index; });
        if (same == other.end()) same = other.begin();
        DeviceId card = *same;
        other.erase(same);
        mend(r, card);
      }
    }
  }
  std::vector<DeviceId> whole_node(DomainId hbd, std::size_t size) const {
    for (bool want_clean : {true, false})
      for (const FreeDomain& d : pool.domains) {
        if (d.hbd != hbd) continue;
        for (const FreeNode& n : d.nodes)
          if (n.cards.size() >= size && n.cards.size() == n.size &&
              std::all_of(n.cards.begin(), n.cards.end(), [&](DeviceId c) { return !taken.contains(c) && (!want_clean || clean(c)); }))
            return n.cards;
      }
    return {};
  }

  // Single cards of the same domain: clean, behind the switches of the rank's group, in its node, on its rail, where the hole is small already.
  void swap_cards() {
    for (std::size_t r : broken) {
      if (!open.contains(r)) continue;
      DomainId hbd = s.hbd_of(cards[r]);
      if (!hbd.ok() && t > 1) continue;
      DeviceId node = s.container(cards[r], DeviceKind::kNode), best;
      std::array<std::uint64_t, 5> best_key{};
      for (const FreeDomain& d : pool.domains) {
        if (d.hbd != hbd) continue;
        for (const FreeNode& n : d.nodes) {
          auto room =
              static_cast<std::uint64_t>(std::count_if(n.cards.begin(), n.cards.end(), [&](DeviceId c) { return !taken.contains(c); }));
          for (DeviceId c : n.cards) {
            if (taken.contains(c)) continue;
            std::array<std::uint64_t, 5> key{!clean(c), spread.unit(c) != spread.unit(cards[r]), n.id != node,
                                             s.device(c).index != s.device(cards[r]).index, room};
            if (!best.ok() || key < best_key) best = c, best_key = key;
          }
        }
      }
      if (best.ok()) mend(r, best);
    }
  }

  // Whole tensor-parallel groups. At home when `home_first`, whatever the place is like there; else the best place anywhere.
  bool move_groups(const std::set<std::size_t>& groups, bool home_first) {
    for (std::size_t g : groups)
      for (std::size_t k = 0; k < t; ++k)
        if (DeviceId c = cards[g * t + k]; pool.allowed[c.v]) taken.erase(c);
    struct Place {
      Slot slot;
      DomainId hbd;
      std::size_t room;  // places in this domain: groups that move together should stay so
      int weak, torn;
    };
    std::vector<Place> places;
    for (FreeDomain d : pool.domains) {
      for (FreeNode& n : d.nodes) {
        FreeNode left{n.id, n.size, {}, {}};
        for (std::size_t i = 0; i < n.cards.size(); ++i)
          if (!taken.contains(n.cards[i])) left.cards.push_back(n.cards[i]), left.index.push_back(n.index[i]);
        n = std::move(left);
      }
      std::erase_if(d.nodes, [](const FreeNode& n) { return n.cards.empty(); });
      std::vector<Slot> slots = slots_of(d, request.job.strategy.tp, spread);
      for (Slot& slot : slots) {
        int weak = static_cast<int>(std::count_if(slot.begin(), slot.end(), [&](DeviceId c) { return !clean(c); }));
        int torn = spread.torn(workload::Dim::kTp, slot);
        places.push_back({std::move(slot), d.hbd, slots.size(), weak, torn});
      }
    }
    for (std::size_t g : groups) {
      DomainId home = s.hbd_of(cards[g * t]);
      auto key = [&](const Place& p) {
        int away = p.hbd != home, off_rail = 0;
        for (std::size_t k = 0; k < t; ++k) off_rail += s.device(p.slot[k]).index != s.device(request.keep[g * t + k]).index;
        return std::tuple(home_first ? away : 0, p.weak, p.torn, away, -static_cast<long>(p.room), off_rail);
      };
      auto best = std::min_element(places.begin(), places.end(), [&](const Place& a, const Place& b) { return key(a) < key(b); });
      if (best == places.end()) return false;
      for (std::size_t k = 0; k < t; ++k) mend(g * t + k, best->slot[k]);
      places.erase(best);
    }
    return true;
  }
  std::set<std::size_t> groups_of(const auto& ranks) const {
    std::set<std::size_t> out;
    for (std::size_t r : ranks) out.insert(r / t);
    return out;
  }
};

}  // namespace

Answer repair(const fabric::Snapshot& s, const Occupancy& occupied, const Request& request) {
  const workload::Strategy& st = request.job.strategy;
  if (auto ok = workload::validate(request.job.model, st); !ok) return Refusal{"strategy", ok.error().text()};
  if (request.keep.size() != static_cast<std::size_t>(st.world()))
    return Refusal{"keep", fmt::format("{} present cards for {} ranks", request.keep.size(), st.world())};
  for (DeviceId c : request.keep)
    if (!c.ok() || c.v >= s.device_count()) return Refusal{"keep", "a present card is not in the site"};
  auto groups = workload::make_groups(st);
  if (!groups) return Refusal{"strategy", groups.error().text()};

  Pool pool = free_cards(s, occupied, request, false);
  Spread spread(s);
  Mender base{s, pool, request, spread};
  base.look();

  std::vector<std::vector<DeviceId>> ways;
  auto add = [&](const std::vector<DeviceId>& cards) {
    if (std::find(ways.begin(), ways.end(), cards) == ways.end()) ways.push_back(cards);
  };
  {
    Mender m = base;  // card by card; groups that their domain cannot mend move whole
    m.swap_nodes();
    m.swap_cards();
    auto homeless = m.groups_of(m.open);
    if (homeless.empty() || m.move_groups(homeless, false)) add(m.cards);
  }
  for (bool home_first : {true, false}) {
    Mender m = base;  // every broken group moves whole
    if (m.move_groups(m.groups_of(m.broken), home_first)) add(m.cards);
  }
  Refusal none{"capacity", account_of(pool, st.world())};
  const StrategyEntry* strategy = strategies().find(request.strategy);
  // The job anew: first without the site's spare nodes, as a new job; then with them.
  for (bool with_spares : {false, true}) {
    Request fresh = request;
    if (!with_spares) fresh.keep.clear();
    Answer anew = strategy->run(s, occupied, fresh);
    if (auto* p = std::get_if<workload::Placement>(&anew)) add(p->cards);
    else none = std::get<Refusal>(anew);
  }

  std::set<DomainId> home;
  for (DeviceId c : request.keep) home.insert(s.hbd_of(c));
  struct Way {
    workload::Placement placement;
    int torn, moved;
  };
  std::vector<Way> legal;
  fabric::Routes routes(s);
  Scorer scorer(routes, request.job);
  for (std::vector<DeviceId>& cards : ways) {
    if (!request.job.policy.allow_migration &&
        std::any_of(cards.begin(), cards.end(), [&](DeviceId c) { return !home.contains(s.hbd_of(c)); })) {
      none = {"migration", "the job may not leave its domain (policy allow_migration: false), and there is no room for it there: " +
                               account_of(pool, st.world())};
      continue;
    }
    Answer done = finish(s, pool, request, scorer, cards, *groups);
    auto* p = std::get_if<workload::Placement>(&done);
    if (!p) {
      none = std::get<Refusal>(done);
      continue;
    }
    if (std::string why = illegal(s, occupied, request, *p); !why.empty()) {
      none = {"reachability", why};
      continue;
    }
    int moved = 0;
    for (std::size_t r = 0; r < p->cards.size(); ++r) moved += p->cards[r] != request.keep[r];
    int torn = spread.torn(*groups, p->cards);
    legal.push_back({std::move(*p), torn, moved});
  }
  if (legal.empty()) return none;
  // Time first, then whole groups, then little movement.
  auto keep_fastest = [&](double margin) {
    double best = legal[0].placement.score;
    for (const Way& w : legal) best = std::min(best, w.placement.score);
    std::erase_if(legal, [&](const Way& w) { return w.placement.score > best * (1 + margin); });
  };
  keep_fastest(kWorthTearing);
  int least = std::min_element(legal.begin(), legal.end(), [](const Way& a, const Way& b) { return a.torn < b.torn; })->torn;
  std::erase_if(legal, [&](const Way& w) { return w.torn > least; });
  keep_fastest(kEqual);
  auto best = std::min_element(legal.begin(), legal.end(), [](const Way& a, const Way& b) {
    return std::pair(a.moved, a.placement.score) < std::pair(b.moved, b.placement.score);
  });
  return best->placement;
}

}  // namespace weft::place
