// What links carry and what their counters make of it: bytes at both ends, priorities, marks, pauses, waits; storage paths of the nodes.
#pragma once

#include "twin/jobs.h"
#include "twin/noise.h"
#include "twin/state.h"

namespace weft::twin {

class Traffic {
 public:
  explicit Traffic(State& state);
  // Share of its storage paths each node still has, from the links' present state (Node::storage_share).
  void storage_shares(const fabric::Snapshot& real);
  void step(const Jobs& jobs, const fabric::Snapshot& real, Noise& noise, double dt);
  bool storage_path(fabric::LinkId link, const JobRun& job, const State& state) const;  // of a node this job runs on
  double rate(fabric::DirectedLink link) const { return rates_[link.v]; }               // bytes per second, last tick
  double scale_up_bytes(int card) const { return card_bytes_[static_cast<std::size_t>(card)]; }

 private:
  State& state_;
  std::vector<double> rates_, card_bytes_;
  struct Path {
    fabric::DirectedLink link;
    double share;
  };
  std::vector<std::vector<Path>> to_storage_;           // by node
  std::vector<std::vector<fabric::LinkId>> own_links_;  // of its NICs, that carry storage
};

}  // namespace weft::twin
