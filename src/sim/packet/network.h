// The machine as the packet model sees it: nodes with ports, cables between them, and for every node the equal-cost next ports towards
// every destination. Flat arrays; ports of one node lie together. Built for a fat-tree, small test shapes, or from a Snapshot (from_site.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft::sim::packet {

constexpr std::uint32_t kNone = UINT32_MAX;

struct Node {
  std::string name;
  std::uint32_t first_port = 0, ports = 0;
  std::uint32_t host = kNone;    // index into Network::hosts when traffic starts and ends here
  std::int64_t buffer = 0;       // 0 = Config::buffer
  std::uint32_t origin = kNone;  // DeviceId of a Snapshot
};

// One end of a cable; what it says holds for what this end sends.
struct Port {
  std::uint32_t node = kNone;
  std::uint32_t peer = kNone;  // port at the other end
  BitsPerSecond rate{0};
  Picos delay{0};                // propagation, PHY, FEC and the pipeline of the node behind
  double loss = 0;               // chance that a frame is lost (after FEC)
  std::uint32_t drop_every = 0;  // every n-th data packet is lost, 0 = none
  std::uint32_t origin = kNone;  // DirectedLink of a Snapshot
};

// A change of a port while the simulation runs.
struct LinkEvent {
  Picos at{0};
  std::uint32_t port = kNone;  // both directions change
  double rate_factor = 0;      // 0 = down, 1 = healthy
};

struct Network {
  std::vector<Node> nodes;
  std::vector<Port> ports;
  std::vector<std::uint32_t> hosts;  // node of each host
  // Routes in small tables: destinations that hang on the same switches share an entry. Read with `towards`.
  std::vector<std::uint32_t> group_of, rank_in_group;  // by host
  std::uint32_t groups = 0;
  std::vector<std::uint32_t> row;                   // by node: row of `table`, kNone for nodes with one port
  std::vector<std::uint32_t> table;                 // row × groups → entry
  std::vector<std::uint32_t> local;                 // entries of hosts behind their own switch, by rank
  std::vector<std::uint32_t> set_first, set_ports;  // set → its ports, ascending (CSR)
  std::vector<LinkEvent> events;

  // An entry is one port (kSingle | port), a set of equal-cost ports, or kNone: no way. Two or three loads.
  static constexpr std::uint32_t kSingle = 1u << 31, kLocal = 1u << 30;
  std::uint32_t towards(std::uint32_t node, std::uint32_t host) const {
    std::uint32_t r = row[node];
    if (r == kNone) return kSingle | nodes[node].first_port;
    std::uint32_t e = table[static_cast<std::size_t>(r) * groups + group_of[host]];
    if (e != kNone && !(e & kSingle) && (e & kLocal)) e = local[(e ^ kLocal) + rank_in_group[host]];
    return e;
  }
  // All ports of an entry.
  std::vector<std::uint32_t> ports_towards(std::uint32_t node, std::uint32_t host) const;
  // From now on `node` sends what is for `host`, and for the hosts that share its switches, by these ports.
  void set_route(std::uint32_t node, std::uint32_t host, const std::vector<std::uint32_t>& by);
  // The port of `node` whose cable leads to `neighbour`, kNone when there is none.
  std::uint32_t port_to(std::uint32_t node, std::uint32_t neighbour) const;
  // Links on a shortest path between two hosts, 0 when there is none.
  int hops(std::uint32_t from_host, std::uint32_t to_host) const;
  std::string port_name(std::uint32_t port) const;
};

// Collects cables, then lays ports out node by node and computes shortest equal-cost routes.
class NetworkBuilder {
 public:
  std::uint32_t add_node(std::string name, bool host, std::int64_t buffer = 0, std::uint32_t origin = kNone);
  // `delay` from a to b; `back` the other way, the same when negative.
  void add_cable(std::uint32_t a, std::uint32_t b, BitsPerSecond rate, Picos delay, std::uint32_t origin = kNone, Picos back = Picos(-1));
  // Hosts do not pass traffic on unless told to (cards of a mesh or torus).
  void hosts_forward(bool yes) { hosts_forward_ = yes; }
  Result<Network> build();

 private:
  struct Cable {
    std::uint32_t a, b;
    BitsPerSecond rate;
    Picos delay, back;
    std::uint32_t origin;
  };
  Network net_;
  std::vector<Cable> cables_;
  bool hosts_forward_ = false;
};

// k-ary three-tier fat-tree: k³/4 hosts, 5k²/4 switches, full bisection.
Result<Network> fat_tree(int k, BitsPerSecond rate, Picos delay);
// n hosts on one switch.
Result<Network> star(int hosts, BitsPerSecond rate, Picos delay);
// Two switches joined by one cable, `hosts` on each.
Result<Network> dumbbell(int hosts, BitsPerSecond rate, BitsPerSecond trunk, Picos delay);
// Leaves × spines, hosts per leaf.
Result<Network> leaf_spine(int leaves, int spines, int hosts_per_leaf, BitsPerSecond rate, Picos delay);

}  // namespace weft::sim::packet
