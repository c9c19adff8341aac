#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "fabric/site.h"
#include "heal/types.h"
#include "place/place.h"
#include "workload/model.h"

namespace weft::heal {
namespace {

struct Given {
  fabric::Snapshot site;
  Context context;
  explicit Given(const char* name) : site(*fabric::load_site(name)) {
    context.snapshot = &site, context.incident = "I1", context.plan_id = "P7";
  }
  ActionPlan plan(const std::string& fault, const std::string& entity, bool undecided = false) {
    diagnose::Diagnosis d;
    diagnose::Cause c;
    c.fault = fault, c.entity = entity, c.settling_test = "look";
    d.causes = {c}, d.undecided = undecided;
    return make_plan(d, context);
  }
  // A running job, placed beside those that are there.
  void run(const std::string& name, int tp, int dp) {
    place::Request r;
    r.job.name = name, r.job.model = *workload::load_model("llama-3-8b"), r.job.strategy.tp = tp, r.job.strategy.dp = dp;
    place::Occupancy occupied;
    for (const JobView& j : context.jobs) occupied.placements.push_back(j.placement);
    JobView view;
    view.job = r.job, view.placement = std::get<workload::Placement>(place::place(site, occupied, r));
    context.jobs.push_back(view);
  }
};
std::vector<std::string> cards_of(const ActionPlan& p, const std::string& job) {
  std::vector<std::string> out;
  for (const Action& a : p.actions)
    if (a.kind == action::kJobStart && a.target == "job/" + job)
      for (const Json& c : a.parameters->at("cards")) out.push_back(c.get<std::string>());
  return out;
}
bool has(const ActionPlan& p, std::string_view kind) {
  return std::any_of(p.actions.begin(), p.actions.end(), [&](const Action& a) { return a.kind == kind; });
}

// Every fault class gets a plan: owner, reason, ids; whatever isolates has an undo and a way back; JSON keeps it.
TEST(HealPolicies, EveryFaultClassHasAPlanWithItsWayBack) {
  Given g("pod-144");
  for (const auto& k : diagnose::fault_classes()) {
    std::string entity = k.entity_kind == "link"
                             ? g.site.name(g.site.port(g.site.ports_of(g.site.of_kind(fabric::DeviceKind::kNic)[0])[0]).link)
                         : k.entity_kind == "card"    ? "sn1/node1/card0"
                         : k.entity_kind == "node"    ? "sn1/node1"
                         : k.entity_kind == "nic"     ? "sn1/node1/nic0"
                         : k.entity_kind == "switch"  ? "leaf1"
                         : k.entity_kind == "rack"    ? "rack1"
                         : k.entity_kind == "cdu"     ? "cdu1"
                         : k.entity_kind == "storage" ? "storage1"
                                                      : "job/alpha";
    ActionPlan p = g.plan(std::string(k.id), entity);
    SCOPED_TRACE(std::string(k.id) + " by " + p.policy);
    EXPECT_FALSE(p.empty() && p.report.empty());
    EXPECT_EQ(p.owner, "weft");
    EXPECT_FALSE(p.reason.empty());
    for (const Action& a : p.actions) {
      EXPECT_TRUE(a.id.starts_with("P7."));
      if (a.kind == action::kCordon || a.kind == action::kLinkIsolate) {
        EXPECT_FALSE(a.undo_kind.empty());
        EXPECT_NE(p.release_when, "never");
        EXPECT_FALSE(p.release_test.kind.empty()) << "released only after a measurement";
      }
    }
    if (k.remedy == "report" || k.remedy == "cooling" || k.remedy == "power" || k.remedy == "config") {
      EXPECT_FALSE(has(p, action::kCordon) || has(p, action::kLinkIsolate)) << "no isolation helps here";
    }
    auto again = plan_from_json(to_json(p, g.site), g.site);
    ASSERT_TRUE(again.has_value()) << again.error().text();
    EXPECT_EQ(dump_json(to_json(*again, g.site)), dump_json(to_json(p, g.site)));
  }
}

TEST(HealPolicies, ASpareLinkTakesOver) {
  Given g("pod-144");
  std::string link = g.site.name(g.site.port(g.site.ports_of(*g.site.find_device("sn1/node1/nic0"))[0]).link);
  ActionPlan p = g.plan("link_down", link);
  ASSERT_TRUE(has(p, action::kLinkIsolate));
  EXPECT_TRUE(has(p, action::kSpareLinkIn)) << "pod-144 has a spare link beside every NIC link";
  EXPECT_EQ(p.retest.kind, action::kProbeLink);
}

// lab-32, alpha on node1 and node2, beta on node3: alpha's broken group moves whole to the free node.
TEST(HealPolicies, ALostCardMovesItsTensorGroup) {
  Given g("lab-32");
  g.run("alpha", 8, 2), g.run("beta", 8, 1);
  ActionPlan p = g.plan("card_off_bus", "sn1/node2/card3");
  std::vector<std::string> cards = cards_of(p, "alpha");
  ASSERT_EQ(cards.size(), 16u);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(cards[i], "sn1/node1/card" + std::to_string(i));
    EXPECT_EQ(cards[8 + i], "sn1/node4/card" + std::to_string(i));
  }
  EXPECT_TRUE(cards_of(p, "beta").empty());
}

// Both jobs of a lost node move in one plan, each to cards of its own.
TEST(HealPolicies, TwoJobsOfALostNodeDoNotMeet) {
  Given g("lab-32");
  g.run("alpha", 4, 1), g.run("beta", 4, 1);
  ASSERT_EQ(g.context.jobs[1].placement.cards[0], *g.site.find_device("sn1/node1/card4"));
  ActionPlan p = g.plan("node_crash", "sn1/node1");
  std::vector<std::string> all = cards_of(p, "alpha"), beta = cards_of(p, "beta");
  all.insert(all.end(), beta.begin(), beta.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
  for (const std::string& c : all) EXPECT_FALSE(c.starts_with("sn1/node1/")) << c;
}

TEST(HealPolicies, UndecidedIsolatesNothingAndNamesTheTest) {
  Given g("lab-32");
  ActionPlan p = g.plan("card_thermal", "sn1/node1/card0", true);
  EXPECT_TRUE(p.empty());
  EXPECT_NE(p.report.find("Settle by: look"), std::string::npos);
}

TEST(HealPolicies, WhatAnotherSystemIsolatedIsLeftAlone) {
  Given g("lab-32");
  fabric::DeviceId card = *g.site.find_device("sn1/node1/card0");
  g.site = *fabric::apply(g.site, {{}, {{card, {fabric::DeviceState::kUp, 1, true, "alice", "burn-in"}}}, ""});
  ActionPlan p = g.plan("card_off_bus", "sn1/node1/card0");
  EXPECT_TRUE(p.empty());
  EXPECT_NE(p.reason.find("alice"), std::string::npos);
}

// lab-32 has one scale-up switch above its nodes: without it alpha's data-parallel groups have only the scale-out network left, and a
// communicator does not change its network by itself. Recovery is proved by steps, and the way back by a link, not by a matrix product.
TEST(HealPolicies, TheOnlyScaleUpSwitchGoneRestartsTheJobsAcrossIt) {
  Given g("lab-32");
  g.run("alpha", 8, 2), g.run("beta", 8, 1);
  ActionPlan p = g.plan("scale_up_switch_failed", "sn1/core1");
  EXPECT_EQ(cards_of(p, "alpha").size(), 16u);
  EXPECT_TRUE(cards_of(p, "beta").empty()) << "beta lies inside one node";
  EXPECT_EQ(p.proves, std::vector<std::string>{"job/alpha"});
  EXPECT_EQ(p.retest.kind, action::kProbeCollective);
  EXPECT_EQ(p.release_test.kind, action::kProbeLink);
}

diagnose::Diagnosis about(const std::string& fault, const std::string& entity, const std::string& job) {
  diagnose::Diagnosis d;
  diagnose::Cause c;
  c.fault = fault, c.entity = entity, c.impact.push_back({job, {"tp0"}, "", diagnose::Tail::kNone, 0.01});
  d.causes = {c};
  return d;
}

TEST(HealPolicies, GoingOnDegradedNeedsALivingJob) {
  Given g("lab-32");
  g.run("alpha", 8, 2);
  g.context.jobs[0].job.policy.on_fault = workload::Policy::OnFault::kContinueDegraded;
  ActionPlan slow = make_plan(about("card_slow_silent", "sn1/node1/card0", "alpha"), g.context);
  EXPECT_FALSE(has(slow, action::kCordon));
  EXPECT_EQ(slow.proves, std::vector<std::string>{"job/alpha"}) << "it has to make steps to be left alone";
  for (const char* fault : {"node_crash", "card_off_bus", "hbm_uncorrectable", "rank_hung"}) {
    std::string part = std::string(fault) == "node_crash" ? "sn1/node1" : "sn1/node1/card0";
    EXPECT_EQ(cards_of(make_plan(about(fault, part, "alpha"), g.context), "alpha").size(), 16u) << fault;
  }
  g.context.jobs[0].stuck = true;
  EXPECT_EQ(cards_of(make_plan(about("card_slow_silent", "sn1/node1/card0", "alpha"), g.context), "alpha").size(), 16u);
}

// Two nodes down at once: nothing is placed on the other one; without room the job is stopped and the report says so.
TEST(HealPolicies, PartsOfOtherIncidentsAreNotPlacedOn) {
  Given g("lab-32");
  g.run("alpha", 8, 2);
  g.context.bad = {*g.site.find_device("sn1/node2")};
  ActionPlan p = g.plan("node_crash", "sn1/node1");
  for (const std::string& c : cards_of(p, "alpha")) EXPECT_FALSE(c.starts_with("sn1/node1/") || c.starts_with("sn1/node2/")) << c;
  g.run("beta", 8, 1);
  ActionPlan full = g.plan("node_crash", "sn1/node1");
  EXPECT_TRUE(cards_of(full, "alpha").empty());
  EXPECT_TRUE(has(full, action::kJobStop));
  EXPECT_NE(full.report.find("alpha is stopped"), std::string::npos) << full.report;
}

TEST(HealPolicies, AJobWithoutStepsRestartsElsewhereAndIsStoppedInTheEnd) {
  Given g("lab-32");
  g.run("alpha", 8, 2);
  g.context.jobs[0].stuck = true;
  ActionPlan first = make_plan(about("no_progress", "job/alpha", "alpha"), g.context);
  EXPECT_EQ(cards_of(first, "alpha").size(), 16u);
  g.context.plans_tried = 1;
  for (const std::string& c : cards_of(make_plan(about("no_progress", "job/alpha", "alpha"), g.context), "alpha"))
    EXPECT_FALSE(c.starts_with("sn1/node1/") || c.starts_with("sn1/node2/")) << c;
  g.context.give_up = true;
  ActionPlan last = make_plan(about("no_progress", "job/alpha", "alpha"), g.context);
  EXPECT_TRUE(has(last, action::kJobStop) && !has(last, action::kJobStart));
  EXPECT_NE(last.report.find("job/alpha is stopped"), std::string::npos);
}

TEST(HealPlans, DamagedJsonIsAnError) {
  Given g("lab-32");
  Json j = to_json(g.plan("card_off_bus", "sn1/node1/card0"), g.site);
  j.erase("actions");
  EXPECT_EQ(plan_from_json(j, g.site).error().kind, ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace weft::heal
