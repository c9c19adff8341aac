// `weft plan explain`: where every byte of memory, every message and every millisecond of one strategy goes.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/job_options.h"
#include "cli/plan_options.h"
#include "cli/plan_verbs.h"
#include "workload/account.h"

namespace weft::cli {
namespace {

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = job_option_specs();
  for (const OptionSpec& s : plan_option_specs()) {
    bool there = false;
    for (const OptionSpec& o : out) there = there || o.name == s.name;
    if (!there && s.name != "--cards" && s.name != "--batch" && s.name != "--tokens" && s.name != "--threads") out.push_back(s);
  }
  return out;
}

int run(const std::vector<std::string>& words, Io& io) {
  const auto known = specs();
  auto options = parse_options(words, known);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft plan explain --model NAME --form FORM --tp N --pp N --dp N …",
                         "Where every byte of memory, every message and every millisecond of a strategy goes.", known,
                         "  weft plan explain --model llama-3-70b --form hgx-h100 --tp 8 --pp 4 --dp 4 --global-batch 128\n");
    return 0;
  }
  auto job = job_from(*options);
  if (!job) return report_error(job.error(), io);
  auto machine = machine_from(*options);
  if (!machine) return report_error(machine.error(), io);
  auto software = plan::software(options->get("software", plan::kDefaultSoftware));
  if (!software) return report_error(software.error(), io);
  workload::Strategy s = job->strategy;
  auto estimator = plan::Estimator::make(job->model, *machine, *software, s.precision);
  if (!estimator) return report_error(estimator.error(), io);
  plan::Estimate e = estimator->estimate(s);
  double share = plan::mfu(job->model, s, e.time.step, machine->card);
  auto map = plan::communication_map(job->model, s, machine->domain);
  bool fits = e.memory.total <= estimator->memory_limit();
  auto account = workload::account(job->model, s, s.pp / 2);
  if (options->has("json")) {
    Json messages = Json::array();
    for (const auto& t : account)
      messages.push_back({{"dim", workload::dim_name(t.dim)},
                          {"what", t.what},
                          {"operation", t.point_to_point ? "send" : workload::collective_name(t.collective)},
                          {"members", t.members},
                          {"message_bytes", t.message},
                          {"count", t.count},
                          {"sent_bytes", t.sent}});
    io.out << dump_json(Json{{"job", to_json(*job)},
                             {"machine", {{"name", machine->name}, {"card", machine->card.name}, {"domain", machine->domain}}},
                             {"software", software->name},
                             {"assumed", machine->assumed},
                             {"time", time_json(e.time)},
                             {"mfu", share},
                             {"memory", memory_json(e.memory)},
                             {"fits", fits},
                             {"communication_map", map_json(map)},
                             {"messages", messages}})
           << "\n";
    return fits ? 0 : 1;
  }
  Report report;
  report.title = "Plan: explain " + job->name;
  Section& section = report.sections.emplace_back();
  section.facts = {{"strategy", strategy_text(s)},
                   {"machine", fmt::format("{}: {} in domains of {}", machine->name, machine->card.name, machine->domain)},
                   {"software", software->name},
                   {"step", fmt::format("{:.4g} s, MFU {:.1f} %", e.time.step, 100 * share)},
                   {"memory", fits ? "fits" : "does not fit: recompute, shard more (--zero 3) or use more stages"}};
  for (const std::string& a : machine->assumed) section.facts.emplace_back("assumed", a);
  Table m;
  m.title = "Communication of a card of a middle stage";
  m.columns = {{"dim"},
               {"what"},
               {"members", Align::kRight},
               {"message", Align::kRight, "MB"},
               {"count", Align::kRight},
               {"sent", Align::kRight, "GB"},
               {"reach", Align::kRight, "cards"},
               {"in the domain"}};
  for (const auto& t : account)
    for (const auto& d : map)
      if (d.dim == t.dim)
        m.rows.push_back({std::string(workload::dim_name(t.dim)), t.what, std::to_string(t.members), fmt::format("{:.2f}", t.message / 1e6),
                          fmt::format("{:.0f}", t.count), fmt::format("{:.2f}", t.sent / 1e9), std::to_string(d.reach),
                          d.inside ? "yes" : "no"});
  section.tables = {time_table(e.time), memory_table(e.memory, estimator->memory_limit()), std::move(m)};
  io.out << to_text(report);
  return fits ? 0 : 1;
}

WEFT_REGISTER(plan_verbs(), {"explain", "where every byte, message and millisecond of a strategy goes", run});

}  // namespace
}  // namespace weft::cli
