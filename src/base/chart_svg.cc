#include "base/chart_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/display.h"

namespace weft {
namespace {

constexpr double kWidth = 860, kLeft = 78, kRight = 18, kTop = 14, kBottom = 52, kPlot = 300;
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f", "#7f7f7f"};
constexpr const char* kDashes[] = {"", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 4", "6 2 1 2"};
constexpr std::size_t kColourCount = std::size(kColours);

std::string n(double v) {
  return std::isfinite(v) ? fmt::format("{:.7g}", std::round(v * 100) / 100 + 0.0) : "0";
}  // hundredths of a pixel

struct Scale {
  double low = 0, high = 1, step = 1;
};

// Ticks at 1, 2 or 5 times a power of ten that enclose the data.
Scale nice(double low, double high, int ticks) {
  if (!(low <= high)) return {0, 1, 0.5};
  if (low == high) {
    double d = low == 0 ? 1 : std::abs(low) * 0.1;
    low -= d, high += d;
  }
  double raw = (high / ticks - low / ticks);
  double power = std::pow(10, std::floor(std::log10(raw)));
  double step = power * (raw / power <= 1 ? 1 : raw / power <= 2 ? 2 : raw / power <= 5 ? 5 : 10);
  if (!std::isfinite(step) || step <= 0 || low + step == low || high + step == high) return {low, high, high - low};
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, step};
}

struct Plot {
  Scale x, y;
  double height = kPlot;
  double px(double v) const { return kLeft + (v - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight); }
  double py(double v) const { return kTop + (y.high - v) / (y.high - y.low) * height; }
};

std::string text_at(double x, double y, const char* anchor, const std::string& text, const char* extra = "") {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", n(x), n(y), anchor, extra, escape_html(text));
}

std::string axis_labels(const Chart& chart, double bottom) {
  std::string out = text_at((kLeft + kWidth - kRight) / 2, bottom, "middle", chart.x_label);
  return out + fmt::format("<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", n(kTop + kPlot / 2),
                           escape_html(chart.y_label));
}

std::string y_grid(const Plot& p) {
  std::string out;
  int count = static_cast<int>(std::lround((p.y.high - p.y.low) / p.y.step));
  for (int i = 0; i <= std::min(count, 20); ++i) {
    double v = p.y.low + i * p.y.step, at = p.py(v);
    if (std::abs(v) < p.y.step * 1e-9) v = 0;
    out += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n", n(kLeft), n(kWidth - kRight), n(at), n(at));
    out += text_at(kLeft - 6, at + 4, "end", number_text(v));
  }
  return out;
}

std::string legend(const Chart& chart, double& y) {
  std::string out;
  if (chart.series.size() < 2 && (chart.series.empty() || chart.series[0].name.empty())) return out;
  double x = kLeft;
  y += 20;
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    std::string name = printable(chart.series[s].name);
    double w = 40 + 7.2 * display_width(name);
    if (x + w > kWidth - kRight && x > kLeft) x = kLeft, y += 18;
    if (chart.kind == Chart::Kind::kLine)
      out += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>", n(x),
                         n(x + 22), n(y - 4), n(y - 4), kColours[s % kColourCount], kDashes[s % kColourCount]);
    else
      out +=
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"14\" height=\"10\" fill=\"{}\"/>", n(x + 4), n(y - 9), kColours[s % kColourCount]);
    out += text_at(x + 27, y, "start", name);
    x += w;
  }
  return out;
}

// At most two points per pixel column survive (lowest and highest), which draws the same picture.
std::vector<std::pair<double, double>> thinned(const Series& s, const Plot& p) {
  if (s.points.size() < 4000) return s.points;
  std::vector<std::pair<double, double>> out;
  for (std::size_t i = 0; i < s.points.size();) {
    long column = std::isfinite(s.points[i].first) ? std::lround(p.px(s.points[i].first)) : 0;
    std::size_t low = i, high = i, j = i;
    for (; j < s.points.size() && std::isfinite(s.points[j].first) && std::lround(p.px(s.points[j].first)) == column &&
           std::isfinite(s.points[j].second);
         ++j) {
      if (s.points[j].second < s.points[low].second) low = j;
      if (s.points[j].second > s.points[high].second) high = j;
    }
    out.push_back(s.points[std::min(low, high)]);
    if (low != high) out.push_back(s.points[std::max(low, high)]);
    i = std::max(j, i + 1);
  }
  return out;
}

