#include "store/store.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

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
      JournalEntry e{0, Instant(i * 1000), "intent", "P" + std::to_string(i), i % 2 ? "sn1/node1/card0" : "leaf1:3", i % 2 ? "weft" : "alice", "why", Json{{"n", i}}, Json{{"s", "ü\x01"}}};
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
    ASSERT_TRUE((*store)->put_samples({{"m", "e", "", Instant(2), 2.5}, {"m", "e", "", Instant(1), 1.5}, {"m", "f", "", Instant(1), 9}}).has_value());
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

}  // namespace
}  // namespace weft::store
