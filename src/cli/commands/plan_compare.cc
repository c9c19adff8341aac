// `weft plan compare A B`: two machines on the same work.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/job_options.h"
#include "cli/plan_options.h"
#include "cli/plan_verbs.h"

namespace weft::cli {
namespace {

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, plan_option_specs());
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft plan compare FORM FORM --model NAME --cards N",
                         "Two forms or site files on the same work: best strategy, time, cost, energy, failures.", plan_option_specs(),
                         "  weft plan compare hgx-h100 gb200-nvl72 --model llama-3-405b --cards 1152 --batch 1152\n");
    return 0;
  }
  if (options->positional.size() != 2 || options->has("form") || options->has("card"))
    return report_error(Error{ErrorKind::kInvalid, "name two forms or site files: weft plan compare hgx-h100 gb200-nvl72 …", ""}, io);
  Json out = Json::array();
  Table t;
  t.title = "The same work on two machines";
  t.columns = {{"machine"},
               {"best strategy"},
               {"step", Align::kRight, "s"},
               {"MFU", Align::kRight, "%"},
               {"days", Align::kRight},
               {"failures", Align::kRight, "a day"},
               {"energy", Align::kRight, "MWh"},
               {"cost", Align::kRight, "M USD"}};
  Report report;
  Section& section = report.sections.emplace_back();
  int code = 0;
  for (const std::string& form : options->positional) {
    Options one = *options;
    one.given["form"] = {form};
    auto r = plan_from(one);
    if (!r) return report_error(r.error(), io);
    r->space.keep = 1;
    auto estimator = plan::Estimator::make(r->model, r->machine, r->software, r->space.precision);
    if (!estimator) return report_error(estimator.error(), io);
    plan::SearchResult found = plan::search(*estimator, r->space);
    for (auto& f : request_facts(*r)) section.facts.push_back(std::move(f));
    if (found.best.empty()) {
      code = 1;
      out.push_back({{"inputs", request_json(*r)}, {"refused", found.first_constraint}});
      t.rows.push_back({form, found.first_constraint, "–", "–", "–", "–", "–", "–"});
      continue;
    }
    const plan::Candidate& c = found.best[0];
    double tokens = static_cast<double>(r->space.global_batch) * r->space.sequence,
           share = plan::mfu(r->model, c.strategy, c.estimate.time.step, r->machine.card);
    plan::Run run = plan::run_of(r->economy, r->machine, static_cast<double>(r->model.parameters()), r->space.cards, c.estimate.time.step,
                                 tokens, r->tokens);
    out.push_back({{"inputs", request_json(*r)},
                   {"strategy", strategy_json(c.strategy)},
                   {"time", time_json(c.estimate.time)},
                   {"memory", memory_json(c.estimate.memory)},
                   {"mfu", share},
                   {"run", run_json(run)}});
    t.rows.push_back({form, plan_strategy_text(c.strategy), fmt::format("{:.4g}", c.estimate.time.step), fmt::format("{:.1f}", 100 * share),
                      fmt::format("{:.2f}", run.days_with_failures), fmt::format("{:.2f}", run.failures_per_day),
                      fmt::format("{:.0f}", run.megawatt_hours), fmt::format("{:.3f}", run.usd / 1e6)});
  }
  if (options->has("json")) {
    io.out << dump_json(Json{{"machines", out}}) << "\n";
    return code;
  }
  report.title = "Plan: compare";
  section.tables.push_back(std::move(t));
  io.out << to_text(report);
  return code;
}

WEFT_REGISTER(plan_verbs(), {"compare", "two machines or forms on the same work: time, cost, power, failures", run});

}  // namespace
}  // namespace weft::cli
