// Reports as one HTML file: no script, nothing fetched, light and dark, charts as inline SVG with their numbers beside them.
#include <fmt/format.h>

#include <algorithm>

#include "base/chart_svg.h"
#include "base/report.h"

namespace weft {
namespace {

constexpr std::size_t kMostPointsShown = 2000;

struct Words {
  const char *lang, *contents, *numbers, *no_data, *points, *made_by;
};
constexpr Words kEnglish = {"en", "Contents", "Numbers", "no data", "points; the JSON form has them all", "Made by weft"};
constexpr Words kChinese = {"zh-CN", "目录", "数据", "无数据", "个点;全部数据见 JSON 格式", "由 weft 生成"};

constexpr const char* kStyle = R"(
:root{--ink:#1b1f24;--soft:#59636e;--paper:#fff;--grid:#d8dee4;--band:#f5f7f9}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#9aa4af;--paper:#15191e;--grid:#343b44;--band:#1d2229}}
body{margin:2rem auto;max-width:60rem;padding:0 1rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,"Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid var(--grid)}
table{border-collapse:collapse;margin:.8rem 0;font-variant-numeric:tabular-nums}caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.25rem .7rem;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top;white-space:pre-line;overflow-wrap:anywhere}th{background:var(--band)}
.r{text-align:right}.scroll{overflow-x:auto}dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem}dt{color:var(--soft)}dd{margin:0;white-space:pre-line}
figure{margin:1rem 0}figcaption{font-weight:600}svg{width:100%;height:auto;font-size:12px}svg text{fill:var(--ink)}svg .grid{stroke:var(--grid)}
details{color:var(--soft)}footer{margin-top:3rem;color:var(--soft);font-size:.85rem}p{white-space:pre-line}
@media print{body{max-width:none}details{display:none}}
)";

// Escaped, newlines kept (the style shows them).
std::string lines(std::string_view s) {
  std::string out;
  for (std::size_t at = 0;;) {
    std::size_t next = s.find('\n', at);
    out += escape_html(s.substr(at, next == std::string_view::npos ? next : next - at));
    if (next == std::string_view::npos) return out;
    out += '\n', at = next + 1;
  }
}

void write_table(std::string& out, const Table& table) {
  out += "<div class=\"scroll\"><table>\n";
  if (!table.title.empty()) out += "<caption>" + escape_html(table.title) + "</caption>\n";
  out += "<thead><tr>";
  auto side = [&](std::size_t c) { return c < table.columns.size() && table.columns[c].align == Align::kRight ? " class=\"r\"" : ""; };
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", side(c),
                       escape_html(table.columns[c].title + (table.columns[c].unit.empty() ? "" : " [" + table.columns[c].unit + "]")));
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) out += fmt::format("<td{}>{}</td>", side(c), lines(row[c]));
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
}

void write_chart(std::string& out, const Chart& chart, const Words& words) {
  out += "<figure>\n<figcaption>" + escape_html(chart.title) + "</figcaption>\n";
  std::size_t points = 0;
  for (const Series& s : chart.series) points += s.points.size();
  if (points == 0) {
    out += fmt::format("<p>{}</p>\n</figure>\n", words.no_data);
    return;
  }
  out += chart_svg(chart);
  out += fmt::format("<details><summary>{}</summary>\n", words.numbers);
  if (points > kMostPointsShown) {
    out += fmt::format("<p>{} {}</p>\n", points, words.points);
  } else {
    Table data = data_table(chart);
    data.title.clear();
    write_table(out, data);
  }
  out += "</details>\n</figure>\n";
}

}  // namespace

std::string to_html(const Report& report, std::string_view language) {
  const Words& words = language.starts_with("zh") ? kChinese : kEnglish;
  std::string title = escape_html(report.title);
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
      words.lang, title, kStyle, title);
  std::size_t headed = static_cast<std::size_t>(
      std::count_if(report.sections.begin(), report.sections.end(), [](const Section& s) { return !s.heading.empty(); }));
  if (headed > 2) {
    out += fmt::format("<nav><strong>{}</strong>\n<ol>\n", words.contents);
    for (std::size_t i = 0; i < report.sections.size(); ++i)
      if (!report.sections[i].heading.empty())
        out += fmt::format("<li><a href=\"#s{}\">{}</a></li>\n", i + 1, escape_html(report.sections[i].heading));
    out += "</ol></nav>\n";
  }
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    const Section& section = report.sections[i];
    out += fmt::format("<section id=\"s{}\">\n", i + 1);
    if (!section.heading.empty()) out += "<h2>" + escape_html(section.heading) + "</h2>\n";
    for (const std::string& p : section.paragraphs) out += "<p>" + lines(p) + "</p>\n";
    if (!section.facts.empty()) {
      out += "<dl>\n";
      for (const auto& [name, value] : section.facts) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape_html(name), lines(value));
      out += "</dl>\n";
    }
    for (const Table& t : section.tables) write_table(out, t);
    for (const Chart& c : section.charts) write_chart(out, c, words);
    out += "</section>\n";
  }
  return out + fmt::format("<footer>{}</footer>\n</body>\n</html>\n", words.made_by);
}

}  // namespace weft
