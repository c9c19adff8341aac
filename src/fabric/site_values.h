// Values of a site file, each checked where it stands. `fallback` is taken when the key is not there.
#pragma once

#include <string>
#include <string_view>

#include "base/yaml.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

Result<int> count(const Yaml& from, std::string_view key, int fallback, int low, int high);
Result<std::string> text(const Yaml& from, std::string_view key, std::string fallback = {});
Result<double> quantity(const Yaml& from, std::string_view key, std::string_view unit, double fallback);
// "mtu" and "packet_cost" of a network or cable.
Result<Packets> packets(const Yaml& from);
// Bits a second of a link. Explicitly 0 is a mistake; what is not known is left out.
Result<double> link_rate(const Yaml& value);
Result<double> rate_of(const Yaml& from, std::string_view key, double fallback);
// A part's own name becomes a step of paths such as sn1/node3/card5:p2.
Result<std::string> part_name(const Yaml& from, std::string_view key, std::string fallback = {});

}  // namespace weft::fabric
