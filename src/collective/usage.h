// Which links an operation's phase puts its bytes on, and how much of them: edges of a collective over equal-cost routes.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "collective/cost.h"
#include "fabric/routes.h"

namespace weft::collective {

struct LinkUse {
  std::uint32_t link;  // DirectedLink::v
  double weight;       // share of the phase's bytes; the busiest link has 1
};

// Ten significant digits: what is equal by symmetry is then equal bit by bit, whatever the order it was summed in.
double rounded(double x);

// Sums shares per directed link. Keeps its scratch space between calls: O(links of the site) memory once.
class UsageBuilder {
 public:
  explicit UsageBuilder(fabric::Routes& routes);
  fabric::Routes& routes() { return routes_; }

  // Links of one phase whose positions are `cards`. `scale` receives the busiest link's share of the operation's bytes. `single_domain`: the
  // reducing switches are those of the scale-up network. Errors: two cards without a way between them.
  // Cost: O(edges · links on a route); dense phases (all-to-all) need a route per pair of classes of equally attached cards, and
  // two per card, instead.
  Result<std::vector<LinkUse>> of(const Phase& phase, std::span<const fabric::DeviceId> cards, bool single_domain, double& scale);
  // One message.
  Result<std::vector<LinkUse>> of(fabric::DeviceId from, fabric::DeviceId to, double& scale);
  // The way the library's traffic takes, or an error that names both ends.
  Result<const fabric::Route*> route(fabric::DeviceId from, fabric::DeviceId to);

 private:
  void add(std::uint32_t link, double share);
  Status add_edges(const Phase& phase, std::span<const fabric::DeviceId> cards);
  // Cards that hang on the same switches of a network.
  struct Attachment {
    std::vector<std::uint32_t> class_of;  // by position
    std::vector<std::vector<std::uint32_t>> members;
  };
  Attachment attach(std::span<const fabric::DeviceId> cards, fabric::Network network);
  Status add_grouped(const Phase& phase, std::span<const fabric::DeviceId> cards, const Attachment& groups);
  Status add_dense(const Phase& phase, std::span<const fabric::DeviceId> cards);
  Status add_switches(const Phase& phase, std::span<const fabric::DeviceId> cards, bool single_domain);
  std::vector<LinkUse> take(double& scale);

  fabric::Routes& routes_;
  std::vector<double> load_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace weft::collective
