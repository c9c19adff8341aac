// Any legal placement, drawn from the seed: the yardstick that every other strategy must beat.
#include "base/random.h"
#include "place/layout.h"

namespace weft::place {
namespace {

template <class T>
void shuffle(std::vector<T>& v, Random& random) {
  for (std::size_t i = v.size(); i > 1; --i)
    std::swap(v[i - 1], v[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
}

Answer run(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request) {
  Pool pool = free_cards(snapshot, occupied, request, false);
  if (auto no = impossible(snapshot, pool, request)) return *no;
  const workload::Strategy& s = request.job.strategy;
  Random random(request.seed);
  std::vector<Slot> slots;
  for (const FreeDomain& d : pool.domains) {
    // Any cards of one domain make a slot.
    std::vector<fabric::DeviceId> all;
    for (const FreeNode& n : d.nodes) all.insert(all.end(), n.cards.begin(), n.cards.end());
    shuffle(all, random);
    auto t = static_cast<std::size_t>(s.tp);
    for (std::size_t i = 0; i + t <= all.size(); i += t)
      slots.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i), all.begin() + static_cast<std::ptrdiff_t>(i + t));
  }
  shuffle(slots, random);
  std::vector<fabric::DeviceId> cards;
  for (const Slot& slot : slots)
    if (cards.size() < static_cast<std::size_t>(s.world())) cards.insert(cards.end(), slot.begin(), slot.end());
  fabric::Routes routes(snapshot);
  Scorer scorer(routes, request.job);
  auto groups = workload::make_groups(s);
  if (!groups) return Refusal{"strategy", groups.error().text()};
  return finish(snapshot, pool, request, scorer, std::move(cards), *groups);
}

WEFT_REGISTER(strategies(), {"random", "any legal placement, drawn from the seed", run});

}  // namespace
}  // namespace weft::place
