// One writer for everything people read: a Report is sections, tables and charts as data, written as text (100 columns),
// JSON or HTML (self-contained, inline SVG). The three forms show the same numbers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace weft {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  std::string unit;  // shown in the head as "title [unit]"
};

struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns; longer cells are wrapped, never cut
};

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // a y that is not finite is a gap ("–"), never zero
};

struct Chart {
  std::string title;
  std::string x_label, y_label;  // with units
  // Bars: series are colours, x is the index into categories. Heatmap: a series is a row, x is the column (index into categories).
  enum class Kind { kLine, kBar, kStackedBar, kHeatmap } kind = Kind::kLine;
  std::vector<Series> series;
  std::vector<std::string> categories;
};

struct Section {
  std::string heading;
  std::vector<std::string> paragraphs;
  std::vector<std::pair<std::string, std::string>> facts;  // "name: value" lines, aligned
  std::vector<Table> tables;
  std::vector<Chart> charts;
};

struct Report {
  std::string title;
  std::vector<Section> sections;
};

// Control characters and broken UTF-8 in the content are replaced in all three; HTML escapes everything and holds no script.
std::string to_text(const Report& report, int width = 100);
Json to_json(const Report& report);
// language: "en" or "zh" (frame words only; content comes as given).
std::string to_html(const Report& report, std::string_view language = "en");

// The numbers of a chart as rows, for the forms that cannot draw.
Table data_table(const Chart& chart);
// Six significant digits, locale-free; "–" when not finite.
std::string number_text(double v);

}  // namespace weft
