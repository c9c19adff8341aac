// `weft plan train`: the best strategies for a model on a machine.
#include <fmt/format.h>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/job_options.h"
#include "cli/plan_options.h"
#include "cli/plan_verbs.h"

namespace weft::cli {
namespace {

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = plan_option_specs();
  out.push_back({"--top", "N", "strategies to show (default 10)"});
  out.push_back({"--exhaustive", "", "price every configuration, skip none; the same answer, slower"});
  return out;
}

int run(const std::vector<std::string>& words, Io& io) {
  const auto known = specs();
  auto options = parse_options(words, known);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft plan train --model NAME --form FORM --cards N [--tokens T]",
                         "The best strategies, ranked, with memory, step time, MFU, days, energy and cost.", known,
                         "  weft plan train --model llama-3-405b --form hgx-h100 --cards 16384 --seq 8192 --tokens 15.6T\n  weft plan "
                         "train --model deepseek-v3 --form gb200-nvl72 --cards 1152 --precision fp8\n");
    return 0;
  }
  auto r = plan_from(*options);
  if (!r) return report_error(r.error(), io);
  auto top = options->integer("top", 10, 1, 1000);
  if (!top) return report_error(top.error(), io);
  r->space.keep = static_cast<int>(*top), r->space.prune = !options->has("exhaustive");
  auto estimator = plan::Estimator::make(r->model, r->machine, r->software, r->space.precision);
  if (!estimator) return report_error(estimator.error(), io);
  auto begin = std::chrono::steady_clock::now();
  plan::SearchResult found = plan::search(*estimator, r->space);
  double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  io.err << fmt::format("{} configurations priced in {:.2f} s\n", found.priced, took);
  double parameters = static_cast<double>(r->model.parameters()),
         step_tokens = static_cast<double>(r->space.global_batch) * r->space.sequence;
  auto run_for = [&](const plan::Candidate& c) {
    return plan::run_of(r->economy, r->machine, parameters, r->space.cards, c.estimate.time.step, step_tokens, r->tokens);
  };
  if (options->has("json")) {
    Json list = Json::array();
    for (const auto& c : found.best)
      list.push_back({{"strategy", strategy_json(c.strategy)},
                      {"time", time_json(c.estimate.time)},
                      {"memory", memory_json(c.estimate.memory)},
                      {"mfu", plan::mfu(r->model, c.strategy, c.estimate.time.step, r->machine.card)},
                      {"tokens_per_s_per_card", step_tokens / c.estimate.time.step / r->space.cards},
                      {"run", run_json(run_for(c))}});
    Json out{{"inputs", request_json(*r)}, {"priced", found.priced}, {"too_large", found.too_large}, {"strategies", list}};
    if (found.best.empty()) {
      out["refused"] = found.first_constraint;
      if (found.any && found.priced)
        out["nearest"] = {{"strategy", strategy_json(found.nearest.strategy)},
                          {"time", time_json(found.nearest.estimate.time)},
                          {"memory", memory_json(found.nearest.estimate.memory)}};
    }
    io.out << dump_json(out) << "\n";
    return found.best.empty() ? 1 : 0;
  }
  Report report;
  report.title = fmt::format("Plan: train {}", r->model.name);
  Section& section = report.sections.emplace_back();
  section.facts = request_facts(*r);
  if (found.best.empty()) {
    section.paragraphs.push_back("No strategy: " + found.first_constraint);
    if (found.any && found.priced) {
      section.paragraphs.push_back("Nearest: " + plan_strategy_text(found.nearest.strategy));
      section.tables.push_back(memory_table(found.nearest.estimate.memory, estimator->memory_limit()));
    }
    io.out << to_text(report);
    return 1;
  }
  Table t;
  t.title = "Strategies by step time";
  t.columns = {{"strategy"},
               {"step", Align::kRight, "s"},
               {"MFU", Align::kRight, "%"},
               {"memory", Align::kRight, "GB"},
               {"days", Align::kRight},
               {"energy", Align::kRight, "MWh"},
               {"cost", Align::kRight, "M USD"}};
  for (const auto& c : found.best) {
    plan::Run run = run_for(c);
    t.rows.push_back({plan_strategy_text(c.strategy), fmt::format("{:.4g}", c.estimate.time.step),
                      fmt::format("{:.1f}", 100 * plan::mfu(r->model, c.strategy, c.estimate.time.step, r->machine.card)),
                      fmt::format("{:.1f}", c.estimate.memory.total / 1e9), fmt::format("{:.1f}", run.days_with_failures),
                      fmt::format("{:.0f}", run.megawatt_hours), fmt::format("{:.2f}", run.usd / 1e6)});
  }
  section.tables = {std::move(t), time_table(found.best[0].estimate.time),
                    memory_table(found.best[0].estimate.memory, estimator->memory_limit())};
  plan::Run best = run_for(found.best[0]);
  section.paragraphs.push_back(fmt::format(
      "The best of {} configurations: {:.1f} days without failures, {:.1f} with ({:.2f} a day, goodput {:.1f} %; a checkpoint every {:.0f} "
      "s, written in {:.1f} s). Prices and failure rates are assumed (--json lists them); errors of the model: weft plan validate.",
      found.priced, best.days, best.days_with_failures, best.failures_per_day, 100 * best.goodput, best.checkpoint_every_s,
      best.checkpoint_write_s));
  io.out << to_text(report);
  return 0;
}

WEFT_REGISTER(plan_verbs(), {"train", "best strategies, ranked, with memory, step time, MFU, days, energy, cost", run});

}  // namespace
}  // namespace weft::cli
