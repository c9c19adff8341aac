// Reports for a terminal: aligned, wrapped at the width asked for, charts as bars, shades or sparklines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/display.h"
#include "base/report.h"
#include "base/text.h"

namespace weft {
namespace {

constexpr int kGap = 2;        // blanks between columns
constexpr int kNarrowest = 6;  // no column is squeezed below this
constexpr std::size_t kPointsAsTable = 24;

using Lines = std::vector<std::string>;

std::string head_of(const Column& c) { return printable(c.unit.empty() ? c.title : c.title + " [" + c.unit + "]"); }

// One block of columns that fits the width; cells are wrapped.
void write_columns(std::string& out, const Table& table, const std::vector<std::size_t>& chosen, std::vector<int> widths, int width,
                   const std::string& indent) {
  auto total = [&] {
    int sum = kGap * (static_cast<int>(chosen.size()) - 1);
    for (std::size_t c : chosen) sum += widths[c];
    return sum;
  };
  while (total() > width) {  // squeeze the widest
    std::size_t widest =
        *std::max_element(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
    if (widths[widest] <= kNarrowest) break;
    --widths[widest];
  }
  auto row = [&](auto cell) {
    std::vector<Lines> cells;
    std::size_t height = 1;
    for (std::size_t c : chosen) cells.push_back(wrap(cell(c), widths[c])), height = std::max(height, cells.back().size());
    for (std::size_t i = 0; i < height; ++i) {
      std::string line = indent;
      for (std::size_t k = 0; k < chosen.size(); ++k) {
        std::string text = i < cells[k].size() ? cells[k][i] : "";
        line += (k ? std::string(kGap, ' ') : "") +
                (table.columns[chosen[k]].align == Align::kRight ? pad_left(text, widths[chosen[k]]) : pad_right(text, widths[chosen[k]]));
      }
      while (!line.empty() && line.back() == ' ') line.pop_back();
      out += line + "\n";
    }
  };
  row([&](std::size_t c) { return head_of(table.columns[c]); });
  std::string rule = indent;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    rule += k ? std::string(kGap, ' ') : "";
    for (int i = 0; i < widths[chosen[k]]; ++i) rule += "─";
  }
  out += rule + "\n";
  for (const auto& cells : table.rows) row([&](std::size_t c) { return c < cells.size() ? printable(cells[c], true) : std::string(); });
}

void write_table(std::string& out, const Table& table, int width, const std::string& indent) {
  if (!table.title.empty()) out += indent + printable(table.title) + "\n";
  if (table.columns.empty()) return;
  width -= static_cast<int>(indent.size());
  std::vector<int> natural(table.columns.size(), 1);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    natural[c] = std::max(2, display_width(head_of(table.columns[c])));
    for (const auto& row : table.rows)
      if (c < row.size())
        for (const std::string& line : wrap(printable(row[c], true), 100'000)) natural[c] = std::max(natural[c], display_width(line));
  }
  // Too many columns for one block: several blocks, each led by the first column.
  std::vector<std::size_t> block{0};
  int used = std::min(natural[0], std::max(kNarrowest, width / 3));
  for (std::size_t c = 1; c < table.columns.size(); ++c) {
    int least = std::min(natural[c], kNarrowest);
    if (block.size() > 1 && used + kGap + least > width) {
      write_columns(out, table, block, natural, width, indent);
      out += "\n";
      block = {0};
      used = std::min(natural[0], std::max(kNarrowest, width / 3));
    }
    block.push_back(c), used += kGap + least;
  }
  write_columns(out, table, block, natural, width, indent);
}

struct Extent {
  double low = INFINITY, high = -INFINITY;
  bool any() const { return low <= high; }
  void add(double v) {
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  }
};

void write_bars(std::string& out, const Chart& chart, int width) {
  Table data = data_table(chart);
  int names = 1, values = 1;
  double top = 0;
  for (const auto& row : data.rows)
    names = std::max(names, display_width(printable(row[0]))), values = std::max(values, display_width(row[1]));
  names = std::min(names, width / 3);
  for (auto [x, y] : chart.series[0].points)
    if (std::isfinite(y)) top = std::max(top, std::abs(y));
  std::vector<double> y(data.rows.size(), NAN);
  for (std::size_t r = 0; r < data.rows.size(); ++r) y[r] = parse_double(data.rows[r][1]).value_or(NAN);
  int room = std::max(10, width - names - values - 2 * kGap - 2);
  for (std::size_t r = 0; r < data.rows.size(); ++r) {
    Lines name = wrap(printable(data.rows[r][0]), names);
    int length = top > 0 && std::isfinite(y[r]) ? static_cast<int>(std::lround(std::abs(y[r]) / top * room)) : 0;
    std::string bar;
    for (int i = 0; i < length; ++i) bar += y[r] < 0 ? "▒" : "█";
    for (std::size_t i = 0; i < name.size(); ++i) {
      std::string line = "  " + pad_right(name[i], names) +
                         (i ? "" : std::string(kGap, ' ') + pad_left(data.rows[r][1], values) + std::string(kGap, ' ') + bar);
      while (line.back() == ' ') line.pop_back();
      out += line + "\n";
    }
  }
}

void write_sparks(std::string& out, const Chart& chart, int width) {
  static constexpr const char* kLevels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  Extent xs, ys;
  for (const Series& s : chart.series)
    for (auto [x, y] : s.points) xs.add(x), ys.add(y);
  int room = std::max(10, width - 4);
  for (const Series& s : chart.series) {
    std::vector<double> buckets(static_cast<std::size_t>(room), NAN);
    Extent own;
    double last = NAN, sum = 0;
    std::size_t count = 0;
    for (auto [x, y] : s.points) {
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      auto b = static_cast<std::size_t>(xs.high > xs.low ? std::min((x - xs.low) / (xs.high - xs.low) * room, room - 1.0) : 0);
      if (!(buckets[b] >= y)) buckets[b] = y;
      own.add(y), last = y, sum += y, ++count;
    }
    out += "  " + printable(s.name.empty() ? chart.y_label : s.name) + ": " + std::to_string(count) + " points";
    if (count)
      out += ", min " + number_text(own.low) + ", mean " + number_text(sum / static_cast<double>(count)) + ", max " +
             number_text(own.high) + ", last " + number_text(last);
    out += "\n  ";
    for (double v : buckets)
      out += std::isfinite(v) ? kLevels[ys.high > ys.low ? std::min(7, static_cast<int>((v - ys.low) / (ys.high - ys.low) * 8)) : 0] : " ";
    while (out.back() == ' ') out.pop_back();
    out += "\n";
  }
  if (xs.any())
    out += "  " + printable(chart.x_label) + " " + number_text(xs.low) + " to " + number_text(xs.high) + "; highest value of each column\n";
}

void write_shades(std::string& out, const Chart& chart, const Table& data, int width) {
  static constexpr const char* kShades[] = {"·", "░", "▒", "▓", "█"};
  Extent all;
  for (const Series& s : chart.series)
    for (auto [x, y] : s.points) all.add(y);
  int names = 1;
  for (const Series& s : chart.series) names = std::max(names, std::min(width / 3, display_width(printable(s.name))));
  std::size_t room = static_cast<std::size_t>(std::max(10, width - names - 2 * kGap)), columns = data.columns.size() - 1;
  for (std::size_t from = 0; from < columns; from += room) {
    out += fmt::format("  {}: {} to {}\n", printable(chart.x_label), printable(data.columns[from + 1].title),
                       printable(data.columns[std::min(columns, from + room)].title));
    for (const auto& row : data.rows) {
      std::string name = wrap(printable(row[0]), names)[0];
      out += "  " + pad_right(name, names) + std::string(kGap, ' ');
      for (std::size_t c = from; c < std::min(columns, from + room); ++c) {
        auto v = parse_double(row[c + 1]);
        out += !v ? "?" : kShades[all.high > all.low ? std::clamp(static_cast<int>((*v - all.low) / (all.high - all.low) * 5), 0, 4) : 0];
      }
      out += "\n";
    }
  }
  if (all.any()) out += "  · lowest " + number_text(all.low) + ", █ highest " + number_text(all.high) + ", ? unknown\n";
}

void write_chart(std::string& out, const Chart& chart, int width) {
  std::string head = printable(chart.title);
  std::string axes =
      printable(chart.y_label) + (chart.x_label.empty() ? "" : (chart.y_label.empty() ? "" : " over ") + printable(chart.x_label));
  for (const std::string& line : wrap(head + (axes.empty() ? "" : " (" + axes + ")"), width)) out += line + "\n";
  Table data = data_table(chart);
  data.title.clear();
  bool empty = std::all_of(chart.series.begin(), chart.series.end(), [](const Series& s) { return s.points.empty(); });
  if (empty) out += "  no data\n";
  else if (chart.kind == Chart::Kind::kHeatmap && data.columns.size() > 16) write_shades(out, chart, data, width);
  else if (chart.kind == Chart::Kind::kLine && data.rows.size() > kPointsAsTable) write_sparks(out, chart, width);
  else if (chart.kind == Chart::Kind::kBar && chart.series.size() == 1) write_bars(out, chart, width);
  else write_table(out, data, width, "  ");
}

std::string underline(const std::string& text, const char* mark) {
  std::string out = text + "\n";
  for (int i = 0; i < display_width(text); ++i) out += mark;
  return out + "\n";
}

}  // namespace

std::string to_text(const Report& report, int width) {
  width = std::max(width, 40);
  std::string out;
  if (!report.title.empty()) {
    Lines lines = wrap(printable(report.title), width);
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) out += lines[i] + "\n";
    out += underline(lines.back(), "═");
  }
  for (const Section& section : report.sections) {
    if (!out.empty()) out += "\n";
    if (!section.heading.empty()) {
      Lines lines = wrap(printable(section.heading), width);
      for (std::size_t i = 0; i + 1 < lines.size(); ++i) out += lines[i] + "\n";
      out += underline(lines.back(), "─");
    }
    for (const std::string& p : section.paragraphs)
      for (const std::string& line : wrap(printable(p, true), width)) out += line + "\n";
    int names = 0;
    for (const auto& fact : section.facts) names = std::max(names, std::min(display_width(printable(fact.first)), width / 3));
    for (const auto& [name, value] : section.facts) {
      Lines left = wrap(printable(name), std::max(2, names)), right = wrap(printable(value, true), width - names - 2);
      for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
        std::string label = i < left.size() ? left[i] + (i + 1 == left.size() ? ":" : "") : "";
        std::string line = pad_right(label, names + 2) + (i < right.size() ? right[i] : "");
        while (!line.empty() && line.back() == ' ') line.pop_back();
        out += line + "\n";
      }
    }
    bool before = !section.paragraphs.empty() || !section.facts.empty();
    for (const Table& t : section.tables) {
      if (before) out += "\n";
      write_table(out, t, width, "");
      before = true;
    }
    for (const Chart& c : section.charts) {
      if (before) out += "\n";
      write_chart(out, c, width);
      before = true;
    }
  }
  return out;
}

}  // namespace weft
