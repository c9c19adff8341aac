// `weft heal plan SITE`: what the policies would do about a cause, without doing it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/report.h"
#include "cli/command.h"
#include "cli/options.h"
#include "fabric/site.h"
#include "heal/types.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"--site", "SITE", "the same as naming it first"},
    {"--fault", "CLASS", "fault class ('weft list faults')"},
    {"--entity", "NAME", "the part at fault"},
    {"--undecided", "", "as if a second cause were as likely: nothing may be isolated"},
    {"--json", "", "the plan as JSON"},
};

// The kind of part that a name stands for, in the words of the fault classes.
std::string kind_of(const fabric::Snapshot& s, const std::string& entity) {
  if (entity.starts_with("job/")) return "job";
  if (auto device = s.find_device(entity)) return std::string(fabric::kind_name(s.device(*device).kind));
  return s.find_link(entity) ? "link" : "";
}

int plan(const Options& options, Io& io) {
  std::string site = options.positional.size() > 1 ? options.positional[1] : options.get("site");
  if (site.empty() || !options.has("fault") || !options.has("entity"))
    return report_error(Error{ErrorKind::kInvalid, "weft heal plan SITE --fault CLASS --entity NAME", ""}, io);
  const diagnose::FaultClass* k = diagnose::find_fault_class(options.get("fault"));
  if (!k) {
    std::vector<std::string> known;
    for (const auto& f : diagnose::fault_classes()) known.emplace_back(f.id);
    std::string near = nearest(options.get("fault"), known);
    return report_error(Error{ErrorKind::kInvalid,
                              "no fault class '" + options.get("fault") + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?") +
                                  " ('weft list faults' shows them)",
                              ""},
                        io);
  }
  auto snapshot = fabric::load_site(site);
  if (!snapshot) return report_error(snapshot.error(), io);
  std::string entity = options.get("entity");
  if (k->entity_kind != "job" && !snapshot->find_device(entity) && !snapshot->find_link(entity))
    return report_error(snapshot->find_device(entity).error(), io);
  if (std::string kind = kind_of(*snapshot, entity); kind != k->entity_kind) {
    std::string others;
    for (const auto& f : diagnose::fault_classes())
      if (f.entity_kind == kind) others += (others.empty() ? "" : ", ") + std::string(f.id);
    return report_error(
        Error{ErrorKind::kInvalid,
              fmt::format("{} applies to a {}, and '{}' is {}{}", k->id, k->entity_kind, entity, kind.empty() ? "no part" : "a " + kind,
                          others.empty() ? "" : fmt::format("; classes of a {}: {}", kind, others)),
              ""},
        io);
  }
  diagnose::Diagnosis d;
  diagnose::Cause cause;
  cause.fault = std::string(k->id), cause.entity = entity, cause.layer = k->layer, cause.confidence = 0.9;
  d.causes = {cause};
  d.unknown = 0.1, d.undecided = options.has("undecided");
  heal::Context context;
  context.snapshot = &*snapshot, context.incident = "I0001", context.plan_id = "P0001";
  heal::ActionPlan p = heal::make_plan(d, context);
  if (options.has("json")) {
    io.out << dump_json(heal::to_json(p, *snapshot)) << "\n";
    return 0;
  }
  Report report;
  report.title = "Plan for " + cause.fault + " of " + entity + " (dry run)";
  Section& s = report.sections.emplace_back();
  s.facts = {{"policy", p.policy}, {"reason", p.reason}, {"owner", p.owner}, {"expires", human(p.expiry)}, {"back when", p.release_when}};
  if (!p.report.empty()) s.facts.emplace_back("report", p.report);
  if (!p.retest.kind.empty())
    s.facts.emplace_back("retest",
                         fmt::format("{} of {}: {} at least {:g}", p.retest.kind, p.retest.target, p.retest.measure, p.retest.at_least));
  if (!p.release_test.kind.empty())
    s.facts.emplace_back("release test", fmt::format("{} of {}: {} at least {:g}", p.release_test.kind, p.release_test.target,
                                                     p.release_test.measure, p.release_test.at_least));
  Table table;
  table.columns = {{"id"}, {"action"}, {"target"}, {"why"}, {"undo"}};
  for (const auto& a : p.actions) table.rows.push_back({a.id, a.kind, a.target, a.why, a.undo_kind});
  if (!table.rows.empty()) s.tables.push_back(std::move(table));
  io.out << to_text(report);
  return 0;
}

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  std::string verb = options->positional.empty() ? "" : options->positional[0];
  bool asked = options->has("help") || verb == "help";
  if (asked || verb.empty()) {
    (asked ? io.out : io.err) << usage_text("weft heal plan SITE --fault CLASS --entity NAME",
                                            "Shows what the policies would do about a cause; nothing is done.", kOptions,
                                            "  weft heal plan lab-32 --fault card_off_bus --entity sn1/node2/card3\n"
                                            "  weft list policies                # the policies, in the order of their names\n"
                                            "  weft list faults                  # what they can be asked about\n");
    return asked ? 0 : 2;
  }
  if (verb == "plan") return plan(*options, io);
  return report_error(
      Error{ErrorKind::kInvalid, "unknown verb '" + verb + "'; there is 'weft heal plan' ('weft list policies' shows the policies)", ""},
      io);
}

WEFT_REGISTER(commands(), {"heal", "what would be done about a cause (dry run)", run});

}  // namespace
}  // namespace weft::cli
