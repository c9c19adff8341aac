// Same seed, same bytes: twenty runs of a whole scenario, half of them two at a time in two threads, print the same lines and rows; another
// seed does not.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <thread>

#include "scenario/run.h"

namespace weft {
namespace {

constexpr const char* kScenario = R"(site: lab-32
for: 7m
jobs:
  - {name: alpha, model: llama-3-8b, strategy: {tp: 8, dp: 2, global_batch: 32}, policy: {checkpoint_every: 2m}}
faults:
  - {fault: card_off_bus, at: 150s}
)";

std::string played(std::uint64_t seed) {
  auto scenario = scenario::parse_scenario(kScenario, "determinism.yaml");
  std::string out;
  scenario::RunOptions options;
  options.seed = seed;
  options.on_line = [&](const control::Line& l) {
    out += std::to_string(l.at.ns()) + " " + l.phase + " " + l.incident + " " + l.text + " " + std::to_string(l.confidence) + "\n";
  };
  auto outcome = scenario::run(*scenario, options);
  if (!outcome) return outcome.error().text();
  for (const auto& r : outcome->rows) out += dump_json(scenario::to_json(r), -1) + "\n";
  return out;
}

TEST(Determinism, TwentyRunsOneAndTwoThreads) {
  std::string first = played(7);
  EXPECT_NE(first.find("isolate"), std::string::npos) << first;
  for (int i = 0; i < 9; ++i) EXPECT_EQ(played(7), first);
  for (int i = 0; i < 5; ++i) {
    std::string a, b;
    std::thread other([&] { b = played(7); });
    a = played(7);
    other.join();
    EXPECT_EQ(a, first);
    EXPECT_EQ(b, first);
  }
  EXPECT_NE(played(8), first);
}

}  // namespace
}  // namespace weft
