// Journal, samples and audit behind one small interface; memory and SQLite behind it. Append-only: replaying the journal reaches the
// same state. A write that returned is durable (SQLite: synchronous=FULL for the journal).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/registry.h"
#include "base/units.h"

namespace weft::store {

struct JournalEntry {
  std::int64_t sequence = 0;  // given by the store, from 1
  Instant at;
  std::string kind;     // "plan", "intent", "outcome", "publish", "incident", "release", "note" …
  std::string subject;  // plan, action or incident id
  std::string entity;
  std::string who;  // "weft", a user
  std::string why;
  JsonBox before, after;  // what changed
};

struct StoredSample {
  std::string metric, entity, labels;
  Instant at;
  double value;
};

class Store {
 public:
  virtual ~Store() = default;
  virtual Result<std::int64_t> append(const JournalEntry& entry) = 0;
  // In sequence order, from `after` (exclusive), at most `limit`.
  virtual Result<std::vector<JournalEntry>> read(std::int64_t after, std::size_t limit) = 0;
  // Filter by entity substring, who and time; newest first.
  virtual Result<std::vector<JournalEntry>> audit(const std::string& entity, const std::string& who, Instant from, Instant to,
                                                  std::size_t limit) = 0;
  virtual Status put_samples(const std::vector<StoredSample>& samples) = 0;
  virtual Result<std::vector<StoredSample>> samples(const std::string& metric, const std::string& entity, Instant from, Instant to) = 0;
  // Small named documents (snapshots, baselines). Last write wins, atomically.
  virtual Status put(const std::string& key, const Json& value) = 0;
  virtual Result<Json> get(const std::string& key) = 0;  // not_found
};

struct BackendEntry {
  std::string name;
  std::string help;
  // `where`: file path for sqlite, ignored by memory.
  Result<std::unique_ptr<Store>> (*open)(const std::string& where);
};
Registry<BackendEntry>& backends();

}  // namespace weft::store
