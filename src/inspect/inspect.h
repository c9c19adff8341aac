// The checks that decide whether work may start. A check looks at what was observed and says pass, fail or unknown per entity, with the
// value, the threshold, where the threshold comes from and what to do. Unknown is not pass: the gate opens only on evidence.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/registry.h"
#include "base/report.h"
#include "base/yaml.h"
#include "fabric/snapshot.h"
#include "telemetry/types.h"

namespace weft::inspect {

enum class Verdict : std::uint8_t { kPass, kFail, kUnknown };
std::string_view verdict_name(Verdict v);

// Rows of the pre-training inspection table.
enum class Item : std::uint8_t { kCards, kScaleUp, kScaleOut, kSoftware, kStorage, kFacility, kScheduler };
std::string_view item_name(Item item);

struct Cell {
  std::string check;  // registry name
  Item item = Item::kCards;
  std::string entity;
  Verdict verdict = Verdict::kUnknown;
  std::string value, threshold, source, remedy;
};

// Latest values, first values (for counters), facts and probe results of the observed time.
class Observation {
 public:
  explicit Observation(const telemetry::SeriesTable& series);
  void add(const telemetry::Batch& batch);

  struct Value {
    double first = 0, last = 0;
    Instant from, to;
    int count = 0;
  };
  // nullptr when nothing was seen: unknown, not zero.
  const Value* value(std::string_view metric, std::string_view entity, std::string_view labels = {}) const;
  const std::string* fact(std::string_view entity, std::string_view key) const;
  std::vector<std::pair<std::string, std::string>> facts(std::string_view key) const;  // entity, value; sorted by entity
  const std::vector<telemetry::Event>& events() const { return events_; }
  bool empty() const { return values_.empty() && facts_.empty(); }

 private:
  const telemetry::SeriesTable& series_;
  std::map<std::uint32_t, Value> values_;
  std::map<std::string, std::map<std::string, std::string, std::less<>>, std::less<>> facts_;  // key → entity → value
  std::vector<telemetry::Event> events_;
};

// A threshold with its source, from data/inspect/ordinary.yaml or a site's own file.
struct Threshold {
  double value = 0;
  std::string text, source;
};
class Rules {
 public:
  static Result<Rules> parse(std::string_view text, std::string file);
  static Result<Rules> built_in();
  // Known at parse time: a missing name is our mistake.
  const Threshold& get(std::string_view name) const;

 private:
  std::map<std::string, Threshold, std::less<>> thresholds_;
};

struct Context {
  const fabric::Snapshot& snapshot;
  const Observation& seen;
  const Rules& rules;
};

struct CheckEntry {
  std::string name;
  std::string help;
  Item item;
  void (*run)(const Context& context, std::vector<Cell>& out);
};
Registry<CheckEntry>& checks();

struct Inspection {
  std::vector<Cell> cells;  // sorted by item, check, entity
  int passed = 0, failed = 0, unknown = 0;
  // Work may start: nothing failed, and no more unknown than allowed.
  bool gate(bool allow_unknown) const { return failed == 0 && (allow_unknown || unknown == 0); }
};

Inspection inspect(const Context& context, const std::vector<std::string>& only = {});
Report to_report(const Inspection& inspection, const fabric::Snapshot& snapshot);
Json to_json(const Inspection& inspection);

}  // namespace weft::inspect
