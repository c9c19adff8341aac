// `weft list [KIND]`: every extension that is built in: sites, models, topologies, algorithms, checks, faults … Not a capability, so it lives here alone.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/options.h"
#include "collective/cost.h"
#include "diagnose/types.h"
#include "fabric/site.h"
#include "fabric/topologies/topology.h"
#include "heal/types.h"
#include "inspect/inspect.h"
#include "place/place.h"
#include "scenario/scenario.h"
#include "store/store.h"
#include "telemetry/names.h"
#include "workload/model.h"

namespace weft::cli {
namespace {

struct Item {
  std::string name, help;
};
using Items = std::vector<Item>;

template <class R>
Items of(const R& registry) {
  Items out;
  for (const auto& e : registry.entries()) out.push_back({e.name, std::string(e.help)});
  return out;
}

std::vector<std::pair<std::string, Items>> everything() {
  std::vector<std::pair<std::string, Items>> out;
  Items sites, models, faults, metrics, scenarios;
  for (const std::string& s : fabric::known_sites()) {
    auto spec = fabric::read_site(s);
    std::string title;
    if (spec && spec->document.has("title"))
      if (auto t = spec->document.get("title").text()) title = *t;
    sites.push_back({s, title});
  }
  for (const std::string& m : workload::known_models()) {
    auto model = workload::load_model(m);
    models.push_back(
        {m, model ? fmt::format("{:.1f} B parameters{}", static_cast<double>(model->parameters()) / 1e9,
                                model->moe() ? fmt::format(", {:.1f} B active", static_cast<double>(model->active_parameters()) / 1e9) : "")
                  : ""});
  }
  for (const auto& f : diagnose::fault_classes()) faults.push_back({std::string(f.id), std::string(f.title)});
  for (const auto& m : telemetry::metric_catalogue()) metrics.push_back({std::string(m.name), std::string(m.help)});
  if (auto all = scenario::read_scenarios("scenarios/"))
    for (const auto& s : *all) scenarios.push_back({s.name, s.title});
  out.push_back({"sites", sites});
  out.push_back({"models", models});
  out.push_back({"topologies", of(fabric::topologies())});
  out.push_back({"algorithms", of(collective::algorithms())});
  out.push_back({"placements", of(place::strategies())});
  out.push_back({"checks", of(inspect::checks())});
  out.push_back({"faults", faults});
  out.push_back({"policies", of(heal::policies())});
  out.push_back({"scenarios", scenarios});
  out.push_back({"metrics", metrics});
  out.push_back({"stores", of(store::backends())});
  out.push_back({"commands", of(commands())});
  return out;
}

const std::vector<OptionSpec> kOptions = {{"--json", "", "one JSON object: kind → [{name, help}]"}};

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft list [KIND]", "Lists what is built in; KIND is one of the headings.", kOptions,
                         "  weft list\n  weft list checks\n");
    return 0;
  }
  auto all = everything();
  if (options->positional.size() > 1) return report_error(Error{ErrorKind::kInvalid, "weft list takes one kind", ""}, io);
  if (!options->positional.empty()) {
    std::vector<std::string> kinds;
    std::vector<std::pair<std::string, Items>> chosen;
    for (auto& k : all) {
      kinds.push_back(k.first);
      if (k.first == options->positional[0]) chosen.push_back(k);
    }
    if (chosen.empty()) {
      std::string near = nearest(options->positional[0], kinds), list;
      for (const auto& k : kinds) list += (list.empty() ? "" : ", ") + k;
      return report_error(
          Error{ErrorKind::kInvalid,
                "no kind '" + options->positional[0] + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?") + " (" + list + ")",
                ""},
          io);
    }
    all = chosen;
  }
  if (options->has("json")) {
    Json j = Json::object();
    for (const auto& [kind, items] : all) {
      j[kind] = Json::array();
      for (const Item& i : items) j[kind].push_back({{"name", i.name}, {"help", i.help}});
    }
    io.out << dump_json(j) << "\n";
    return 0;
  }
  for (const auto& [kind, items] : all) {
    io.out << kind << "\n";
    for (const Item& i : items) io.out << fmt::format("  {:<28} {}\n", i.name, i.help);
    io.out << "\n";
  }
  return 0;
}

WEFT_REGISTER(commands(), {"list", "everything built in: sites, models, checks, faults …", run});

}  // namespace
}  // namespace weft::cli