std::string lines(const Chart& chart, double& bottom) {
  double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
  for (const Series& s : chart.series)
    for (auto [x, y] : s.points)
      if (std::isfinite(x) && std::isfinite(y)) x0 = std::min(x0, x), x1 = std::max(x1, x), y0 = std::min(y0, y), y1 = std::max(y1, y);
  if (y0 > 0 && y0 < 0.5 * y1) y0 = 0;  // show zero when it is near; otherwise show the variation
  Plot p{nice(x0, x1, 8), nice(y0, y1, 5)};
  if (x0 < x1) p.x.low = x0, p.x.high = x1;
  std::string out = y_grid(p);
  double first = std::ceil(p.x.low / p.x.step - 1e-9) * p.x.step;
  for (int i = 0; i <= 20 && first + i * p.x.step <= p.x.high * (1 + 1e-12) + p.x.step * 1e-9; ++i) {
    double v = first + i * p.x.step;
    out += text_at(p.px(v), kTop + kPlot + 18, "middle", number_text(std::abs(v) < p.x.step * 1e-9 ? 0 : v));
  }
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    std::string path;
    bool pen = false;
    std::size_t drawn = 0;
    std::pair<double, double> single;
    for (auto [x, y] : thinned(chart.series[s], p)) {
      if (!std::isfinite(x) || !std::isfinite(y)) {
        pen = false;
        continue;
      }
      path += (pen ? "L" : "M") + n(p.px(x)) + " " + n(p.py(y));
      pen = true, ++drawn, single = {x, y};
    }
    out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n", path,
                       kColours[s % kColourCount], kDashes[s % kColourCount]);
    if (drawn == 1)
      out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3.5\" fill=\"{}\"/>\n", n(p.px(single.first)), n(p.py(single.second)),
                         kColours[s % kColourCount]);
  }
  bottom = kTop + kPlot + 38;
  out += axis_labels(chart, bottom);
  return out;
}

std::string category_labels(const Chart& chart, double left, double slot, double at, double& bottom) {
  std::size_t longest = 1;
  for (const std::string& c : chart.categories)
    longest = std::max<std::size_t>(longest, static_cast<std::size_t>(display_width(printable(c))));
  bool slanted = 7.0 * static_cast<double>(longest) > slot;
  std::size_t every = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil((slanted ? 13.0 : 1.0) / slot)));
  std::string out;
  for (std::size_t i = 0; i < chart.categories.size(); i += every) {
    double x = left + slot * (static_cast<double>(i) + 0.5);
    if (!slanted) out += text_at(x, at + 16, "middle", chart.categories[i]);
    else
      out += fmt::format("<text transform=\"translate({} {}) rotate(-40)\" text-anchor=\"end\">{}</text>\n", n(x + 4), n(at + 12),
                         escape_html(chart.categories[i]));
  }
  bottom = at + (slanted ? 22 + 4.6 * static_cast<double>(std::min<std::size_t>(longest, 40)) : 34);
  return out;
}

std::string bars(const Chart& chart, double& bottom) {
  std::size_t groups = std::max<std::size_t>(1, chart.categories.size()), many = std::max<std::size_t>(1, chart.series.size());
  bool stacked = chart.kind == Chart::Kind::kStackedBar;
  std::vector<double> up(groups, 0), down(groups, 0);
  auto index = [&](double x) { return x >= 0 && x < static_cast<double>(groups) ? static_cast<std::size_t>(x) : groups; };
  double low = 0, high = 0;
  for (const Series& s : chart.series)
    for (auto [x, y] : s.points) {
      if (index(x) == groups || !std::isfinite(y)) continue;
      if (stacked) (y >= 0 ? up : down)[index(x)] += y;
      low = std::min(low, stacked ? down[index(x)] : y), high = std::max(high, stacked ? up[index(x)] : y);
    }
  Plot p{{0, 1, 1}, low == 0 && high == 0 ? Scale{0, 1, 0.5} : nice(low, high, 5)};
  std::string out = y_grid(p);
  double slot = (kWidth - kLeft - kRight) / static_cast<double>(groups), wide = slot * 0.8 / (stacked ? 1 : static_cast<double>(many));
  std::fill(up.begin(), up.end(), 0), std::fill(down.begin(), down.end(), 0);
  for (std::size_t s = 0; s < chart.series.size(); ++s)
    for (auto [x, y] : chart.series[s].points) {
      std::size_t g = index(x);
      if (g == groups || !std::isfinite(y)) continue;
      double from = 0;
      if (stacked) from = (y >= 0 ? up : down)[g], (y >= 0 ? up : down)[g] += y;
      double a = p.py(std::max(from, from + y)), b = p.py(std::min(from, from + y));
      double at = kLeft + slot * (static_cast<double>(g) + 0.1) + (stacked ? 0 : wide * static_cast<double>(s));
      std::string label = (chart.series[s].name.empty() ? "" : chart.series[s].name + ", ") +
                          (g < chart.categories.size() ? chart.categories[g] : number_text(x)) + ": " + number_text(y);
      out += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"var(--paper)\" "
          "stroke-width=\"0.5\"><title>{}</title></rect>\n",
          n(at), n(a), n(wide), n(b - a), kColours[s % kColourCount], escape_html(label));
    }
  out += category_labels(chart, kLeft, slot, kTop + kPlot, bottom);
  bottom += 12;
  out += axis_labels(chart, bottom);
  return out;
}

