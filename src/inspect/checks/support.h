// What most checks need: judge one number per entity of a kind, and judge that a setting is the same everywhere.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "inspect/inspect.h"
#include "telemetry/names.h"

namespace weft::inspect {

inline Cell unknown(std::string entity, std::string why, std::string remedy) {
  Cell c;
  c.entity = std::move(entity), c.value = std::move(why), c.remedy = std::move(remedy);
  return c;
}

inline Cell judged(std::string entity, bool good, std::string value, const Threshold& t, std::string remedy) {
  Cell c;
  c.entity = std::move(entity), c.value = std::move(value), c.threshold = t.text, c.source = t.source;
  c.verdict = good ? Verdict::kPass : Verdict::kFail;
  if (!good) c.remedy = std::move(remedy);
  return c;
}

// One gauge per device of `kind`; `good(value)` decides.
template <class Good>
void each_device(const Context& x, fabric::DeviceKind kind, std::string_view metric, const Threshold& t, std::string_view unit,
                 const std::string& remedy, std::vector<Cell>& out, Good good) {
  for (fabric::DeviceId d : x.snapshot.of_kind(kind)) {
    std::string name = x.snapshot.name(d);
    const Observation::Value* v = x.seen.value(metric, name);
    if (!v) out.push_back(unknown(name, fmt::format("no {}", metric), "check that the exporter of this node runs and is scraped"));
    else out.push_back(judged(name, good(*v), fmt::format("{:.6g}{}{}", v->last, unit.empty() ? "" : " ", unit), t, remedy));
  }
}

// A fact must be the same on all entities; the minority fails, a tie fails everybody.
inline void same_everywhere(const Context& x, std::string_view key, const std::vector<std::string>& entities, const std::string& remedy,
                            std::vector<Cell>& out) {
  std::map<std::string, int> count;
  for (const std::string& e : entities)
    if (const std::string* v = x.seen.fact(e, key)) ++count[*v];
  int most = 0, holders = 0;
  std::string majority;
  for (const auto& [value, n] : count)
    if (n > most) most = n, majority = value, holders = 1;
    else if (n == most) ++holders;
  static const std::string kSource = "rule of this product: one value per fleet, the majority is the baseline";
  for (const std::string& e : entities) {
    const std::string* v = x.seen.fact(e, key);
    if (!v) {
      out.push_back(unknown(e, fmt::format("no {}", key), "the inventory agent of this node sent nothing"));
      continue;
    }
    Threshold t{0, holders > 1 ? "one value everywhere" : fmt::format("{} (as {} of {})", majority, most, entities.size()), kSource};
    out.push_back(judged(e, holders == 1 && *v == majority, *v, t, remedy));
  }
}

inline std::vector<std::string> names_of(const Context& x, fabric::DeviceKind kind) {
  std::vector<std::string> out;
  for (fabric::DeviceId d : x.snapshot.of_kind(kind)) out.push_back(x.snapshot.name(d));
  return out;
}

}  // namespace weft::inspect
