// Folding is exact: one rank of each class, or every rank, give the same step.
#include "sim/fold.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/random.h"
#include "sim/machines_for_tests.h"
#include "workload/model.h"
#include "workload/step.h"

namespace weft::sim {
namespace {

struct Case {
  fabric::Snapshot site;
  workload::Dag dag;
  workload::Placement placement;
  JobInput input() const {
    JobInput in;
    in.dag = &dag, in.placement = &placement;
    return in;
  }
};

Case job_on(const fabric::Snapshot& site, const char* model, workload::Strategy strategy) {
  workload::Job job;
  job.name = "j", job.strategy = strategy;
  auto m = workload::load_model(model);
  EXPECT_TRUE(m.has_value()) << m.error().text();
  job.model = *m;
  auto dag = workload::build_step(job, *site.model_of(site.cards()[0]));
  EXPECT_TRUE(dag.has_value()) << dag.error().text();
  Case c{site, *dag, {}};
  c.placement.job = "j", c.placement.groups = dag->groups;
  c.placement.cards.assign(site.cards().begin(), site.cards().begin() + strategy.world());
  return c;
}

workload::Strategy strategy(int tp, int pp, int dp, int batch) {
  workload::Strategy s;
  s.tp = tp, s.pp = pp, s.dp = dp, s.global_batch = batch;
  return s;
}

// Times per rank, class by class, and loads per link.
void expect_equal(const Case& c, std::size_t at_most_classes) {
  RunOptions options;
  options.record_ops = true;
  auto folded = run(c.site, {c.input()}, options);
  options.fold = false;
  auto full = run(c.site, {c.input()}, options);
  ASSERT_TRUE(folded.has_value()) << folded.error().text();
  ASSERT_TRUE(full.has_value()) << full.error().text();
  const Timeline &a = (*folded)[0], &b = (*full)[0];
  EXPECT_LE(a.ranks.size(), at_most_classes);
  EXPECT_EQ(b.ranks.size(), c.placement.cards.size());
  double step = to_seconds(b.step).value();
  EXPECT_NEAR(to_seconds(a.step).value(), step, step * 1e-9);
  std::size_t members = 0;
  for (const RankTime& r : a.ranks) members += static_cast<std::size_t>(r.members);
  EXPECT_EQ(members, b.ranks.size());
  for (std::size_t r = 0; r < b.ranks.size(); ++r) {
    const RankTime &x = a.ranks[static_cast<std::size_t>(a.class_of[r])], &y = b.ranks[static_cast<std::size_t>(b.class_of[r])];
    EXPECT_NEAR(x.end.value(), y.end.value(), step * 1e-9) << r;
    EXPECT_NEAR(x.compute.value(), y.compute.value(), step * 1e-9) << r;
    for (int d = 0; d < 5; ++d) {
      EXPECT_NEAR(x.comm[d].value(), y.comm[d].value(), step * 1e-8) << r << " dim " << d;
      EXPECT_NEAR(x.wait[d].value(), y.wait[d].value(), step * 1e-8) << r << " dim " << d;
    }
  }
  double bytes_a = 0, bytes_b = 0;
  int links_a = 0;
  for (const LinkLoad& l : a.links) bytes_a += l.bytes * l.members, links_a += l.members;
  for (const LinkLoad& l : b.links) bytes_b += l.bytes;
  EXPECT_NEAR(bytes_a, bytes_b, bytes_b * 1e-7);
  EXPECT_EQ(links_a, static_cast<int>(b.links.size()));
  std::size_t ops = 0;
  for (const GroupOp& o : a.ops) ops += static_cast<std::size_t>(o.members);
  EXPECT_EQ(ops, b.ops.size());
}

fabric::Snapshot wounded(const fabric::Snapshot& s, Random& random, int links, int cards) {
  std::vector<std::pair<fabric::LinkId, fabric::LinkHealth>> l;
  std::vector<std::pair<fabric::DeviceId, fabric::DeviceHealth>> d;
  for (int i = 0; i < links; ++i) {
    fabric::LinkHealth h;
    h.state = fabric::LinkState::kDegraded, h.rate_factor = random.uniform(0.2, 0.95);
    fabric::LinkId id{static_cast<std::uint32_t>(random.integer(0, static_cast<std::int64_t>(s.link_count()) - 1))};
    bool twice = false;
    for (auto& [known, unused] : l) twice = twice || known == id;
    if (!twice) l.emplace_back(id, h);
  }
  for (int i = 0; i < cards; ++i) {
    fabric::DeviceHealth h;
    h.speed_factor = random.uniform(0.6, 0.95);
    fabric::DeviceId id = s.cards()[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(s.cards().size()) - 1))];
    bool twice = false;
    for (auto& [known, unused] : d) twice = twice || known == id;
    if (!twice) d.emplace_back(id, h);
  }
  std::sort(l.begin(), l.end(), [](auto& a, auto& b) { return a.first < b.first; });
  std::sort(d.begin(), d.end(), [](auto& a, auto& b) { return a.first < b.first; });
  return s.with_health(l, d);
}

TEST(SimFold, HealthySitesFoldToTheirStages) {
  auto site = testing::rails(16, 8, 4, 8);
  ASSERT_TRUE(site.has_value()) << site.error().text();
  expect_equal(job_on(*site, "llama-3-8b", strategy(8, 1, 16, 32)), 2);
  expect_equal(job_on(*site, "llama-3-8b", strategy(8, 4, 4, 32)), 8);
}

