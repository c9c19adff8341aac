// Cables and modules (data/catalogue/media.yaml, sources inside): how far each medium reaches at a lane rate, and what one end draws.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

struct MediumLimit {
  Medium medium;
  BitsPerSecond lane;
  Meters reach;
  Watts end_power;
  std::string source;
};

class Media {
 public:
  static Result<Media> built_in();
  std::optional<BitsPerSecond> lane_of(BitsPerSecond link_rate) const;  // none when no usual rate
  const MediumLimit* limit(Medium medium, BitsPerSecond lane) const;    // nullptr when the catalogue does not say

 private:
  std::vector<std::pair<double, double>> lanes_;
  std::vector<MediumLimit> limits_;
};

}  // namespace weft::fabric
