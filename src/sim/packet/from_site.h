// One network of a Snapshot as the packet model sees it: its switches, and the NICs or cards that send over it. What carries nothing is left
// out; degraded links run at their effective rate.
#pragma once

#include "fabric/snapshot.h"
#include "sim/packet/network.h"

namespace weft::sim::packet {

// Errors: no such network, a link in use whose rate is not known (names it).
Result<Network> from_site(const fabric::Snapshot& site, fabric::Network network);

}  // namespace weft::sim::packet
