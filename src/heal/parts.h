// Building blocks shared by policies: isolation with its undo and effect, work orders, moving a job away from a part.
#pragma once

#include <nlohmann/json.hpp>

#include "heal/types.h"

namespace weft::heal {

Action isolate_link(const fabric::Snapshot& s, fabric::LinkId link, const std::string& why);
Action cordon(const fabric::Snapshot& s, fabric::DeviceId device, const std::string& owner, const std::string& why);
Action work_order(const std::string& target, const std::string& text);  // 4 h deadline
Retest probe(std::string_view kind, const std::string& target, const std::string& measure, double at_least);

// Cards of running jobs on or inside `part`.
std::vector<const JobView*> jobs_on(const Context& context, fabric::DeviceId part);
// Stop (saving first if it can), place again without `avoid`, start from the checkpoint. False when no placement is possible: `why` says what is missing.
bool move_job(const Context& context, const JobView& job, const std::vector<fabric::DeviceId>& avoid, ActionPlan& plan, std::string& why);

}  // namespace weft::heal
