// Command words: strict, with the nearest known one, and never the last of two contradicting values.
#include <gtest/gtest.h>

#include "cli/command.h"
#include "cli/options.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kKnown = {
    {"--site", "SITE", ""}, {"--seeds", "N", ""}, {"--tp", "N", ""}, {"--json", "", ""}, {"--down", "LINK", "", true}};

std::string error_of(const std::vector<std::string>& words) {
  auto options = parse_options(words, kKnown);
  return options ? "" : options.error().message;
}

TEST(CliOptions, WrongWordsSayWhatWasMeant) {
  EXPECT_EQ(error_of({"--seed", "1"}), "unknown option '--seed'; did you mean '--seeds'?");
  EXPECT_EQ(error_of({"--nope"}), "unknown option '--nope'");
  EXPECT_EQ(error_of({"-v"}), "unknown option '-v'");
  EXPECT_EQ(error_of({"--json=yes"}), "option '--json' takes no value");
  EXPECT_EQ(error_of({"--tp"}), "option '--tp' needs a value: N");
  EXPECT_EQ(nearest("fabrik", {"fabric", "place"}), "fabric");
  EXPECT_EQ(nearest("-v", {"up", "list"}), "");
}

TEST(CliOptions, TwoValuesOnlyWhereAListIsMeant) {
  EXPECT_EQ(error_of({"--tp", "8", "--tp=4"}), "option '--tp' is given twice; it takes one value");
  EXPECT_EQ(error_of({"--json", "--json"}), "");
  auto options = parse_options({"--down", "a", "--down=b", "--", "--tp"}, kKnown);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->given.at("down"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options->positional, std::vector<std::string>{"--tp"});
}

}  // namespace
}  // namespace weft::cli