std::string cividis(double t) {
  constexpr std::array<std::array<int, 3>, 6> kStops = {
      {{0, 34, 78}, {53, 69, 108}, {102, 105, 112}, {148, 142, 119}, {200, 184, 102}, {254, 232, 56}}};
  double at = std::clamp(t, 0.0, 1.0) * 5;
  auto i = std::min<std::size_t>(4, static_cast<std::size_t>(at));
  std::array<int, 3> c{};
  for (std::size_t k = 0; k < 3; ++k)
    c[k] = static_cast<int>(std::lround(kStops[i][k] + (at - static_cast<double>(i)) * (kStops[i + 1][k] - kStops[i][k])));
  return fmt::format("#{:02x}{:02x}{:02x}", c[0], c[1], c[2]);
}

std::string heatmap(const Chart& chart, double& bottom) {
  std::size_t columns = chart.categories.size();
  double low = INFINITY, high = -INFINITY;
  for (const Series& s : chart.series)
    for (auto [x, y] : s.points) {
      if (std::isfinite(x) && x >= 0 && x < 100000) columns = std::max(columns, static_cast<std::size_t>(x) + 1);
      if (std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
    }
  columns = std::max<std::size_t>(1, columns);
  std::size_t rows = std::max<std::size_t>(1, chart.series.size());
  double left = kLeft;  // room for the row names
  for (const Series& s : chart.series) left = std::clamp(12 + 7.2 * display_width(printable(s.name)), left, 300.0);
  double slot = (kWidth - left - kRight) / static_cast<double>(columns), tall = std::clamp(kPlot / static_cast<double>(rows), 3.0, 26.0);
  std::string out;
  std::size_t every = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(12 / tall)));
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    double y = kTop + tall * static_cast<double>(s);
    if (s % every == 0) out += text_at(left - 6, y + tall / 2 + 4, "end", chart.series[s].name);
    for (auto [x, v] : chart.series[s].points) {
      if (!std::isfinite(x) || x < 0 || x >= static_cast<double>(columns)) continue;
      auto c = static_cast<std::size_t>(x);
      std::string label =
          chart.series[s].name + ", " + (c < chart.categories.size() ? chart.categories[c] : number_text(x)) + ": " + number_text(v);
      std::string fill = std::isfinite(v) ? cividis(high > low ? (v - low) / (high - low) : 0.5) : "none";
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{}</title></rect>\n",
                         n(left + slot * static_cast<double>(c)), n(y), n(slot), n(tall), fill, escape_html(label));
    }
  }
  double end = kTop + tall * static_cast<double>(rows);
  out += category_labels(chart, left, slot, end, bottom);
  bottom += 12;
  out += text_at((left + kWidth - kRight) / 2, bottom, "middle", chart.x_label);
  if (low <= high) {
    bottom += 22;
    for (int i = 0; i < 40; ++i)
      out +=
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"6\" height=\"10\" fill=\"{}\"/>", n(left + i * 6), n(bottom - 9), cividis(i / 39.0));
    out += text_at(left - 6, bottom, "end", number_text(low));
    out += text_at(left + 246, bottom, "start", number_text(high) + (chart.y_label.empty() ? "" : "  " + chart.y_label));
  }
  return out;
}

}  // namespace

std::string escape_html(std::string_view s) {
  std::string out;
  for (char c : printable(s)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string chart_svg(const Chart& chart) {
  double bottom = kTop + kPlot + kBottom;
  std::string body = chart.kind == Chart::Kind::kLine      ? lines(chart, bottom)
                     : chart.kind == Chart::Kind::kHeatmap ? heatmap(chart, bottom)
                                                           : bars(chart, bottom);
  if (chart.kind != Chart::Kind::kHeatmap) body += legend(chart, bottom);
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n", n(kWidth), n(bottom + 12),
                     escape_html(chart.title), body);
}

}  // namespace weft