TEST(SimFold, ThreeDegradedLinksAndASlowCardAt256Cards) {
  auto site = testing::rails(32, 16, 4, 16);
  ASSERT_TRUE(site.has_value()) << site.error().text();
  Random random(7);
  Case c = job_on(*site, "llama-3-70b", strategy(8, 8, 4, 32));
  std::vector<std::pair<fabric::LinkId, fabric::LinkHealth>> links;
  for (std::uint32_t nic : {3u, 77u, 200u}) {
    fabric::LinkHealth h;
    h.state = fabric::LinkState::kDegraded, h.rate_factor = 0.3 + 0.002 * nic;
    fabric::DeviceId d = site->of_kind(fabric::DeviceKind::kNic)[nic];
    for (fabric::PortId p : site->ports_of(d))
      if (site->port(p).networks & fabric::bit(fabric::Network::kScaleOut)) links.emplace_back(site->port(p).link, h);
  }
  ASSERT_EQ(links.size(), 3u);
  fabric::DeviceHealth slow;
  slow.speed_factor = 0.8;
  std::sort(links.begin(), links.end(), [](auto& a, auto& b) { return a.first < b.first; });
  auto healthy = run(c.site, {c.input()});
  c.site = site->with_health(links, std::vector{std::pair(site->cards()[100], slow)});
  expect_equal(c, 200);
  auto hurt = run(c.site, {c.input()});
  EXPECT_GT((*hurt)[0].step.value(), (*healthy)[0].step.value() * 1.02);
}

// Any faults, any place: refinement separates what they touch.
TEST(SimFold, RandomFaultsOn64Cards) {
  auto rails = testing::rails(8, 4, 2, 4);
  auto lab = fabric::load_site("lab-32");
  auto pod = fabric::load_site("pod-144");
  ASSERT_TRUE(rails.has_value() && lab.has_value() && pod.has_value());
  std::vector<Case> cases{job_on(*rails, "llama-3-8b", strategy(8, 2, 4, 16)), job_on(*rails, "llama-3-8b", strategy(4, 4, 4, 16)),
                          job_on(*lab, "llama-2-7b", strategy(8, 2, 2, 8)), job_on(*pod, "llama-3-8b", strategy(4, 2, 8, 16))};
  rc::check([&] {
    auto seed = static_cast<std::uint64_t>(*rc::gen::inRange(0, 1 << 30));
    Random random(seed);
    Case c = cases[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(cases.size()) - 1))];
    c.site = wounded(c.site, random, static_cast<int>(random.integer(0, 4)), static_cast<int>(random.integer(0, 2)));
    expect_equal(c, 1u << 20);
    RC_ASSERT(!::testing::Test::HasFailure());
  });
}

TEST(SimFold, TwoJobsTogether) {
  auto lab = fabric::load_site("lab-32");
  ASSERT_TRUE(lab.has_value());
  Case a = job_on(*lab, "llama-2-7b", strategy(4, 2, 2, 8)), b = a;
  b.placement.cards.assign(lab->cards().begin() + 16, lab->cards().end());
  std::vector<JobInput> both{a.input(), b.input()};
  RunOptions full;
  full.fold = false;
  auto x = run(*lab, both), y = run(*lab, both, full), alone = run(*lab, {a.input()});
  ASSERT_TRUE(x.has_value() && y.has_value() && alone.has_value());
  for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR((*x)[j].step.value() * 1e-12, (*y)[j].step.value() * 1e-12, 1e-9);
  // lab-32 is not oversubscribed: two jobs side by side do not disturb each other.
  EXPECT_NEAR((*x)[0].step.value(), (*alone)[0].step.value(), (*alone)[0].step.value() * 1e-3);
}

std::string bytes_of(const Timeline& t) {
  std::string out;
  auto put = [&](const auto& v) { out.append(reinterpret_cast<const char*>(&v), sizeof v); };
  put(t.step), put(t.mfu), put(t.events);
  for (const RankTime& r : t.ranks) {
    put(r.rank), put(r.members), put(r.end), put(r.compute), put(r.waits_for);
    for (int d = 0; d < 5; ++d) put(r.comm[d]), put(r.wait[d]);
  }
  for (int c : t.class_of) put(c);
  for (const LinkLoad& l : t.links) put(l.link.v), put(l.members), put(l.bytes), put(l.utilisation);
  for (const GroupOp& o : t.ops) put(o.group), put(o.first_arrival), put(o.last_arrival), put(o.end), put(o.last_rank), out += o.algorithm;
  return out;
}

TEST(SimFold, TwentyRunsGiveTheSameBytes) {
  auto site = testing::rails(8, 4, 2, 4);
  ASSERT_TRUE(site.has_value());
  Case c = job_on(*site, "llama-3-8b", strategy(8, 2, 4, 16));
  Random random(3);
  c.site = wounded(c.site, random, 3, 1);
  RunOptions options;
  options.record_ops = true;
  std::string first;
  for (int i = 0; i < 20; ++i) {
    auto r = run(c.site, {c.input()}, options);
    ASSERT_TRUE(r.has_value());
    std::string now = bytes_of((*r)[0]);
    if (i == 0) first = now;
    ASSERT_EQ(now, first) << "run " << i;
  }
}

}  // namespace
}  // namespace weft::sim
