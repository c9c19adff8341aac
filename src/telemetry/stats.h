// Robust statistics over short windows: medians, Theil-Sen slopes, one change point. All deterministic; NaN input is skipped.
#pragma once

#include <span>
#include <vector>

#include "telemetry/windows.h"

namespace weft::telemetry {

double median(std::vector<double> values);  // NaN when empty; mean of the middle two when even
Baseline robust(std::span<const double> values);
double quantile(std::vector<double> values, double q);  // nearest rank

// Median of the slopes of all pairs (Theil-Sen), per second. At most 64 points are used, evenly chosen. O(n²) in those.
struct Trend {
  double per_second = 0;
  double rise = 0;       // slope × span of time
  double monotonic = 0;  // Kendall's tau, -1 … 1
  int points = 0;
};
Trend trend(std::span<const Point> points);

// The split into two constant levels that minimises the absolute error; at least `min_side` points on either side.
struct ChangePoint {
  std::size_t index = 0;  // first point of the second level; 0 when there is none
  double before = 0, after = 0;
  double noise = 0;                       // robust deviation around the two levels
  double step_error = 0, line_error = 0;  // mean absolute error of two levels, and of one straight line: a step or a slope?
};
ChangePoint change_point(std::span<const Point> points, std::size_t min_side = 3);

}  // namespace weft::telemetry
