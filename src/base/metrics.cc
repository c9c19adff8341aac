#include "base/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/text.h"

namespace weft {
namespace {

void add_to(std::atomic<double>& value, double amount) {
  double before = value.load(std::memory_order_relaxed);
  while (!value.compare_exchange_weak(before, before + amount, std::memory_order_relaxed)) {}
}

std::string number(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", v);  // shortest text that reads back as the same double
}

std::string escaped(std::string_view s, bool quotes) {
  std::string out;
  for (char c : s) {
    if (c == '\\') out += "\\\\";
    else if (c == '\n') out += "\\n";
    else if (c == '"' && quotes) out += "\\\"";
    else out += c;
  }
  return out;
}

std::string labels_text(const Labels& labels) {
  if (labels.empty()) return "";
  std::string out = "{";
  for (const auto& [name, value] : labels) out += (out.size() > 1 ? "," : "") + name + "=\"" + escaped(value, true) + "\"";
  return out + "}";
}

}  // namespace

void Counter::add(double amount) {
  assert(amount >= 0);
  add_to(value_, amount);
}
void Gauge::add(double amount) { add_to(value_, amount); }

bool good_metric_name(std::string_view name, bool counter) {
  auto words = split(name, '_');
  if (words.size() < 3 || words[0] != "weft") return false;
  for (std::string_view w : words)
    if (w.empty() || !std::all_of(w.begin(), w.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }))
      return false;
  return (words.back() == "total") == counter;
}

Metrics::Family& Metrics::family(const std::string& name, const std::string& help, bool counter) {
  assert(good_metric_name(name, counter));
  auto [at, fresh] = families_.try_emplace(name);
  if (fresh) at->second.help = help, at->second.counter = counter;
  return at->second;
}

Counter& Metrics::counter(const std::string& name, const std::string& help, Labels labels) {
  std::sort(labels.begin(), labels.end());
  std::lock_guard lock(mutex_);
  auto& slot = family(name, help, true).counters[std::move(labels)];
  if (!slot) slot = std::make_unique<Counter>();
  return *slot;
}

Gauge& Metrics::gauge(const std::string& name, const std::string& help, Labels labels) {
  std::sort(labels.begin(), labels.end());
  std::lock_guard lock(mutex_);
  auto& slot = family(name, help, false).gauges[std::move(labels)];
  if (!slot) slot = std::make_unique<Gauge>();
  return *slot;
}

std::string Metrics::exposition() const {
  std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [name, family] : families_) {
    out += "# HELP " + name + " " + escaped(family.help, false) + "\n# TYPE " + name + (family.counter ? " counter\n" : " gauge\n");
    for (const auto& [labels, c] : family.counters) out += name + labels_text(labels) + " " + number(c->value()) + "\n";
    for (const auto& [labels, g] : family.gauges) out += name + labels_text(labels) + " " + number(g->value()) + "\n";
  }
  return out;
}

}  // namespace weft
