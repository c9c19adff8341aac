// What comes in from the machine, from whatever source: numbers, settings, log lines understood, and each rank's part in each
// collective operation. Order-independent; duplicates are ignored; missing is not zero; a stopped series is stale, not zero.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft::telemetry {

// Dense per SeriesTable; the table is shared by sources and windows.
struct SeriesId {
  std::uint32_t v = UINT32_MAX;
  auto operator<=>(const SeriesId&) const = default;
};

enum class MetricKind : std::uint8_t { kGauge, kCounter };

// A metric as the ecosystem names it; see names.h for the catalogue.
struct Sample {
  SeriesId series;
  Instant at;
  double value;
};

struct Fact {  // version, setting, inventory
  Instant at;
  std::string entity;  // canonical name
  std::string key;     // "driver_version", "mtu", "ecn_enabled" …
  std::string value;
  std::string origin;  // which source said so
};

enum class Severity : std::uint8_t { kInfo, kWarning, kError, kFatal };
struct Event {  // a log line understood
  Instant at;
  std::string entity;
  std::string kind;  // "xid", "link_down", "link_up", "nccl_watchdog", "psu_failed", "leak", "step_aborted" … (names.h)
  std::string code;  // "79" for xid, "" otherwise
  Severity severity = Severity::kInfo;
  std::string text;  // the line as it was
  std::string origin;
};

enum class OpState : std::uint8_t { kScheduled, kStarted, kCompleted };
struct OpRecord {  // one rank's part in one operation
  std::string job;
  std::string group;  // "ep3"
  std::string kind;   // "all-to-all"
  std::int64_t sequence = 0;
  int rank = 0;
  OpState state = OpState::kScheduled;
  Instant start, end;  // arrival of this rank; completion (start when not completed)
  Bytes bytes{0};
};

struct Batch {
  std::vector<Sample> samples;
  std::vector<Fact> facts;
  std::vector<Event> events;
  std::vector<OpRecord> ops;
  void clear() { samples.clear(), facts.clear(), events.clear(), ops.clear(); }
};

// Names series: (metric, entity, labels) ↔ id. Grows only. Lookups of known series cost one hash.
class SeriesTable {
 public:
  SeriesTable();
  ~SeriesTable();
  SeriesTable(const SeriesTable&) = delete;
  SeriesTable& operator=(const SeriesTable&) = delete;
  // `labels` as "key=value,key=value", sorted by the caller; usually empty.
  SeriesId intern(std::string_view metric, std::string_view entity, std::string_view labels = {}, MetricKind kind = MetricKind::kGauge);
  SeriesId find(std::string_view metric, std::string_view entity, std::string_view labels = {}) const;  // v = UINT32_MAX when absent
  std::string_view metric(SeriesId id) const;
  std::string_view entity(SeriesId id) const;
  std::string_view labels(SeriesId id) const;
  MetricKind kind(SeriesId id) const;
  std::size_t size() const;
  std::vector<SeriesId> of_metric(std::string_view metric) const;  // in id order
  std::vector<SeriesId> of_entity(std::string_view entity) const;

 private:
  struct Impl;
  Impl* impl_;
};

// A place samples come from: the twin, a Prometheus scrape, a file. Never hands out a truth a real site could not know.
class Source {
 public:
  virtual ~Source() = default;
  // Appends everything observed since the last call up to `until`. An unreachable peer is an error (unavailable), not silence.
  virtual Status poll(Instant until, Batch& into) = 0;
  virtual std::string name() const = 0;
};

}  // namespace weft::telemetry
