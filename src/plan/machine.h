// The machine as a planner needs it: a card, how many of them share a high-bandwidth domain, what one card reaches inside and outside. No
// cables and no names: those are fabric's. Made from a supernode form (data/forms), or from a card and three numbers.
#pragma once

#include <string>
#include <vector>

#include "collective/cost.h"
#include "fabric/snapshot.h"
#include "workload/compute_cost.h"

namespace weft::plan {

struct Machine {
  std::string name;
  fabric::DeviceModel card;
  workload::Efficiency efficiency;
  int domain = 8;                                // cards that reach each other at `inner`
  BytesPerSecond inner{0}, outer{0};             // one card, one direction, line rate
  double inner_share = 0.8, outer_share = 0.85;  // of the line rate that collectives reach
  Seconds inner_latency{0}, outer_latency{0};    // of one message, software included
  bool inner_reduction = false, outer_reduction = false;
  double price_usd = 0;              // of a card; 0: not known
  std::vector<std::string> assumed;  // what nobody stated, in words
};

// Cost inputs of a group of `members` ranks, each `stride` ranks after the one before, rank 0 at the start of a domain. Groups that do not
// divide over the domain use the largest number of members per domain that divides them.
collective::GroupShape group_shape(const Machine& machine, int members, int stride);
// One message between neighbours `stride` ranks apart in a group of `members`.
Seconds send_time(const Machine& machine, int members, int stride, double bytes);

// From data/cards/CARD.yaml and data/catalogue/cards.yaml, domain and rates of the card's own reference machine ("link:").
Result<Machine> machine_of_card(const std::string& card);
// From data/forms/FORM.yaml (or a site file): its first supernode, its scale-out.
Result<Machine> machine_of_form(const std::string& form);

}  // namespace weft::plan
