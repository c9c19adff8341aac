// The default. Cuts the grid of tensor-parallel groups (data × pipeline) into blocks that fit a domain, tries every block shape in both orders
// over domains in best-fit order, clean cards before weak ones, and keeps the one with the least predicted communication. Cost:
// O(shapes × groups' members), shapes at most the divisor pairs of dp and pp that fill more than half a domain.
#include <algorithm>
#include <limits>
#include <map>

#include "place/layout.h"

namespace weft::place {
namespace {

using fabric::DeviceId;

struct Domain {
  std::vector<Slot> slots;
  std::uint64_t region;
};

// Domains by region; the region or domain that just holds the job first, so that larger holes stay whole.
std::vector<Domain> ordered(const Pool& pool, int tp, std::size_t need, int reserve, const Spread& spread) {
  std::vector<Domain> out;
  for (FreeDomain d : pool.domains) {
    if (reserve > 0) {
      // Keep the last whole nodes of the domain free, besides those the site keeps anyway.
      int kept = 0;
      for (const FreeDomain& k : pool.kept)
        if (k.hbd == d.hbd && d.hbd.ok()) kept = std::min<int>(reserve, static_cast<int>(k.nodes.size()));
      for (std::size_t i = d.nodes.size(); i-- > 0 && kept < reserve;)
        if (d.nodes[i].cards.size() == d.nodes[i].size) d.nodes.erase(d.nodes.begin() + static_cast<std::ptrdiff_t>(i)), ++kept;
      if (kept < reserve) continue;
    }
    if (auto slots = slots_of(d, tp, spread); !slots.empty()) out.push_back({std::move(slots), d.region});
  }
  std::map<std::uint64_t, std::size_t> region;
  for (const Domain& d : out) region[d.region] += d.slots.size();
  auto key = [&](const Domain& d) {
    // Fits: least left over first. Does not fit: largest first.
    auto rank = [&](std::size_t room) {
      return room >= need ? std::pair<int, std::size_t>{0, room - need}
                          : std::pair<int, std::size_t>{1, std::numeric_limits<std::size_t>::max() - room};
    };
    auto own = rank(d.slots.size());
    return own.first == 0 ? std::pair{own, own} : std::pair{std::pair<int, std::size_t>{1, 0}, rank(region[d.region])};
  };
  std::vector<std::pair<std::pair<std::pair<int, std::size_t>, std::pair<int, std::size_t>>, std::size_t>> order;
  for (std::size_t i = 0; i < out.size(); ++i) order.emplace_back(key(out[i]), i);
  // Equal keys: by region, then by id.
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : out[a.second].region < out[b.second].region;
  });
  std::vector<Domain> sorted;
  for (const auto& [k, i] : order) sorted.push_back(std::move(out[i]));
  return sorted;
}

// Cards by rank for blocks of cp × db × pb groups; empty when they do not fit.
std::vector<DeviceId> lay(const std::vector<Domain>& domains, const workload::Strategy& s, int db, int pb, bool pipeline_first) {
  std::size_t block = static_cast<std::size_t>(s.cp) * db * pb, t = static_cast<std::size_t>(s.tp);
  std::vector<DeviceId> cards(static_cast<std::size_t>(s.world()));
  int across_d = s.dp / db, across_p = s.pp / pb, total = across_d * across_p, next = 0;
  for (const Domain& d : domains) {
    for (std::size_t at = 0; at + block <= d.slots.size() && next < total; at += block, ++next) {
      int bd = pipeline_first ? next / across_p : next % across_d, bp = pipeline_first ? next % across_p : next / across_d;
      std::size_t k = at;
      for (int p = 0; p < pb; ++p)
        for (int dd = 0; dd < db; ++dd)
          for (int c = 0; c < s.cp; ++c, ++k) {
            auto rank = static_cast<std::size_t>(slot_rank(s, c, bd * db + dd, bp * pb + p)) * t;
            std::copy(d.slots[k].begin(), d.slots[k].end(), cards.begin() + static_cast<std::ptrdiff_t>(rank));
          }
    }
    if (next == total) return cards;
  }
  return {};
}

