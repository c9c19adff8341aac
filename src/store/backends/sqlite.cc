// SQLite, one file. The journal is durable when append() returns (WAL, synchronous=FULL).
#include <sqlite3.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <mutex>
#include <optional>

#include "store/store.h"

namespace weft::store {
namespace {

constexpr int kSchema = 1;
constexpr std::int64_t kApplication = 0x77656674;  // "weft"

// A statement left half-read keeps its read transaction open, and the write-ahead log could not shrink.
struct Reset {
  sqlite3_stmt* statement;
  explicit Reset(sqlite3_stmt* s) : statement(s) {}
  ~Reset() { sqlite3_reset(statement); }
  Reset(const Reset&) = delete;
  Reset& operator=(const Reset&) = delete;
};

class Sqlite : public Store {
 public:
  explicit Sqlite(std::string path) : path_(std::move(path)) {}
  ~Sqlite() override {
    for (sqlite3_stmt* s : {append_, read_, audit_, put_sample_, samples_, put_, get_}) sqlite3_finalize(s);
    sqlite3_close(db_);
  }

  std::unexpected<Error> error(const char* what) const {
    int code = db_ ? sqlite3_errcode(db_) & 0xff : SQLITE_CANTOPEN;
    ErrorKind kind = code == SQLITE_CORRUPT || code == SQLITE_NOTADB                         ? ErrorKind::kCorrupt
                     : code == SQLITE_READONLY || code == SQLITE_PERM || code == SQLITE_AUTH ? ErrorKind::kDenied
                                                                                             : ErrorKind::kUnavailable;
    std::string remedy = kind == ErrorKind::kCorrupt
                             ? "; the file is no usable journal: move it away and keep it, or name another with --store"
                         : code == SQLITE_FULL ? "; the disk is full"
                                               : "";
    return fail(kind, std::string(what) + ": " + (db_ ? sqlite3_errmsg(db_) : "cannot open") + remedy, path_);
  }

