// From causes to an ActionPlan: pure, data-driven policies. A plan names the snapshot it was made for; an empty plan with a reason is
// normal. Nothing here acts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/registry.h"
#include "diagnose/types.h"
#include "fabric/delta.h"
#include "workload/types.h"

namespace weft::heal {

// What an actuator can be asked to do. Targets are canonical names. Parameters as JSON object.
namespace action {
inline constexpr std::string_view kJobStart = "job_start";  // target job/NAME; {"cards":[names by rank],"resume":bool}
inline constexpr std::string_view kJobStop = "job_stop";    // {"checkpoint":bool}: save first when the job still can
inline constexpr std::string_view kJobCheckpoint = "job_checkpoint";
inline constexpr std::string_view kLinkIsolate = "link_isolate";   // target link: administratively down, traffic re-routes
inline constexpr std::string_view kLinkRestore = "link_restore";   // back in service
inline constexpr std::string_view kSpareLinkIn = "spare_link_in";  // target spare link: takes the isolated one's place
inline constexpr std::string_view kSpareLinkOut = "spare_link_out";
inline constexpr std::string_view kCordon = "cordon";      // target card or node: scheduler places nothing new; {"owner","reason"}
inline constexpr std::string_view kUncordon = "uncordon";  // only with the same owner
inline constexpr std::string_view kCardReset = "card_reset";
inline constexpr std::string_view kNodeReboot = "node_reboot";
inline constexpr std::string_view kServiceRestart = "service_restart";  // node; {"service"}
inline constexpr std::string_view kConfigApply = "config_apply";        // any; {"key","value"}: set a fact back to baseline
inline constexpr std::string_view kWorkOrder = "work_order";  // any; {"deadline_s","text"}: people repair hardware, facility, storage
inline constexpr std::string_view kProbeLink =
    "probe_link";  // both directions, several message sizes, BER before and after → measured values
inline constexpr std::string_view kProbeCard = "probe_card";              // GEMM and memory → measured values
inline constexpr std::string_view kProbeNode = "probe_node";              // all cards, intra-node all-reduce, PCIe, host
inline constexpr std::string_view kProbeCollective = "probe_collective";  // {"cards":[…],"kind","bytes"} → bus bandwidth
inline constexpr std::string_view kProbeStorage = "probe_storage";
}  // namespace action

struct Retest {
  std::string kind;  // a probe action; empty = none
  std::string target;
  JsonBox parameters;
  std::string measure;  // key in the probe's result, e.g. "bandwidth_ratio"
  double at_least = 0;  // pass when measure >= this
};

struct Action {
  std::string id;    // unique for ever: "P0012.3" (plan, step); the actuator answers by it
  std::string kind;  // of action::
  std::string target;
  JsonBox parameters;
  std::string why;
  std::string undo_kind;  // "" = nothing to undo
  JsonBox undo_parameters;
  Duration timeout = seconds(60);
  int attempts = 3;          // start again (same id is idempotent; a failed effect gets a new attempt suffix "/2")
  bool best_effort = false;  // failure does not abort the plan
  fabric::Delta effect;      // what the snapshot looks like once done; may be empty
};

struct Limits {  // data/heal/limits.yaml
  int actions_per_hour = 60;
  double max_isolated_share = 0.25;  // of the site's cards
  int breaker_failures = 5;          // failed plans in the window open the circuit breaker
  Duration breaker_window = minutes(30);
  Duration expiry = hours(4);  // of an isolation without an outcome
};

struct ActionPlan {
  std::string id;  // "P0012"
  std::uint64_t snapshot_version = 0;
  std::string policy;    // registry name
  std::string incident;  // "I0007"
  diagnose::Cause cause;
  std::vector<Action> actions;
  Retest retest;                    // after the actions, to declare the service recovered
  std::vector<std::string> proves;  // "job/NAME": must make a step after the actions, or the plan has failed
  std::string release_when;         // how the isolated part comes back: "retest", "work_order", "never"
  Retest release_test;
  std::string owner = "weft";
  Duration expiry = hours(4);
  std::string reason;  // why this, or why nothing
  std::string report;  // for faults no action can cure: what the operator should do
  bool empty() const { return actions.empty(); }
};

struct JobView {  // what a policy may know of a running job
  workload::Job job;
  workload::Placement placement;
  bool running = true;   // as far as the loop wants it to run
  bool aborted = false;  // it died by itself; nothing is left to save but its last checkpoint
  bool stuck = false;    // makes no step although it should
  std::int64_t last_checkpoint_step = 0;
};

struct Context {
  const fabric::Snapshot* snapshot = nullptr;
  std::vector<JobView> jobs;
  std::string incident;
  std::string plan_id;
  Instant now;
  int plans_tried = 0;                // earlier plans for the same incident
  std::vector<fabric::DeviceId> bad;  // parts that other open incidents name: nothing is placed on them
  bool last_resort = false;           // plans for this cause failed: checkpoint restart on other cards
  bool give_up = false;               // that failed too: stop the jobs and say so
};

// One file per policy under heal/policies/. A policy says whether it applies to a cause and makes the plan.
struct PolicyEntry {
  std::string name;
  std::string help;
  int order = 100;  // lower is asked first
  bool (*applies)(const diagnose::Cause&, const Context&);
  ActionPlan (*plan)(const diagnose::Cause&, const Context&);
};
Registry<PolicyEntry>& policies();

// The first policy that applies makes the plan; undecided diagnoses get the settling test or a report.
ActionPlan make_plan(const diagnose::Diagnosis& diagnosis, const Context& context);

Json to_json(const Action& action, const fabric::Snapshot& names);
Result<Action> action_from_json(const Json& json, const fabric::Snapshot& names);
Json to_json(const ActionPlan& plan, const fabric::Snapshot& names);
Result<ActionPlan> plan_from_json(const Json& json, const fabric::Snapshot& names);

}  // namespace weft::heal
