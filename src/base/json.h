// JSON values. Objects keep insertion order so that output is stable. Include <nlohmann/json.hpp> only in .cc files that build
// or take apart JSON; headers name the type through this file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

using Json = nlohmann::ordered_json;

// Parses text (at most `max_depth` levels deep); errors carry "name:line:column".
Result<Json> parse_json(std::string_view text, std::string_view name, int max_depth = 200);
// Invalid UTF-8 is replaced, never thrown on. indent < 0 gives one line.
std::string dump_json(const Json& value, int indent = 2);

}  // namespace weft
