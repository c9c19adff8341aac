// Small questions every detector asks of a window.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diagnose/detector.h"
#include "telemetry/names.h"
#include "telemetry/stats.h"

namespace weft::diagnose {

using telemetry::Baseline;
using telemetry::Point;
using telemetry::SeriesId;
namespace metric = telemetry::metric;
namespace fact = telemetry::fact;
namespace event = telemetry::event;

constexpr double kNone = NAN;  // no limit

// How many of the last `of` points satisfy the test; `first` gets the time of the earliest of the run that reaches to the end.
template <class Test>
int count_last(const Context& c, SeriesId id, std::size_t of, Test test, Instant* first = nullptr) {
  int n = 0;
  std::vector<Point> p = c.windows.last_points(id, of);
  if (first) *first = p.empty() ? c.now : p.back().at;
  bool run = true;
  for (auto at = p.rbegin(); at != p.rend(); ++at) {
    if (test(at->value)) {
      ++n;
      if (first && run) *first = at->at;
    } else {
      run = false;
    }
  }
  return n;
}

// Time a finding stays alive without refresh: a few samples.
inline Duration hold_of(const Context& c, SeriesId id, double samples = 4) {
  return std::max(c.windows.interval(id) * samples, seconds(6));
}

// When the present load began: the latest start of a job, with its warm-up. Traffic and heat before it are no baseline for now.
inline Instant load_since(const Context& c) {
  Instant t;
  for (const RunningJob& j : c.machine.jobs())
    if (j.running) t = std::max(t, j.since + seconds(45));
  return t;
}

// Own history at native rate that the last `lag` does not touch.
inline Baseline history(const Context& c, SeriesId id, Duration lag = seconds(40), bool under_load = true) {
  Instant from = c.now - minutes(10);
  if (under_load) from = std::max(from, load_since(c));
  return c.windows.baseline(id, from, c.now - lag);
}

// Two hours of minutes when there are enough of them, else ten minutes: for what a room or a pump does, independent of load.
inline Baseline long_history(const Context& c, SeriesId id) {
  Baseline b = c.windows.minute_baseline(id, c.now - hours(2), c.now - minutes(3));
  if (b.samples >= 15) return b;
  return history(c, id, seconds(60), false);
}

inline std::string node_name(const Context& c, std::string_view entity) {
  if (!c.machine.ready()) return "";
  fabric::DeviceId n = c.machine.node_of(c.machine.part(entity).device);
  return n.ok() ? c.machine.snapshot().name(n) : "";
}

inline bool alive(const Context& c, std::string_view sign, std::string_view entity) { return c.findings.find(sign, entity) != nullptr; }

// True once per period of the schedule for every finding of that sign that is alive.
template <class Each>
void each_alive(const Context& c, std::string_view sign, Each each) {
  auto at = c.findings.all().lower_bound(std::pair(std::string(sign), std::string()));
  for (; at != c.findings.all().end() && at->first.first == sign; ++at) each(at->second.finding);
}

}  // namespace weft::diagnose
