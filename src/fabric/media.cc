#include "fabric/media.h"

#include "base/embedded.h"
#include "base/quantity.h"
#include "base/yaml.h"

namespace weft::fabric {

Result<Media> Media::built_in() {
  const std::string path = "data/catalogue/media.yaml";
  WEFT_ASSIGN(auto text, embedded_file(path));
  WEFT_ASSIGN(auto yaml, Yaml::parse(text, path));
  WEFT_TRY(yaml.only({"lanes", "reach"}));
  Media m;
  for (const auto& [rate, lane] : yaml.get("lanes").entries()) {
    WEFT_ASSIGN(double r, parse_quantity(rate, "b/s"));
    WEFT_ASSIGN(double l, lane.quantity("b/s"));
    m.lanes_.emplace_back(r, l);
  }
  for (const Yaml& y : yaml.get("reach").items()) {
    WEFT_TRY(y.only({"medium", "lane", "reach", "power", "source"}));
    WEFT_ASSIGN(auto name, y.get("medium").text());
    auto medium = parse_medium(name);
    if (!medium) return y.get("medium").error("unknown medium '" + name + "'");
    WEFT_ASSIGN(double lane, y.get("lane").quantity("b/s"));
    WEFT_ASSIGN(double reach, y.get("reach").quantity("m"));
    WEFT_ASSIGN(double power, y.get("power").quantity("W"));
    WEFT_ASSIGN(auto source, y.get("source").text());
    m.limits_.push_back({*medium, BitsPerSecond(lane), Meters(reach), Watts(power), source});
  }
  return m;
}

std::optional<BitsPerSecond> Media::lane_of(BitsPerSecond link_rate) const {
  for (auto [rate, lane] : lanes_)
    if (rate == link_rate.value()) return BitsPerSecond(lane);
  return std::nullopt;
}

const MediumLimit* Media::limit(Medium medium, BitsPerSecond lane) const {
  for (const MediumLimit& l : limits_)
    if (l.medium == medium && l.lane == lane) return &l;
  return nullptr;
}

}  // namespace weft::fabric
