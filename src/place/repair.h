// After a fault: the placement that makes the job whole again. Several ways are tried: single cards of the same domain, a whole spare node
// for a lost one, the broken tensor-parallel groups moved whole (at home, else to another domain), the job placed anew. The fastest predicted
// step wins; ways that are equally fast are told apart by torn groups (spread.h), then by how many ranks move.
#pragma once

#include "place/pool.h"

namespace weft::place {

// `request.keep` holds the present cards by rank. A refusal "keep" when it is no full placement of this job; else the constraint that
// no way out can keep.
Answer repair(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request);

}  // namespace weft::place
