// What a placement costs in communication: the account of the job's traffic over the shapes its groups have on the machine. Groups
// of one dimension work at the same time, so cards that share a NIC share its rate.
#pragma once

#include <map>
#include <vector>

#include "place/place.h"
#include "workload/account.h"

namespace weft::place {

class Scorer {
 public:
  Scorer(fabric::Routes& routes, const workload::Job& job);
  // Time of one step that this group's traffic adds, in its stage. Only the group's cards are read. The slowest group of a
  // dimension is the one that counts; dimensions add up.
  double group_time(const workload::Group& group, const std::vector<fabric::DeviceId>& cards);
  double comm(const std::vector<workload::Group>& groups, const std::vector<fabric::DeviceId>& cards);
  // Arithmetic of a step on the slowest of these cards, pipeline bubble included; 0 when the card's peak is not known.
  double compute(const std::vector<fabric::DeviceId>& cards);

 private:
  double share_of_way_out(fabric::DeviceId card);  // bytes per second one card has when all cards of its node send out
  double neighbour_time(fabric::DeviceId from, fabric::DeviceId to, double bytes);

  fabric::Routes& routes_;
  const workload::Job& job_;
  std::vector<std::vector<workload::Traffic>> account_;  // by stage
  std::map<std::uint32_t, double> way_out_;              // by node
};

}  // namespace weft::place
