// The packet engine against closed forms: serialisation and latency, incast, sharing, pauses, conservation, threads.
#include "sim/packet/engine.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "sim/packet/flows_for_tests.h"
#include "sim/packet/random_networks_for_tests.h"
#include "sim/packet/summary.h"
#include "sim/packet/traffic.h"

namespace weft::sim::packet {
namespace {

using testing::flow, testing::must;

Config htsim() { return Config().htsim_roce(16); }

// 489 packets of 81.92 ns, then five more store-and-forward steps and six cables of 0.5 us: 43.4685 us.
TEST(PacketEngine, OneFlowAloneTakesSerialisationAndLatency) {
  Network net = *fat_tree(8, gbps(400), Picos(500'000));
  ASSERT_EQ(net.hosts.size(), 128u);
  ASSERT_EQ(net.nodes.size(), 128u + 80);
  Outcome out = must(net, htsim(), {flow(0, 127, 2'000'000)});
  EXPECT_EQ(out.flows[0].finished.value(), 488 * 81'920 + 6 * (81'920 + 500'000));
  EXPECT_EQ(out.ending, Ending::kComplete);
  EXPECT_EQ(out.packet_hops, 2u * 6 * 489);
  // Real framing: 82 bytes more on every packet, the last one short: 2,000,000 − 488 · 4096 = 1152.
  Config real;
  out = must(net, real, {flow(0, 127, 2'000'000)});
  std::int64_t full = (4096 + 82) * 20, last = (1152 + 82) * 20;
  // The last packet waits at every hop for the one before it.
  EXPECT_EQ(out.flows[0].finished.value(), 487 * full + 6 * (full + 500'000) + last);
}

TEST(PacketEngine, OddRatesDoNotDrift) {
  // 392 GB/s: 2.551 ps per byte.
  Network net = *star(2, BitsPerSecond(392e9 * 8), Picos(1000));
  Outcome out = must(net, htsim(), {flow(0, 1, 100'000'000)});
  double expected = (24415.0 * 4096 + 4096) / 392e9 * 1e12 + 2000;
  EXPECT_NEAR(static_cast<double>(out.flows[0].finished.value()), expected, expected * 1e-4);
}

TEST(PacketEngine, IncastRunsAtTheReceiversRate) {
  Network net = *fat_tree(8, gbps(400), Picos(500'000));
  Outcome out = must(net, htsim(), *traffic(net, "incast:32", Bytes(2'000'000), 1));
  double last = static_cast<double>(completion(out.flows).most.value()) * 1e-6;
  EXPECT_GE(last, 32 * 489 * 0.08192 + 1);
  EXPECT_LE(last, 1.03 * 1285);
  EXPECT_EQ(out.losses.total(), 0u);
  EXPECT_GT(out.pause_frames, 0u);
  EXPECT_TRUE(complaints(net, htsim(), out).empty());
}

TEST(PacketEngine, SprayedAllToAllIsWithinFivePercentOfItsBound) {
  Network net = *fat_tree(4, gbps(400), Picos(500'000));
  Config c = htsim();
  c.balance = Balance::kSpray, c.recovery = Recovery::kSelective, c.reorder = 512;
  Outcome out = must(net, c, *traffic(net, "alltoall", Bytes(256'000), 1));
  double bound = 15 * 63 * 0.08192 + 6 * 0.58192;
  double last = static_cast<double>(completion(out.flows).most.value()) * 1e-6;
  EXPECT_GE(last, 15 * 63 * 0.08192);
  EXPECT_LE(last, 1.05 * bound);
  EXPECT_EQ(out.losses.total(), 0u);
}

TEST(PacketEngine, SameBytesOnAnyNumberOfThreads) {
  Network net = *fat_tree(4, gbps(400), Picos(500'000));
  for (Balance b : {Balance::kFlow, Balance::kSpray, Balance::kAdaptive}) {
    Config c = htsim();
    c.classes[0].kmin = 20'000, c.classes[0].kmax = 200'000, c.classes[0].pmax = 0.2;
    c.control = Control::kDcqcn;
    if (b != Balance::kFlow) c.recovery = Recovery::kSelective, c.reorder = 512, c.balance = b;
    auto flows = *traffic(net, "alltoall", Bytes(40'000), 3);
    Outcome one = must(net, c, flows);
    for (int threads : {2, 3}) {
      RunControl control;
      control.threads = threads;
      Outcome many = must(net, c, flows, control);
      ASSERT_EQ(many.packet_hops, one.packet_hops);
      ASSERT_EQ(many.end, one.end);
      for (std::size_t i = 0; i < flows.size(); ++i) ASSERT_EQ(many.flows[i].finished, one.flows[i].finished);
      for (std::size_t i = 0; i < one.counters.size(); ++i) {
        ASSERT_EQ(many.counters[i].bytes, one.counters[i].bytes);
        ASSERT_EQ(many.counters[i].marks, one.counters[i].marks);
        ASSERT_EQ(many.counters[i].paused, one.counters[i].paused);
        ASSERT_EQ(many.counters[i].queue_max, one.counters[i].queue_max);
      }
    }
  }
}

// A chain: each flow starts when the one before has arrived where it begins.
TEST(PacketEngine, FlowsWaitForTheOneTheyFollow) {
  Network net = *star(4, gbps(400), Picos(500'000));
  std::vector<Flow> flows = {flow(0, 1, 4096), flow(1, 2, 4096), flow(2, 3, 4096)};
  flows[1].after = 0, flows[2].after = 1, flows[2].start = Picos(1000);
  Outcome out = must(net, htsim(), flows);
  // The ACK of 64 bytes goes out first, 1.28 ns; a delay of 1 ns is over before that.
  std::int64_t one = 2 * (81'920 + 500'000), ack = 64 * 20;
  EXPECT_EQ(out.flows[0].finished.value(), one);
  EXPECT_EQ(out.flows[1].finished.value(), 2 * one + ack);
  EXPECT_EQ(out.flows[2].finished.value(), 3 * one + 2 * ack);
}

TEST(PacketEngine, RefusesNonsenseWithTheReason) {
  Network net = *star(4, gbps(400), Picos(500'000));
  std::vector<Flow> flows = {flow(0, 1, 4096)};
  auto refused = [&](auto change, const char* says) {
    Config c;
    std::vector<Flow> f = flows;
    change(c, f);
    auto out = simulate(net, c, f);
    ASSERT_FALSE(out.has_value()) << says;
    EXPECT_EQ(out.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(out.error().text().find(says), std::string::npos) << out.error().text();
  };
  refused([](Config& c, auto&) { c.classes[0].kmin = 9, c.classes[0].kmax = 5; }, "kmin 9 is above kmax 5");
  refused([](Config& c, auto&) { c.classes[0].headroom = 0; }, "no headroom");
  refused([](Config& c, auto&) { c.classes[0].alpha = 0, c.classes[0].xoff = 100'000'000; }, "XOFF threshold");
  refused([](Config& c, auto&) { c.buffer = 100'000; }, "leaves nothing of a buffer");
  refused([](Config& c, auto&) { c.horizon = to_picos(Seconds(36000)); }, "10.0 h of simulated time");
  refused([](Config& c, auto&) { c.ack_class = 5; }, "unknown priority 5");
  refused([](Config& c, auto&) { c.balance = Balance::kSpray; }, "use selective repeat");
  refused([](Config&, auto& f) { f[0].klass = 3; }, "unknown priority 3");
  refused([](Config&, auto& f) { f[0].to = 9; }, "host 9 does not exist");
  refused([](Config&, auto& f) { f[0].to = 0; }, "sends to itself");
}

TEST(PacketEngine, CutRunsSaySo) {
  Network net = *star(4, gbps(400), Picos(500'000));
  Config c;
  c.horizon = Picos(10'000'000);
  Outcome out = must(net, c, {flow(0, 1, 2'000'000), flow(2, 3, 4096)});
  EXPECT_EQ(out.ending, Ending::kHorizon);
  EXPECT_EQ(out.unfinished, 1u);
  std::vector<std::string> no = complaints(net, c, out);
  ASSERT_EQ(no.size(), 2u);
  EXPECT_NE(no[0].find("horizon of 10 us"), std::string::npos) << no[0];
  EXPECT_NE(no[1].find("1 of 2 flows"), std::string::npos) << no[1];
  EXPECT_EQ(out.data_sent, out.data_delivered + out.losses.total() + out.in_flight);
}

TEST(PacketEngine, NothingIsLostFromTheBooks) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) ASSERT_NO_FATAL_FAILURE(testing::books_balance(seed));
}

}  // namespace
}  // namespace weft::sim::packet
