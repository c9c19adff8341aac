// JSON values. Objects keep insertion order so that output is stable. Include <nlohmann/json.hpp> only in .cc files that build
// or take apart JSON; headers name the type through this file.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

using Json = nlohmann::ordered_json;

// A Json by value that headers can hold without the heavy include. Immutable inside, so copies share. Default: an empty object.
class JsonBox {
 public:
  JsonBox();
  JsonBox(const Json& value);  // implicit: a field is assigned from a Json
  const Json& get() const { return *value_; }
  operator const Json&() const { return *value_; }
  const Json* operator->() const { return value_.get(); }
  const Json& operator*() const { return *value_; }
  bool operator==(const JsonBox& other) const;

 private:
  std::shared_ptr<const Json> value_;
};

// Parses text (at most `max_depth` levels deep); errors carry "name:line:column".
Result<Json> parse_json(std::string_view text, std::string_view name, int max_depth = 200);
// Invalid UTF-8 is replaced, never thrown on. indent < 0 gives one line.
std::string dump_json(const Json& value, int indent = 2);

}  // namespace weft
