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

// What all registries have in common, for `weft list` and the test that compares them with the disk.
class RegistryBase {
 public:
  explicit RegistryBase(std::string kind) : kind_(std::move(kind)) { list().push_back(this); }
  virtual ~RegistryBase() { std::erase(list(), this); }
  RegistryBase(const RegistryBase&) = delete;
  RegistryBase& operator=(const RegistryBase&) = delete;

  const std::string& kind() const { return kind_; }
  // Source file and name of every WEFT_REGISTER line that ran, sorted.
  const std::vector<std::pair<std::string, std::string>>& origins() const { return origins_; }
  // Every living registry, by kind. Complete once main has begun.
  static std::vector<const RegistryBase*> all() {
    std::vector<const RegistryBase*> out = list();
    std::sort(out.begin(), out.end(), [](const RegistryBase* a, const RegistryBase* b) { return a->kind_ < b->kind_; });
    return out;
  }

 protected:
  void came_from(std::string file, std::string name) {
    std::pair<std::string, std::string> origin(std::move(file), std::move(name));
    origins_.insert(std::lower_bound(origins_.begin(), origins_.end(), origin), std::move(origin));
  }

 private:
  std::string kind_;
  std::vector<std::pair<std::string, std::string>> origins_;
  // Never destroyed: registries in other files may outlive any static of this one.
  static std::vector<const RegistryBase*>& list() {
    static auto* registries = new std::vector<const RegistryBase*>;
    return *registries;
  }
};

// Entry needs a public member `std::string name`.
template <class Entry>
class Registry : public RegistryBase {
 public:
  using RegistryBase::RegistryBase;

  bool add_from(const char* file, Entry entry) {
    came_from(file, entry.name);
    return add(std::move(entry));
  }

  bool add(Entry entry) {
    auto at =
        std::lower_bound(entries_.begin(), entries_.end(), entry.name, [](const Entry& e, const std::string& n) { return e.name < n; });
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

  // "a, b, c" for messages such as "unknown topology 'x'; known: …".
  std::string names() const {
    std::string out;
    for (const Entry& e : entries_) out += (out.empty() ? "" : ", ") + e.name;
    return out;
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace weft

#define WEFT_REGISTER_NAME_(line) weft_registered_##line
#define WEFT_REGISTER_NAME(line) WEFT_REGISTER_NAME_(line)
// Variadic so that braces with commas pass through.
#define WEFT_REGISTER(registry, ...) \
  [[maybe_unused]] static const bool WEFT_REGISTER_NAME(__LINE__) = (registry).add_from(__FILE__, __VA_ARGS__)
