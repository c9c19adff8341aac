// Contract of a topology: given end points (cards or NICs, grouped by node) it adds switches and links to the builder. One file per topology,
// ending in one WEFT_REGISTER line; the site file's keys are the registered parameters plus the common ones below.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/registry.h"
#include "base/yaml.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

struct Wiring {
  SnapshotBuilder& builder;
  std::vector<std::vector<DeviceId>> groups;  // end points by node, in order; never empty groups
  std::vector<DeviceId> nodes;                // the node of each group (none for groups without one)
  DeviceId parent;                            // new switches go here, unless a topology puts them into the nodes
  std::string prefix;                         // of switch names, "" or "up-"
  NetworkSet networks = 0;
  const Yaml& spec;  // the mapping in the site file
  std::uint32_t switch_model = UINT32_MAX;
  BitsPerSecond rate{0};                   // common key "rate": one link, one direction; 0 = not known
  Medium medium = Medium::kUnknown;        // common keys "medium", "length" (end point to first switch)
  Medium trunk_medium = Medium::kOptical;  // "trunk_medium", "trunk_length" (between switches)
  double length_m = -1, trunk_length_m = -1;
  int trunk_per_cable = 1;                    // common key "trunk_per_cable": that many consecutive trunk links share a cable
  Packets packets;                            // common keys "mtu", "packet_cost"
  double latency_ns = 100;                    // common key "latency": PHY and FEC of one link; propagation 5 ns/m comes on top
  std::function<std::uint32_t()> next_cable;  // names every new cable C0001 …; backplane and board links have none
  std::vector<DeviceId> leaves;               // filled by the topology: switches that storage and other end points may attach to
  std::size_t budget = SIZE_MAX;              // links left before the site is too large
  std::uint32_t shared_cable = UINT32_MAX;    // the cable that the next trunk link joins, and how many it holds
  int in_shared = 0;

  std::vector<DeviceId> all() const;  // end points of all groups in order
  // A count parameter with its registered default.
  Result<int> count(std::string_view key, int fallback, int low = 1, int high = 1 << 20) const;
  DeviceId add_switch(std::string_view base, int number, int plane, int tier, DeviceId inside = {});
  // Errors: a full device, the budget.
  Status connect(DeviceId a, DeviceId b, int plane, bool trunk, bool spare = false);
  Status connect(DeviceId a, DeviceId b, int plane, BitsPerSecond rate, Medium medium, double length_m, bool spare);
};

// `total` links over `n` switches as evenly as can be: 18 over 4 is 5 4 4 5, as on an HGX H100 board.
std::vector<int> deal(int total, int n);

struct TopologyEntry {
  std::string name;
  std::string help;
  std::vector<Parameter> parameters;
  Status (*wire)(Wiring& w);
  // Links it would add for these end points, before anything is allocated.
  double (*links)(const Wiring& w);
};
Registry<TopologyEntry>& topologies();
const std::vector<std::string_view>& common_keys();

}  // namespace weft::fabric
