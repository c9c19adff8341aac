#include "place/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace weft::place {

using fabric::DeviceId;
using fabric::DeviceKind;

std::vector<Slot> slots_of(const FreeDomain& domain, int tp, const Spread& spread) {
  auto t = static_cast<std::size_t>(tp);
  std::vector<Slot> out;
  auto chop = [&](const std::vector<DeviceId>& cards, std::vector<DeviceId>& left) {
    std::size_t i = 0;
    for (; i + t <= cards.size(); i += t)
      out.emplace_back(cards.begin() + static_cast<std::ptrdiff_t>(i), cards.begin() + static_cast<std::ptrdiff_t>(i + t));
    left.insert(left.end(), cards.begin() + static_cast<std::ptrdiff_t>(i), cards.end());
  };
  // Inside one unit (first switches) first, then what is left across units.
  auto chop_by_unit = [&](std::vector<DeviceId> cards, std::vector<DeviceId>& left) {
    std::stable_sort(cards.begin(), cards.end(), [&](DeviceId a, DeviceId b) { return spread.unit(a) < spread.unit(b); });
    std::vector<DeviceId> across;
    for (std::size_t i = 0, j; i < cards.size(); i = j) {
      for (j = i; j < cards.size() && spread.unit(cards[j]) == spread.unit(cards[i]);) ++j;
      chop({cards.begin() + static_cast<std::ptrdiff_t>(i), cards.begin() + static_cast<std::ptrdiff_t>(j)}, across);
    }
    chop(across, left);
  };
  std::vector<DeviceId> whole, loose;
  for (const FreeNode& n : domain.nodes) {
    if (n.size == n.cards.size()) {
      if (n.size < t) whole.insert(whole.end(), n.cards.begin(), n.cards.end());
      else chop(n.cards, loose);
      continue;
    }
    if (n.size < t) {
      loose.insert(loose.end(), n.cards.begin(), n.cards.end());
      continue;
    }
    // A node with holes: aligned blocks of cards that are all there, then what else fits.
    std::vector<DeviceId> odd;
    for (std::size_t i = 0; i < n.cards.size();) {
      std::size_t j = i;
      while (j < n.cards.size() && n.index[j] / t == n.index[i] / t) ++j;
      if (j - i == t) out.emplace_back(n.cards.begin() + static_cast<std::ptrdiff_t>(i), n.cards.begin() + static_cast<std::ptrdiff_t>(j));
      else odd.insert(odd.end(), n.cards.begin() + static_cast<std::ptrdiff_t>(i), n.cards.begin() + static_cast<std::ptrdiff_t>(j));
      i = j;
    }
    chop(odd, loose);
  }
  std::vector<DeviceId> rest;
  chop_by_unit(whole, loose);
  std::sort(loose.begin(), loose.end());
  chop_by_unit(loose, rest);
  std::vector<std::pair<std::pair<int, DeviceId>, Slot>> order;
  for (Slot& slot : out) {
    std::pair key{spread.torn(workload::Dim::kTp, slot), slot.front()};
    order.emplace_back(key, std::move(slot));
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  out.clear();
  for (auto& [key, slot] : order) out.push_back(std::move(slot));
  return out;
}

int slot_rank(const workload::Strategy& s, int cp, int dp, int pp) { return cp + s.cp * (dp + s.dp * pp); }

std::vector<DeviceId> pick_spares(const fabric::Snapshot& s, const Pool& pool, const std::vector<DeviceId>& cards, int count) {
  std::vector<DeviceId> out;
  if (count <= 0) return out;
  std::set<DeviceId> used(cards.begin(), cards.end());
  std::set<fabric::DomainId> home;
  for (DeviceId c : cards) home.insert(s.hbd_of(c));
  int nodes = 0;
  for (bool own : {true, false})
    for (const auto* domains : {&pool.kept, &pool.domains})
      for (const FreeDomain& d : *domains) {
        if (home.contains(d.hbd) != own) continue;
        // From the end: jobs grow from the front.
        for (auto n = d.nodes.rbegin(); n != d.nodes.rend() && nodes < count; ++n) {
          if (n->cards.size() != n->size || std::any_of(n->cards.begin(), n->cards.end(), [&](DeviceId c) { return used.contains(c); }))
            continue;
          out.insert(out.end(), n->cards.begin(), n->cards.end());
          ++nodes;
        }
      }
  std::sort(out.begin(), out.end());
  return out;
}

namespace {
int whole_nodes(const fabric::Snapshot& s, const std::vector<DeviceId>& cards) {
  std::set<DeviceId> nodes;
  for (DeviceId c : cards) nodes.insert(s.container(c, DeviceKind::kNode));
  return static_cast<int>(nodes.size());
}
}  // namespace

Answer finish(const fabric::Snapshot& s, const Pool& pool, const Request& request, Scorer& scorer, std::vector<DeviceId> cards,
              const std::vector<workload::Group>& groups) {
  workload::Placement p;
  p.job = request.job.name;
  p.groups = groups;
  int wanted = request.job.policy.spare_nodes;
  p.spares = pick_spares(s, pool, cards, wanted);
  int found = whole_nodes(s, p.spares);
  if (found < wanted)
    return Refusal{"spares", fmt::format("the job keeps {} spare nodes, but beside its {} cards only {} whole nodes are free; ask for "
                                         "fewer spares, lower dp, or free or repair a node",
                                         wanted, cards.size(), found)};
  p.score = scorer.comm(groups, cards) + scorer.compute(cards);
  p.cards = std::move(cards);
  p.snapshot_version = s.version();
  return p;
}

std::optional<Refusal> impossible(const fabric::Snapshot& s, const Pool& pool, const Request& request) {
  const workload::Strategy& st = request.job.strategy;
  if (auto ok = workload::validate(request.job.model, st); !ok) return Refusal{"strategy", ok.error().text()};
  if (pool.cards == 0) return Refusal{"capacity", fmt::format("site {} has no accelerator cards", s.site_name())};
  if (pool.free < st.world()) {
    int replica = st.world() / st.dp, fit = pool.free / std::max(replica, 1);
    return Refusal{pool.unhealthy && pool.free + pool.unhealthy >= st.world() ? "health" : "capacity",
                   account_of(pool, st.world()) +
                       (fit >= 1 ? fmt::format("; dp {} would fit", fit)
                                 : fmt::format("; one replica alone needs {} cards: lower pp or cp, or repair or free cards", replica))};
  }
  Spread spread(s);
  std::size_t slots = 0, widest = 0, grouped = 0;
  for (const FreeDomain& d : pool.domains) {
    slots += slots_of(d, st.tp, spread).size();
    widest = std::max<std::size_t>(widest, static_cast<std::size_t>(d.cards));
    grouped += d.hbd.ok();
  }
  if (st.tp > 1 && grouped == 0)
    return Refusal{"tp-in-one-hbd", fmt::format("tp {} needs cards joined in one high-bandwidth domain, but site {} describes no scale-up "
                                                "network; add it to the site file (scale_up:), or use tp 1",
                                                st.tp, s.site_name())};
  if (slots < static_cast<std::size_t>(st.world() / st.tp)) {
    std::size_t most = 1;
    for (std::size_t t = 1; t <= widest; ++t) {
      if (st.tp % static_cast<int>(t)) continue;
      std::size_t n = 0;
      for (const FreeDomain& d : pool.domains) n += slots_of(d, static_cast<int>(t), spread).size() * t;
      if (n >= static_cast<std::size_t>(st.world())) most = t;
    }
    return Refusal{"tp-in-one-hbd", fmt::format("{} tensor-parallel groups of {} cards must each lie in one high-bandwidth domain, but "
                                                "only {} such places are free (the widest domain has {} free cards); tp {} would fit. {}",
                                                st.world() / st.tp, st.tp, slots, widest, most, account_of(pool, st.world()))};
  }
  return std::nullopt;
}

}  // namespace weft::place