// All groups in a row, across domain borders: uses every slot there is.
std::vector<DeviceId> in_a_row(const std::vector<Domain>& domains, const workload::Strategy& s, bool pipeline_first) {
  std::vector<DeviceId> cards(static_cast<std::size_t>(s.world()));
  int next = 0, total = s.world() / s.tp;
  for (const Domain& d : domains)
    for (const Slot& slot : d.slots) {
      if (next == total) return cards;
      int c = next % s.cp, rest = next / s.cp;
      int dd = pipeline_first ? rest / s.pp : rest % s.dp, p = pipeline_first ? rest % s.pp : rest / s.dp;
      auto rank = static_cast<std::size_t>(slot_rank(s, c, dd, p)) * static_cast<std::size_t>(s.tp);
      std::copy(slot.begin(), slot.end(), cards.begin() + static_cast<std::ptrdiff_t>(rank));
      ++next;
    }
  return next == total ? cards : std::vector<DeviceId>{};
}

Answer run(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request) {
  const workload::Strategy& s = request.job.strategy;
  Pool all = free_cards(snapshot, occupied, request, false);
  if (auto no = impossible(snapshot, all, request)) return *no;
  auto groups = workload::make_groups(s);
  if (!groups) return Refusal{"strategy", groups.error().text()};
  fabric::Routes routes(snapshot);
  Scorer scorer(routes, request.job);
  Spread spread(snapshot);
  int spares = request.job.policy.spare_nodes;
  Answer best = Refusal{"capacity", "no arrangement of the job's groups fits the free cards"};
  bool found = false;
  std::optional<Refusal> spare_refusal;

  auto attempt = [&](const Pool& pool, int reserve) {
    auto need = static_cast<std::size_t>(s.world() / s.tp);
    std::vector<Domain> domains = ordered(pool, s.tp, need, reserve, spread);
    std::size_t room = 0, widest = 0;
    for (const Domain& d : domains) room += d.slots.size(), widest = std::max(widest, d.slots.size());
    if (room < need) return;
    std::vector<std::vector<DeviceId>> tried;
    auto consider = [&](std::vector<DeviceId> cards) {
      if (cards.empty() || std::find(tried.begin(), tried.end(), cards) != tried.end()) return;
      Answer answer = finish(snapshot, all, request, scorer, cards, *groups);
      tried.push_back(std::move(cards));
      if (auto* no = std::get_if<Refusal>(&answer)) {
        spare_refusal = *no;
        return;
      }
      // A weak card must earn its place: better by more than one part in a thousand.
      double margin = found ? 1e-9 : 0;
      if (!found || std::get<workload::Placement>(answer).score < std::get<workload::Placement>(best).score * (1 - margin))
        best = std::move(answer), found = true;
    };
    consider(in_a_row(domains, s, false));
    consider(in_a_row(domains, s, true));
    for (int db = 1; db <= s.dp; ++db) {
      if (s.dp % db) continue;
      for (int pb = 1; pb <= s.pp; ++pb) {
        std::size_t block = static_cast<std::size_t>(s.cp) * db * pb;
        if (s.pp % pb || block > widest || (block * 2 <= widest && block < need)) continue;
        consider(lay(domains, s, db, pb, true));
        consider(lay(domains, s, db, pb, false));
      }
    }
  };

  // Clean cards with the spares in every domain; clean cards; then weak ones too.
  for (bool clean : {true, false}) {
    if (clean && all.weak_free == 0) continue;  // the same as without the distinction
    Pool pool = clean ? free_cards(snapshot, occupied, request, true) : all;
    if (spares > 0) attempt(pool, spares);
    if (!found) attempt(pool, 0);
    if (found) break;
  }
  if (!found && spare_refusal) return *spare_refusal;
  return best;
}

WEFT_REGISTER(strategies(), {"topology", "blocks of groups that fit a domain, least predicted communication, clean links first", run});

}  // namespace
}  // namespace weft::place
