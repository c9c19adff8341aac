// The communication account of a step: what each parallel dimension sends, how often, in which group, and whether the step waits for
// it. Closed formulas (Narayanan et al. 2021, Korthikanti et al. 2022, Rajbhandari et al. 2020); tests hold the Dag against them.
#pragma once

#include <string>
#include <vector>

#include "workload/dag.h"
#include "workload/types.h"

namespace weft::workload {

struct Traffic {
  Dim dim;
  bool point_to_point = false;  // pipeline neighbours; else `collective`
  Collective collective{};
  std::string what;     // "layer activations"
  int members = 1;      // of the group
  double message = 0;   // bytes handed over per operation (as Op::bytes)
  double count = 0;     // operations per step and rank
  double sent = 0;      // bytes one rank sends per step (ring accounting)
  bool exposed = true;  // false: overlaps with computation, only what does not fit shows
};

// Of one rank of `stage`, one training step. The strategy must be valid for the model.
std::vector<Traffic> account(const Model& model, const Strategy& strategy, int stage);
// Sent bytes by Dim.
std::vector<double> sent_by_dim(const std::vector<Traffic>& account);
// Share of a collective's buffer that one rank sends on a ring of n.
double ring_factor(Collective c, int n);

}  // namespace weft::workload
