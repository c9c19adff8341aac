// What the recent past looked like, per series: about ten minutes at native rate, two hours of minutes, four days of ten minutes.
// Counters are kept as increments, so resets, ceilings and since-boot totals are dealt with once, here. A "wire" is a pair of
// limits per series; a sample beyond them puts the series on a list, so that nobody has to scan what is normal.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "telemetry/types.h"

namespace weft::telemetry {

struct Point {
  Instant at;
  double value;  // gauge: as sampled; counter: increments per second since the sample before
};

struct Baseline {
  double median = 0;
  double mad = 0;   // median absolute deviation × 1.4826: the standard deviation of a normal distribution
  int samples = 0;  // 0: nothing known
};

struct Increase {
  double value = 0;
  bool known = false;     // false: fewer than two samples in the span
  bool at_least = false;  // the counter stands at its ceiling or was reset inside the span
};

// DCGM's "not supported", "no data" … in its integer and floating spellings; also NaN and infinities.
bool is_blank(double value);

class Windows {
 public:
  explicit Windows(const SeriesTable& table);
  ~Windows();

  // ~50 ns a sample. Samples not later than the series' last one are dropped (duplicates), as are blanks; a counter's first sample
  // only sets the start.
  void append(std::span<const Sample> samples);

  // Limits on the gauge's value, or the counter's increase per second. NaN: no limit on that side. Survives until set again.
  void set_wire(SeriesId id, double low, double high);
  // Series with a sample beyond their wire, or the first one back inside, since the last call; series seen for the first time. In id order.
  std::vector<SeriesId> take_tripped();
  std::vector<SeriesId> take_new();

  std::size_t size() const;  // series with at least one sample
  bool has(SeriesId id) const;
  double last(SeriesId id) const;  // raw; NaN when none
  Instant last_at(SeriesId id) const;
  Instant first_at(SeriesId id) const;
  Duration interval(SeriesId id) const;  // usual time between samples
  // Had samples, and the next is overdue by two more intervals (at least `slack`): stopped, which is neither zero nor healthy.
  bool stale(SeriesId id, Instant now, Duration slack = seconds(3)) const;
  bool saturated(SeriesId id) const;  // stands at an 8-bit or 32-bit ceiling: any rate from it says "at least"

  // Native rate, from < at <= to, oldest first.
  std::vector<Point> points(SeriesId id, Instant from, Instant to) const;
  std::vector<Point> last_points(SeriesId id, std::size_t count) const;
  Increase increase(SeriesId id, Instant from, Instant to) const;  // counters
  double mean(SeriesId id, Instant from, Instant to) const;        // gauges; counters per second. NaN when no sample
  // Robust, own history: native points in the span, thinned to at most 64.
  Baseline baseline(SeriesId id, Instant from, Instant to) const;
  // Means of whole minutes / ten minutes, time of their end; counters per second.
  std::vector<Point> minutes(SeriesId id, Instant from, Instant to) const;
  std::vector<Point> ten_minutes(SeriesId id, Instant from, Instant to) const;
  Baseline minute_baseline(SeriesId id, Instant from, Instant to) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::telemetry
