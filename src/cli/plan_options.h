// What the verbs of `weft plan` share: the machine, the work and the search from command words; the rows of a strategy.
#pragma once

#include <string>
#include <vector>

#include "base/report.h"
#include "cli/options.h"
#include "plan/economy.h"
#include "plan/search.h"
#include "plan/size.h"

namespace weft::cli {

struct PlanRequest {
  workload::Model model;
  plan::Machine machine;
  plan::Software software;
  plan::SearchSpace space;
  plan::Economy economy;
  double tokens = 0;
  std::vector<std::string> assumed;  // what nobody said, in words
};
const std::vector<OptionSpec>& plan_option_specs();
// The machine of --form or --card with --domain, --inner, --outer, --price on top. Errors name the option.
Result<plan::Machine> machine_from(const Options& options);
Result<PlanRequest> plan_from(const Options& options);

std::string plan_strategy_text(const workload::Strategy& s);
Json time_json(const plan::Time& t);
Json memory_json(const plan::MemoryUse& m);
Json run_json(const plan::Run& r);
Json map_json(const std::vector<plan::DimensionMap>& map);
// Inputs and assumptions, so that a result can be repeated.
Json request_json(const PlanRequest& r);
std::vector<std::pair<std::string, std::string>> request_facts(const PlanRequest& r);
Table time_table(const plan::Time& t);
Table memory_table(const plan::MemoryUse& m, double limit);

}  // namespace weft::cli
