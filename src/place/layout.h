// From an order of tensor-parallel groups to cards: slots of tp cards inside one domain, filled in the order a strategy chooses.
#pragma once

#include <optional>

#include "place/pool.h"
#include "place/score.h"
#include "place/spread.h"

namespace weft::place {

using Slot = std::vector<fabric::DeviceId>;  // cards of one tensor-parallel group, by tp index

// Slots of `tp` cards inside this domain, contiguous, from whole nodes where that works and aligned so that the same index sits on the same
// rail. Those torn over more first switches than their size needs come last.
std::vector<Slot> slots_of(const FreeDomain& domain, int tp, const Spread& spread);

// A replica's position in the job: which tensor-parallel group (rank / tp).
int slot_rank(const workload::Strategy& s, int cp, int dp, int pp);

// Nodes that are wholly free, allowed and not used by `cards`: `count` of them, in the job's own domains first. Fewer when there are no more.
std::vector<fabric::DeviceId> pick_spares(const fabric::Snapshot& snapshot, const Pool& pool, const std::vector<fabric::DeviceId>& cards,
                                          int count);

// Placement with groups, spares and score; the constraint broken when spares are missing.
Answer finish(const fabric::Snapshot& snapshot, const Pool& pool, const Request& request, Scorer& scorer,
              std::vector<fabric::DeviceId> cards, const std::vector<workload::Group>& groups);

// What every strategy checks first: degrees that divide, enough cards, a domain that holds a tensor-parallel group.
std::optional<Refusal> impossible(const fabric::Snapshot& snapshot, const Pool& pool, const Request& request);

}  // namespace weft::place
