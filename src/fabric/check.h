// Is this site buildable and sound? Physical rules (cable length, ports, power, cooling), isolation of management, pairs that cannot reach each
// other, domains that span switch tiers. What the site does not say is "unknown", never "ok".
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/report.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

enum class Verdict { kOk, kUnknown, kWarning, kFail };
std::string_view verdict_name(Verdict v);

struct CheckResult {
  std::string rule;  // "cable-length"
  Verdict verdict;
  std::string entity;   // "rack2", "cable/C0417"; "" = the site
  std::string message;  // what, and what to do
  std::string source;   // of the threshold
};

// Ordered by rule, then entity in id order; alike results of one rule are joined, naming the first entity and how many more.
Result<std::vector<CheckResult>> check(const Snapshot& site);
bool passed(const std::vector<CheckResult>& results);  // nothing failed
Report to_report(const std::vector<CheckResult>& results, const Snapshot& site);
Json to_json(const std::vector<CheckResult>& results, const Snapshot& site);

}  // namespace weft::fabric
