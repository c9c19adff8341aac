// Serving jobs in a scenario: described, placed, measured, diagnosed and healed; what their description may say.
#include <gtest/gtest.h>

#include "scenario/run.h"

namespace weft {
namespace {

TEST(ServingScenario, LinkAndCardAreFoundAndHealed) {
  auto s = scenario::read_scenario("inference");
  ASSERT_TRUE(s.has_value()) << s.error().text();
  for (const workload::Job& job : s->jobs) EXPECT_EQ(job.kind, workload::JobKind::kInference);
  for (std::uint64_t seed : {1u, 3u}) {
    scenario::RunOptions options;
    options.seed = seed;
    std::vector<std::string> resumed;
    options.on_line = [&](const control::Line& l) {
      if (l.phase == "resume") resumed.push_back(l.text);
    };
    auto outcome = scenario::run(*s, options);
    ASSERT_TRUE(outcome.has_value()) << outcome.error().text();
    ASSERT_EQ(outcome->rows.size(), 2u);
    for (const scenario::Row& row : outcome->rows) {
      EXPECT_EQ(row.verdict, "pass") << row.name << " seed " << seed << ": " << row.why;
      EXPECT_EQ(row.cause_rank, 1) << row.found;
    }
    ASSERT_FALSE(resumed.empty());
    for (const std::string& text : resumed) EXPECT_NE(text.find("serve again"), std::string::npos) << text;
  }
}

std::string error_of(const std::string& job) {
  auto s = scenario::parse_scenario("site: lab-32\njobs:\n  - " + job + "\n", "x.yaml");
  return s ? "" : s.error().text();
}

TEST(ServingScenario, BadDescriptionsSayWhereAndWhat) {
  EXPECT_EQ(error_of("{name: a, kind: inference, model: llama-3-8b, strategy: {tp: 4, dp: 2}, inference: {prefill_ranks: 4}}"), "");
  std::string e = error_of("{name: a, kind: inference, model: llama-3-8b, strategy: {tp: 4, dp: 2}, inference: {prefill_ranks: 3}}");
  EXPECT_NE(e.find("x.yaml:3"), std::string::npos) << e;
  EXPECT_NE(e.find("whole tensor-parallel groups"), std::string::npos) << e;
  e = error_of("{name: a, kind: inference, model: llama-3-8b, strategy: {tp: 4, dp: 2}, inference: {prefill_ranks: 8}}");
  EXPECT_NE(e.find("leave some to decode"), std::string::npos) << e;
  e = error_of("{name: a, model: llama-3-8b, strategy: {tp: 4}, inference: {decode_batch: 8}}");
  EXPECT_NE(e.find("kind: inference"), std::string::npos) << e;
  e = error_of("{name: a, kind: serving, model: llama-3-8b}");
  EXPECT_NE(e.find("kind is training or inference"), std::string::npos) << e;
}

}  // namespace
}  // namespace weft
