// A job from command words: model, degrees, batch. `weft sim`, `weft place` and `weft workload` share it, so that the same words mean the
// same job everywhere.
#pragma once

#include "cli/options.h"
#include "fabric/snapshot.h"
#include "workload/types.h"

namespace weft::cli {

const std::vector<OptionSpec>& job_option_specs();
// The job, checked. Errors name the option.
Result<workload::Job> job_from(const Options& options);
Result<workload::Precision> precision_from(const Options& options);
Json to_json(const workload::Job& job);
Json strategy_json(const workload::Strategy& s);
// "tp 8 · pp 4 · dp 4, 128 cards".
std::string strategy_text(const workload::Strategy& s);

// What the cards are: --card when given (said on err as assumed), else the site's own model of `card`. Asks for --card when neither is known.
Result<fabric::DeviceModel> card_of(const Options& options, const fabric::Snapshot& site, fabric::DeviceId card, std::ostream& err);

}  // namespace weft::cli
