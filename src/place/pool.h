// The cards a request may use, by high-bandwidth domain and node, and why the others may not. Strategies start here.
#pragma once

#include <string>
#include <vector>

#include "place/place.h"

namespace weft::place {

struct FreeNode {
  fabric::DeviceId id;                  // node, or none for cards outside any
  std::size_t size = 0;                 // cards it has, used or not
  std::vector<fabric::DeviceId> cards;  // free ones, by id
  std::vector<std::uint16_t> index;     // their position in the node
};
struct FreeDomain {
  fabric::DomainId hbd;         // none: cards without a domain, one entry per card
  std::vector<FreeNode> nodes;  // by id, without the empty ones
  std::uint64_t region = 0;     // equal for domains behind the same first scale-out switch
  int cards = 0;
};
struct Pool {
  std::vector<FreeDomain> domains;  // by id; for a new job without the nodes that the site keeps as spares
  std::vector<FreeDomain> kept;     // those nodes: a repair may use them, a new job may count them as its spares
  std::vector<bool> allowed;        // by device id: card may be used
  std::vector<bool> weak;           // by device id: a card of lower quality (suspect, slow, a link of its path below its built rate)
  int cards = 0, free = 0, weak_free = 0, busy = 0, avoided = 0, unhealthy = 0, kept_free = 0;
  std::string first_unhealthy;  // "sn/node3/card5 (failed: …)"
};
// Cards of placements of the same job name count as free: a job may move onto itself. `clean_only` leaves weak cards out.
Pool free_cards(const fabric::Snapshot& snapshot, const Occupancy& occupied, const Request& request, bool clean_only);
// "need 32 cards; 28 of 32 are free: 4 failed or cordoned (first: …), 0 in use, 0 avoided".
std::string account_of(const Pool& pool, int needed);

}  // namespace weft::place
