#include "base/display.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/text.h"

namespace weft {
namespace {

TEST(BaseDisplay, WidthCountsColumns) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("超节点"), 6);
  EXPECT_EQ(display_width("é"), 1);
  EXPECT_EQ(display_width("e\xCC\x81"), 1);  // combining acute
  EXPECT_EQ(display_width("↔ µs"), 4);
  EXPECT_EQ(pad_right("节点", 6), "节点  ");
  EXPECT_EQ(pad_left("7", 3), "  7");
}

TEST(BaseDisplay, PrintableDropsWhatMovesTheCursor) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "red");
  EXPECT_EQ(printable("a\tb\nc\r\n"), "a b c ");
  EXPECT_EQ(printable("a\nb", true), "a\nb");
  EXPECT_EQ(printable("x\x07y\xFFz"), "x\xEF\xBF\xBDy\xEF\xBF\xBDz");
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "gnp"),
            "\xEF\xBF\xBDgnp");                                                  // right-to-left override
  EXPECT_EQ(printable("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate is not UTF-8
  EXPECT_EQ(printable("中文 ok"), "中文 ok");
}

TEST(BaseDisplay, WrapBreaksAtBlanks) {
  EXPECT_EQ(wrap("the quick brown fox", 10), (std::vector<std::string>{"the quick", "brown fox"}));
  EXPECT_EQ(wrap("abcdefghij klm", 4), (std::vector<std::string>{"abcd", "efgh", "ij", "klm"}));
  EXPECT_EQ(wrap("", 10), (std::vector<std::string>{""}));
  EXPECT_EQ(wrap("a\n\nb", 10), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(wrap("超节点健康", 4), (std::vector<std::string>{"超节", "点健", "康"}));
  EXPECT_EQ(wrap("exactly ten", 11), (std::vector<std::string>{"exactly ten"}));
}

TEST(BaseDisplay, WrapLosesNothing) {
  rc::check("every character but blanks survives, no line is too wide", [] {
    auto words =
        *rc::gen::container<std::vector<std::string>>(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcxyz-/. "))));
    int width = *rc::gen::inRange(2, 30);
    std::string text = join(words, *rc::gen::element<std::string>(" ", "超", "节点 ")), kept, want;
    for (const std::string& line : wrap(text, width)) {
      RC_ASSERT(display_width(line) <= width);
      kept += line;
    }
    std::erase(kept, ' '), want = text, std::erase(want, ' ');
    RC_ASSERT(kept == want);
  });
}

}  // namespace
}  // namespace weft
