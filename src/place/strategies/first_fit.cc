// Cards in id order, tensor-parallel groups filled one after the other: what a scheduler without topology does.
#include "place/layout.h"

namespace weft::place {
namespace {

Answer run(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request) {
  Pool pool = free_cards(snapshot, occupied, request, false);
  if (auto no = impossible(snapshot, pool, request)) return *no;
  const workload::Strategy& s = request.job.strategy;
  std::vector<fabric::DeviceId> cards;
  Spread spread(snapshot);
  for (const FreeDomain& d : pool.domains)
    for (const Slot& slot : slots_of(d, s.tp, spread))
      if (cards.size() < static_cast<std::size_t>(s.world())) cards.insert(cards.end(), slot.begin(), slot.end());
  fabric::Routes routes(snapshot);
  Scorer scorer(routes, request.job);
  auto groups = workload::make_groups(s);
  if (!groups) return Refusal{"strategy", groups.error().text()};
  return finish(snapshot, pool, request, scorer, std::move(cards), *groups);
}

WEFT_REGISTER(strategies(), {"first_fit", "cards in order, without regard to topology or link health", run});

}  // namespace
}  // namespace weft::place
