// What no action of ours cures, and what only people can: a clear report, a work order where hardware or facility is meant, no isolation.
#include "base/embedded.h"
#include "base/yaml.h"
#include "heal/parts.h"

namespace weft::heal {
namespace {

bool applies(const diagnose::Cause&, const Context&) { return true; }

ActionPlan plan(const diagnose::Cause& cause, const Context&) {
  ActionPlan p;
  const diagnose::FaultClass* k = diagnose::find_fault_class(cause.fault);
  auto text = embedded_file("data/heal/reports.yaml");
  auto yaml = text ? Yaml::parse(*text, "data/heal/reports.yaml") : Result<Yaml>(std::unexpected(text.error()));
  std::string advice;
  if (yaml)
    if (auto v = yaml->get(cause.fault).text()) advice = *v;
  p.report =
      std::string(k ? k->title : cause.fault) + " (" + cause.entity + "): " + (advice.empty() ? "look at the evidence and decide" : advice);
  p.reason = "no isolation helps";
  if (k && (k->remedy == "cooling" || k->remedy == "power")) {
    p.actions.push_back(work_order(cause.entity, p.report));
    p.reason = "facility work; the machine is not touched";
  }
  p.release_when = "never";
  return p;
}

WEFT_REGISTER(policies(), {"report", "report to the operator, isolate nothing", 1000, applies, plan});

}  // namespace
}  // namespace weft::heal
