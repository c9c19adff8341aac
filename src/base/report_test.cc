#include "base/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "base/chart_svg.h"
#include "base/display.h"
#include "base/text.h"

namespace weft {
namespace {

Report sample() {
  Report r{"Step time of llama", {}};
  Section s{"Result", {"The step takes 2.31 s; the ep group waits."}, {{"MFU", "41.2 %"}, {"cards", "32"}}, {}, {}};
  s.tables.push_back({"Groups", {{"group", Align::kLeft, ""}, {"time", Align::kRight, "ms"}}, {{"tp", "12.5"}, {"超节点", "7"}}});
  s.charts.push_back({"Per group", "group", "time [ms]", Chart::Kind::kBar, {{"", {{0, 12.5}, {1, 50}, {2, NAN}}}}, {"tp", "dp", "ep"}});
  r.sections.push_back(s);
  return r;
}

TEST(BaseReport, TextIsAlignedAndComplete) {
  EXPECT_EQ(to_text(sample()),
            "Step time of llama\n"
            "══════════════════\n"
            "\n"
            "Result\n"
            "──────\n"
            "The step takes 2.31 s; the ep group waits.\n"
            "MFU:   41.2 %\n"
            "cards: 32\n"
            "\n"
            "Groups\n"
            "group   time [ms]\n"
            "──────  ─────────\n"
            "tp           12.5\n"
            "超节点          7\n"
            "\n"
            "Per group (time [ms] over group)\n"
            "  tp  12.5  ██████████████████████\n"
            "  dp    50  ████████████████████████████████████████████████████████████████████████████████████████\n"
            "  ep     –\n");
}

TEST(BaseReport, LongCellsAreWrappedNeverCut) {
  std::string evidence =
      "pre-FEC BER x140 over 6 h, retries up, no drops, link layer retry counters rise together on both ends of the cable, the neighbour "
      "ports stay quiet";
  Report r{"",
           {{"",
             {},
             {},
             {{"",
               {{"cause", Align::kLeft, ""}, {"evidence", Align::kLeft, ""}, {"confidence", Align::kRight, ""}},
               {{"cable/C0417", evidence, "0.93"}}}},
             {}}}};
  std::string text = to_text(r);
  for (std::string_view line : split(text, '\n')) EXPECT_LE(display_width(line), 100) << line;
  for (std::string_view word : split_space(evidence)) EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST(BaseReport, ManyColumnsBecomeSeveralBlocks) {
  Table t{"", {{"card", Align::kLeft, ""}}, {{"card0"}}};
  for (int i = 0; i < 40; ++i)
    t.columns.push_back({"column" + std::to_string(i), Align::kRight, ""}), t.rows[0].push_back("v" + std::to_string(i));
  std::string text = to_text({"", {{"", {}, {}, {t}, {}}}});
  for (std::string_view line : split(text, '\n')) EXPECT_LE(display_width(line), 100) << line;
  for (int i = 0; i < 40; ++i) EXPECT_NE(text.find("v" + std::to_string(i)), std::string::npos);
  std::size_t leads = 0;
  for (std::string_view line : split(text, '\n')) leads += line.starts_with("card0");
  EXPECT_GE(leads, 4u);
}

TEST(BaseReport, JsonHoldsTheNumbers) {
  Json j = to_json(sample());
  EXPECT_EQ(j["sections"][0]["facts"][1]["value"], "32");
  EXPECT_EQ(j["sections"][0]["tables"][0]["columns"][1]["unit"], "ms");
  const Json& points = j["sections"][0]["charts"][0]["series"][0]["points"];
  EXPECT_EQ(points[1][1], 50.0);
  EXPECT_TRUE(points[2][1].is_null());  // unknown is not zero
  EXPECT_EQ(j["sections"][0]["charts"][0]["kind"], "bar");
}

// The page must be well formed and the same cells must be in it as in the text.
TEST(BaseReport, HtmlIsWellFormedAndSaysTheSame) {
  std::string html = to_html(sample());
  pugi::xml_document d;
  std::string body = html.substr(html.find("<body>"));
  body.resize(body.rfind("</html>"));
  ASSERT_TRUE(d.load_string(body.c_str())) << body;
  std::vector<std::string> cells;
  for (auto& td : d.select_nodes("//td")) cells.push_back(td.node().child_value());
  EXPECT_EQ(cells, (std::vector<std::string>{"tp", "12.5", "超节点", "7", "tp", "12.5", "dp", "50", "ep", "–"}));
  EXPECT_EQ(d.select_nodes("//svg//rect").size(), 2u);  // the unknown bar is not drawn
  EXPECT_NE(html.find("<html lang=\"en\">"), std::string::npos);
  EXPECT_NE(to_html(sample(), "zh").find("由 weft 生成"), std::string::npos);
}

TEST(BaseReport, EverythingIsEscaped) {
  std::string evil = "<script>alert('x')</script>&\"";
  Chart chart{evil, evil, evil, Chart::Kind::kBar, {{evil, {{0, 1}}}, {evil, {{0, 2}}}}, {evil}};
  Report r{evil, {{evil, {evil}, {{evil, evil}}, {{evil, {{evil, Align::kLeft, evil}}, {{evil}}}}, {chart, chart, chart}}}};
  r.sections[0].charts[1].kind = Chart::Kind::kLine;
  r.sections[0].charts[2].kind = Chart::Kind::kHeatmap;
  r.sections.push_back(r.sections[0]), r.sections.push_back(r.sections[0]);
  std::string html = to_html(r);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("alert('"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"), std::string::npos);
  EXPECT_EQ(to_text({"\x1b[2Jx", {}}).find('\x1b'), std::string::npos);
}

TEST(BaseReport, ChartsSurviveOddNumbers) {
  for (auto kind : {Chart::Kind::kLine, Chart::Kind::kBar, Chart::Kind::kStackedBar, Chart::Kind::kHeatmap})
    for (std::vector<std::pair<double, double>> points : {std::vector<std::pair<double, double>>{},
                                                          {{0, 0}},
                                                          {{0, 5}, {0, 5}},
                                                          {{NAN, 1}, {1, NAN}},
                                                          {{INFINITY, 1}},
                                                          {{-1e300, 1e300}, {1e300, -1e300}},
                                                          {{1e-300, 1e-300}, {2e-300, 3e-300}},
                                                          {{7, 1e18}, {8, 1e18 + 1000}}}) {
      Chart c{"t", "x", "y", kind, {{"a", points}, {"b", points}}, {"k"}};
      std::string svg = chart_svg(c), text = to_text({"t", {{"", {}, {}, {}, {c}}}});
      EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
      EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
      pugi::xml_document d;
      EXPECT_TRUE(d.load_string(svg.c_str()));
      EXPECT_LT(svg.size(), 100'000u);
    }
}

TEST(BaseReport, LongLinesKeepTheirExtremes) {
  Chart c{"t", "s", "C", Chart::Kind::kLine, {{"temperature", {}}}, {}};
  for (int i = 0; i < 100'000; ++i) c.series[0].points.push_back({i, i == 56'789 ? 99 : 40});
  std::string svg = chart_svg(c);
  EXPECT_LT(svg.size(), 60'000u);
  std::string text = to_text({"", {{"", {}, {}, {}, {c}}}});
  EXPECT_NE(text.find("temperature: 100000 points, min 40, mean 40.0006, max 99, last 40"), std::string::npos) << text;
  EXPECT_NE(text.find("█"), std::string::npos);
}

TEST(BaseReport, DataTableShowsGapsAndTotals) {
  Chart c{"t", "rank", "s", Chart::Kind::kStackedBar, {{"compute", {{0, 1}, {1, 2}}}, {"wait", {{1, 0.5}}}}, {"r0", "r1"}};
  Table t = data_table(c);
  EXPECT_EQ(t.rows, (std::vector<std::vector<std::string>>{{"r0", "1", "–", "1"}, {"r1", "2", "0.5", "2.5"}}));
  EXPECT_EQ(number_text(1234567), "1.23457e+06");
  EXPECT_EQ(number_text(-0.0), "0");
}

}  // namespace
}  // namespace weft
