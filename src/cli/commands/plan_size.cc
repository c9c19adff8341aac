// `weft plan size`: how large a high-bandwidth domain the work needs.
#include <fmt/format.h>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/job_options.h"
#include "cli/plan_options.h"
#include "cli/plan_verbs.h"

namespace weft::cli {
namespace {

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = plan_option_specs();
  out.push_back({"--html", "FILE", "the report with its curve as one HTML file"});
  return out;
}

int run(const std::vector<std::string>& words, Io& io) {
  const auto known = specs();
  auto options = parse_options(words, known);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft plan size --model NAME --card MODEL --cards N",
                         "The domain-size curve: best strategy, time and cost of a run in domains of 1 to 1024 equal cards; what is "
                         "needed, or that no supernode is, and why.",
                         known,
                         "  weft plan size --model deepseek-v3 --card GB200-B200 --cards 1024 --precision fp8\n  weft plan size --model "
                         "llama-2-7b --card H100-SXM5 --cards 64\n");
    return 0;
  }
  auto r = plan_from(*options);
  if (!r) return report_error(r.error(), io);
  auto answer = plan::size(r->model, r->machine, r->software, r->space, r->economy, r->tokens);
  if (!answer) return report_error(answer.error(), io);
  const plan::SizeAnswer& a = *answer;
  auto map = a.needed < 0 ? std::vector<plan::DimensionMap>{}
                          : plan::communication_map(r->model, a.curve[a.needed].best.strategy, a.curve[a.needed].domain);
  if (options->has("json")) {
    Json curve = Json::array();
    for (const auto& p : a.curve) {
      if (!p.fits) curve.push_back({{"domain", p.domain}, {"refused", p.why_not}});
      else
        curve.push_back({{"domain", p.domain},
                         {"strategy", strategy_json(p.best.strategy)},
                         {"time", time_json(p.best.estimate.time)},
                         {"memory_bytes", p.best.estimate.memory.total},
                         {"inside_share", p.inside},
                         {"run", run_json(p.run)}});
    }
    Json out{{"inputs", request_json(*r)}, {"curve", curve}, {"communication_map", map_json(map)}, {"reasons", a.reasons}};
    if (a.needed >= 0)
      out["answer"] = {{"supernode", a.supernode},
                       {"needed", a.curve[a.needed].domain},
                       {"knee", a.curve[a.knee].domain},
                       {"fastest", a.curve[a.fastest].domain},
                       {"cheapest", a.curve[a.cheapest].domain},
                       {"with_margin", {a.with_margin_low, a.with_margin_high}},
                       {"plain_schedules_needed", a.plain_needed},
                       {"spares_per_domain", a.spares}};
    io.out << dump_json(out) << "\n";
    return a.needed < 0 ? 1 : 0;
  }
  Report report;
  report.title = fmt::format("Plan: how large a domain for {}", r->model.name);
  Section& section = report.sections.emplace_back();
  section.facts = request_facts(*r);
  if (a.needed >= 0) {
    section.facts.emplace_back(
        "answer", a.supernode ? fmt::format("a domain of {}; with growth of 1.5 to 2 times {} to {}; {} spare{}", a.curve[a.needed].domain,
                                            a.with_margin_low, a.with_margin_high, a.spares, a.spares == 1 ? "" : "s")
                              : fmt::format("no supernode: domains of {}", a.curve[a.needed].domain));
  }
  section.paragraphs = a.reasons;
  Table t;
  t.title = "Domain size, otherwise equal cards";
  t.columns = {{"domain", Align::kRight},
               {"best strategy"},
               {"step", Align::kRight, "s"},
               {"inside", Align::kRight, "%"},
               {"days", Align::kRight},
               {"cost", Align::kRight, "M USD"},
               {""}};
  Series time{"step time", {}}, cost{"cost", {}};
  for (int i = 0; i < static_cast<int>(a.curve.size()); ++i) {
    const auto& p = a.curve[i];
    std::vector<std::string> marks;
    if (i == a.needed) marks.push_back("needed");
    if (i == a.knee) marks.push_back("knee");
    if (i == a.fastest) marks.push_back("fastest");
    if (p.fits)
      t.rows.push_back({std::to_string(p.domain), plan_strategy_text(p.best.strategy), fmt::format("{:.4g}", p.best.estimate.time.step),
                        fmt::format("{:.0f}", 100 * p.inside), fmt::format("{:.2f}", p.run.days_with_failures),
                        fmt::format("{:.3f}", p.run.usd / 1e6), join(marks, ", ")});
    else t.rows.push_back({std::to_string(p.domain), p.why_not, "–", "–", "–", "–", ""});
    double gap = std::numeric_limits<double>::quiet_NaN();
    time.points.emplace_back(std::log2(p.domain), p.fits ? p.best.estimate.time.step : gap),
        cost.points.emplace_back(std::log2(p.domain), p.fits ? p.run.usd / 1e6 : gap);
  }
  section.tables.push_back(std::move(t));
  if (!map.empty()) {
    Table m;
    m.title = "Communication map of the needed size";
    m.columns = {{"dim"},
                 {"members", Align::kRight},
                 {"reach", Align::kRight, "cards"},
                 {"sent by a card", Align::kRight, "GB/step"},
                 {"in the domain"},
                 {"step waits"}};
    for (const auto& d : map)
      m.rows.push_back({std::string(workload::dim_name(d.dim)), std::to_string(d.members), std::to_string(d.reach),
                        fmt::format("{:.2f}", d.sent / 1e9), d.inside ? "yes" : "no", d.exposed ? "yes" : "overlaps"});
    section.tables.push_back(std::move(m));
  }
  if (options->has("html")) {
    section.charts.push_back({"Step time over domain size", "log2 of the domain", "s", Chart::Kind::kLine, {time}, {}});
    section.charts.push_back({"Cost of the run over domain size", "log2 of the domain", "M USD", Chart::Kind::kLine, {cost}, {}});
    if (auto ok = write_file(options->get("html"), to_html(report)); !ok) return report_error(ok.error(), io);
    section.charts.clear();
  }
  io.out << to_text(report);
  return a.needed < 0 ? 1 : 0;
}

WEFT_REGISTER(plan_verbs(), {"size", "how large a high-bandwidth domain, or that no supernode is needed, and why", run});

}  // namespace
}  // namespace weft::cli
