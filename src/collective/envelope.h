// The cost of a collective on one shape for any size, for callers that ask millions of times. Every algorithm's time is a straight line in
// the bytes (latency + bytes × slope), so the fastest of them is the lower envelope of a few lines: the same answer as choose(), without
// the algorithms. A test holds them together.
#pragma once

#include <vector>

#include "collective/cost.h"

namespace weft::collective {

class Envelope {
 public:
  Envelope() = default;                                          // costs nothing: a group of one
  Envelope(workload::Collective kind, const GroupShape& shape);  // not for broadcast, whose pipelining is no line
  double seconds(double bytes) const {                           // 0 for no bytes
    if (bytes <= 0 || lines_.empty()) return 0;
    double best = lines_[0].latency + bytes * lines_[0].slope;
    for (std::size_t i = 1; i < lines_.size(); ++i) best = std::min(best, lines_[i].latency + bytes * lines_[i].slope);
    return best;
  }

 private:
  struct Line {
    double latency, slope;
  };
  std::vector<Line> lines_;
};

}  // namespace weft::collective
