// The packet model against published and derived numbers. Each test names its source; the expected values come from closed forms, tables or
// papers, not from this code. The long ones are in acceptance_slow_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "sim/packet/deadlock.h"
#include "sim/packet/ecmp.h"
#include "sim/packet/fec.h"
#include "sim/packet/flows_for_tests.h"
#include "sim/packet/headroom.h"
#include "sim/packet/summary.h"

namespace weft::sim::packet {
namespace {

using testing::flow, testing::must, testing::us;

// RoCEv2 over IPv4: 82 bytes a packet on the wire (preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12).
TEST(PacketAcceptance, PayloadRateOfOneFlow) {
  for (auto [mtu, gigabits] : {std::pair{4096, 392.15}, {1024, 370.34}}) {
    Network net = *star(2, gbps(400), Picos(0));
    Config c;
    c.mtu = mtu;
    std::int64_t bytes = 20'000 * mtu;
    Outcome out = must(net, c, {flow(0, 1, bytes)});
    double rate = static_cast<double>(bytes) * 8 / to_seconds(out.flows[0].finished).value() * 1e-9;
    EXPECT_NEAR(rate, gigabits, gigabits * 0.001);
  }
}

// 65535 quanta of 512 bit times; without a refresh the sender goes on by itself (IEEE 802.1Qbb).
TEST(PacketAcceptance, APauseEndsByItself) {
  for (auto [gigabits, picos] : {std::pair{100, 335'539'200}, {400, 83'884'800}, {800, 41'942'400}}) {
    NetworkBuilder b;
    std::uint32_t sw = b.add_node("switch", false), from = b.add_node("from", true), to = b.add_node("to", true);
    b.add_cable(from, sw, gbps(gigabits), Picos(10'000));
    b.add_cable(sw, to, gbps(0.01), Picos(10'000));  // what arrives stays
    Network net = *b.build();
    Config c;
    c.refresh_pause = false;
    c.classes[0].alpha = 0, c.classes[0].xoff = 100'000;
    c.horizon = us(1000);
    Outcome out = must(net, c, {flow(0, 1, 10'000'000)});
    const Counters& k = out.counters[net.nodes[from].first_port * 2];
    ASSERT_EQ(k.pauses, 1u);
    EXPECT_NEAR(static_cast<double>(k.paused.value()), picos, 1e3 / gigabits);  // one bit time
  }
}

// cfgmgr/buffer_headroom_mellanox.lua and the xoff column of device/*/pg_profile_lookup.ini in sonic-buildimage.
TEST(PacketAcceptance, SonicHeadroomOfTwoSwitches) {
  SonicHeadroom sn5600;
  sn5600.port_mtu = 9216;
  const std::map<int, std::array<std::int64_t, 3>> table = {
      {10, {45056, 46080, 56320}},     {25, {48128, 52224, 76800}},     {40, {57344, 62464, 101376}},    {50, {63488, 69632, 118784}},
      {100, {113664, 126976, 225280}}, {200, {131072, 157696, 355328}}, {400, {231424, 283648, 677888}}, {800, {257024, 362496, 1150976}}};
  constexpr double kMetres[] = {5, 40, 300};
  for (const auto& [gigabits, xoff] : table)
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(sonic_xoff(sn5600, gbps(gigabits), Meters(kMetres[i])), xoff[i]) << gigabits << "G " << kMetres[i] << " m";
  SonicHeadroom sn2700;
  sn2700.cell = 96, sn2700.tile_delay = false, sn2700.response_kib = 3.8;
  const std::map<int, std::array<std::int64_t, 3>> older = {{10, {29696, 29696, 36864}},
                                                            {25, {29696, 31744, 48128}},
                                                            {40, {29696, 32768, 59392}},
                                                            {50, {29696, 33792, 66560}},
                                                            {100, {30720, 38912, 104448}}};
  for (const auto& [gigabits, xoff] : older)
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_EQ(sonic_xoff(sn2700, gbps(gigabits), Meters(kMetres[i])), xoff[i]) << gigabits << "G " << kMetres[i] << " m";
}

// L_any + 84 + 2·R·d·τ + R·t_response + L_lossless, frames of 9216 + 20.
TEST(PacketAcceptance, PhysicalHeadroom) {
  EXPECT_EQ(physical_headroom(gbps(100), Meters(30), 9216, 9216), 47'522);
  EXPECT_EQ(physical_headroom(gbps(400), Meters(300), 9216, 9216), 226'476);
  EXPECT_EQ(physical_headroom(gbps(800), Meters(1000), 9216, 9216), 1'076'476);
}

// Senders at line rate into an output that hardly drains, full frames the other way to hold up the pause frames: nothing is lost with the
// computed headroom, something is with one frame and one cable round trip less.
TEST(PacketAcceptance, HeadroomIsEnoughAndNotTooMuch) {
  for (double gigabits : {100.0, 400.0, 800.0})
    for (std::int64_t delay : {0, 50'000, 500'000, 2'500'000}) {
      NetworkBuilder b;
      std::uint32_t sw = b.add_node("switch", false), slow = b.add_node("slow", true);
      b.add_cable(sw, slow, gbps(1), Picos(10'000));
      for (int i = 0; i < 4; ++i) b.add_cable(b.add_node("h" + std::to_string(i), true), sw, gbps(gigabits), Picos(delay));
      Network net = *b.build();
      Config c;
      c.classes[0].alpha = 0, c.classes[0].xoff = 50'000;
      c.pause_response = Picos(100'000);
      c.horizon = us(400);
      // Hosts 1, 2 fill the slow output; 3, 4 send to 1 and 2 so that pause frames wait behind full frames.
      std::vector<Flow> flows = {flow(1, 0, 10'000'000), flow(2, 0, 10'000'000), flow(3, 1, 10'000'000), flow(4, 2, 10'000'000)};
      flows[2].start = Picos(7), flows[3].start = Picos(c.data_wire() * 8000 / static_cast<std::int64_t>(gigabits) / 2);
      Outcome out = must(net, c, flows);
      EXPECT_EQ(out.losses.lossless_full, 0u) << gigabits << "G " << delay;
      EXPECT_GT(out.pause_frames, 0u);
      std::int64_t enough = headroom_of(c, net, net.ports[net.nodes[net.hosts[1]].first_port].peer, 0);
      auto round_trip = static_cast<std::int64_t>(2 * static_cast<double>(delay) * 1e-12 * gigabits * 1e9 / 8);
      c.classes[0].headroom = std::max<std::int64_t>(1, enough - c.data_frame() - round_trip);
      c.classes[0].headroom -= c.data_frame();  // the wire's 20 bytes a frame are not in the buffer
      out = must(net, c, flows);
      EXPECT_GT(out.losses.lossless_full, 0u) << gigabits << "G " << delay;
    }
}

// Choudhury and Hahne: n queues that are all limited settle at alpha·B / (1 + n·alpha).
TEST(PacketAcceptance, DynamicThreshold) {
  for (int n : {1, 4, 8})
    for (double alpha : {0.125, 0.5, 1.0}) {
      Network net = *star(3 * n, gbps(100), Picos(100'000));
      Config c;
      c.buffer = 2'000'000;
      c.classes[0].lossless = false, c.classes[0].drop_alpha = alpha;
      c.horizon = us(600);
      std::vector<Flow> flows;
      for (int i = 0; i < n; ++i)
        for (int s = 0; s < 2; ++s)
          flows.push_back(flow(static_cast<std::uint32_t>(n + 2 * i + s), static_cast<std::uint32_t>(i), 100'000'000));
      RunControl control;
      control.observe_from = us(300);
      Outcome out = must(net, c, flows, control);
      // Two packets arrive for one that leaves, in bursts of two: a single queue rides a few frames around the mean of all.
      double q = alpha * static_cast<double>(c.buffer) / (1 + n * alpha), mean = 0;
      for (std::uint32_t p = 0; p < static_cast<std::uint32_t>(n); ++p) {
        const Counters& k = out.counters[2 * (net.nodes[0].first_port + p)];
        mean += k.queue_sum / static_cast<double>(k.arrivals) / n;
        EXPECT_NEAR(static_cast<double>(k.queue_max), q, 0.1 * q + static_cast<double>(c.data_frame()));
      }
      EXPECT_NEAR(mean, q, static_cast<double>(c.data_frame()) + 0.01 * q) << n << " " << alpha;
    }
}

// Zhu et al. 2015, section 4: 32 ports of 40G, 12 MB, 8 classes, 22.4 KB in flight.
TEST(PacketAcceptance, DcqcnPaperBufferBounds) {
  EXPECT_DOUBLE_EQ(static_pfc_threshold(12e6, 32, 8, 22.4e3), 24'475);
  EXPECT_NEAR(dynamic_ecn_bound(12e6, 32, 8, 22.4e3, 8), 21'755.6, 0.1);
}

TEST(PacketAcceptance, DeficitRoundRobinShares) {
  Network net = *star(4, gbps(100), Picos(100'000));
  Config c;
  c.classes = {ClassConfig{}, ClassConfig{}, ClassConfig{}, Config::control_class()};
  c.ack_class = 3;
  int weights[] = {40, 30, 25};
  for (std::size_t i = 0; i < 3; ++i) c.classes[i].name = std::to_string(i), c.classes[i].weight = weights[i];
  std::vector<Flow> flows;
  for (std::uint32_t i = 0; i < 3; ++i) {
    flows.push_back(flow(i + 1, 0, 100'000'000));
    flows.back().klass = static_cast<std::uint8_t>(i);
  }
  RunControl control;
  control.observe_from = us(200);
  c.horizon = us(200 + 100 * 95 * 4178 * 0.08e-3);  // a hundred rounds of 95 packets
  Outcome out = must(net, c, flows, control);
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) sum += static_cast<double>(out.counters[4 * net.nodes[0].first_port + i].bytes);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(static_cast<double>(out.counters[4 * net.nodes[0].first_port + i].bytes) / sum, weights[i] / 95.0,
                0.01 * weights[i] / 95.0);
}

// RED at kmin, in the middle, just below kmax and above; drawn 100,000 times.
TEST(PacketAcceptance, RedMarks) {
  ClassConfig k;
  k.kmin = 5'000, k.kmax = 200'000, k.pmax = 0.2;
  EXPECT_DOUBLE_EQ(red_probability(k, 4'999), 0);
  EXPECT_DOUBLE_EQ(red_probability(k, 5'000), 0);
  EXPECT_DOUBLE_EQ(red_probability(k, 102'500), 0.1);
  EXPECT_NEAR(red_probability(k, 199'999), 0.2, 1e-5);
  EXPECT_DOUBLE_EQ(red_probability(k, 200'000), 1);
  // On a port: a queue held between two XOFF marks sees the mean of the line.
  Network net = *star(3, gbps(100), Picos(10'000));
  Config c;
  c.classes[0].alpha = 0, c.classes[0].xoff = 51'250, c.classes[0].xon_gap = 0;
  c.classes[0].kmin = 5'000, c.classes[0].kmax = 200'000, c.classes[0].pmax = 0.2;
  RunControl control;
  control.observe_from = us(100);
  c.horizon = us(20'000);
  Outcome out = must(net, c, {flow(1, 0, 300'000'000), flow(2, 0, 300'000'000)}, control);
  const Counters& q = out.counters[2 * net.nodes[0].first_port];
  double mean = q.queue_sum / static_cast<double>(q.arrivals), p = 0.2 * (mean - 5'000) / 195'000, n = static_cast<double>(q.arrivals);
  ASSERT_GT(n, 50'000);
  EXPECT_NEAR(static_cast<double>(q.marks) / n, p, 3 * std::sqrt(p * (1 - p) / n));
}

// Ring of switches: every host sends two hops on, clockwise only. Infinite flows lock; with one cable taken away they do not; a watchdog
// brings traffic back and pays with drops (Guo et al. 2016; Hu et al. 2016).
TEST(PacketAcceptance, RingDeadlocksAndTheWatchdogRestores) {
  for (std::uint32_t k : {3u, 4u, 5u}) {
    auto ring = [&](bool closed) {
      NetworkBuilder b;
      for (std::uint32_t i = 0; i < k; ++i) b.add_node("s" + std::to_string(i), false);
      for (std::uint32_t i = 0; i < k; ++i) b.add_cable(b.add_node("h" + std::to_string(i), true), i, gbps(100), Picos(100'000));
      for (std::uint32_t i = 0; i < k; ++i)
        if (closed || i + 1 < k) b.add_cable(i, (i + 1) % k, gbps(100), Picos(100'000));
      Network net = *b.build();
      if (closed)
        for (std::uint32_t h = 0; h < k; ++h)
          for (std::uint32_t s = 0; s < k; ++s)
            if (s != h) net.set_route(s, h, {net.port_to(s, (s + 1) % k)});
      return net;
    };
    Config c;
    c.classes[0].alpha = 0, c.classes[0].xoff = 50'000;
    c.classes[1].lossless = false;
    c.horizon = us(60'000);
    RunControl control;
    control.stall = us(2'000);
    std::vector<Flow> flows;
    for (std::uint32_t i = 0; i < k; ++i) flows.push_back(flow(i, (i + 2) % k, 4'000'000'000));
    Network net = ring(true);
    EXPECT_EQ(buffer_dependencies(net).cycle.size(), k);
    Outcome out = must(net, c, flows, control);
    EXPECT_EQ(out.ending, Ending::kStalled) << k;
    EXPECT_EQ(out.deadlock.size(), k);
    EXPECT_EQ(out.unfinished, k);
    EXPECT_EQ(out.data_sent, out.data_delivered + out.losses.total() + out.in_flight);

    net = ring(false);
    EXPECT_TRUE(buffer_dependencies(net).cycle.empty());
    Config line = c;
    line.horizon = us(6'000);
    out = must(net, line, flows, control);
    EXPECT_EQ(out.ending, Ending::kHorizon);
    EXPECT_TRUE(out.deadlock.empty());
    EXPECT_EQ(out.losses.total(), 0u);

    // Detection 2 ms here instead of 200: the same mechanism, a hundredth of the time.
    Config guarded = c;
    guarded.watchdog = guarded.watchdog_restore = us(2'000), guarded.horizon = us(20'000);
    guarded.retransmit = us(1'000);
    control.observe_from = us(10'000), control.stall = us(50'000);
    out = must(ring(true), guarded, flows, control);
    EXPECT_GT(out.losses.watchdog, 0u) << k;
    std::int64_t later = 0;
    for (const FlowResult& f : out.flows) later += f.delivered - f.delivered_before;
    EXPECT_GT(later, 0) << k;
    control.observe_from = Picos(0), control.stall = us(2'000);
  }
}

// HotNets 2016: a loop of two switches, TTL 16, 40G: deadlock above 40 / ⌈15/2⌉ = 5 Gb/s, none below.
TEST(PacketAcceptance, RoutingLoopDeadlocksAboveTheThreshold) {
  for (double gigabits : {4.5, 5.5}) {
    NetworkBuilder b;
    std::uint32_t x = b.add_node("x", false), y = b.add_node("y", false), from = b.add_node("from", true), to = b.add_node("to", true);
    b.add_cable(from, x, gbps(40), Picos(100'000));
    b.add_cable(x, y, gbps(40), Picos(100'000));
    b.add_cable(y, to, gbps(40), Picos(100'000));
    Network net = *b.build();
    net.set_route(y, 1, {net.port_to(y, x)});  // and back: the loop
    Config c;
    c.mtu = 1000;
    c.classes[0].alpha = 0, c.classes[0].xoff = 50'000, c.classes[0].xon_gap = 2'200;
    c.hop_limit = 16;
    c.retransmit = Config::ack_timeout(20);
    c.horizon = us(8'000);  // 4 · XOFF / (0.5 Gb/s) is 3.2 ms
    RunControl control;
    control.stall = us(1'000);
    std::vector<Flow> flows = {flow(0, 1, 1'000'000'000)};
    flows[0].rate = gbps(gigabits);
    auto out = simulate(net, c, flows, control);
    ASSERT_TRUE(out.has_value()) << out.error().text();
    EXPECT_GT(out->losses.too_long, 0u);
    if (gigabits < 5) {
      EXPECT_EQ(out->ending, Ending::kHorizon);
      EXPECT_TRUE(out->deadlock.empty());
    } else {
      EXPECT_EQ(out->ending, Ending::kStalled);
      EXPECT_EQ(out->deadlock.size(), 2u);
    }
  }
}

// Every 256th packet lost, messages of 4,000 packets: restarting from zero never ends, going back N does (Guo et al. 2016).
TEST(PacketAcceptance, GoBackZeroLivelock) {
  for (Recovery r : {Recovery::kGoBackZero, Recovery::kGoBackN}) {
    Network net = *star(2, gbps(40), Picos(100'000));
    net.ports[net.ports[net.nodes[net.hosts[1]].first_port].peer].drop_every = 256;
    Config c;
    c.mtu = 1024, c.recovery = r;
    c.horizon = us(20'000);
    Outcome out = must(net, c, {flow(0, 1, 4'000 * 1024)});
    if (r == Recovery::kGoBackZero) {
      EXPECT_EQ(out.unfinished, 1u);
      EXPECT_GT(out.data_sent, 40'000u);  // the link was busy all the time
    } else {
      EXPECT_EQ(out.unfinished, 0u);
    }
  }
}

// Go-back-N loses what a loop holds for every loss, selective repeat only the packet: (1−p)/(1−p+pW) = .909 and .999 at p = 1e-3, W = 100.
TEST(PacketAcceptance, LossRecoveryEfficiency) {
  for (auto [recovery, expected] : {std::pair{Recovery::kGoBackN, 0.909}, {Recovery::kSelective, 0.999}}) {
    // 327.68 ns a packet; the loop of four cables and a packet each way is 100 packets long.
    Network net = *star(2, gbps(100), Picos(98 * 327'680 / 4));
    net.ports[net.ports[net.nodes[net.hosts[1]].first_port].peer].loss = 1e-3;
    Config c;
    c.htsim_framing();
    c.recovery = recovery, c.window = recovery == Recovery::kSelective ? 4096 : 0;
    c.retransmit = us(500);
    std::int64_t packets = 400'000;
    Outcome out = must(net, c, {flow(0, 1, packets * 4096)});
    ASSERT_EQ(out.unfinished, 0u);
    double efficiency = static_cast<double>(packets) * 327'680 / static_cast<double>(out.flows[0].finished.value());
    EXPECT_NEAR(efficiency, expected, 0.02 * expected);
  }
}

// Balls into bins: 16 flows on 16 links, E[max] = 3.0782, links used .6439.
TEST(PacketAcceptance, HashedFlowsCollideAsTheyShould) {
  double most = 0, used = 0;
  constexpr int kSeeds = 100'000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    int load[16]{};
    for (std::uint32_t f = 0; f < 16; ++f)
      ++load[ecmp_index(
          salted(flow_hash(f, 100 + f, f, static_cast<std::uint64_t>(seed)), mix(static_cast<std::uint64_t>(seed)) & 0xffffffff), 16)];
    most += *std::max_element(load, load + 16);
    for (int l : load) used += l > 0;
  }
  EXPECT_NEAR(most / kSeeds, 3.0782, 0.005 * 3.0782);
  EXPECT_NEAR(used / kSeeds / 16, 0.6439, 0.005 * 0.6439);
}

// Two tiers with one hash and seed: the second tier sees only flows that chose one of its links; with different seeds all links are used.
TEST(PacketAcceptance, Polarisation) {
  Network net = *fat_tree(16, gbps(400), Picos(100'000));
  for (bool one : {true, false}) {
    Config c;
    c.one_hash_seed = one;
    std::vector<Flow> flows;
    for (std::uint32_t h = 0; h < 8; ++h)  // the hosts of one leaf to all hosts of another pod, many queue pairs
      for (std::uint32_t to = 512; to < 576; ++to)
        for (int q = 0; q < 2; ++q) flows.push_back(flow(h, to, 1000));
    Outcome out = must(net, c, flows);
    for (std::uint32_t n = 0; n < net.nodes.size(); ++n) {
      if (!net.nodes[n].name.starts_with("pod0/spine")) continue;
      std::set<std::uint32_t> used;
      for (std::uint32_t p : net.ports_towards(n, 512))
        if (out.counters[2 * p].payload > 0) used.insert(p);
      EXPECT_EQ(used.size(), one ? 1u : 8u);
    }
  }
}

// Frame loss after FEC, random errors: the targets of IEEE 802.3bj, bs and cd.
TEST(PacketAcceptance, FecFrameLoss) {
  EXPECT_NEAR(frame_loss(kKp4, 2.4e-4, 1), 9.17e-13, 0.01 * 9.17e-13);
  EXPECT_NEAR(frame_loss(kKp4, 2.4e-4, 2), 1.73e-12, 0.01 * 1.73e-12);
  EXPECT_NEAR(frame_loss(kKr4, 5e-5, 1), 4.95e-10, 0.01 * 4.95e-10);
  EXPECT_NEAR(codeword_error(kLowLatency, 1e-4), 5.28e-10, 0.01 * 5.28e-10);
}

TEST(PacketAcceptance, FecSymbolBins) {
  constexpr double kExpected[] = {0.5804, 0.3159, 0.08582, 0.01551, 0.002099};
  std::vector<double> bins = symbol_bins(kKp4, 1e-4, 4);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(bins[i], kExpected[i], 5e-4 * kExpected[i] + 5e-6);
}

TEST(PacketAcceptance, FecFillTime) {
  EXPECT_DOUBLE_EQ(fill_time(kKp4, gbps(106.25)).value() * 1e9, 51.2);
  EXPECT_DOUBLE_EQ(fill_time(kLowLatency, gbps(106.25)).value() * 1e9, 25.6);
}

// Ring all-reduce as chained flows: 2(n−1) steps of α + S/(n·B); n = 8, 50 GB/s, α = 5 us. (1 GB in the slow test.)
TEST(PacketAcceptance, RingAllReduce) {
  constexpr std::uint32_t n = 8;
  constexpr std::int64_t kBytes = 64'000'000;
  Network net = *star(n, gbps(400), Picos(2'500'000));
  Config c;
  c.htsim_framing();
  c.ack_every = 16;
  std::vector<Flow> flows;
  for (std::uint32_t step = 0; step < 2 * (n - 1); ++step)
    for (std::uint32_t r = 0; r < n; ++r) {
      flows.push_back(flow(r, (r + 1) % n, kBytes / n));
      if (step > 0) flows.back().after = static_cast<std::int32_t>((step - 1) * n + (r + n - 1) % n);
    }
  Outcome out = must(net, c, flows);
  double t = to_seconds(completion(out.flows).most).value();
  for (const FlowResult& f : out.flows) t = std::max(t, to_seconds(f.finished).value());
  double expected = 2 * (n - 1) * (5e-6 + static_cast<double>(kBytes) / n / 50e9);
  EXPECT_NEAR(t, expected, 0.01 * expected);
}

TEST(PacketAcceptance, LocalAckTimeout) {
  EXPECT_EQ(Config::ack_timeout(14).value(), 67'108'864'000);
  EXPECT_EQ(Config::ack_timeout(20).value(), 4'294'967'296'000);
}

// Swift: N·cwnd·MSS = C·target(cwnd), target as htsim parametrises it (100G, base target 20 us, unloaded RTT 10 us): mean RTT 27.9 us at N = 10.
TEST(PacketAcceptance, SwiftEquilibrium) {
  Network net = *star(11, gbps(100), Picos(2'500'000 - 330'000 / 2));
  Config c;
  c.htsim_framing();
  c.control = Control::kSwift;
  c.horizon = us(30'000);
  std::vector<Flow> flows;
  for (std::uint32_t i = 1; i <= 10; ++i) flows.push_back(flow(i, 0, 1'000'000'000));
  RunControl control;
  control.observe_from = us(15'000);
  Outcome out = must(net, c, flows, control);
  double mean = 0;
  for (const FlowResult& f : out.flows) mean += static_cast<double>(f.mean_rtt.value()) * 1e-6 / 10;
  EXPECT_NEAR(mean, 27.9, 0.05 * 27.9);
}

// DCTCP (Alizadeh et al. 2010): 10G, RTT 100 us, K = 40 packets of 1500 B, two flows: peak K + N = 42, troughs at 29 to 31.
TEST(PacketAcceptance, DctcpSawtooth) {
  Network net = *star(3, gbps(10), Picos(24'000'000));
  Config c;
  c.htsim_framing();
  c.mtu = 1500;
  c.control = Control::kDctcp;
  c.classes[0].kmin = c.classes[0].kmax = 40 * 1500;
  c.buffer = 64'000'000;
  c.horizon = us(80'000);
  RunControl control;
  control.observe_from = us(30'000);
  control.sample = us(2);
  std::vector<Flow> flows = {flow(1, 0, 1'000'000'000), flow(2, 0, 1'000'000'000)};
  flows[1].start = us(13);
  Outcome out = must(net, c, flows, control);
  std::vector<double> q;
  for (auto [at, bytes] : out.queue_series)
    if (at > us(30'000)) q.push_back(static_cast<double>(bytes) / 1500);
  double peak = *std::max_element(q.begin(), q.end()), troughs = 0;
  // A trough: least value between two times above 38.
  std::vector<double> lows;
  double low = 1e9;
  bool high = false;
  for (double v : q) {
    if (v > 37) {
      if (high && low < 35) lows.push_back(low);
      low = 1e9, high = true;
    } else {
      low = std::min(low, v);
    }
  }
  ASSERT_FALSE(lows.empty());
  for (double v : lows) troughs += v / static_cast<double>(lows.size());
  EXPECT_NEAR(peak, 42, 0.05 * 42 + 1);
  EXPECT_NEAR(troughs, 30, 0.15 * 30);
  const Counters& port = out.counters[net.nodes[0].first_port];
  EXPECT_NEAR(static_cast<double>(port.bytes) * 8 / 50e-3 * 1e-9, 10, 0.02);
}

}  // namespace
}  // namespace weft::sim::packet
