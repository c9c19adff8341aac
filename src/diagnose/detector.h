// The contract of detectors: one file per family under detectors/. A detector reads windows, facts and events and raises findings;
// it keeps no state of its own, so that a finding can be made again from the stored window alone. It must not name a cause.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"
#include "diagnose/machine.h"
#include "diagnose/rules.h"
#include "diagnose/types.h"
#include "telemetry/windows.h"

namespace weft::diagnose {

// Settings and log lines as they came in. Facts: latest value and the one before. Events: the last hour, at most 4096.
struct FactState {
  std::string value, before;  // before: "" when it never changed
  Instant since;              // of the present value
  bool changed = false;
};
struct Log {
  std::map<std::pair<std::string, std::string>, FactState, std::less<>> facts;  // (key, entity)
  Instant facts_changed;                                                        // latest change of any fact
  std::vector<telemetry::Event> events;                                         // by time
  const FactState* fact(std::string_view key, std::string_view entity) const;
  std::vector<const telemetry::Event*> of(std::string_view entity, std::string_view kind, Instant from) const;
};

class Findings {
 public:
  struct Live {
    Finding finding;
    Instant expires;
  };
  // Raises or refreshes sign@entity; alive for `hold` from now. A raise with later evidence of the same metric replaces the earlier.
  void raise(Instant now, std::string_view sign, std::string_view entity, Layer layer, double strength, Duration hold, Instant since,
             std::vector<Evidence> evidence);
  void drop(std::string_view sign, std::string_view entity);
  void expire(Instant now);
  const Finding* find(std::string_view sign, std::string_view entity) const;
  const std::map<std::pair<std::string, std::string>, Live, std::less<>>& all() const { return live_; }  // (sign, entity)
  std::uint64_t changes() const { return changes_; }  // grows with every new, dropped or expired finding

 private:
  std::map<std::pair<std::string, std::string>, Live, std::less<>> live_;
  std::uint64_t changes_ = 0;
};

struct Context {
  const telemetry::SeriesTable& table;
  telemetry::Windows& windows;
  const Machine& machine;
  const Rules& rules;
  const Log& log;
  Findings& findings;
  Instant now;

  // Refused (false) while the entity is being taken care of.
  bool raise(std::string_view sign, std::string_view entity, Layer layer, double strength, Duration hold, Instant since,
             std::vector<Evidence> evidence);
  void drop(std::string_view sign, std::string_view entity) { findings.drop(sign, entity); }
  Evidence evidence(telemetry::SeriesId id, double value, double baseline, std::string text, Instant from) const;
  double last(std::string_view metric, std::string_view entity, std::string_view labels = {}) const;  // NaN when unknown or stale
};

struct DetectorEntry {
  std::string name;
  std::string help;
  std::vector<std::string_view> metrics;                     // whose series it arms and examines
  void (*arm)(Context&, telemetry::SeriesId) = nullptr;      // sets wires: when first seen, then once a minute unless `fixed`
  bool fixed = false;                                        // the wire does not depend on history
  void (*examine)(Context&, telemetry::SeriesId) = nullptr;  // a sample crossed the wire since the last pass
  std::vector<std::string_view> events;
  void (*event)(Context&, const telemetry::Event&) = nullptr;
  Duration every = Duration(0);  // > 0: also swept on this schedule
  void (*sweep)(Context&) = nullptr;
};
Registry<DetectorEntry>& detectors();

}  // namespace weft::diagnose
