#include "base/yaml.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weft {
namespace {

std::string problem(std::string_view text) {
  auto y = Yaml::parse(text, "site.yaml");
  return y ? "no error" : y.error().text();
}
Yaml good(std::string_view text) {
  auto y = Yaml::parse(text, "site.yaml");
  EXPECT_TRUE(y.has_value()) << (y ? "" : y.error().text());
  return y ? *y : Yaml();
}

TEST(BaseYaml, ValuesKeepTheirLines) {
  Yaml y = good(
      "# a site\n"
      "name: lab-32\n"
      "links:\n"
      "  - {a: leaf2:17, rate: 400G}\n"
      "\n"
      "  - a: leaf3:1\n"
      "    rate: 200\n");
  EXPECT_EQ(y.kind(), Yaml::Kind::kMap);
  EXPECT_EQ(y.get("name").text().value(), "lab-32");
  EXPECT_EQ(y.get("name").place(), "site.yaml:2");
  ASSERT_EQ(y.get("links").size(), 2u);
  EXPECT_EQ(y.get("links").at(0).get("a").text().value(), "leaf2:17");
  EXPECT_EQ(y.get("links").at(0).get("rate").line(), 4);
  EXPECT_EQ(y.get("links").items()[1].get("rate").line(), 7);
  EXPECT_EQ(y.entries()[1].first, "links");
  EXPECT_FALSE(y.has("Name"));
  EXPECT_TRUE(y.get("absent").get("deeper").is_null());
  EXPECT_EQ(y.get("absent").text().error().text(), "site.yaml:2: 'absent' is missing; expected text");
}

TEST(BaseYaml, UnknownKeysNameTheNearest) {
  Yaml y = good("name: x\nnetwroks: []\n");
  EXPECT_EQ(y.only({"name", "networks", "racks"}).error().text(), "site.yaml:2: unknown key 'netwroks'; did you mean 'networks'?");
  EXPECT_EQ(good("a: {zzz: 1}").get("a").only({"x", "y"}).error().text(), "site.yaml:1: unknown key 'zzz' in 'a'; known: x, y");
  EXPECT_TRUE(y.only({"netwroks", "name"}).has_value());
  EXPECT_EQ(good("- 1\n").only({"name"}).error().message, "expected keys such as 'name: …', got a list");
}

TEST(BaseYaml, WhatAPersonCannotHaveMeantIsRefused) {
  EXPECT_EQ(problem(""), "site.yaml: file is empty; nothing to read");
  EXPECT_EQ(problem("# only a comment\n"), "site.yaml: file is empty; nothing to read");
  EXPECT_EQ(problem("---\n"), "site.yaml: file is empty; nothing to read");
  EXPECT_EQ(problem("name: a\nracks: 2\nname: b\n"), "site.yaml:3: key 'name' is given twice (first in line 1); keep one");
  EXPECT_EQ(problem(std::string("name: a\nx: \0\n", 12)), "site.yaml:2: is not UTF-8 text (is it a binary file?); give a YAML file");
  EXPECT_EQ(problem("name: \xff\n"), "site.yaml:1: is not UTF-8 text (is it a binary file?); give a YAML file");
  EXPECT_EQ(problem("a:\n\tb: 1\n"), "site.yaml:2: a tab is used for indentation; use spaces");
  EXPECT_EQ(problem("a: 1\n---\nb: 2\n"), "site.yaml:3: holds more than one document ('---'); keep one per file");
  EXPECT_EQ(problem("[a, b]: 1\n"), "site.yaml:1: a key must be plain text, not a list or a map");
  EXPECT_EQ(problem("a: [1, 2\nb: 3\n"), "site.yaml:2: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(problem("\xEF\xBB\xBFname: a\n"), "no error");  // a byte order mark is harmless
  EXPECT_EQ(problem("a: &x [*x]\n"), "site.yaml:1: an alias (*name) points at a part that contains it; write the part out");
}

TEST(BaseYaml, DepthIsBounded) {
  auto flow = [](int n) { return "a: " + std::string(n, '[') + std::string(n, ']'); };
  EXPECT_EQ(problem(flow(63)), "no error");
  EXPECT_EQ(problem(flow(64)), "site.yaml:1: nested more than 64 levels deep");
  EXPECT_EQ(problem(std::string(1'000'000, '[')), "site.yaml:1: nested more than 64 levels deep");
  EXPECT_EQ(problem(flow(900)), "site.yaml:1: nested more than 64 levels deep");
  EXPECT_EQ(problem("a: [" + std::string(4'000'000, ',')),
            "site.yaml:1: holds more than 4000000 '[', '{' and ','; write long lists one item a line ('- …')");
  std::string block, dashes;
  for (int i = 0; i < 100; ++i) block += std::string(i, ' ') + "k:\n", dashes += "- ";
  EXPECT_EQ(problem(block + std::string(100, ' ') + "x: 1\n"), "site.yaml:65: nested more than 64 levels deep");
  EXPECT_EQ(problem(dashes + "x\n"), "site.yaml:1: nested more than 64 levels deep");
}

TEST(BaseYaml, AliasesShareButDoNotMultiply) {
  Yaml y = good("base: &b {rate: 400G, lanes: 4}\nports: [*b, *b]\n");
  EXPECT_EQ(y.get("ports").at(1).get("lanes").integer(0, 8).value(), 4);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    std::string before = "*a" + std::to_string(i - 1), row = before;
    for (int k = 1; k < 10; ++k) row += ", " + before;
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + row + "]\n";
  }
  EXPECT_EQ(problem(bomb), "site.yaml:6: aliases (*name) expand to more than 1000000 values; write a 'repeat' or fewer aliases");
}

TEST(BaseYaml, ScalarsMustFitWhole) {
  Yaml y = good("n: 12\nbig: 99999999999999999999\nhalf: 12.5\nword: 12 nodes\nflag: yes\nlist: [1]\nnone:\nquoted: \"8\"\nright: True\n");
  EXPECT_EQ(y.get("n").integer(1, 12).value(), 12);
  EXPECT_EQ(y.get("n").integer(1, 11).error().text(), "site.yaml:1: n: expected a whole number from 1 to 11, got '12'");
  EXPECT_EQ(y.get("n").integer(13, INT64_MAX).error().text(), "site.yaml:1: n: expected a whole number of at least 13, got '12'");
  EXPECT_EQ(y.get("big").integer(INT64_MIN, INT64_MAX).error().text(),
            "site.yaml:2: big: expected a whole number, got '99999999999999999999'");
  EXPECT_FALSE(y.get("half").integer(0, 100).has_value());
  EXPECT_DOUBLE_EQ(y.get("half").number(0, 12.5).value(), 12.5);
  EXPECT_EQ(y.get("half").number(0, 1).error().text(), "site.yaml:3: half: expected a number from 0 to 1, got '12.5'");
  EXPECT_EQ(y.get("word").integer(0, 100).error().text(), "site.yaml:4: word: expected a whole number from 0 to 100, got '12 nodes'");
  EXPECT_EQ(y.get("flag").boolean().error().text(), "site.yaml:5: flag: expected true or false, got 'yes'");
  EXPECT_TRUE(y.get("right").boolean().value());
  EXPECT_EQ(y.get("list").text().error().text(), "site.yaml:6: list: expected text, got a list");
  EXPECT_EQ(y.get("list").at(0).boolean().error().text(), "site.yaml:6: list[0]: expected true or false, got '1'");
  EXPECT_EQ(y.get("none").text().error().text(), "site.yaml:7: none: expected text, got nothing");
  EXPECT_TRUE(y.has("none"));
  EXPECT_EQ(y.get("quoted").integer(0, 9).value(), 8);
}

TEST(BaseYaml, QuantitiesCarryUnits) {
  Yaml y = good("rate: 400G\nlength: -2 m\npower: 10 kW\nbad: 4 m\n");
  EXPECT_DOUBLE_EQ(y.get("rate").quantity("Gb/s").value(), 400e9);
  EXPECT_EQ(y.get("length").quantity("m").error().text(),
            "site.yaml:2: length: expected a quantity such as '2.5 m', got '-2 m': it must not be negative");
  EXPECT_DOUBLE_EQ(y.get("power").quantity("W").value(), 10000);
  EXPECT_EQ(y.get("bad").quantity("W").error().text(),
            "site.yaml:4: bad: expected a quantity such as '700 W', got '4 m': 'm' is no unit that fits here");
  EXPECT_EQ(y.get("gone").quantity("W").error().text(), "site.yaml:1: 'gone' is missing; expected a quantity such as '700 W'");
}

TEST(BaseYaml, LargeMapsAreSearchedFast) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "k" + std::to_string(i) + ": " + std::to_string(i) + "\n";
  Yaml y = good(text);
  for (int i = 0; i < 20000; ++i) ASSERT_EQ(y.get("k" + std::to_string(i)).integer(0, 20000).value(), i);
}

}  // namespace
}  // namespace weft
