#include <gtest/gtest.h>

#include "fabric/site.h"
#include "scenario/run.h"

namespace weft::scenario {
namespace {

// A link fault at 4 min that the loop says it has recovered from 10 s later, judged half an hour after the start.
struct Judged {
  fabric::Snapshot site = *fabric::load_site("lab-32");
  Instant start = twin::WorldOptions{}.start, now = start + minutes(30);
  Scenario scenario;
  control::Incident incident;
  twin::Truth truth;
  JobEnd alpha;
  Judged() {
    scenario.name = "s", scenario.site = "lab-32";
    truth.fault = "scale_up_link_down", truth.entity = site.name(fabric::LinkId{0});
    truth.from = truth.visible = start + minutes(4);
    diagnose::Cause c;
    c.fault = truth.fault, c.entity = truth.entity, c.confidence = 1;
    incident.id = "I0001", incident.severity = telemetry::Severity::kError, incident.diagnosis.causes = {c};
    incident.detected = incident.located = truth.from;
    incident.recovered = truth.from + seconds(10), incident.state = control::IncidentState::kRecovered;
    heal::ActionPlan plan;
    plan.proves = {"job/alpha"};
    incident.plans.push_back(plan);
    alpha.health.name = "alpha", alpha.health.placed = alpha.health.running = true, alpha.health.usual_step = seconds(3);
    alpha.health.last_step = alpha.stepped = now - seconds(2), alpha.phase = "running";
  }
  std::vector<Row> rows() const { return judge(scenario, 1, site, {incident}, {truth}, {}, {alpha}, now); }
};

TEST(Judge, AHealthyEndIsOneRowAndPasses) {
  auto rows = Judged().rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].verdict, "pass") << rows[0].why;
}

// The loop said "recovered"; the job never made another step.
TEST(Judge, RecoveredWithoutStepsIsAFail) {
  Judged j;
  j.alpha.health.last_step = j.alpha.stepped = j.truth.from, j.alpha.phase = "stalled";
  auto rows = j.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].verdict, "fail");
  EXPECT_EQ(rows[0].why, "job/alpha makes no step after the recovery");
  EXPECT_EQ(rows[1].verdict, "fail");
  EXPECT_EQ(rows[1].why, "job/alpha makes no step for 1560 s (stalled)");
}

TEST(Judge, AJobThatWasNeverPlacedIsAFail) {
  Judged j;
  j.alpha.health = {"alpha", false, false, {}, seconds(0), "need 792 cards; 32 of 32 are free"};
  auto rows = j.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].verdict, "fail");
  EXPECT_EQ(rows[1].why, "job/alpha never ran: need 792 cards; 32 of 32 are free");
}

TEST(Judge, ALimitThatStopsTheHealingIsUndecided) {
  Judged j;
  j.incident.recovered = Instant(), j.incident.state = control::IncidentState::kReported;
  j.incident.plans[0].reason = "declined: 16 of 32 cards would be isolated, more than 25 %";
  j.incident.plans[0].report = "Operator: do this.";
  auto rows = j.rows();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].verdict, "undecided");
  EXPECT_EQ(rows[0].why, "limit reached: 16 of 32 cards would be isolated, more than 25 %; Operator: do this.");
}

TEST(Judge, AStoppedAndReportedJobIsUndecided) {
  Judged j;
  j.incident.recovered = Instant(), j.incident.state = control::IncidentState::kReported;
  j.alpha.health.running = false, j.alpha.health.why = "need 16 cards", j.alpha.phase = "stopped";
  auto rows = j.rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].verdict, "undecided") << rows[0].why;
  EXPECT_EQ(rows[1].why, "job/alpha is stopped and reported: need 16 cards");
}

TEST(Judge, TheEdgeOfSilence) {
  Judged j;
  j.alpha.health.last_step = j.alpha.stepped = j.now - minutes(3);
  EXPECT_EQ(j.rows().size(), 1u);
  j.alpha.health.last_step = j.alpha.stepped = j.now - minutes(3) - seconds(1);
  EXPECT_EQ(j.rows().size(), 2u);
}

}  // namespace
}  // namespace weft::scenario
