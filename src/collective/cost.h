// The one home of the cost of a collective. cost(algorithm, shape, bytes) is closed form; sim is held against it in tests/. Where a group's
// shape says that closed forms are not exact, predict.h takes the transfer from the bytes on the group's links.
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
  int domains = 1;  // HBDs the group spans
  int min_per_domain = 1, max_per_domain = 1;
  BytesPerSecond inner{0};   // one member's rate inside its HBD, one direction (min over members)
  Seconds inner_latency{0};  // α inside
  BytesPerSecond outer{0};   // one member's rate between HBDs
  Seconds outer_latency{0};
  BytesPerSecond inner_pair{0};  // what each reaches towards its next one inside, all at once (a full mesh: one cable); 0 = inner
  bool inner_reduction = false;  // switches reduce (NVLS-like) inside
  bool outer_reduction = false;  // SHARP-like
  // Members joined by cables, not by switches (mesh, torus, cube): others inside that every member has a cable to.
  bool direct = false;
  int peers = 0;
  // Closed forms are not exact: members hang on different switches or links, pass traffic on for each other, or span domains; a Predictor walks
  // the routes. `reach`: rate and latency towards the member 2, 4, 8 … further on inside, all at once, where `direct`: tells groups that are laid
  // out differently apart.
  bool routed = false;
  std::vector<std::pair<double, double>> reach;
  bool operator==(const GroupShape&) const = default;
};
constexpr int kReachMembers = 256;  // larger groups have no `reach`: their routes are too many
// Latency of one message on top of links and switches: software and protocol of the library. NCCL's hop latencies (src/graph/tuning.cc,
// ring, LL128 protocol): 1.9 us over NVLink, 4 us over the network.
constexpr Seconds kInnerOverhead{1.9e-6}, kOuterOverhead{4e-6};
// Members that cannot reach each other inside their HBD count as domains of their own. O(members · ports).
GroupShape shape_of(const std::vector<fabric::DeviceId>& cards, fabric::Routes& routes);
// Positions of the group regrouped so that the members of one domain lie together, domains by first member: the order algorithms assume.
std::vector<std::vector<int>> domain_order(const std::vector<fabric::DeviceId>& cards, fabric::Routes& routes);
// Members per domain when all domains are equal (members itself for one domain), else 1: every member counts as its own domain.
int per_domain(const GroupShape& shape);

struct Cost {
  Seconds time{0};
  Seconds latency_part{0};
  double bytes_sent_inner = 0, bytes_sent_outer = 0;  // by the busiest member
};

// A point-to-point message of one step of an algorithm; chunk ids are positions in the vector split into `chunks`.
struct Transfer {
  int step, from, to;
  std::vector<int> chunks;
  bool reduce;  // receiver adds; else it overwrites
};
struct Schedule {
  int chunks = 1;
  std::vector<Transfer> transfers;  // ordered by step; a step starts when the step before has ended
  bool in_network = false;          // switch does the arithmetic: transfers describe the effect, not the wire
};

// What an algorithm puts on the wire, summed over its steps: edges of one phase progress together, phases follow each other.
struct Edge {
  int from, to;  // positions in the group; kSwitches: the reducing switches
  double share;  // of the operation's bytes
  bool operator==(const Edge&) const = default;
};
constexpr int kSwitches = -1;
using Phase = std::vector<Edge>;

struct Algorithm {
  std::string name;  // "ring"
  std::string help;
  bool (*supports)(workload::Collective kind, const GroupShape& shape);
  Cost (*cost)(workload::Collective kind, const GroupShape& shape, Bytes bytes);
  // Explicit schedule for n members in domains of d, in order (d divides n; d = n: one domain). What the verifier proves.
  Schedule (*schedule)(workload::Collective kind, int n, int d);
  // The bytes per edge without the steps: what the flow model carries. A test holds them against the schedule.
  std::vector<Phase> (*phases)(workload::Collective kind, int n, int d);
};
Registry<Algorithm>& algorithms();

struct Choice {
  const Algorithm* algorithm = nullptr;
  Cost cost;
};
// Fastest by closed form; ties by name. Never null for n >= 1 (ring supports everything but all-to-all, pairwise does that).
Choice choose(workload::Collective kind, const GroupShape& shape, Bytes bytes);
// Bus bandwidth as nccl-tests define it.
BytesPerSecond bus_bandwidth(workload::Collective kind, int members, Bytes bytes, Seconds time);

// Layout the proof asks for: chunk c of `chunks` belongs to rank c · n / chunks (all-gather, reduce-scatter); broadcast comes from rank 0;
// all-to-all chunk c goes from rank c · n / chunks to rank (c · n² / chunks) mod n.
// Symbolic proof that every rank ends with the right data. Empty string when right, else what is wrong.
std::string verify(workload::Collective kind, int n, const Schedule& schedule);

}  // namespace weft::collective
