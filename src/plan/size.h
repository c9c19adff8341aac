// How large a high-bandwidth domain the work needs: the best strategy at every domain size on otherwise equal cards, its time and its cost;
// the smallest size that is as good as any, with margin and spares; or that no supernode is needed, and why.
#pragma once

#include <string>
#include <vector>

#include "plan/economy.h"
#include "plan/search.h"

namespace weft::plan {

struct SizePoint {
  int domain = 1;
  bool fits = false;
  std::string why_not;
  Candidate best;
  Run run;
  double inside = 0;  // share of the sent bytes whose group lies in one domain
};
struct SizeAnswer {
  std::vector<SizePoint> curve;
  int fastest = -1, cheapest = -1, knee = -1, needed = -1;  // indices into curve; -1: nothing fits at any size
  bool supernode = false;                                   // needed is more than a server of eight
  int plain_needed = 0;  // the same, when the framework has the 1F1B schedules only; 0: nothing fits or not asked
  int with_margin_low = 0, with_margin_high = 0, spares = 0;
  std::vector<std::string> reasons;  // in words, most important first
};
// Tolerances: the knee is the smallest domain within 5 % of the fastest, what is needed the smallest within 2 % of the cheapest.
Result<SizeAnswer> size(const workload::Model& model, const Machine& machine, const Software& software, SearchSpace space,
                        const Economy& economy, double tokens);

// Where the bytes of a strategy go: per dimension, how far apart its groups reach and what they carry.
struct DimensionMap {
  workload::Dim dim;
  int members = 1, reach = 1;  // cards from first to last: a domain of this size holds the group
  double sent = 0;             // bytes a card of a middle stage per step
  bool exposed = false, inside = false;
};
std::vector<DimensionMap> communication_map(const workload::Model& model, const workload::Strategy& strategy, int domain);

}  // namespace weft::plan
