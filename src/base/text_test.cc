#include "base/text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace weft {
namespace {

using Names = std::vector<std::string>;

TEST(BaseText, SplitKeepsEmptyFieldsAndSplitSpaceDoesNot) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string_view>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(split_space("  GPU0 \t NV12\r\n"), (std::vector<std::string_view>{"GPU0", "NV12"}));
  EXPECT_TRUE(split_space(" \t").empty());
  EXPECT_EQ(trim(" \t x y\r\n"), "x y");
  EXPECT_EQ(trim("   "), "");
  EXPECT_TRUE(starts_with_word("SwitchName s0", "SwitchName"));
  EXPECT_TRUE(starts_with_word("SwitchName", "SwitchName"));
  EXPECT_FALSE(starts_with_word("SwitchNames", "SwitchName"));
  EXPECT_EQ(lower("GPU-Ä"), "gpu-Ä");
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(strip_ansi("\x1b[4mGPU0\x1b[0m x\x1b["), "GPU0 x");
}

TEST(BaseText, NumbersMustFitWhole) {
  EXPECT_EQ(parse_int("-9223372036854775808").value(), INT64_MIN);
  EXPECT_EQ(parse_int("+7").value(), 7);
  for (const char* t : {"", "+", "-", "+-7", "9223372036854775808", "7 ", " 7", "0x7", "7.0", "1e3", "seven"})
    EXPECT_FALSE(parse_int(t).has_value()) << t;
  EXPECT_EQ(parse_double("-1.5e3").value(), -1500);
  EXPECT_EQ(parse_double("+.5").value(), 0.5);
  for (const char* t : {"", "+", "+-1", "1,5", "1.5x", "inf", "nan", "1e999", " 1"}) EXPECT_FALSE(parse_double(t).has_value()) << t;
  EXPECT_EQ(parse_int("abc").error().message, "'abc' is not a whole number");
}

TEST(BaseText, NearestWord) {
  Names known = {"topology", "networks", "racks", "cables"};
  EXPECT_EQ(nearest_word("topolgy", known), "topology");
  EXPECT_EQ(nearest_word("netwroks", known), "networks");  // swapped letters count once
  EXPECT_EQ(nearest_word("Racks", known), "racks");
  EXPECT_EQ(nearest_word("rack", known), "racks");
  EXPECT_EQ(nearest_word("optics", known), "");
  EXPECT_EQ(nearest_word("x", known), "");
  EXPECT_EQ(nearest_word("", known), "");
  EXPECT_EQ(nearest_word("tp", {"dp", "pp"}), "dp");  // the first of equals
}

