// YAML with line numbers and no surprises: a thin value over yaml-cpp that refuses what a person cannot have meant
// (unknown keys, duplicate keys, nesting over 64 levels, files over 64 MiB, bytes that are not UTF-8 text, aliases that multiply). yaml-cpp stays inside yaml.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

class Yaml {
 public:
  enum class Kind { kNull, kScalar, kList, kMap };

  Yaml() = default;
  // `name` is used in "name:line" places. An empty document is an error ("file is empty").
  static Result<Yaml> parse(std::string_view text, std::string name);
  static Result<Yaml> parse_file(const std::string& path);

  Kind kind() const;
  int line() const;           // 1-based
  std::string place() const;  // "file:line"
  bool is_null() const { return kind() == Kind::kNull; }

  // Maps. Absent keys give a null value that remembers its parent's place.
  Yaml get(std::string_view key) const;
  bool has(std::string_view key) const;
  std::vector<std::pair<std::string, Yaml>> entries() const;  // in file order; line of the value
  // Error names the first key outside `known`, its line, and the nearest known key ("did you mean …").
  Status only(const std::vector<std::string_view>& known) const;

  // Lists.
  std::size_t size() const;
  Yaml at(std::size_t index) const;
  std::vector<Yaml> items() const;

  // Scalars: whole text must fit, errors carry the place and what was expected.
  Result<std::string> text() const;
  Result<std::int64_t> integer(std::int64_t low, std::int64_t high) const;
  Result<double> number(double low, double high) const;
  Result<bool> boolean() const;
  // With units: "400G", "400 Gb/s", "2.5 m", "700 W", "10 kW", "80 GB", "64 MiB", "30s", "5m"; the suffix decides, a bare number is
  // taken in `unit`. Returns the value in the base unit (b/s, m, W, B, s). All units: base/quantity.h. Never negative, except °C.
  Result<double> quantity(std::string_view unit) const;

  std::unexpected<Error> error(std::string message) const;  // kInvalid at this place

 private:
  struct Node;
  struct Document;
  class Builder;
  Yaml child(const Node* node, std::string label, bool absent) const;
  std::string shown() const;  // "'abc'", "a list", "nothing"
  std::unexpected<Error> expected(const std::string& what) const;

  std::shared_ptr<const Node> node_;  // of an absent value: its parent
  std::string label_;                 // key or list position, for messages
  bool absent_ = false;
};

}  // namespace weft
