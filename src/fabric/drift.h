// Drift: the intended machine (Snapshot) against what was observed, explained. Only what the observation speaks about is compared: unknown is
// never a difference. Of several explanations the one that needs fewest changes comes first ("a and b are swapped" is one change, not four).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "fabric/observed.h"

namespace weft::fabric {

enum class DriftKind { kSwapped, kMoved, kMissing, kExtra, kSlow, kFewerLinks, kOther };
std::string_view drift_name(DriftKind kind);

struct DriftItem {
  DriftKind kind;
  std::vector<std::string> entities;  // canonical names of the intended machine where they exist, else as observed
  std::string text;                   // one sentence with the place that shows it
  int explains = 1;                   // single differences that this one change accounts for
};

struct Drift {
  std::vector<DriftItem> items;       // most explained first, then by text
  std::vector<std::string> compared;  // what could be compared
  std::vector<std::string> skipped;   // what the observation does not say, or what has no counterpart
  bool found() const { return !items.empty(); }
};

// `node`: which node the observation of a single machine belongs to (none = the only one, or by its host name).
// Errors: nothing of the observation can be found in the site.
Result<Drift> find_drift(const Snapshot& intended, const Observed& observed, DeviceId node = {});
Json to_json(const Drift& drift);
Report report(const Drift& drift);

}  // namespace weft::fabric
