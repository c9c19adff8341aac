// `weft plan calibrate FILE.csv`: fits the declared parameters, prints them beside the stated ones, and what every source's error is when that source
// was left out of the fit.
#include <fmt/format.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/report.h"
#include "cli/measured_table.h"
#include "cli/plan_verbs.h"
#include "plan/calibrate.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {{"--no-cross", "", "no fits with a source left out"},
                                          {"--rounds", "N", "passes over the parameters (default 600)"},
                                          {"--json", "", "JSON instead of the tables"}};

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft plan calibrate [FILE.csv] [--no-cross] [--rounds N] [--json]",
                         "Fits the parameters that data/plan/calibration.yaml declares; every source left out in turn. Changes no file.",
                         kOptions, "  weft plan calibrate data/measured/training-measured.csv\n");
    return 0;
  }
  auto rounds = options->integer("rounds", 600, 1, 1000);
  if (!rounds) return report_error(rounds.error(), io);
  auto table = measured_table(*options);
  if (!table) return report_error(table.error(), io);
  const std::vector<plan::MeasuredRow>& rows = table->rows;
  auto parameters = plan::calibration_parameters();
  if (!parameters) return report_error(parameters.error(), io);
  auto stated = plan::stated_knowledge(rows);
  if (!stated) return report_error(stated.error(), io);
  int passes = static_cast<int>(*rounds);
  auto all = [](const plan::MeasuredRow&) { return true; };
  plan::Fitted before = plan::calibrate(rows, *stated, *parameters, all, 0);
  plan::Fitted fit = plan::calibrate(rows, plan::neutral(*stated, *parameters), *parameters, all, passes);
  plan::Validation in = plan::validate(rows, fit.knowledge);
  Table values, errors;
  values.title = fmt::format("Parameters (objective {:.4f} as stated, {:.4f} fitted)", before.before, fit.after);
  values.columns = {{"parameter"}, {"stated", Align::kRight}, {"fitted", Align::kRight}, {"bounds"}};
  Json out_values = Json::array(), out_sources = Json::array();
  for (std::size_t i = 0; i < parameters->size(); ++i) {
    const auto& p = (*parameters)[i];
    values.rows.push_back(
        {p.name, fmt::format("{:.4g}", before.values[i]), fmt::format("{:.4g}", fit.values[i]), fmt::format("{:g} … {:g}", p.low, p.high)});
    out_values.push_back({{"name", p.name}, {"stated", before.values[i]}, {"fitted", fit.values[i]}});
  }
  errors.title = "Error per source, percent";
  errors.columns = {{"source"},
                    {"rows", Align::kRight},
                    {"fitted", Align::kRight},
                    {"bias", Align::kRight},
                    {"left out", Align::kRight},
                    {"guess", Align::kRight},
                    {"guess, unseen", Align::kRight}};
  for (const auto& s : in.sources) {
    if (s.predicted == 0 || !std::isfinite(s.dumb_error)) continue;
    double left = std::nan("");
    if (!options->has("no-cross")) {
      plan::Fitted without = plan::calibrate(
          rows, plan::neutral(*stated, *parameters), *parameters, [&](const auto& r) { return r.source != s.name; }, passes);
      for (const auto& x : plan::validate(rows, without.knowledge).sources)
        if (x.name == s.name) left = x.mean_abs_error;
    }
    errors.rows.push_back({s.name, std::to_string(s.predicted), percent_text(s.mean_abs_error), percent_text(s.bias, true),
                           percent_text(left), percent_text(s.dumb_error), percent_text(s.dumb_unseen_error)});
    Json one = errors_json(s);
    one["left_out_error"] = share_json(left);
    out_sources.push_back(std::move(one));
  }
  if (options->has("json")) {
    io.out << dump_json(Json{{"table", table->file},
                             {"objective", {{"stated", before.before}, {"fitted", fit.after}}},
                             {"parameters", out_values},
                             {"sources", out_sources}})
           << "\n";
    return 0;
  }
  Report report;
  report.title = "Plan calibration: " + table->file;
  Section& section = report.sections.emplace_back();
  section.tables = {std::move(values), std::move(errors)};
  section.paragraphs.push_back(
      "left out: the error of a source predicted with parameters fitted on all other sources, from the middle of the bounds. Changes no "
      "file: values go into data/cards "
      "and data/plan/software.yaml by hand.");
  io.out << to_text(report);
  return 0;
}

WEFT_REGISTER(plan_verbs(), {"calibrate", "fit the declared parameters on measured rows, cross-validated by source", run});

}  // namespace
}  // namespace weft::cli
