// Measured training rows (data/measured/training-measured.csv): each row with what it ran on, ready to be predicted, or why it cannot be.
// data/measured/sources.yaml says once per source what its rows leave out (software, network, how it counts).
#pragma once

#include <string>
#include <vector>

#include "base/csv.h"
#include "plan/machine.h"
#include "plan/software.h"
#include "workload/types.h"

namespace weft::plan {

struct MeasuredRow {
  std::string id, source;
  int line = 0;
  std::string refused;  // why it is not predicted; empty: it is
  std::string assumed;  // what was filled in, in words
  bool memory = false;  // value is bytes; else seconds of a step
  double value = 0;     // measured: seconds of a step, or bytes of a card
  workload::Model model;
  workload::Strategy strategy;
  std::string card, software;
  double outer = 0;  // one card's scale-out rate, bytes/s
  double flops = 0;  // model FLOPs of the step, for the constant-rate guess
};

// Errors: not a table of this kind (names the missing column), a cell that is no number (file:line).
Result<std::vector<MeasuredRow>> measured_rows(const Csv& table);

}  // namespace weft::plan
