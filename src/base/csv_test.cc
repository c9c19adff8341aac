#include "base/csv.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Csv, QuotesCommasAndLineBreaks) {
  auto t = parse_csv("id,notes\n1,\"a, \"\"b\"\"\nc\"\n\n2,\n", "t.csv");
  ASSERT_TRUE(t.has_value()) << t.error().text();
  ASSERT_EQ(t->rows.size(), 2u);
  EXPECT_EQ(t->rows[0].cells[1], "a, \"b\"\nc");
  EXPECT_EQ(t->rows[1].cells[1], "");
  EXPECT_EQ(t->rows[1].line, 5);
  EXPECT_EQ(t->column("notes"), 1);
  EXPECT_EQ(t->column("absent"), -1);
}

TEST(Csv, ErrorsSayWhere) {
  EXPECT_EQ(parse_csv("a,b\n1,2\n1\n", "t.csv").error().text(), "t.csv:3: 1 cells where the head has 2 columns");
  EXPECT_EQ(parse_csv("a\n\"x", "t.csv").error().text(), "t.csv:2: a quoted cell is never closed");
  EXPECT_EQ(parse_csv("", "t.csv").error().text(), "t.csv: the table is empty: no head line");
}

}  // namespace
}  // namespace weft
