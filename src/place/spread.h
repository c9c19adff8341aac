// How far the groups of a job are torn: a tensor-parallel group belongs in one domain and, when its size allows, behind the same first
// scale-up switches (D3: no group that is logically one domain and physically two switch tiers); an expert group in one domain.
#pragma once

#include <cstdint>
#include <vector>

#include "place/place.h"

namespace weft::place {

class Spread {
 public:
  explicit Spread(const fabric::Snapshot& snapshot);  // O(links at cards)
  // Cards with the same value sit behind the same first scale-up switches; without such switches: in the same domain.
  std::uint32_t unit(fabric::DeviceId card) const { return unit_[card.v]; }
  // Domains and units beyond those that a group of this size needs; 0 for a group that lies well.
  int torn(workload::Dim dim, const std::vector<fabric::DeviceId>& members) const;
  // Sum over the tensor- and expert-parallel groups.
  int torn(const std::vector<workload::Group>& groups, const std::vector<fabric::DeviceId>& cards) const;

 private:
  const fabric::Snapshot& s_;
  std::vector<std::uint32_t> unit_;       // by device
  std::vector<std::uint32_t> unit_size_;  // by unit
};

}  // namespace weft::place
