// In memory: for runs that need no history, and for tests.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <mutex>

#include "store/store.h"

namespace weft::store {
namespace {

class Memory : public Store {
 public:
  Result<std::int64_t> append(const JournalEntry& entry) override {
    std::lock_guard lock(mutex_);
    entries_.push_back(entry);
    return entries_.back().sequence = static_cast<std::int64_t>(entries_.size());
  }
  Result<std::vector<JournalEntry>> read(std::int64_t after, std::size_t limit) override {
    std::lock_guard lock(mutex_);
    std::vector<JournalEntry> out;
    for (auto i = static_cast<std::size_t>(std::max<std::int64_t>(after, 0)); i < entries_.size() && out.size() < limit; ++i)
      out.push_back(entries_[i]);
    return out;
  }
  Result<std::vector<JournalEntry>> audit(const std::string& entity, const std::string& who, Instant from, Instant to,
                                          std::size_t limit) override {
    std::lock_guard lock(mutex_);
    std::vector<JournalEntry> out;
    for (auto e = entries_.rbegin(); e != entries_.rend() && out.size() < limit; ++e)
      if (e->entity.find(entity) != std::string::npos && (who.empty() || e->who == who) && e->at >= from && e->at <= to) out.push_back(*e);
    return out;
  }
  Status put_samples(const std::vector<StoredSample>& samples) override {
    std::lock_guard lock(mutex_);
    for (const StoredSample& s : samples) samples_[{s.metric, s.entity}].push_back(s);
    return {};
  }
  Result<std::vector<StoredSample>> samples(const std::string& metric, const std::string& entity, Instant from, Instant to) override {
    std::lock_guard lock(mutex_);
    std::vector<StoredSample> out;
    if (auto at = samples_.find({metric, entity}); at != samples_.end())
      for (const StoredSample& s : at->second)
        if (s.at >= from && s.at <= to) out.push_back(s);
    std::stable_sort(out.begin(), out.end(),
                     [](const auto& x, const auto& y) { return std::tie(x.at, x.labels) < std::tie(y.at, y.labels); });
    return out;
  }
  Status put(const std::string& key, const Json& value) override {
    std::lock_guard lock(mutex_);
    documents_[key] = dump_json(value, -1);
    return {};
  }
  Result<Json> get(const std::string& key) override {
    std::lock_guard lock(mutex_);
    auto at = documents_.find(key);
    if (at == documents_.end()) return fail(ErrorKind::kNotFound, "no stored document '" + key + "'");
    return parse_json(at->second, key);
  }

 private:
  std::mutex mutex_;
  std::vector<JournalEntry> entries_;
  std::map<std::pair<std::string, std::string>, std::vector<StoredSample>> samples_;
  std::map<std::string, std::string> documents_;
};

Result<std::unique_ptr<Store>> open(const std::string&) { return std::make_unique<Memory>(); }

WEFT_REGISTER(backends(), {"memory", "in memory, gone at the end", open});

}  // namespace
}  // namespace weft::store
