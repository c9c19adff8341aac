#include "telemetry/stats.h"

#include <algorithm>
#include <cmath>

namespace weft::telemetry {
namespace {

std::vector<double> finite(std::span<const double> values) {
  std::vector<double> out;
  out.reserve(values.size());
  for (double v : values)
    if (std::isfinite(v)) out.push_back(v);
  return out;
}

double median_in_place(std::vector<double>& v) {
  if (v.empty()) return NAN;
  auto mid = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), mid, v.end());
  if (v.size() % 2) return *mid;
  return (*mid + *std::max_element(v.begin(), mid)) / 2;
}

}  // namespace

double median(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  return median_in_place(values);
}

Baseline robust(std::span<const double> values) {
  std::vector<double> v = finite(values);
  Baseline b;
  b.samples = static_cast<int>(v.size());
  if (v.empty()) return b;
  b.median = median_in_place(v);
  for (double& x : v) x = std::abs(x - b.median);
  b.mad = 1.4826 * median_in_place(v);
  return b;
}

double quantile(std::vector<double> values, double q) {
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  if (values.empty()) return NAN;
  auto k = static_cast<std::ptrdiff_t>(std::ceil(q * static_cast<double>(values.size()))) - 1;
  k = std::clamp<std::ptrdiff_t>(k, 0, static_cast<std::ptrdiff_t>(values.size()) - 1);
  std::nth_element(values.begin(), values.begin() + k, values.end());
  return values[static_cast<std::size_t>(k)];
}

Trend trend(std::span<const Point> points) {
  std::vector<std::pair<double, double>> p;
  std::size_t n = points.size(), keep = std::min<std::size_t>(n, 64);
  for (std::size_t i = 0; i < keep; ++i) {
    const Point& q = points[keep > 1 ? i * (n - 1) / (keep - 1) : 0];
    if (std::isfinite(q.value)) p.push_back({to_seconds(q.at - points.front().at), q.value});
  }
  Trend out;
  out.points = static_cast<int>(p.size());
  if (p.size() < 3) return out;
  std::vector<double> slopes;
  int up = 0, down = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t j = i + 1; j < p.size(); ++j) {
      double dt = p[j].first - p[i].first, dv = p[j].second - p[i].second;
      if (dt <= 0) continue;
      slopes.push_back(dv / dt);
      up += dv > 0, down += dv < 0;
    }
  if (slopes.empty()) return out;
  out.monotonic = static_cast<double>(up - down) / static_cast<double>(slopes.size());
  out.per_second = median_in_place(slopes);
  out.rise = out.per_second * (p.back().first - p.front().first);
  return out;
}

ChangePoint change_point(std::span<const Point> points, std::size_t min_side) {
  ChangePoint out;
  std::vector<Point> p;
  for (const Point& q : points)
    if (std::isfinite(q.value)) p.push_back(q);
  min_side = std::max<std::size_t>(min_side, 1);
  if (p.size() < 2 * min_side) return out;
  // Candidate splits by the difference of means (CUSUM) weighted by size; the levels themselves are medians.
  double total = 0, left = 0, best = -1;
  for (const Point& q : p) total += q.value;
  double n = static_cast<double>(p.size());
  for (std::size_t k = 1; k < p.size(); ++k) {
    left += p[k - 1].value;
    if (k < min_side || p.size() - k < min_side) continue;
    double a = static_cast<double>(k), gain = std::abs(left / a - (total - left) / (n - a)) * std::sqrt(a * (n - a) / n);
    if (gain > best * (1 + 1e-12)) best = gain, out.index = k;
  }
  std::vector<double> a, b, rest;
  for (std::size_t i = 0; i < p.size(); ++i) (i < out.index ? a : b).push_back(p[i].value);
  out.before = median(a);
  out.after = median(b);
  for (double v : a) rest.push_back(std::abs(v - out.before));
  for (double v : b) rest.push_back(std::abs(v - out.after));
  for (double v : rest) out.step_error += v / n;
  out.noise = 1.4826 * median(rest);
  Trend t = trend(p);
  std::vector<double> offsets;
  for (const Point& q : p) offsets.push_back(q.value - t.per_second * to_seconds(q.at - p.front().at));
  double offset = median(offsets);
  for (double v : offsets) out.line_error += std::abs(v - offset) / n;
  return out;
}

}  // namespace weft::telemetry
