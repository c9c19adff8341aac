// After the loop's own repair nothing is worse than need be: no further incident, tensor-parallel groups behind one switch.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

#include "scenario/run.h"

namespace weft {
namespace {

struct Repaired {
  std::string scenario;
  std::uint64_t seed;
};
class RepairScenario : public testing::TestWithParam<Repaired> {};

TEST_P(RepairScenario, TheRepairCausesNoIncident) {
  auto s = scenario::read_scenario(GetParam().scenario);
  ASSERT_TRUE(s.has_value()) << s.error().text();
  scenario::RunOptions options;
  options.seed = GetParam().seed;
  auto outcome = scenario::run(*s, options);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().text();
  int loud = 0, started = 0;
  for (const control::Incident& i : outcome->incidents) {
    loud += i.severity > telemetry::Severity::kInfo && i.state != control::IncidentState::kClosed;
    for (const auto& cause : i.diagnosis.causes) EXPECT_NE(cause.fault, "placement_across_tiers") << i.id;
    for (const heal::ActionPlan& p : i.plans)
      for (const heal::Action& a : p.actions) {
        if (a.kind != heal::action::kJobStart) continue;
        ++started;
        // tp 8 on a site of 8-card nodes: ranks 8k … 8k + 7 are one group, and one node.
        const Json& cards = a.parameters->at("cards");
        for (std::size_t g = 0; g + 8 <= cards.size(); g += 8) {
          std::set<std::string> nodes;
          for (std::size_t k = g; k < g + 8; ++k) {
            std::string name = cards[k].get<std::string>();
            nodes.insert(name.substr(0, name.rfind('/')));
          }
          EXPECT_EQ(nodes.size(), 1u) << a.target << " tp" << g / 8;
        }
      }
  }
  EXPECT_EQ(loud, 1) << "the fault's own incident and no other";
  EXPECT_GE(started, 1) << "the job was moved";
}

INSTANTIATE_TEST_SUITE_P(Lab32, RepairScenario,
                         testing::Values(Repaired{"card_off_bus", 1}, Repaired{"card_off_bus", 4}, Repaired{"hbm_uncorrectable", 2},
                                         Repaired{"card_slow_silent", 3}, Repaired{"node_crash", 5}),
                         [](const auto& info) { return info.param.scenario + "_" + std::to_string(info.param.seed); });

}  // namespace
}  // namespace weft
