#include "sim/flow.h"

#include <gtest/gtest.h>

#include "collective/cost.h"
#include "sim/machines_for_tests.h"

namespace weft::sim {
namespace {

using workload::Collective;
using workload::Dim;
using workload::Op;
using workload::OpKind;

constexpr Collective kKinds[] = {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll,
                                 Collective::kBroadcast};

std::vector<fabric::DeviceId> cards_of(const fabric::Snapshot& s) { return {s.cards().begin(), s.cards().end()}; }

double seconds_of(const fabric::Snapshot& s, Collective kind, std::int64_t bytes, const std::string& algorithm = {}) {
  RunOptions options;
  options.algorithm = algorithm;
  auto r = run_collective(s, cards_of(s), kind, Bytes(bytes), options);
  EXPECT_TRUE(r.has_value()) << r.error().text();
  return r ? r->time.value() : 0;
}

// ---- small hand-written steps
Op compute(double s) {
  Op op{OpKind::kCompute};
  op.compute = Seconds(s);
  return op;
}
Op collective_op(Collective kind, Dim dim, std::int64_t bytes, bool async = false) {
  Op op{OpKind::kCollective, kind, dim};
  op.bytes = Bytes(bytes), op.async = async;
  return op;
}
Op message(OpKind kind, int peer, std::int64_t bytes) {
  Op op{kind, {}, Dim::kPp, static_cast<std::int16_t>(peer)};
  op.bytes = Bytes(bytes);
  return op;
}
Op wait_for(int index) {
  Op op{OpKind::kDelay};
  op.wait = index;
  return op;
}

struct Step {
  workload::Dag dag;
  workload::Placement placement;
  JobInput input() const {
    JobInput in;
    in.dag = &dag, in.placement = &placement;
    return in;
  }
};
Step step_of(std::vector<std::vector<Op>> programs, std::vector<std::uint32_t> program_of, std::vector<fabric::DeviceId> cards,
             Dim dim = Dim::kDp) {
  Step s;
  s.dag.job = s.placement.job = "j";
  s.dag.labels = {"work"};
  for (auto& ops : programs) s.dag.programs.push_back({std::move(ops)});
  workload::Group all{dim, 0, {}};
  for (std::size_t r = 0; r < cards.size(); ++r) all.ranks.push_back(static_cast<int>(r));
  s.dag.groups = s.placement.groups = {all};
  s.dag.program_of = std::move(program_of);
  s.placement.cards = std::move(cards);
  return s;
}

// Two cables of 250 ns and the library's share on a switch without latency of its own.
const double kAlpha = 2 * 250e-9 + collective::kInnerOverhead.value();

TEST(SimFlow, RingAllReduceIsTheClosedForm) {
  for (int n : {2, 3, 8, 64, 257})
    for (double bytes : {1e3, 64.0 * (1 << 20), 1e9}) {
      double want = 2.0 * (n - 1) / n * bytes / 50e9 + 2 * (n - 1) * kAlpha;
      EXPECT_NEAR(seconds_of(testing::flat(n), Collective::kAllReduce, static_cast<std::int64_t>(bytes), "ring"), want, want * 1e-3)
          << n << " " << bytes;
    }
}

// Every algorithm and kind on domains without contention: within 1 % of its closed form.
TEST(SimFlow, EveryAlgorithmMeetsItsClosedFormOnAFreeDomain) {
  auto two_tiers = testing::rails(4, 4, 2, 4);
  ASSERT_TRUE(two_tiers.has_value()) << two_tiers.error().text();
  int met = 0;
  for (int n : {2, 5, 8, 16, 17, 0}) {
    fabric::Snapshot s = n ? testing::flat(n) : *two_tiers;
    fabric::Routes routes(s);
    collective::GroupShape shape = collective::shape_of(cards_of(s), routes);
    for (const collective::Algorithm& a : collective::algorithms().entries())
      for (Collective kind : kKinds)
        for (std::int64_t bytes : {std::int64_t{4096}, std::int64_t{1} << 28}) {
          if (!a.supports(kind, shape) || (n == 0 && a.name == "bruck")) continue;  // bruck's bound across domains is not tight
          double want = a.cost(kind, shape, Bytes(bytes)).time.value();
          EXPECT_NEAR(seconds_of(s, kind, bytes, a.name), want, want * 0.01)
              << a.name << " " << workload::collective_name(kind) << " n=" << n << " " << bytes;
          ++met;
        }
  }
  EXPECT_GT(met, 120);
}

TEST(SimFlow, AllToAllNeverBeatsThePort) {
  for (int n : {2, 4, 16, 64}) {
    double floor = (n - 1.0) / n * (64 << 20) / 50e9;
    EXPECT_GE(seconds_of(testing::flat(n), Collective::kAllToAll, 64 << 20), floor);
    EXPECT_LE(seconds_of(testing::flat(n), Collective::kAllToAll, 64 << 20), floor + n * kAlpha + 1e-9);
  }
}

TEST(SimFlow, InNetworkReductionIsNPlusOneOverN) {
  double want = 9.0 / 8 * 1e9 / 50e9 + 2 * kAlpha;
  EXPECT_NEAR(seconds_of(testing::flat(8), Collective::kAllReduce, 1'000'000'000, "in_network"), want, want * 1e-6);
}

TEST(SimFlow, HalfALinkHalvesTheRing) {
  fabric::Snapshot s = testing::flat(8);
  fabric::LinkHealth half;
  half.state = fabric::LinkState::kDegraded, half.rate_factor = 0.5;
  fabric::Snapshot slow = s.with_health(std::vector{std::pair(fabric::LinkId{3}, half)}, {});
  EXPECT_NEAR(seconds_of(slow, Collective::kAllReduce, 1'000'000'000, "ring"), 2 * 7.0 / 8 * 1e9 / 25e9 + 14 * kAlpha, 1e-6);
}

// lab-32's requirement: 256 MB over all 32 cards at 37.5 GB/s or more on the bus, without and with reduction in the switches.
TEST(SimFlow, Lab32MeetsItsBusBandwidth) {
  auto lab = fabric::load_site("lab-32");
  ASSERT_TRUE(lab.has_value());
  for (const char* algorithm : {"ring", "halving_doubling", "in_network"}) {
    double t = seconds_of(*lab, Collective::kAllReduce, 256'000'000, algorithm);
    EXPECT_GE(collective::bus_bandwidth(Collective::kAllReduce, 32, Bytes(256'000'000), Seconds(t)).value(), 37.5e9) << algorithm;
  }
  EXPECT_LT(seconds_of(*lab, Collective::kAllReduce, 256'000'000, "in_network"),
            seconds_of(*lab, Collective::kAllReduce, 256'000'000, "ring") * 0.6);
}

TEST(SimFlow, ComputeAndCollectiveFollowEachOther) {
  fabric::Snapshot s = testing::flat(4);
  Step step =
      step_of({{compute(1e-3), collective_op(Collective::kAllGather, Dim::kDp, 400'000'000), compute(2e-3)}}, {0, 0, 0, 0}, cards_of(s));
  JobInput in = step.input();
  in.slowdown = {1, 1, 1, 2};  // the last computes at half speed
  RunOptions options;
  options.record_ops = true;
  options.algorithm = "ring";
  auto r = run(s, {in}, options);
  ASSERT_TRUE(r.has_value()) << r.error().text();
  const Timeline& t = (*r)[0];
  double moves = 0.75 * 4e8 / 50e9 + 3 * kAlpha;
  EXPECT_NEAR(to_seconds(t.step).value(), 2e-3 + moves + 4e-3, 1e-11);
  ASSERT_EQ(t.ranks.size(), 2u);
  EXPECT_EQ(t.ranks[0].members, 3);
  EXPECT_EQ(t.class_of, (std::vector<int>{0, 0, 0, 1}));
  auto dp = static_cast<std::size_t>(Dim::kDp);
  EXPECT_NEAR(t.ranks[0].wait[dp].value(), 1e-3, 1e-11);
  EXPECT_NEAR(t.ranks[0].comm[dp].value(), moves, 1e-11);
  EXPECT_NEAR(t.ranks[1].wait[dp].value(), 0, 1e-11);
  EXPECT_EQ(t.ranks[0].waits_for, 3);
  EXPECT_EQ(t.ranks[1].waits_for, -1);
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.ops[0].last_rank, 3);
  EXPECT_EQ(t.ops[0].algorithm, "ring");
  EXPECT_NEAR(to_seconds(t.ops[0].last_arrival - t.ops[0].first_arrival).value(), 1e-3, 1e-11);
  // Conservation: each card sends and receives 3/4 of 400 MB.
  double total = 0;
  for (const LinkLoad& l : t.links) total += l.bytes * l.members;
  EXPECT_NEAR(total, 4 * 2 * 0.75 * 4e8, 1);
}

TEST(SimFlow, AsyncHidesBehindComputeUntilTheWait) {
  fabric::Snapshot s = testing::flat(2);
  double moves = 0.5 * 1e8 / 50e9 + kAlpha;  // 1.0024 ms
  for (double busy : {5e-4, 5e-3}) {
    Step step =
        step_of({{collective_op(Collective::kReduceScatter, Dim::kDp, 100'000'000, true), compute(busy), wait_for(0), compute(1e-3)}},
                {0, 0}, cards_of(s));
    RunOptions options;
    options.algorithm = "ring";
    auto r = run(s, {step.input()}, options);
    ASSERT_TRUE(r.has_value()) << r.error().text();
    EXPECT_NEAR(to_seconds((*r)[0].step).value(), std::max(busy, moves) + 1e-3, 1e-11);
    EXPECT_NEAR((*r)[0].ranks[0].comm[static_cast<std::size_t>(Dim::kDp)].value(), std::max(0.0, moves - busy), 1e-11);
  }
}

TEST(SimFlow, MessagesPassAlongAPipeline) {
  fabric::Snapshot s = testing::flat(3);
  double hop = 5e7 / 50e9 + kAlpha;
  Step step = step_of({{compute(1e-3), message(OpKind::kSend, 1, 50'000'000)},
                       {message(OpKind::kRecv, -1, 50'000'000), compute(1e-3), message(OpKind::kSend, 1, 50'000'000)},
                       {message(OpKind::kRecv, -1, 50'000'000), compute(1e-3)}},
                      {0, 1, 2}, cards_of(s), Dim::kPp);
  auto r = run(s, {step.input()});
  ASSERT_TRUE(r.has_value()) << r.error().text();
  EXPECT_NEAR(to_seconds((*r)[0].step).value(), 3e-3 + 2 * hop, 1e-11);
  EXPECT_EQ((*r)[0].ranks[2].waits_for, 1);
}

// Two pairs of cards across one cable between two switches: each job alone has it all, together they have half.
TEST(SimFlow, JobsShareACable) {
  fabric::SnapshotBuilder b("dumbbell");
  auto up = fabric::bit(fabric::Network::kScaleUp);
  auto sn = b.add_device(fabric::DeviceKind::kSupernode, b.site(), "sn1");
  auto node = b.add_device(fabric::DeviceKind::kNode, sn, "node1");
  fabric::DeviceId sw[2] = {b.add_device(fabric::DeviceKind::kSwitch, sn, "sw1"), b.add_device(fabric::DeviceKind::kSwitch, sn, "sw2")};
  fabric::Link l{};
  l.rate = gbps(400), l.latency_ns = 0, l.networks = up, l.plane = -1, l.cable = UINT32_MAX;
  std::vector<fabric::DeviceId> c;
  for (int i = 0; i < 4; ++i) {
    c.push_back(b.add_device(fabric::DeviceKind::kCard, node, "card" + std::to_string(i)));
    ASSERT_TRUE(b.add_link(b.add_port(c.back(), up), b.add_port(sw[i % 2], up), l).has_value());
  }
  ASSERT_TRUE(b.add_link(b.add_port(sw[0], up), b.add_port(sw[1], up), l).has_value());
  b.add_domain(fabric::DomainKind::kHbd, "hbd1", c);
  auto s = std::move(b).build();
  ASSERT_TRUE(s.has_value()) << s.error().text();
  auto one = [&](std::int64_t bytes, fabric::DeviceId x, fabric::DeviceId y) {
    return step_of({{message(OpKind::kSend, 1, bytes)}, {message(OpKind::kRecv, -1, bytes)}}, {0, 1}, {x, y}, Dim::kPp);
  };
  Step a = one(500'000'000, c[0], c[1]), d = one(1'000'000'000, c[2], c[3]);
  double alpha = collective::kInnerOverhead.value();
  auto r = run(*s, {a.input(), d.input()});
  ASSERT_TRUE(r.has_value()) << r.error().text();
  // Both at 25 GB/s until the first has its 0.5 GB after 20 ms; the other's second half then has the cable to itself.
  EXPECT_NEAR(to_seconds((*r)[0].step).value(), 20e-3 + alpha, 1e-10);
  EXPECT_NEAR(to_seconds((*r)[1].step).value(), 30e-3 + alpha, 1e-10);
  auto alone = run(*s, {a.input()});
  EXPECT_NEAR(to_seconds((*alone)[0].step).value(), 10e-3 + alpha, 1e-10);
  // A later start: 15 ms alone, then shared.
  JobInput late = a.input();
  late.start = Seconds(15e-3);
  r = run(*s, {late, d.input()});
  EXPECT_NEAR(to_seconds((*r)[1].step).value(), 25e-3 + alpha, 1e-10);
}

TEST(SimFlow, ADeadlockNamesTheOperation) {
  fabric::Snapshot s = testing::flat(3);
  Step step = step_of({{compute(1e-3), collective_op(Collective::kAllReduce, Dim::kDp, 8)}, {compute(1e-3)}}, {0, 1, 0}, cards_of(s));
  auto r = run(s, {step.input()});
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().text(), "job j: deadlock: rank 0 at operation 1, all-reduce 'work' (8 bytes), waits on dp0 for rank 1");
}

TEST(SimFlow, AnUnknownRateIsAskedForNotAssumed) {
  fabric::Snapshot s = testing::flat(4, 0);
  auto r = run_collective(s, cards_of(s), Collective::kAllReduce, Bytes(8));
  ASSERT_FALSE(r.has_value());
  EXPECT_NE(r.error().text().find("known rate"), std::string::npos) << r.error().text();
  Step step = step_of({{message(OpKind::kSend, 1, 8)}, {message(OpKind::kRecv, -1, 8)}}, {0, 1}, {s.cards()[0], s.cards()[1]}, Dim::kPp);
  auto m = run(s, {step.input()});
  ASSERT_FALSE(m.has_value());
  EXPECT_NE(m.error().text().find("the rate of"), std::string::npos) << m.error().text();
}

TEST(SimFlow, WrongStepsAreRefused) {
  fabric::Snapshot s = testing::flat(2);
  auto error_of = [&](const Step& step, RunOptions options = {}) {
    auto r = run(s, {step.input()}, options);
    return r ? std::string() : r.error().text();
  };
  Step kinds = step_of({{collective_op(Collective::kAllReduce, Dim::kDp, 8)}, {collective_op(Collective::kAllGather, Dim::kDp, 8)}}, {0, 1},
                       cards_of(s));
  EXPECT_EQ(error_of(kinds), "job j: rank 1 enters all-gather 'work' (8 bytes) on dp0 where others are in all-reduce of 8 bytes");
  Step never = step_of({{message(OpKind::kRecv, 1, 8)}, {compute(1)}}, {0, 1}, cards_of(s), Dim::kPp);
  EXPECT_EQ(error_of(never), "job j: rank 0 receives over pp from rank 1, which never sends there");
  Step fewer = kinds;
  fewer.placement.cards.pop_back();
  EXPECT_EQ(error_of(fewer), "job j: 2 ranks in the step, 1 cards in the placement");
  RunOptions unknown;
  unknown.algorithm = "telepathy";
  EXPECT_NE(error_of(kinds, unknown).find("no collective algorithm 'telepathy'; known: bruck, "), std::string::npos);
  RunOptions few;
  few.max_events = 3;
  Step longer = step_of({std::vector<Op>(9, compute(1e-3))}, {0, 0}, cards_of(s));
  EXPECT_NE(error_of(longer, few).find("gave up after"), std::string::npos);
}

}  // namespace
}  // namespace weft::sim