TEST(BaseText, InvalidTextIsFound) {
  EXPECT_EQ(invalid_text_at("plain, 超节点, \xF0\x9F\x98\x80"), std::string_view::npos);
  EXPECT_EQ(invalid_text_at(std::string_view("ab\0c", 4)), 2u);
  EXPECT_EQ(invalid_text_at("ab\xff"), 2u);
  EXPECT_EQ(invalid_text_at("a\xC0\x80"), 1u);         // overlong
  EXPECT_EQ(invalid_text_at("\xE0\x80\xAF"), 0u);      // overlong
  EXPECT_EQ(invalid_text_at("\xED\xA0\x80"), 0u);      // surrogate
  EXPECT_EQ(invalid_text_at("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(invalid_text_at("x\xE4\xB8"), 1u);         // cut short
}

TEST(BaseText, HostListsAsSlurmWritesThem) {
  EXPECT_EQ(expand_hostlist("n[001-003,20],m7").value(), (Names{"n001", "n002", "n003", "n20", "m7"}));
  EXPECT_EQ(expand_hostlist("rack[1-2]u[09-10]").value(), (Names{"rack1u09", "rack1u10", "rack2u09", "rack2u10"}));
  EXPECT_EQ(expand_hostlist("").value(), Names{});
  EXPECT_EQ(expand_hostlist("n[9-11]").value(), (Names{"n9", "n10", "n11"}));
  for (const char* t : {"n[1-", "n]", "n[2-1]", "n[a-b]", "n[1-2],", ",n1", "n[]", "n[-1]", "n[1-2-3]"})
    EXPECT_FALSE(expand_hostlist(t).has_value()) << t;
  EXPECT_EQ(expand_hostlist("n[0-9999999]").error().message, "host list 'n[0-9999999]': more than 1000000 names");
  EXPECT_FALSE(expand_hostlist("n[0-999][0-999][0-9]").has_value());
  EXPECT_FALSE(expand_hostlist("n[0-9223372036854775807]").has_value());
}

TEST(BaseText, HostListsCompress) {
  EXPECT_EQ(compress_hostlist({"n001", "n002", "n003", "n020", "m7"}), "n[001-003,020],m7");
  EXPECT_EQ(compress_hostlist({"n9", "n10", "n11"}), "n[9-11]");
  EXPECT_EQ(compress_hostlist({"login"}), "login");
  EXPECT_EQ(compress_hostlist({"n1"}), "n1");
  EXPECT_EQ(compress_hostlist({}), "");
}

TEST(BaseText, CompressThenExpandGivesTheNames) {
  rc::check("any names of letters, digits and dashes survive", [] {
    auto names = *rc::gen::container<Names>(rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab-0019")))));
    RC_ASSERT(expand_hostlist(compress_hostlist(names)).value() == names);
  });
}

class BaseTextFiles : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/weft-text-XXXXXX";
    directory_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::system(("rm -rf " + directory_).c_str()) ? void() : void(); }
  std::string directory_;
};

TEST_F(BaseTextFiles, WriteThenRead) {
  std::string path = directory_ + "/x", bytes("a\0b\n\xff", 5);
  ASSERT_TRUE(write_file(path, bytes).has_value());
  EXPECT_EQ(read_file(path).value(), bytes);
  ASSERT_TRUE(write_file(path, "").has_value());
  EXPECT_EQ(read_file(path).value(), "");
  EXPECT_NE(::access((path + ".weft-tmp").c_str(), F_OK), 0);
}

// Devices and pipes are written to, links are followed; none of them is ever replaced by a file.
TEST_F(BaseTextFiles, WhatIsNoRegularFileStays) {
  EXPECT_EQ(write_file("/dev/full", "x").error().text(), "/dev/full: cannot write: No space left on device");
  struct stat st {};
  ASSERT_EQ(::stat("/dev/full", &st), 0);
  EXPECT_TRUE(S_ISCHR(st.st_mode));
  EXPECT_TRUE(write_file("/dev/null", "x").has_value());
  EXPECT_EQ(write_file(directory_, "x").error().text(), directory_ + ": cannot write: Is a directory");
  std::string file = directory_ + "/file", link = directory_ + "/link";
  ASSERT_TRUE(write_file(file, "old").has_value());
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  ASSERT_EQ(::symlink(file.c_str(), link.c_str()), 0);
  ASSERT_TRUE(write_file(link, "new").has_value());
  EXPECT_EQ(read_file(file).value(), "new");
  ASSERT_EQ(::stat(file.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  ASSERT_EQ(::lstat(link.c_str(), &st), 0);
  EXPECT_TRUE(S_ISLNK(st.st_mode));
}

TEST_F(BaseTextFiles, MistakesSayWhatAndWhere) {
  EXPECT_EQ(read_file(directory_ + "/none").error().text(), directory_ + "/none: cannot read: No such file or directory");
  EXPECT_EQ(read_file(directory_ + "/none").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(read_file(directory_).error().message, "is a directory; name a file");
  ASSERT_TRUE(write_file(directory_ + "/big", "12345").has_value());
  EXPECT_EQ(read_file(directory_ + "/big", 5).value(), "12345");
  EXPECT_EQ(read_file(directory_ + "/big", 4).error().message, "is larger than 4 bytes");
  EXPECT_EQ(write_file(directory_ + "/no/such", "x").error().kind, ErrorKind::kNotFound);
}

}  // namespace
}  // namespace weft
