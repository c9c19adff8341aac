#include "collective/envelope.h"

#include <algorithm>
#include <cmath>

namespace weft::collective {

Envelope::Envelope(workload::Collective kind, const GroupShape& shape) {
  if (shape.members < 2) return;
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  for (const Algorithm& a : algorithms().entries()) {
    if (!a.supports(kind, shape)) continue;
    double at_zero = a.cost(kind, shape, Bytes(0)).time.value(), at_large = a.cost(kind, shape, Bytes(kLarge)).time.value();
    if (std::isfinite(at_zero) && std::isfinite(at_large)) lines_.push_back({at_zero, (at_large - at_zero) / static_cast<double>(kLarge)});
  }
  // Keep what is the fastest somewhere: by falling latency a line must have the smallest slope so far from the large sizes down.
  std::sort(lines_.begin(), lines_.end(),
            [](const Line& a, const Line& b) { return a.latency != b.latency ? a.latency < b.latency : a.slope < b.slope; });
  std::vector<Line> kept;
  for (const Line& l : lines_)
    if (kept.empty() || l.slope < kept.back().slope) kept.push_back(l);
  lines_ = std::move(kept);
}

}  // namespace weft::collective
