#include "store/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "base/text.h"

namespace weft::store {
namespace {

std::string scratch(const std::string& name) {
  std::string path = testing::TempDir() + "weft-" + name + std::to_string(::getpid());
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
  return path;
}

// The same contract for every backend.
TEST(StoreConformance, JournalDocumentsSamples) {
  for (const BackendEntry& backend : backends().entries()) {
    SCOPED_TRACE(backend.name);
    auto store = backend.open(scratch(backend.name));
    ASSERT_TRUE(store.has_value()) << store.error().text();
    for (int i = 1; i <= 5; ++i) {
      JournalEntry e{0,
                     Instant(i * 1000),
                     "intent",
                     "P" + std::to_string(i),
                     i % 2 ? "sn1/node1/card0" : "leaf1:3",
                     i % 2 ? "weft" : "alice",
                     "why",
                     Json{{"n", i}},
                     Json{{"s", "ü\x01"}}};
      EXPECT_EQ((*store)->append(e).value(), i);
    }
    auto tail = *(*store)->read(2, 2);
    ASSERT_EQ(tail.size(), 2u);
    EXPECT_EQ(tail[0].sequence, 3);
    EXPECT_EQ(tail[0].before->at("n").get<int>(), 3);
    EXPECT_EQ(tail[0].after->at("s").get<std::string>(), "ü\x01");
    auto mine = *(*store)->audit("card0", "weft", Instant(0), Instant(4000), 10);
    ASSERT_EQ(mine.size(), 2u);
    EXPECT_EQ(mine[0].subject, "P3") << "newest first";
    EXPECT_EQ((*store)->get("x").error().kind, ErrorKind::kNotFound);
    ASSERT_TRUE((*store)->put("x", Json{{"v", 1}}).has_value());
    ASSERT_TRUE((*store)->put("x", Json{{"v", 2}}).has_value());
    EXPECT_EQ((*store)->get("x")->at("v").get<int>(), 2);
    ASSERT_TRUE((*store)
                    ->put_samples({{"m", "e", "", Instant(2), 2.5}, {"m", "e", "", Instant(1), 1.5}, {"m", "f", "", Instant(1), 9}})
                    .has_value());
    auto points = *(*store)->samples("m", "e", Instant(0), Instant(9));
    ASSERT_EQ(points.size(), 2u);
    EXPECT_EQ(points[0].value, 1.5);
  }
}

TEST(StoreSqlite, SurvivesReopeningAndRefusesOtherFiles) {
  std::string path = scratch("reopen");
  const BackendEntry* sqlite = backends().find("sqlite");
  {
    auto store = sqlite->open(path);
    ASSERT_TRUE((*store)->append({0, Instant(7), "plan", "P1", "", "weft", "", Json::object(), Json::object()}).has_value());
  }
  auto again = sqlite->open(path);
  EXPECT_EQ((*again)->read(0, 10)->size(), 1u);
  EXPECT_EQ((*again)->append({0, Instant(8), "plan", "P2", "", "weft", "", Json::object(), Json::object()}).value(), 2);
  std::string other = scratch("other");
  std::ofstream(other) << std::string(5000, 'x');
  auto refused = sqlite->open(other);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(read_file(other)->size(), 5000u) << "nothing of the file is lost";
  EXPECT_FALSE(sqlite->open("/nonexistent/folder/file").has_value());
}

JournalEntry numbered(int n) {
  return {0, Instant(n), "note", "N" + std::to_string(n), "part", "weft", std::string(300, 'w'), Json{{"n", n}}, Json::object()};
}

TEST(StoreSqlite, AnotherProgramsDatabaseStaysAsItIs) {
  std::string path = scratch("foreign");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "CREATE TABLE bookmarks(url TEXT)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  std::string before = *read_file(path);
  auto refused = backends().find("sqlite")->open(path);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::kConflict);
  EXPECT_NE(refused.error().text().find("another program"), std::string::npos);
  EXPECT_EQ(*read_file(path), before);
}

TEST(StoreSqlite, ANewerFormatIsRefused) {
  std::string path = scratch("newer");
  ASSERT_TRUE(backends().find("sqlite")->open(path).has_value());
  sqlite3* db = nullptr;
  sqlite3_open(path.c_str(), &db);
  sqlite3_exec(db, "PRAGMA user_version=99", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  auto refused = backends().find("sqlite")->open(path);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().text().find("newer weft"), std::string::npos);
}

TEST(StoreSqlite, DamageInTheMiddleIsSaidAndNothingIsThrownAway) {
  std::string path = scratch("damaged");
  {
    auto store = backends().find("sqlite")->open(path);
    for (int n = 0; n < 400; ++n) ASSERT_TRUE((*store)->append(numbered(n)).has_value());
  }
  std::string bytes = *read_file(path);
  ASSERT_GT(bytes.size(), 60'000u);
  for (std::size_t i = 20'000; i < 50'000; ++i) bytes[i] = 'x';
  std::ofstream(path, std::ios::binary) << bytes;
  auto store = backends().find("sqlite")->open(path);
  auto read = store ? (*store)->read(0, 1000) : Result<std::vector<JournalEntry>>(std::unexpected(store.error()));
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind, ErrorKind::kCorrupt);
  EXPECT_NE(read.error().text().find("move it away and keep it"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path), bytes.size());
}

// A full disk stands for by a limit on the size of files: the append says so, and everything acknowledged before is still there.
TEST(StoreSqlite, AFullDiskLosesNothingThatWasAcknowledged) {
  std::string path = scratch("full");
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto store = backends().find("sqlite")->open(path);
    int written = 0;
    if (store) {
      rlimit small{1'000'000, 1'000'000};
      ::setrlimit(RLIMIT_FSIZE, &small);
      Result<std::int64_t> done;
      while (written < 10'000 && (done = (*store)->append(numbered(written)))) ++written;
      if (done || done.error().kind != ErrorKind::kUnavailable || done.error().text().find("cannot write the journal") == std::string::npos)
        written = -2;
    } else {
      written = -1;
    }
    (void)!::write(pipe[1], &written, sizeof written);
    ::_exit(0);  // as if killed: no clean close
  }
  int written = -3;
  ASSERT_EQ(::read(pipe[0], &written, sizeof written), static_cast<ssize_t>(sizeof written));
  ::waitpid(child, nullptr, 0);
  ASSERT_GT(written, 20);
  auto store = backends().find("sqlite")->open(path);
  ASSERT_TRUE(store.has_value()) << store.error().text();
  auto entries = *(*store)->read(0, 100'000);
  ASSERT_GE(entries.size(), static_cast<std::size_t>(written));
  for (int n = 0; n < written; ++n) EXPECT_EQ(entries[static_cast<std::size_t>(n)].subject, "N" + std::to_string(n));
}

// Killed at any instant: what append() acknowledged is there, sequence numbers have no hole.
TEST(StoreSqlite, SurvivesKillsAtRandomInstants) {
  std::string path = scratch("killed");
  Random draw(5);
  int acknowledged = 0;
  for (int life = 0; life < 6; ++life) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    pid_t child = ::fork();
    if (child == 0) {
      auto store = backends().find("sqlite")->open(path);
      for (int n = acknowledged; store && n < 100'000; ++n)
        if (auto done = (*store)->append(numbered(n)); done) (void)!::write(pipe[1], &*done, sizeof *done);
      ::_exit(0);
    }
    ::close(pipe[1]);
    ::usleep(static_cast<useconds_t>(draw.integer(5'000, 40'000)));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    std::int64_t last = acknowledged, sequence;
    while (::read(pipe[0], &sequence, sizeof sequence) == static_cast<ssize_t>(sizeof sequence)) last = sequence;
    ::close(pipe[0]);
    auto store = backends().find("sqlite")->open(path);
    ASSERT_TRUE(store.has_value()) << store.error().text();
    auto entries = *(*store)->read(0, 1'000'000);
    ASSERT_GE(static_cast<std::int64_t>(entries.size()), last);
    for (std::size_t i = 0; i < entries.size(); ++i) ASSERT_EQ(entries[i].sequence, static_cast<std::int64_t>(i) + 1);
    acknowledged = static_cast<int>(entries.size());
  }
  EXPECT_GT(acknowledged, 0);
}

}  // namespace
}  // namespace weft::store
