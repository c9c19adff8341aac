// One registry per kind of one-file extension. A new file ends in one line:
//   WEFT_REGISTER(fabric::topologies(), {"torus2d", "2D torus", make_torus2d, {{"x", "4", "", "rings along x"}}});
// Entries are kept sorted by name, so nothing depends on link order. A test compares the names with the files on disk.
#pragma once

#include <algorithm>
#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

struct Parameter {
  std::string name;
  std::string fallback;  // default as text; "" means the parameter must be given
  std::string unit;      // "Gb/s", "m", "" for a count
  std::string help;
};

// Entry needs a public member `std::string name`.
template <class Entry>
class Registry {
 public:
  explicit Registry(std::string kind) : kind_(std::move(kind)) {}

  bool add(Entry entry) {
    auto at = std::lower_bound(entries_.begin(), entries_.end(), entry.name,
                               [](const Entry& e, const std::string& n) { return e.name < n; });
    assert(at == entries_.end() || at->name != entry.name);
    entries_.insert(at, std::move(entry));
    return true;
  }

  const Entry* find(std::string_view name) const {
    for (const Entry& e : entries_)
      if (e.name == name) return &e;
    return nullptr;
  }

  const std::vector<Entry>& entries() const { return entries_; }
  const std::string& kind() const { return kind_; }

  // "a, b, c" for messages such as "unknown topology 'x'; known: …".
  std::string names() const {
    std::string out;
    for (const Entry& e : entries_) out += (out.empty() ? "" : ", ") + e.name;
    return out;
  }

 private:
  std::string kind_;
  std::vector<Entry> entries_;
};

}  // namespace weft

#define WEFT_REGISTER_NAME_(line) weft_registered_##line
#define WEFT_REGISTER_NAME(line) WEFT_REGISTER_NAME_(line)
// Variadic so that braces with commas pass through.
#define WEFT_REGISTER(registry, ...) \
  [[maybe_unused]] static const bool WEFT_REGISTER_NAME(__LINE__) = (registry).add(__VA_ARGS__)
