// Building blocks shared by policies: isolation with its undo and effect, work orders, moving a job away from a part.
#pragma once

#include <nlohmann/json.hpp>

#include "heal/types.h"

namespace weft::heal {

Action isolate_link(const fabric::Snapshot& s, fabric::LinkId link, const std::string& why);
Action cordon(const fabric::Snapshot& s, fabric::DeviceId device, const std::string& owner, const std::string& why);
Action work_order(const std::string& target, const std::string& text);  // 4 h deadline
Retest probe(std::string_view kind, const std::string& target, const std::string& measure, double at_least);

// A cordoned switch takes its links along: the machine as traffic then finds it. The published snapshot keeps the links' own health, since
// diagnosis tells a dead switch from dead links by it.
fabric::Snapshot without_switches(const fabric::Snapshot& s);

// Cards of running jobs on or inside `part`.
std::vector<const JobView*> jobs_on(const Context& context, fabric::DeviceId part);
// Jobs the cause touches by its impact, and not among `known`.
std::vector<const JobView*> jobs_of(const Context& context, const diagnose::Cause& cause, const std::vector<const JobView*>& known = {});
// Faults that end the process of a rank: a job on the part is dead even if nothing says so yet.
bool takes_rank(std::string_view fault);
bool makes_no_step(const JobView& job);
// No place for it: it is stopped, so that nothing waits for it and everybody sees it.
void stop_job(const JobView& job, const std::string& why, ActionPlan& plan);
// Bandwidth of an all-reduce over the job's cards, those it is started on by the plan included.
Retest collective(const fabric::Snapshot& s, const JobView& job, const ActionPlan& plan, double at_least);
// Stop (saving first if it can), place again without `avoid`, start from the checkpoint. False when no placement is possible: `why` says what is missing.
bool move_job(const Context& context, const JobView& job, const std::vector<fabric::DeviceId>& avoid, ActionPlan& plan, std::string& why);

}  // namespace weft::heal
