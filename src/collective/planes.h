// Planes of a group: the switches next to its members on the scale-up network, cut into sets that reach each other. Reduction in the
// switches works per plane: a plane helps only when every member is in it.
#pragma once

#include <span>
#include <vector>

#include "fabric/routes.h"

namespace weft::collective {

struct Plane {
  struct Link {
    fabric::DirectedLink away;  // from the member
    fabric::DeviceId to;        // the switch
  };
  double share = 0;                      // of the data: as the least number of links of a member to it; shares sum to 1
  std::vector<std::vector<Link>> links;  // by member; usable ones
};

// Those that every member is in; empty when there is none. Switches in between need not be next to a member. Cost: O(members · ports).
std::vector<Plane> common_planes(std::span<const fabric::DeviceId> cards, fabric::Routes& routes);

}  // namespace weft::collective
