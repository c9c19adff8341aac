// `weft plan validate FILE.csv`: every row of a measured table predicted, errors per source.
#include <fmt/format.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/embedded.h"
#include "base/report.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/plan_verbs.h"
#include "plan/validate.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {{"--rows", "", "every row, not only the sources"}, {"--json", "", "JSON instead of the tables"}};
constexpr const char* kTable = "data/measured/training-measured.csv";

std::string percent(double v, bool sign = false) {
  return !std::isfinite(v) ? "–" : sign ? fmt::format("{:+.1f}", 100 * v) : fmt::format("{:.1f}", 100 * v);
}
Json share(double v) { return std::isfinite(v) ? Json(v) : Json(); }

Json to_json(const plan::SourceErrors& s) {
  Json reasons = Json::object();
  for (const auto& [why, n] : s.reasons) reasons[why] = n;
  Json out{{"source", s.name}, {"rows", s.rows}, {"predicted", s.predicted}, {"refused", {{"count", s.refused}, {"reasons", reasons}}}};
  out["mean_abs_error"] = s.predicted ? Json(s.mean_abs_error) : Json();
  out["bias"] = s.predicted ? Json(s.bias) : Json();
  out["worst"] = s.predicted ? Json(s.worst) : Json();
  out["dumb_error"] = share(s.dumb_error), out["dumb_unseen_error"] = share(s.dumb_unseen_error);
  return out;
}

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
  if (options->positional.size() > 1) return report_error(Error{ErrorKind::kInvalid, "one table at a time", ""}, io);
  std::string file = options->positional.empty() ? kTable : options->positional[0];
  auto text = options->positional.empty() ? embedded_file(kTable) : read_file(file, 64 << 20);
  if (!text) return report_error(text.error(), io);
  auto table = parse_csv(*text, file);
  if (!table) return report_error(table.error(), io);
  auto rows = plan::measured_rows(*table);
  if (!rows) return report_error(rows.error(), io);
  plan::Validation v = plan::validate(std::move(*rows), {});
  if (options->has("json")) {
    Json sources = Json::array(), lines = Json::array();
    for (const auto& s : v.sources) sources.push_back(to_json(s));
    for (std::size_t i = 0; i < v.rows.size(); ++i) {
      const auto& r = v.rows[i];
      const auto& p = v.predictions[i];
      Json line{{"id", r.id}, {"source", r.source}};
      if (p.failed.empty())
        line.update({{"measured", r.value},
                     {"predicted", p.value},
                     {"unit", r.memory ? "bytes" : "s"},
                     {"error", p.error},
                     {"dumb_error", share(v.dumb[i])}});
      else line["refused"] = p.failed;
      if (!r.assumed.empty()) line["assumed"] = r.assumed;
      lines.push_back(std::move(line));
    }
    io.out << dump_json(Json{{"table", file}, {"overall", to_json(v.overall)}, {"sources", sources}, {"rows", lines}}) << "\n";
    return 0;
  }
  Report report;
  report.title = "Plan validation: " + file;
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
    errors.rows.push_back({s.name, std::to_string(s.rows), std::to_string(s.predicted), any ? percent(s.mean_abs_error) : "–",
                           any ? percent(s.bias, true) : "–", any ? percent(s.worst) : "–", percent(s.dumb_error),
                           percent(s.dumb_unseen_error)});
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
      if (p.failed.empty()) all.rows.push_back({r.id, shown(r.value), shown(p.value), percent(p.error, true)});
    }
    section.tables.push_back(std::move(all));
  }
  io.out << to_text(report);
  return 0;
}

WEFT_REGISTER(plan_verbs(), {"validate", "predict every row of a measured table; error per source beside the dumb guess", run});

}  // namespace
}  // namespace weft::cli
