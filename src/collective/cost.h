// The one home of the cost of a collective. cost(algorithm, shape, bytes) is closed form; sim is held against it in tests/.
// Formulas: α-β model, facts of the field (Thakur, Rabenseifner, Gropp 2005; NVIDIA NCCL performance notes).
#pragma once

#include <string>
#include <vector>

#include "base/registry.h"
#include "base/units.h"
#include "fabric/routes.h"
#include "workload/dag.h"

namespace weft::collective {

// What a collective's time depends on. Equal shapes, equal cost. One tier: the members of one HBD; two tiers: `domains` HBDs.
struct GroupShape {
  int members = 1;
  int domains = 1;                 // HBDs the group spans
  int min_per_domain = 1, max_per_domain = 1;
  BytesPerSecond inner{0};         // one member's rate inside its HBD, one direction (min over members)
  Seconds inner_latency{0};        // α inside
  BytesPerSecond outer{0};         // one member's rate between HBDs
  Seconds outer_latency{0};
  BytesPerSecond outer_single{0};  // what one flow between two HBDs reaches when the other members are silent
  bool inner_reduction = false;    // switches reduce (NVLS-like) inside
  bool outer_reduction = false;    // SHARP-like
  bool operator==(const GroupShape&) const = default;
};
GroupShape shape_of(const std::vector<fabric::DeviceId>& cards, fabric::Routes& routes);

struct Cost {
  Seconds time{0};
  Seconds latency_part{0};
  double bytes_sent_inner = 0, bytes_sent_outer = 0;  // by the busiest member
};

// A point-to-point message of one step of an algorithm; chunk ids are positions in the vector split into `chunks`.
struct Transfer {
  int step, from, to;
  std::vector<int> chunks;
  bool reduce;             // receiver adds; else it overwrites
};
struct Schedule {
  int chunks = 1;
  std::vector<Transfer> transfers;  // ordered by step; a step starts when the step before has ended
  bool in_network = false;          // switch does the arithmetic: transfers describe the effect, not the wire
};

// One edge: `share` of the vector's bytes go from member `from` to member `to` during the phase.
struct Edge {
  int from, to;
  double share;
};
struct Phase {
  std::vector<Edge> edges;
  double rounds = 0;                // messages one after another: each costs one α
  bool all_to_all = false;          // edges left out: every member sends `uniform` of the vector to each of the others of its block of `block`
  double uniform = 0;
  int block = 0;
};

struct Algorithm {
  std::string name;                 // "ring"
  std::string help;
  bool (*supports)(workload::Collective kind, const GroupShape& shape);
  Cost (*cost)(workload::Collective kind, const GroupShape& shape, Bytes bytes);
  // Bytes on the wire per phase, phases one after another; shares of the vector. What the flow model puts on links.
  std::vector<Phase> (*phases)(workload::Collective kind, int n, int d);
  // Explicit schedule for n members (domains of d members each for hierarchical ones; d divides n). Used by the verifier and the flow model.
  Schedule (*schedule)(workload::Collective kind, int n, int d);
};
Registry<Algorithm>& algorithms();

struct Choice {
  const Algorithm* algorithm = nullptr;
  Cost cost;
};
// Fastest by predicted time; ties by name. Never null for n >= 1 (ring supports everything but all-to-all, pairwise does that).
Choice choose(workload::Collective kind, const GroupShape& shape, Bytes bytes);
// Bus bandwidth as nccl-tests define it.
BytesPerSecond bus_bandwidth(workload::Collective kind, int members, Bytes bytes, Seconds time);

// Symbolic proof that every rank ends with the right data. Empty string when right, else what is wrong.
std::string verify(workload::Collective kind, int n, const Schedule& schedule);

}  // namespace weft::collective
