#include "heal/types.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "heal/parts.h"

namespace weft::heal {
namespace {

Json to_json(const Retest& r) {
  return {{"kind", r.kind}, {"target", r.target}, {"parameters", *r.parameters}, {"measure", r.measure}, {"at_least", r.at_least}};
}
Retest retest_from(const Json& j) {
  Retest r;
  r.kind = j.at("kind").get<std::string>(), r.target = j.at("target").get<std::string>(), r.parameters = j.at("parameters");
  r.measure = j.at("measure").get<std::string>(), r.at_least = j.at("at_least").get<double>();
  return r;
}

}  // namespace

Json to_json(const Action& a, const fabric::Snapshot& names) {
  return {{"id", a.id},
          {"kind", a.kind},
          {"target", a.target},
          {"parameters", *a.parameters},
          {"why", a.why},
          {"undo_kind", a.undo_kind},
          {"undo_parameters", *a.undo_parameters},
          {"timeout_ns", a.timeout.value()},
          {"attempts", a.attempts},
          {"best_effort", a.best_effort},
          {"effect", fabric::to_json(a.effect, names)}};
}

Result<Action> action_from_json(const Json& j, const fabric::Snapshot& names) {
  try {
    Action a;
    a.id = j.at("id").get<std::string>(), a.kind = j.at("kind").get<std::string>(), a.target = j.at("target").get<std::string>(),
    a.parameters = j.at("parameters");
    a.why = j.at("why").get<std::string>(), a.undo_kind = j.at("undo_kind").get<std::string>(), a.undo_parameters = j.at("undo_parameters");
    a.timeout = Duration(j.at("timeout_ns").get<std::int64_t>()), a.attempts = j.at("attempts").get<int>(),
    a.best_effort = j.at("best_effort").get<bool>();
    auto effect = fabric::delta_from_json(j.at("effect"), names);
    if (!effect) return std::unexpected(effect.error());
    a.effect = *effect;
    return a;
  } catch (const Json::exception& e) {
    return fail(ErrorKind::kCorrupt, std::string("a stored action is not readable: ") + e.what());
  }
}

Json to_json(const ActionPlan& p, const fabric::Snapshot& names) {
  Json actions = Json::array();
  for (const Action& a : p.actions) actions.push_back(to_json(a, names));
  return {{"id", p.id},
          {"snapshot_version", p.snapshot_version},
          {"policy", p.policy},
          {"incident", p.incident},
          {"cause", {{"fault", p.cause.fault}, {"entity", p.cause.entity}, {"confidence", p.cause.confidence}}},
          {"actions", actions},
          {"retest", to_json(p.retest)},
          {"proves", p.proves},
          {"release_when", p.release_when},
          {"release_test", to_json(p.release_test)},
          {"owner", p.owner},
          {"expiry_ns", p.expiry.value()},
          {"reason", p.reason},
          {"report", p.report}};
}

Result<ActionPlan> plan_from_json(const Json& j, const fabric::Snapshot& names) {
  try {
    ActionPlan p;
    p.id = j.at("id").get<std::string>(), p.snapshot_version = j.at("snapshot_version").get<std::uint64_t>(),
    p.policy = j.at("policy").get<std::string>(), p.incident = j.at("incident").get<std::string>();
    p.cause.fault = j.at("cause").at("fault").get<std::string>(), p.cause.entity = j.at("cause").at("entity").get<std::string>(),
    p.cause.confidence = j.at("cause").at("confidence").get<double>();
    for (const Json& a : j.at("actions")) {
      auto action = action_from_json(a, names);
      if (!action) return std::unexpected(action.error());
      p.actions.push_back(*action);
    }
    if (j.contains("proves")) p.proves = j.at("proves").get<std::vector<std::string>>();
    p.retest = retest_from(j.at("retest")), p.release_when = j.at("release_when").get<std::string>(),
    p.release_test = retest_from(j.at("release_test"));
    p.owner = j.at("owner").get<std::string>(), p.expiry = Duration(j.at("expiry_ns").get<std::int64_t>()),
    p.reason = j.at("reason").get<std::string>(), p.report = j.at("report").get<std::string>();
    return p;
  } catch (const Json::exception& e) {
    return fail(ErrorKind::kCorrupt, std::string("a stored plan is not readable: ") + e.what());
  }
}

Registry<PolicyEntry>& policies() {
  static Registry<PolicyEntry> registry("policy");
  return registry;
}

ActionPlan make_plan(const diagnose::Diagnosis& diagnosis, const Context& given) {
  Context context = given;
  const fabric::Snapshot machine = without_switches(*given.snapshot);
  context.snapshot = &machine;
  ActionPlan none;
  none.id = context.plan_id, none.incident = context.incident, none.snapshot_version = given.snapshot->version();
  if (diagnosis.causes.empty()) {
    none.policy = "report";
    none.reason = "no cause is known";
    none.report = "Something is wrong, but no known cause explains it. Look at the findings; nothing was touched.";
    return none;
  }
  const diagnose::Cause& cause = diagnosis.causes.front();
  const PolicyEntry* chosen = nullptr;
  // An undecided diagnosis isolates nothing: the operator gets both candidates and the test that settles it.
  if (context.last_resort || context.give_up) chosen = policies().find("restart");
  else if (diagnosis.undecided) chosen = policies().find("report");
  if (!chosen)
    for (const PolicyEntry& p : policies().entries())
      if (p.applies(cause, context) && (!chosen || p.order < chosen->order)) chosen = &p;
  if (!chosen) {
    none.policy = "report", none.cause = cause;
    none.reason = "no policy applies to " + cause.fault;
    none.report = "No policy is set for " + cause.fault + "; decide by hand.";
    return none;
  }
  ActionPlan plan = chosen->plan(cause, context);
  plan.id = context.plan_id, plan.incident = context.incident, plan.snapshot_version = given.snapshot->version(),
  plan.policy = chosen->name, plan.cause = cause;
  if (diagnosis.undecided && !context.last_resort && !context.give_up) {
    plan.actions.clear();
    plan.reason = "undecided between the first causes";
    std::string who;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, diagnosis.causes.size()); ++i)
      who += (i ? " or " : "") + diagnosis.causes[i].fault + " of " + diagnosis.causes[i].entity;
    plan.report = "Undecided: " + who + ". Settle by: " + (cause.settling_test.empty() ? "no test known" : cause.settling_test) + ".";
  }
  // A plan that acts has not cured anything before the jobs it is about make steps again.
  bool acts = std::any_of(plan.actions.begin(), plan.actions.end(), [](const Action& a) { return a.kind != action::kWorkOrder; });
  auto prove = [&](const std::string& job) {
    if (std::find(plan.proves.begin(), plan.proves.end(), job) == plan.proves.end()) plan.proves.push_back(job);
  };
  if (acts || !plan.retest.kind.empty())
    for (const JobView& j : context.jobs)
      for (const auto& i : cause.impact)
        if (i.job == j.job.name || i.job == "job/" + j.job.name) prove("job/" + j.job.name);
  for (const Action& a : plan.actions)
    if (a.kind == action::kJobStart) prove(a.target);
  for (std::size_t i = 0; i < plan.actions.size(); ++i) plan.actions[i].id = plan.id + "." + std::to_string(i + 1);
  return plan;
}

}  // namespace weft::heal
