// Fits the few declared parameters (data/plan/calibration.yaml) on measured rows. Objective: every source weighs the same, a source's score
// is the mean of |ln(predicted / measured)| of its rows. Procedure: pattern search, one parameter after the other in file order, steps of 16 %
// (or of a sixteenth of the range for parameters that may be zero) halved until below 1 %, then again with larger steps, six times. No randomness: the same table gives the same values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/validate.h"

namespace weft::plan {

// Everything of data/cards and data/plan/software.yaml that the rows use.
Result<Knowledge> stated_knowledge(const std::vector<MeasuredRow>& rows);

struct Parameter {
  std::string name;                // "a100.matmul", "fsdp-2023.traffic"
  std::vector<std::string> cards;  // of a card parameter
  std::string software;            // of a software parameter
  std::string field;
  double low = 0, high = 1;
};
Result<std::vector<Parameter>> calibration_parameters();

// Every parameter in the middle of its bounds (geometric where they exclude zero): a start that has seen no row.
Knowledge neutral(const Knowledge& stated, const std::vector<Parameter>& parameters);

struct Fitted {
  Knowledge knowledge;
  std::vector<double> values;    // by parameter
  double before = 0, after = 0;  // objective
};
// Fits on the rows for which `use` says yes. `rounds` bounds the passes over all parameters.
Fitted calibrate(const std::vector<MeasuredRow>& rows, const Knowledge& start, const std::vector<Parameter>& parameters,
                 const std::function<bool(const MeasuredRow&)>& use, int rounds = 30);

}  // namespace weft::plan
