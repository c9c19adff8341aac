#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft {
namespace {

std::string problem(std::string_view text, int depth = 200) {
  auto j = parse_json(text, "config.json", depth);
  return j ? "no error" : j.error().text();
}

TEST(BaseJson, OrderIsKept) {
  EXPECT_EQ(dump_json(parse_json("{\"z\": 1, \"a\": [1.5, null]}", "x").value(), -1), "{\"z\":1,\"a\":[1.5,null]}");
}

TEST(BaseJson, ErrorsCarryLineAndColumn) {
  EXPECT_EQ(problem("{\n  \"a\": 1,\n  \"b\" 2\n}").substr(0, 32), "config.json:3:7: not valid JSON:");
  EXPECT_EQ(problem("x").substr(0, 16), "config.json:1:1:");
  EXPECT_EQ(problem("").substr(0, 31), "config.json:1:1: not valid JSON");
  EXPECT_EQ(problem("[1, 2").substr(0, 16), "config.json:1:6:");
  EXPECT_EQ(problem("\n\n[1,,2]").substr(0, 16), "config.json:3:4:");
}

TEST(BaseJson, DepthIsBoundedBeforeParsing) {
  EXPECT_EQ(problem(std::string(200, '[') + std::string(200, ']')), "no error");
  EXPECT_EQ(problem("\n" + std::string(1'000'000, '[')), "config.json:2: nested more than 200 levels deep");
  EXPECT_EQ(problem("[\"[[[[\\\"[[[\"]", 1), "no error");  // brackets inside text do not count
}

TEST(BaseJson, BrokenUtf8IsReplacedWhenPrinted) { EXPECT_EQ(dump_json(Json("a\xff"), -1), "\"a\xEF\xBF\xBD\""); }

TEST(BaseJson, BoxesShareAndCompare) {
  JsonBox empty, box(Json{{"a", 1}});
  EXPECT_TRUE(empty->is_object());
  EXPECT_EQ(box->at("a"), 1);
  JsonBox copy = box;
  EXPECT_TRUE(copy == box);
  EXPECT_FALSE(copy == empty);
  EXPECT_TRUE(box == JsonBox(Json{{"a", 1}}));
}

}  // namespace
}  // namespace weft
