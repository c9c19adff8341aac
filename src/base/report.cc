#include "base/report.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace weft {

std::string number_text(double v) {
  if (!std::isfinite(v)) return "–";
  return fmt::format("{:.6g}", v == 0 ? 0.0 : v);
}

Table data_table(const Chart& chart) {
  Table t;
  t.title = chart.title;
  bool heat = chart.kind == Chart::Kind::kHeatmap, line = chart.kind == Chart::Kind::kLine;
  // Position on x → one value per series. Several points at one x in one series get rows of their own.
  std::map<std::pair<double, int>, std::vector<double>> rows;
  if (!line)
    for (std::size_t i = 0; i < chart.categories.size(); ++i) rows[{static_cast<double>(i), 0}].assign(chart.series.size(), NAN);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    std::map<double, int> seen;
    for (auto [x, y] : chart.series[s].points) {
      if (!std::isfinite(x)) continue;
      auto& row = rows[{x, seen[x]++}];
      row.resize(chart.series.size(), NAN);
      row[s] = y;
    }
  }
  auto x_text = [&](double x) {
    if (!line && x >= 0 && x < static_cast<double>(chart.categories.size()) && x == std::floor(x))
      return chart.categories[static_cast<std::size_t>(x)];
    return number_text(x);
  };
  if (heat) {
    t.columns.push_back({chart.y_label, Align::kLeft, ""});
    for (const auto& [key, row] : rows) t.columns.push_back({x_text(key.first), Align::kRight, ""});
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      std::vector<std::string> cells{chart.series[s].name};
      for (const auto& [key, row] : rows) cells.push_back(number_text(row[s]));
      t.rows.push_back(std::move(cells));
    }
    return t;
  }
  bool stacked = chart.kind == Chart::Kind::kStackedBar && chart.series.size() > 1;
  t.columns.push_back({chart.x_label, line ? Align::kRight : Align::kLeft, ""});
  for (const Series& s : chart.series) t.columns.push_back({s.name.empty() ? chart.y_label : s.name, Align::kRight, ""});
  if (stacked) t.columns.push_back({"total", Align::kRight, ""});
  for (const auto& [key, row] : rows) {
    std::vector<std::string> cells{x_text(key.first)};
    double total = 0;
    for (double v : row) cells.push_back(number_text(v)), total += std::isfinite(v) ? v : 0;
    if (stacked) cells.push_back(number_text(total));
    t.rows.push_back(std::move(cells));
  }
  return t;
}

Json to_json(const Report& report) {
  static constexpr const char* kKinds[] = {"line", "bar", "stacked_bar", "heatmap"};
  auto value = [](double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); };
  Json out = {{"title", report.title}, {"sections", Json::array()}};
  for (const Section& section : report.sections) {
    Json s = {{"heading", section.heading}};
    if (!section.paragraphs.empty()) s["paragraphs"] = section.paragraphs;
    if (!section.facts.empty()) {
      s["facts"] = Json::array();
      for (const auto& [name, text] : section.facts) s["facts"].push_back({{"name", name}, {"value", text}});
    }
    for (const Table& table : section.tables) {
      Json t = {{"title", table.title}, {"columns", Json::array()}, {"rows", table.rows}};
      for (const Column& c : table.columns) {
        Json column = {{"title", c.title}};
        if (!c.unit.empty()) column["unit"] = c.unit;
        t["columns"].push_back(std::move(column));
      }
      s["tables"].push_back(std::move(t));
    }
    for (const Chart& chart : section.charts) {
      Json c = {
          {"title", chart.title}, {"kind", kKinds[static_cast<int>(chart.kind)]}, {"x_label", chart.x_label}, {"y_label", chart.y_label}};
      if (!chart.categories.empty()) c["categories"] = chart.categories;
      c["series"] = Json::array();
      for (const Series& line : chart.series) {
        Json points = Json::array();
        for (auto [x, y] : line.points) points.push_back(Json::array({value(x), value(y)}));
        c["series"].push_back({{"name", line.name}, {"points", std::move(points)}});
      }
      s["charts"].push_back(std::move(c));
    }
    out["sections"].push_back(std::move(s));
  }
  return out;
}

}  // namespace weft
