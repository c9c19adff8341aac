// Equal-cost routes: the one home of "which links does this traffic use?". Simulators, placement, diagnosis and inspection ask it.
// Traffic between two cards (or any two devices) on a network takes all shortest usable paths, split evenly at every hop
// (ECMP, and the per-link spraying of NVLink-like domains). Health matters: links that carry nothing are not on a route.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fabric/snapshot.h"

namespace weft::fabric {

// A link in one direction: forward is a → b.
struct DirectedLink {
  std::uint32_t v = UINT32_MAX;  // 2 * link id + (0 forward, 1 backward)
  LinkId link() const { return LinkId{v >> 1}; }
  bool forward() const { return (v & 1) == 0; }
  auto operator<=>(const DirectedLink&) const = default;
};
constexpr DirectedLink directed(LinkId link, bool forward) { return {link.v * 2 + (forward ? 0u : 1u)}; }

struct RouteHop {
  DirectedLink link;
  float share;  // part of the flow's bytes that crosses this link; the shares of the first hop sum to 1
};

struct Route {
  std::vector<RouteHop> hops;  // ordered by link id; empty when unreachable or source = destination
  int length = 0;              // links on one path
  Seconds latency{0};          // one way, of the slowest path: links and switches
  BytesPerSecond width{0};     // largest rate one flow alone can reach: min over hops of effective rate / share; 0 when a rate is not known
  bool reachable = false;
};

class Routes {
 public:
  // Keeps a reference to nothing but the snapshot (cheap to copy). Lazily computes and caches; not thread-safe.
  explicit Routes(Snapshot snapshot);
  ~Routes();
  Routes(Routes&&) noexcept;
  Routes& operator=(Routes&&) noexcept;

  // On `network`, from device to device. Scale-out traffic of a card uses its own NIC (rail) when it has one, else any NIC of its
  // node, over the host network. Cost: O(links on the route) after the first use of a destination's group.
  const Route& between(DeviceId from, DeviceId to, Network network);
  // Links on one path of `between`, -1 when unreachable, without computing or keeping the route. One search per destination.
  int length(DeviceId from, DeviceId to, Network network);
  // The network the communication library would choose: scale-up when both are in one HBD and connected there, else scale-out.
  Network best_network(DeviceId from, DeviceId to);
  const Route& best(DeviceId from, DeviceId to);
  const Snapshot& snapshot() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::fabric
