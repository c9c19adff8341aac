#include "telemetry/types.h"

#include <deque>
#include <map>

namespace weft::telemetry {
namespace {

std::uint64_t hash_bytes(std::uint64_t h, std::string_view s) {  // FNV-1a, with a separator between the parts
  for (unsigned char c : s) h = (h ^ c) * 0x100000001b3ull;
  return (h ^ 0x1f) * 0x100000001b3ull;
}

std::uint64_t hash_of(std::string_view metric, std::string_view entity, std::string_view labels) {
  std::uint64_t h = hash_bytes(hash_bytes(hash_bytes(0xcbf29ce484222325ull, metric), entity), labels);
  return h ^ (h >> 29);
}

}  // namespace

// Open addressing over 64-bit hashes; a deque keeps the names where they are, so string views stay valid for ever.
struct SeriesTable::Impl {
  struct Entry {
    std::uint64_t hash;
    const std::string *metric, *entity, *labels;
    MetricKind kind;
  };
  std::deque<Entry> entries;
  std::vector<std::uint32_t> slots = std::vector<std::uint32_t>(1024, UINT32_MAX);
  std::map<std::string, std::vector<SeriesId>, std::less<>> by_metric, by_entity;
  std::map<std::string, int, std::less<>> label_names;

  bool equal(const Entry& e, std::uint64_t h, std::string_view m, std::string_view n, std::string_view l) const {
    return e.hash == h && *e.metric == m && *e.entity == n && *e.labels == l;
  }
  std::size_t slot_of(std::uint64_t h, std::string_view m, std::string_view n, std::string_view l) const {
    std::size_t mask = slots.size() - 1, i = h & mask;
    while (slots[i] != UINT32_MAX && !equal(entries[slots[i]], h, m, n, l)) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    slots.assign(slots.size() * 2, UINT32_MAX);
    std::size_t mask = slots.size() - 1;
    for (std::uint32_t id = 0; id < entries.size(); ++id) {
      std::size_t i = entries[id].hash & mask;
      while (slots[i] != UINT32_MAX) i = (i + 1) & mask;
      slots[i] = id;
    }
  }
};

SeriesTable::SeriesTable() : impl_(new Impl) {}
SeriesTable::~SeriesTable() { delete impl_; }

SeriesId SeriesTable::intern(std::string_view metric, std::string_view entity, std::string_view labels, MetricKind kind) {
  std::uint64_t h = hash_of(metric, entity, labels);
  std::size_t slot = impl_->slot_of(h, metric, entity, labels);
  if (impl_->slots[slot] != UINT32_MAX) return {impl_->slots[slot]};
  SeriesId id{static_cast<std::uint32_t>(impl_->entries.size())};
  auto m = impl_->by_metric.try_emplace(std::string(metric)).first;
  auto e = impl_->by_entity.try_emplace(std::string(entity)).first;
  auto l = impl_->label_names.try_emplace(std::string(labels), 0).first;
  m->second.push_back(id);
  e->second.push_back(id);
  impl_->entries.push_back({h, &m->first, &e->first, &l->first, kind});
  impl_->slots[slot] = id.v;
  if (impl_->entries.size() * 2 > impl_->slots.size()) impl_->grow();
  return id;
}

SeriesId SeriesTable::find(std::string_view metric, std::string_view entity, std::string_view labels) const {
  return {impl_->slots[impl_->slot_of(hash_of(metric, entity, labels), metric, entity, labels)]};
}

std::string_view SeriesTable::metric(SeriesId id) const { return *impl_->entries[id.v].metric; }
std::string_view SeriesTable::entity(SeriesId id) const { return *impl_->entries[id.v].entity; }
std::string_view SeriesTable::labels(SeriesId id) const { return *impl_->entries[id.v].labels; }
MetricKind SeriesTable::kind(SeriesId id) const { return impl_->entries[id.v].kind; }
std::size_t SeriesTable::size() const { return impl_->entries.size(); }

std::vector<SeriesId> SeriesTable::of_metric(std::string_view metric) const {
  auto at = impl_->by_metric.find(metric);
  return at == impl_->by_metric.end() ? std::vector<SeriesId>{} : at->second;
}
std::vector<SeriesId> SeriesTable::of_entity(std::string_view entity) const {
  auto at = impl_->by_entity.find(entity);
  return at == impl_->by_entity.end() ? std::vector<SeriesId>{} : at->second;
}

}  // namespace weft::telemetry
