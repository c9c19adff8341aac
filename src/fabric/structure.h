// What the graph of one network says about the whole: which end points reach each other, which device is a single point of failure, what flows
// between two halves. Built from links that carry traffic now.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/snapshot.h"

namespace weft::fabric {

// End points of a network: cards on scale-up; nodes (by their NICs or BMCs), storage on the others.
struct Reach {
  std::size_t end_points = 0;
  std::size_t unreachable_pairs = 0;  // unordered
  DeviceId example_a, example_b;      // one such pair
};
// Looks at the whole network once; then any set of end points (cards of a domain) can be asked about, at the cost of the set.
class Reachability {
 public:
  Reachability(const Snapshot& s, Network n);
  ~Reachability();
  Reach all() const;
  Reach among(std::span<const DeviceId> end_points) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
Reach reach(const Snapshot& s, Network n, std::span<const DeviceId> among = {});  // empty: all

struct CutPoint {
  Network network;
  DeviceId device;
  std::size_t cut_off;  // end points that lose the rest when it fails
};
// Switches whose failure parts the network, in id order. Exact up to about 10^8 switches × links; beyond that one that only an end point bridges
// may be missed.
std::vector<CutPoint> cut_points(const Snapshot& s, Network n);

// Largest flow from the first half of `end_points` (in their order) to the second, one direction; a link of unknown rate makes it 0. End points are
// devices with ports on the network. For a non-blocking network it is half of the injection bandwidth.
BitsPerSecond bisection(const Snapshot& s, Network n, std::span<const DeviceId> end_points);

}  // namespace weft::fabric
