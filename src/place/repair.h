// After a fault: the least movement that makes a placement legal again. A broken tensor-parallel group first takes cards of its own
// domain (a whole spare node for a lost node), else moves whole to another domain; when the job would do better altogether elsewhere,
// it migrates.
#pragma once

#include <optional>

#include "place/pool.h"

namespace weft::place {

// `request.keep` holds the present cards by rank. Nothing when it is no full placement of this job, or when nothing fits.
std::optional<workload::Placement> repair(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request);

}  // namespace weft::place
