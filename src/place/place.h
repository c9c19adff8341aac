// Jobs on cards: from the parallel structure to a Placement, or the first broken constraint. Topology- and health-aware,
// contiguous, spares kept. Pure.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/registry.h"
#include "fabric/routes.h"
#include "workload/types.h"

namespace weft::place {

struct Request {
  workload::Job job;
  std::vector<fabric::DeviceId> avoid;  // cards or containers not to use
  std::vector<fabric::DeviceId> keep;   // prefer these (current placement, for a repair: least movement)
  std::string strategy = "topology";    // registry name
  std::uint64_t seed = 1;
};

// What is already on the machine.
struct Occupancy {
  std::vector<workload::Placement> placements;
};

struct Refusal {
  std::string constraint;  // "tp-in-one-hbd", "capacity", "health", "spares" …
  std::string text;        // what is missing and what would help
};
using Answer = std::variant<workload::Placement, Refusal>;

Answer place(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request);

// Every rule a placement must keep; empty when legal. Used by tests and by control's re-check.
std::string illegal(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request,
                    const workload::Placement& placement);
// Predicted exposed communication time of a step (collective costs by shape), the score that strategies minimise.
Seconds predicted_comm(fabric::Routes& routes, const workload::Job& job, const workload::Placement& placement);

struct StrategyEntry {
  std::string name;
  std::string help;
  Answer (*run)(const fabric::Snapshot&, const Occupancy&, const Request&);
};
Registry<StrategyEntry>& strategies();

}  // namespace weft::place