  Status open() {
    if (sqlite3_open_v2(path_.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK)
      return error("cannot open the store");
    sqlite3_busy_timeout(db_, 5000);
    // Looked at before anything is written: another program's database stays as it is.
    WEFT_ASSIGN(std::int64_t tables, number("SELECT count(*) FROM sqlite_master"));
    WEFT_ASSIGN(std::int64_t owner, number("PRAGMA application_id"));
    WEFT_ASSIGN(std::int64_t found, number("PRAGMA user_version"));
    if (tables > 0 && owner != kApplication)
      return fail(ErrorKind::kConflict, "the file is another program's SQLite database; name another with --store", path_);
    if (found > kSchema) return fail(ErrorKind::kConflict, "the store was written by a newer weft; use that one, or another file", path_);
    const std::string stamp = "PRAGMA application_id=" + std::to_string(kApplication) + "; PRAGMA user_version=" + std::to_string(kSchema);
    // One transaction: a kill leaves an empty file or a whole store.
    const std::string tables_sql =
        "BEGIN IMMEDIATE;"
        "CREATE TABLE IF NOT EXISTS journal(sequence INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER, kind TEXT, subject TEXT, entity TEXT, "
        "who TEXT, why TEXT, before TEXT, after TEXT);"
        "CREATE TABLE IF NOT EXISTS samples(metric TEXT, entity TEXT, labels TEXT, at INTEGER, value REAL);"
        "CREATE INDEX IF NOT EXISTS samples_by ON samples(metric, entity, at);"
        "CREATE TABLE IF NOT EXISTS documents(key TEXT PRIMARY KEY, value TEXT);" +
        stamp + ";COMMIT";
    for (const std::string& sql :
         {std::string("PRAGMA journal_mode=WAL"), std::string("PRAGMA synchronous=FULL"), tables > 0 ? std::string() : tables_sql})
      if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return error("cannot prepare the store");
    struct {
      const char* sql;
      sqlite3_stmt** into;
    } statements[] = {
        {"INSERT INTO journal(at,kind,subject,entity,who,why,before,after) VALUES(?,?,?,?,?,?,?,?)", &append_},
        {"SELECT sequence,at,kind,subject,entity,who,why,before,after FROM journal WHERE sequence>? ORDER BY sequence LIMIT ?", &read_},
        {"SELECT sequence,at,kind,subject,entity,who,why,before,after FROM journal WHERE instr(entity,?1)>0 AND (?2='' OR who=?2) AND "
         "at>=?3 AND at<=?4 ORDER BY sequence DESC LIMIT ?5",
         &audit_},
        {"INSERT INTO samples VALUES(?,?,?,?,?)", &put_sample_},
        {"SELECT metric,entity,labels,at,value FROM samples WHERE metric=? AND entity=? AND at>=? AND at<=? ORDER BY at,labels", &samples_},
        {"INSERT INTO documents VALUES(?1,?2) ON CONFLICT(key) DO UPDATE SET value=?2", &put_},
        {"SELECT value FROM documents WHERE key=?", &get_}};
    for (auto& s : statements)
      if (sqlite3_prepare_v2(db_, s.sql, -1, s.into, nullptr) != SQLITE_OK) return error("cannot prepare the store");
    return {};
  }

  Result<std::int64_t> append(const JournalEntry& e) override {
    std::lock_guard lock(mutex_);
    Reset done(append_);
    sqlite3_bind_int64(append_, 1, e.at.ns());
    const std::string texts[] = {e.kind, e.subject, e.entity, e.who, e.why, dump_json(*e.before, -1), dump_json(*e.after, -1)};
    for (int i = 0; i < 7; ++i) bind(append_, i + 2, texts[i]);
    if (sqlite3_step(append_) != SQLITE_DONE) return error("cannot write the journal");
    return sqlite3_last_insert_rowid(db_);
  }
  Result<std::vector<JournalEntry>> read(std::int64_t after, std::size_t limit) override {
    std::lock_guard lock(mutex_);
    Reset done(read_);
    sqlite3_bind_int64(read_, 1, after);
    sqlite3_bind_int64(read_, 2, static_cast<sqlite3_int64>(std::min<std::size_t>(limit, INT64_MAX)));
    return entries(read_);
  }
  Result<std::vector<JournalEntry>> audit(const std::string& entity, const std::string& who, Instant from, Instant to,
                                          std::size_t limit) override {
    std::lock_guard lock(mutex_);
    Reset done(audit_);
    bind(audit_, 1, entity), bind(audit_, 2, who);
    sqlite3_bind_int64(audit_, 3, from.ns());
    sqlite3_bind_int64(audit_, 4, to.ns());
    sqlite3_bind_int64(audit_, 5, static_cast<sqlite3_int64>(std::min<std::size_t>(limit, INT64_MAX)));
    return entries(audit_);
  }
  Status put_samples(const std::vector<StoredSample>& samples) override {
    std::lock_guard lock(mutex_);
    if (sqlite3_exec(db_, "BEGIN", nullptr, nullptr, nullptr) != SQLITE_OK) return error("cannot store samples");
    for (const StoredSample& s : samples) {
      Reset done(put_sample_);
      bind(put_sample_, 1, s.metric), bind(put_sample_, 2, s.entity), bind(put_sample_, 3, s.labels);
      sqlite3_bind_int64(put_sample_, 4, s.at.ns());
      sqlite3_bind_double(put_sample_, 5, s.value);
      if (sqlite3_step(put_sample_) != SQLITE_DONE) {
        auto failed = error("cannot store samples");
        sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
        return failed;
      }
    }
    if (sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) return error("cannot store samples");
    return {};
  }
  Result<std::vector<StoredSample>> samples(const std::string& metric, const std::string& entity, Instant from, Instant to) override {
    std::lock_guard lock(mutex_);
    Reset done(samples_);
    bind(samples_, 1, metric), bind(samples_, 2, entity);
    sqlite3_bind_int64(samples_, 3, from.ns());
    sqlite3_bind_int64(samples_, 4, to.ns());
    std::vector<StoredSample> out;
    int rc;
    while ((rc = sqlite3_step(samples_)) == SQLITE_ROW)
      out.push_back({column(samples_, 0), column(samples_, 1), column(samples_, 2), Instant(sqlite3_column_int64(samples_, 3)),
                     sqlite3_column_double(samples_, 4)});
    if (rc != SQLITE_DONE) return error("cannot read samples");
    return out;
  }
  Status put(const std::string& key, const Json& value) override {
    std::lock_guard lock(mutex_);
    Reset done(put_);
    std::string text = dump_json(value, -1);
    bind(put_, 1, key), bind(put_, 2, text);
    if (sqlite3_step(put_) != SQLITE_DONE) return error("cannot store a document");
    return {};
  }
  Result<Json> get(const std::string& key) override {
    std::lock_guard lock(mutex_);
    Reset done(get_);
    bind(get_, 1, key);
    int rc = sqlite3_step(get_);
    if (rc == SQLITE_DONE) return fail(ErrorKind::kNotFound, "no stored document '" + key + "'", path_);
    if (rc != SQLITE_ROW) return error("cannot read a document");
    return parse_json(column(get_, 0), path_ + ":" + key);
  }

 private:
  Result<std::int64_t> number(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    std::optional<std::int64_t> value;
    if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
      value = sqlite3_column_int64(statement, 0);
    auto failed = error("cannot open the store");
    sqlite3_finalize(statement);
    if (!value) return failed;
    return *value;
  }
  static void bind(sqlite3_stmt* s, int i, const std::string& text) {
    sqlite3_bind_text(s, i, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  static std::string column(sqlite3_stmt* s, int i) {
    const auto* text = sqlite3_column_text(s, i);
    return text ? std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(sqlite3_column_bytes(s, i))) : std::string();
  }
  Result<std::vector<JournalEntry>> entries(sqlite3_stmt* s) {
    std::vector<JournalEntry> out;
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
      JournalEntry e;
      e.sequence = sqlite3_column_int64(s, 0);
      e.at = Instant(sqlite3_column_int64(s, 1));
      e.kind = column(s, 2), e.subject = column(s, 3), e.entity = column(s, 4), e.who = column(s, 5), e.why = column(s, 6);
      auto before = parse_json(column(s, 7), path_), after = parse_json(column(s, 8), path_);
      if (!before || !after) return fail(ErrorKind::kCorrupt, "journal entry " + std::to_string(e.sequence) + " is not readable", path_);
      e.before = *before, e.after = *after;
      out.push_back(std::move(e));
    }
    if (rc != SQLITE_DONE) return error("cannot read the journal");
    return out;
  }

  std::string path_;
  std::mutex mutex_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt *append_ = nullptr, *read_ = nullptr, *audit_ = nullptr, *put_sample_ = nullptr, *samples_ = nullptr, *put_ = nullptr,
               *get_ = nullptr;
};

Result<std::unique_ptr<Store>> open(const std::string& where) {
  auto store = std::make_unique<Sqlite>(where);
  WEFT_TRY(store->open());
  return store;
}

WEFT_REGISTER(backends(), {"sqlite", "one SQLite file, durable journal", open});

}  // namespace
}  // namespace weft::store
