// `weft plan validate FILE.csv`: every row of a measured table predicted, errors per source.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/report.h"
#include "cli/measured_table.h"
#include "cli/plan_verbs.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {{"--rows", "", "every row, not only the sources"}, {"--json", "", "JSON instead of the tables"}};

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text(
        "weft plan validate [FILE.csv] [--rows] [--json]",
        "Predicts every row of a measured table; error per source beside the guess that every card always does the median rate.", kOptions,
        "  weft plan validate data/measured/training-measured.csv\n  weft plan validate mine.csv --json\n");
    return 0;
  }
  auto table = measured_table(*options);
  if (!table) return report_error(table.error(), io);
  plan::Validation v = plan::validate(std::move(table->rows), {});
  if (options->has("json")) {
    Json sources = Json::array(), lines = Json::array();
    for (const auto& s : v.sources) sources.push_back(errors_json(s));
    for (std::size_t i = 0; i < v.rows.size(); ++i) {
      const auto& r = v.rows[i];
      const auto& p = v.predictions[i];
      Json line{{"id", r.id}, {"source", r.source}};
      if (p.failed.empty())
        line.update({{"measured", r.value},
                     {"predicted", p.value},
                     {"unit", r.memory ? "bytes" : "s"},
                     {"error", p.error},
                     {"dumb_error", share_json(v.dumb[i])}});
      else line["refused"] = p.failed;
      if (!r.assumed.empty()) line["assumed"] = r.assumed;
      lines.push_back(std::move(line));
    }
    io.out << dump_json(Json{{"table", table->file}, {"overall", errors_json(v.overall)}, {"sources", sources}, {"rows", lines}}) << "\n";
    return 0;
  }
  Report report;
  report.title = "Plan validation: " + table->file;
  Section& section = report.sections.emplace_back();
  Table errors;
  errors.title = "Error per source, percent (mean of absolute values; bias keeps the sign)";
  errors.columns = {{"source"},
                    {"rows", Align::kRight},
                    {"predicted", Align::kRight},
                    {"error", Align::kRight},
                    {"bias", Align::kRight},
                    {"worst", Align::kRight},
                    {"guess", Align::kRight},
                    {"guess, unseen", Align::kRight}};
  auto add = [&](const plan::SourceErrors& s) {
    bool any = s.predicted > 0;
    errors.rows.push_back({s.name, std::to_string(s.rows), std::to_string(s.predicted), any ? percent_text(s.mean_abs_error) : "–",
                           any ? percent_text(s.bias, true) : "–", any ? percent_text(s.worst) : "–", percent_text(s.dumb_error),
                           percent_text(s.dumb_unseen_error)});
  };
  for (const auto& s : v.sources) add(s);
  add(v.overall);
  section.tables.push_back(std::move(errors));
  section.paragraphs.push_back(
      "guess: every card always does the median rate of the same source's rows, which has seen the answers; unseen: the median of all "
      "other sources' rows of that card and precision. overall: times only.");
  Table why;
  why.title = "Not predicted";
  why.columns = {{"source"}, {"rows", Align::kRight}, {"why"}};
  for (const auto& s : v.sources)
    for (const auto& [reason, n] : s.reasons) why.rows.push_back({s.name, std::to_string(n), reason});
  if (!why.rows.empty()) section.tables.push_back(std::move(why));
  if (options->has("rows")) {
    Table all;
    all.title = "Rows";
    all.columns = {{"row"}, {"measured", Align::kRight}, {"predicted", Align::kRight}, {"error %", Align::kRight}};
    for (std::size_t i = 0; i < v.rows.size(); ++i) {
      const auto& r = v.rows[i];
      const auto& p = v.predictions[i];
      auto shown = [&](double x) { return r.memory ? fmt::format("{:.2f} GB", x / 1e9) : fmt::format("{:.4g} s", x); };
      if (p.failed.empty()) all.rows.push_back({r.id, shown(r.value), shown(p.value), percent_text(p.error, true)});
    }
    section.tables.push_back(std::move(all));
  }
  io.out << to_text(report);
  return 0;
}

WEFT_REGISTER(plan_verbs(), {"validate", "predict every row of a measured table; error per source beside the dumb guess", run});

}  // namespace
}  // namespace weft::cli
