// From symptoms to causes. A Finding is one symptom on one entity, reproducible from the stored window alone. A Cause is an entity
// and a fault class with a confidence; confidences with "unknown" sum to one, "undecided between A and B" is legal, and the test
// that would settle it is named. Diagnosis sees telemetry and the fabric, never the twin's truth.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "telemetry/types.h"

namespace weft::diagnose {

// Bottom-up (F5), and the lanes of the causal graph (F3).
enum class Layer : std::uint8_t { kWater, kPower, kNetwork, kCard, kHost, kSoftware, kStorage, kPlacement, kJob };
std::string_view layer_name(Layer layer);

struct Evidence {
  std::string metric;  // or fact/event name
  std::string entity;
  double value = 0, baseline = 0;
  std::string text;  // "pre-FEC BER 3.1e-7, own baseline 2.2e-9 (×140)"
  Instant from, to;
};

struct Finding {
  std::string sign;    // stable id from detectors, e.g. "link_down", "pre_fec_ber_up", "rank_late", "card_hot"
  std::string entity;  // canonical name
  Layer layer = Layer::kJob;
  Instant since, last;
  double strength = 0;  // 0 … 1
  std::vector<Evidence> evidence;
};

enum class Tail : std::uint8_t { kNone, kMean, kTail, kStop };  // does the mean suffer, only the tail, or does the job stop?

struct Impact {
  std::string job;
  std::vector<std::string> groups;  // "ep3", "tp0"
  std::string primitive;            // "all-to-all"; empty when compute
  Tail tail = Tail::kNone;
  double slowdown = 0;  // step time over baseline − 1; 0 when not slowed
};

struct Cause {
  std::string fault;   // fault class id, see fault_classes()
  std::string entity;  // the part at fault
  Layer layer = Layer::kNetwork;
  double confidence = 0;  // 0 … 1
  Instant since;
  std::vector<std::string> explained;  // "sign@entity"
  std::vector<std::string> contradicted;
  std::vector<Impact> impact;
  std::string settling_test;  // what would decide between this and its look-alikes
};

struct Diagnosis {
  Instant at;
  std::string key;                                               // identity of the incident over time: "D0003"
  Instant since;                                                 // first symptom
  telemetry::Severity severity = telemetry::Severity::kWarning;  // kInfo: worth watching, nobody suffers
  bool settled = false;           // enough was seen to act; before that further symptoms are awaited (seconds)
  bool over = false;              // the symptoms are gone
  std::vector<Cause> causes;      // most likely first, at most 8
  double unknown = 1;             // rest of the probability
  bool undecided = false;         // first two too close, or a look-alike group whose splitter is not exported
  std::vector<Finding> findings;  // everything considered, sorted by (since, entity, sign)
};

// A class of faults the product knows: its layer, the entity kind it sits on, what heals it, and look-alikes.
struct FaultClass {
  std::string_view id;  // "optic_ageing"
  std::string_view title;
  Layer layer;
  std::string_view entity_kind;  // "link", "card", "node", "switch", "rack", "cdu", "job", "storage"
  std::string_view
      seed_class;  // of the seven: "card", "scale-up link", "scale-out network", "switch", "cooling and power", "software", "scheduling"
  std::string_view remedy;  // "link" (re-route/spare), "card", "node", "reset", "config", "cooling", "power", "report"
};
std::span<const FaultClass> fault_classes();  // sorted by id
const FaultClass* find_fault_class(std::string_view id);

}  // namespace weft::diagnose
