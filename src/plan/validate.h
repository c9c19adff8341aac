// Predicts every row of a measured table and reports the error per source, beside two guesses that know no model: every card of a kind
// does the median rate of the same source's rows (which has seen the answers), or of all other sources' rows (which has not).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/measured.h"

namespace weft::plan {

// Everything that turns a row into a prediction besides the row: what `calibrate` turns.
struct Knowledge {
  std::map<std::string, workload::Efficiency> cards;  // overrides by card; absent: data/cards
  std::map<std::string, double> inner_share;          // by card
  std::map<std::string, Software> software;           // absent: data/plan/software.yaml
};
struct Prediction {
  double value = 0;    // seconds or bytes
  std::string failed;  // why there is none
  double error = 0;    // value / measured − 1
};
Prediction predict(const MeasuredRow& row, const Knowledge& knowledge);

struct SourceErrors {
  std::string name;
  int rows = 0, predicted = 0, refused = 0;
  double mean_abs_error = 0, bias = 0, worst = 0;  // shares
  double dumb_error = 0, dumb_unseen_error = 0;    // NaN when there is no such guess (memory; a card in no other source)
  std::map<std::string, int> reasons;              // of refusal
};
struct Validation {
  std::vector<MeasuredRow> rows;
  std::vector<Prediction> predictions;  // one per row
  std::vector<double> dumb;             // the same source's guess per row, as an error; NaN when none
  SourceErrors overall;                 // time rows only
  std::vector<SourceErrors> sources;    // in order of first row
};
Validation validate(std::vector<MeasuredRow> rows, const Knowledge& knowledge);

}  // namespace weft::plan
