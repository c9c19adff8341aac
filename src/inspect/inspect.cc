#include "inspect/inspect.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>

#include "base/embedded.h"
#include "base/text.h"

namespace weft::inspect {

std::string_view verdict_name(Verdict v) { return v == Verdict::kPass ? "pass" : v == Verdict::kFail ? "fail" : "unknown"; }

std::string_view item_name(Item item) {
  constexpr std::string_view kNames[] = {"cards",   "scale-up links",    "scale-out network", "software stack",
                                         "storage", "cooling and power", "scheduler"};
  return kNames[static_cast<std::size_t>(item)];
}

Observation::Observation(const telemetry::SeriesTable& series) : series_(series) {}

void Observation::add(const telemetry::Batch& batch) {
  for (const telemetry::Sample& s : batch.samples) {
    Value& v = values_[s.series.v];
    if (v.count == 0 || s.at < v.from) v.from = s.at, v.first = s.value;
    if (v.count == 0 || s.at >= v.to) v.to = s.at, v.last = s.value;
    ++v.count;
  }
  for (const telemetry::Fact& f : batch.facts) facts_[f.key][f.entity] = f.value;
  events_.insert(events_.end(), batch.events.begin(), batch.events.end());
}

const Observation::Value* Observation::value(std::string_view metric, std::string_view entity, std::string_view labels) const {
  auto at = values_.find(series_.find(metric, entity, labels).v);
  return at == values_.end() ? nullptr : &at->second;
}

const std::string* Observation::fact(std::string_view entity, std::string_view key) const {
  auto k = facts_.find(key);
  if (k == facts_.end()) return nullptr;
  auto e = k->second.find(entity);
  return e == k->second.end() ? nullptr : &e->second;
}

std::vector<std::pair<std::string, std::string>> Observation::facts(std::string_view key) const {
  auto k = facts_.find(key);
  if (k == facts_.end()) return {};
  return {k->second.begin(), k->second.end()};
}

Result<Rules> Rules::parse(std::string_view text, std::string file) {
  WEFT_ASSIGN(auto yaml, Yaml::parse(text, std::move(file)));
  WEFT_TRY(yaml.only({"thresholds"}));
  Rules rules;
  for (const auto& [name, node] : yaml.get("thresholds").entries()) {
    WEFT_TRY(node.only({"value", "unit", "source"}));
    Threshold t;
    WEFT_ASSIGN(t.value, node.get("value").number(-1e18, 1e18));
    WEFT_ASSIGN(t.source, node.get("source").text());
    std::string unit;
    if (node.has("unit")) {
      WEFT_ASSIGN(unit, node.get("unit").text());
    }
    t.text = fmt::format("{:g}{}{}", t.value, unit.empty() ? "" : " ", unit);
    rules.thresholds_[name] = std::move(t);
  }
  return rules;
}

Result<Rules> Rules::built_in() {
  WEFT_ASSIGN(auto text, embedded_file("data/inspect/ordinary.yaml"));
  return parse(text, "data/inspect/ordinary.yaml");
}

const Threshold& Rules::get(std::string_view name) const {
  // An overriding file may leave a name out; then the check cannot decide and says so through an infinite threshold's text.
  static const Threshold absent{0, "not set", "rule file has no such threshold"};
  auto at = thresholds_.find(name);
  return at == thresholds_.end() ? absent : at->second;
}

Registry<CheckEntry>& checks() {
  static Registry<CheckEntry> registry("check");
  return registry;
}

Inspection inspect(const Context& context, const std::vector<std::string>& only) {
  Inspection result;
  for (const CheckEntry& check : checks().entries()) {
    if (!only.empty() && std::find(only.begin(), only.end(), check.name) == only.end()) continue;
    std::size_t from = result.cells.size();
    check.run(context, result.cells);
    for (std::size_t i = from; i < result.cells.size(); ++i) result.cells[i].check = check.name, result.cells[i].item = check.item;
  }
  std::stable_sort(result.cells.begin(), result.cells.end(),
                   [](const Cell& x, const Cell& y) { return std::tie(x.item, x.check) < std::tie(y.item, y.check); });
  for (const Cell& c : result.cells)
    ++(c.verdict == Verdict::kPass ? result.passed : c.verdict == Verdict::kFail ? result.failed : result.unknown);
  return result;
}

namespace {

// Items of the inspection table for which this site has no part to check: said aloud, because "nothing failed" there means nothing.
std::vector<std::string> empty_items(const Inspection& inspection) {
  std::vector<std::string> out;
  for (Item item : {Item::kCards, Item::kScaleUp, Item::kScaleOut, Item::kSoftware, Item::kStorage, Item::kFacility, Item::kScheduler})
    if (std::none_of(inspection.cells.begin(), inspection.cells.end(), [&](const Cell& c) { return c.item == item; }))
      out.emplace_back(item_name(item));
  return out;
}

}  // namespace

Report to_report(const Inspection& inspection, const fabric::Snapshot& snapshot) {
  Report report;
  report.title = "Inspection of " + snapshot.site_name();
  Section& summary = report.sections.emplace_back();
  summary.heading = "Summary";
  summary.facts = {{"pass", std::to_string(inspection.passed)},
                   {"fail", std::to_string(inspection.failed)},
                   {"unknown", std::to_string(inspection.unknown)},
                   {"gate", inspection.failed    ? "closed: something failed"
                            : inspection.unknown ? "closed: something could not be seen (--allow-unknown opens it)"
                                                 : "open"}};
  if (auto empty = empty_items(inspection); !empty.empty())
    summary.facts.emplace_back("not covered", join(empty, ", ") + ": the site has no part there to check");
  Table table;
  table.title = "Checks";
  table.columns = {{"item"}, {"check"}, {"pass", Align::kRight}, {"fail", Align::kRight}, {"unknown", Align::kRight}};
  for (std::size_t i = 0; i < inspection.cells.size();) {
    std::size_t j = i;
    int count[3] = {};
    for (; j < inspection.cells.size() && inspection.cells[j].check == inspection.cells[i].check; ++j)
      ++count[static_cast<std::size_t>(inspection.cells[j].verdict)];
    table.rows.push_back({std::string(item_name(inspection.cells[i].item)), inspection.cells[i].check, std::to_string(count[0]),
                          std::to_string(count[1]), std::to_string(count[2])});
    i = j;
  }
  summary.tables.push_back(std::move(table));
  for (Verdict v : {Verdict::kFail, Verdict::kUnknown}) {
    Table list;
    list.columns = {{"check"}, {"entity"}, {"value"}, {"threshold"}, {"source"}, {"remedy"}};
    std::size_t left_out = 0;
    for (const Cell& c : inspection.cells) {
      if (c.verdict != v) continue;
      if (list.rows.size() < 40) list.rows.push_back({c.check, c.entity, c.value, c.threshold, c.source, c.remedy});
      else ++left_out;
    }
    if (list.rows.empty()) continue;
    Section& section = report.sections.emplace_back();
    section.heading = v == Verdict::kFail ? "Failed" : "Unknown";
    section.tables.push_back(std::move(list));
    if (left_out) section.paragraphs.push_back(fmt::format("and {} more; --json lists all", left_out));
  }
  return report;
}

Json to_json(const Inspection& inspection) {
  Json cells = Json::array();
  for (const Cell& c : inspection.cells)
    cells.push_back({{"item", item_name(c.item)},
                     {"check", c.check},
                     {"entity", c.entity},
                     {"verdict", verdict_name(c.verdict)},
                     {"value", c.value},
                     {"threshold", c.threshold},
                     {"source", c.source},
                     {"remedy", c.remedy}});
  return {{"pass", inspection.passed},
          {"fail", inspection.failed},
          {"unknown", inspection.unknown},
          {"not_covered", empty_items(inspection)},
          {"cells", cells}};
}

}  // namespace weft::inspect
