// Branch and bound over every legal placement, for small jobs: the yardstick for the heuristic. Cards that no link can tell apart are
// tried once; a branch whose finished groups already cost as much as the best answer is left.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <variant>

#include "place/layout.h"

namespace weft::place {
namespace {

using fabric::DeviceId;

constexpr int kMostRanks = 8;
constexpr std::uint64_t kMostBranches = 300'000;

struct Search {
  const workload::Strategy& s;
  Scorer& scorer;
  const std::vector<workload::Group>& groups;
  std::vector<std::vector<const workload::Group*>> ends_at;  // by rank: groups whose last rank it is
  std::vector<DeviceId> candidates;
  std::vector<int> kind;  // by candidate: equal = interchangeable
  std::vector<fabric::DomainId> hbd;
  std::vector<bool> used;
  std::vector<DeviceId> cards, best;
  double best_cost = 1e300;
  std::uint64_t branches = 0;
  std::map<std::vector<DeviceId>, double> known[5];  // group costs by dimension and cards; stages cost alike or are keyed by rank

  double cost(const workload::Group& g) {
    std::vector<DeviceId> key;
    for (int r : g.ranks) key.push_back(cards[static_cast<std::size_t>(r)]);
    key.push_back(DeviceId{static_cast<std::uint32_t>(g.ranks[0] / (s.tp * s.cp * s.dp))});
    auto [at, fresh] = known[static_cast<std::size_t>(g.dim)].emplace(std::move(key), 0.0);
    if (fresh) at->second = scorer.group_time(g, cards);
    return at->second;
  }

  bool down(std::size_t rank, std::array<double, 5> worst) {
    if (++branches > kMostBranches) return false;
    if (rank == cards.size()) {
      double total = worst[0] + worst[1] + worst[2] + worst[3] + worst[4];
      if (total < best_cost) best_cost = total, best = cards;
      return true;
    }
    std::set<int> tried;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (used[i]) continue;
      if (rank % static_cast<std::size_t>(s.tp) != 0) {
        std::size_t head = rank - rank % static_cast<std::size_t>(s.tp);
        auto at = std::find(candidates.begin(), candidates.end(), cards[head]) - candidates.begin();
        if (!hbd[i].ok() || hbd[static_cast<std::size_t>(at)] != hbd[i]) continue;
      }
      if (!tried.insert(kind[i]).second) continue;
      used[i] = true;
      cards[rank] = candidates[i];
      std::array<double, 5> next = worst;
      for (const workload::Group* g : ends_at[rank]) {
        double& w = next[static_cast<std::size_t>(g->dim)];
        w = std::max(w, cost(*g));
      }
      bool go = true;
      if (next[0] + next[1] + next[2] + next[3] + next[4] < best_cost) go = down(rank + 1, next);
      used[i] = false;
      if (!go) return false;
    }
    return true;
  }
};

Answer run(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request) {
  Pool pool = free_cards(snapshot, occupied, request, false);
  if (auto no = impossible(snapshot, pool, request)) return *no;
  const workload::Strategy& s = request.job.strategy;
  if (s.world() > kMostRanks)
    return Refusal{"size",
                   fmt::format("exact search is for jobs of at most {} ranks, not {}; use --strategy topology", kMostRanks, s.world())};
  auto groups = workload::make_groups(s);
  if (!groups) return Refusal{"strategy", groups.error().text()};
  fabric::Routes routes(snapshot);
  Scorer scorer(routes, request.job);
  Search search{s, scorer, *groups, {}, {}, {}, {}, {}, {}, {}, 1e300, 0, {}};
  search.ends_at.resize(static_cast<std::size_t>(s.world()));
  for (const workload::Group& g : *groups)
    search.ends_at[static_cast<std::size_t>(*std::max_element(g.ranks.begin(), g.ranks.end()))].push_back(&g);
  // The heuristic's answer bounds the search from above; only what is strictly better replaces it.
  Request easy = request;
  easy.strategy = "topology";
  Answer start = strategies().find("topology")->run(snapshot, occupied, easy);
  if (const auto* p = std::get_if<workload::Placement>(&start))
    search.best = p->cards, search.best_cost = scorer.comm(*groups, p->cards) * (1 - 1e-9);
  // Interchangeable: same node (or a NIC of its own each), links of equal rate to the same peers, on both networks.
  std::map<std::vector<std::uint64_t>, int> kinds;
  for (const FreeDomain& d : pool.domains)
    for (const FreeNode& n : d.nodes)
      for (std::size_t k = 0; k < n.cards.size(); ++k) {
        DeviceId c = n.cards[k];
        std::vector<DeviceId> nics;
        if (n.id.ok())
          for (DeviceId x : snapshot.children(n.id))
            if (snapshot.device(x).kind == fabric::DeviceKind::kNic) nics.push_back(x);
        bool own = nics.size() == n.size;
        std::vector<std::uint64_t> key{d.hbd.v, own ? 0 : n.id.v + 1, static_cast<std::uint64_t>(snapshot.health(c).speed_factor * 1e6)};
        std::vector<std::uint64_t> ways;
        auto add = [&](DeviceId x) {
          for (fabric::PortId p : snapshot.ports_of(x))
            if (fabric::LinkId l = snapshot.port(p).link; l.ok())
              ways.push_back((std::uint64_t{snapshot.port(snapshot.peer(p)).device.v} << 32) ^
                             static_cast<std::uint64_t>(snapshot.effective_rate(l).value() / 1e6));
        };
        add(c);
        if (own) add(nics[n.index[k]]);
        else if (!nics.empty()) key.push_back(n.index[k] * nics.size() / n.size);
        std::sort(ways.begin(), ways.end());
        key.insert(key.end(), ways.begin(), ways.end());
        search.candidates.push_back(c);
        search.kind.push_back(kinds.emplace(key, static_cast<int>(kinds.size())).first->second);
        search.hbd.push_back(d.hbd);
      }
  search.used.assign(search.candidates.size(), false);
  search.cards.resize(static_cast<std::size_t>(s.world()));
  if (!search.down(0, {}))
    return Refusal{"size", fmt::format("exact search gave up after {} branches; use --strategy topology", kMostBranches)};
  return finish(snapshot, pool, request, scorer, search.best, *groups);
}

WEFT_REGISTER(strategies(), {"exact", "branch and bound over all legal placements, for small jobs", run});

}  // namespace
}  // namespace weft::place
