// The product's own metrics (weft_<folder>_<what>_<base unit>[_total]) as Prometheus text. A value object owned by whoever serves it;
// parts that count are handed a reference. Not for what sites report: that is telemetry.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  void add(double amount = 1);  // amount >= 0
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Gauge {
 public:
  void set(double v) { value_.store(v, std::memory_order_relaxed); }
  void add(double amount);
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Metrics {
 public:
  // The same name and labels give the same object, which lives as long as this. Counters end in _total. Looking up takes a lock: keep the
  // reference where it is hot. A name that breaks the rule is our own mistake (assert).
  Counter& counter(const std::string& name, const std::string& help, Labels labels = {});
  Gauge& gauge(const std::string& name, const std::string& help, Labels labels = {});

  // Text exposition format 0.0.4, families and labels sorted: the same values give the same bytes.
  std::string exposition() const;

 private:
  struct Family {
    std::string help;
    bool counter = false;
    std::map<Labels, std::unique_ptr<Counter>> counters;
    std::map<Labels, std::unique_ptr<Gauge>> gauges;
  };
  Family& family(const std::string& name, const std::string& help, bool counter);

  mutable std::mutex mutex_;
  std::map<std::string, Family> families_;
};

// weft_<folder>_<what>… of lower-case words; counters end in _total and nothing else does.
bool good_metric_name(std::string_view name, bool counter);

}  // namespace weft
