// Random small networks with random faults, and what must hold on each.
#pragma once

#include <gtest/gtest.h>

#include "base/random.h"
#include "sim/packet/engine.h"

namespace weft::sim::packet::testing {

// Every packet sent is delivered, lost for a reason, or on its way; no queue is ever below zero; lossless classes lose nothing on healthy links.
inline void books_balance(std::uint64_t seed) {
  Random r(seed);
  auto rate = [&] { return gbps(static_cast<double>(r.integer(1, 8)) * 100); };
  auto delay = [&] { return Picos(r.integer(0, 600'000)); };
  NetworkBuilder b;
  auto switches = static_cast<std::uint32_t>(r.integer(1, 4)), hosts = static_cast<std::uint32_t>(r.integer(2, 8));
  std::vector<std::uint32_t> sw;
  for (std::uint32_t i = 0; i < switches; ++i) sw.push_back(b.add_node("s" + std::to_string(i), false));
  for (std::uint32_t i = 1; i < switches; ++i) b.add_cable(sw[static_cast<std::size_t>(r.integer(0, i - 1))], sw[i], rate(), delay());
  for (std::int64_t i = r.integer(0, 2); i > 0 && switches > 1; --i) {
    std::int64_t x = r.integer(0, switches - 1), y = r.integer(0, switches - 1);
    if (x != y) b.add_cable(sw[static_cast<std::size_t>(x)], sw[static_cast<std::size_t>(y)], rate(), delay());
  }
  for (std::uint32_t i = 0; i < hosts; ++i)
    b.add_cable(b.add_node("h" + std::to_string(i), true), sw[static_cast<std::size_t>(r.integer(0, switches - 1))], rate(), delay());
  Network net = *b.build();
  Config c;
  c.seed = seed;
  c.mtu = r.integer(1, 4) * 1024;
  bool faults = r.chance(0.5);
  c.buffer = 4'000'000;
  c.classes[0].lossless = r.chance(0.6);
  if (r.chance(0.5)) c.classes[0].alpha = 0, c.classes[0].xoff = 20'000;
  if (r.chance(0.5)) c.classes[0].kmin = 5'000, c.classes[0].kmax = 50'000, c.classes[0].pmax = 0.3;
  c.classes[0].drop_alpha = 0.05;
  c.control = static_cast<Control>(r.integer(0, 2));
  if (c.control == Control::kDctcp) c.control = Control::kNone;
  c.recovery = r.chance(0.5) ? Recovery::kGoBackN : Recovery::kSelective;
  if (c.recovery == Recovery::kSelective && r.chance(0.5)) c.balance = r.chance(0.5) ? Balance::kSpray : Balance::kAdaptive, c.reorder = 64;
  c.retransmit = Picos(200'000'000);
  c.horizon = Picos(r.integer(20, 2000) * 1'000'000);
  if (faults)
    for (int i = 0; i < 2; ++i) {
      auto port = static_cast<std::uint32_t>(r.integer(0, static_cast<std::int64_t>(net.ports.size()) - 1));
      if (r.chance(0.5)) {
        net.ports[port].loss = r.uniform(0, 0.02);
      } else {
        std::int64_t at = r.integer(0, 50'000'000);
        for (std::uint32_t p : {port, net.ports[port].peer}) {
          net.events.push_back({Picos(at), p, r.chance(0.5) ? 0.0 : 0.3});
          net.events.push_back({Picos(at + r.integer(1, 50'000'000)), p, 1.0});
        }
      }
    }
  std::vector<Flow> flows;
  for (std::int64_t i = r.integer(1, 12); i > 0; --i) {
    auto from = static_cast<std::uint32_t>(r.integer(0, hosts - 1)), to = static_cast<std::uint32_t>(r.integer(0, hosts - 1));
    if (from == to) continue;
    Flow f;
    f.from = from, f.to = to, f.bytes = r.integer(1, 300'000), f.start = Picos(r.integer(0, 10'000'000));
    flows.push_back(f);
  }
  if (flows.empty()) return;
  auto out = simulate(net, c, flows);
  ASSERT_TRUE(out.has_value()) << seed << ": " << out.error().text();
  ASSERT_EQ(out->data_sent, out->data_delivered + out->losses.total() + out->in_flight) << "seed " << seed;
  if (!faults && c.classes[0].lossless) {
    ASSERT_EQ(out->losses.total(), 0u) << "seed " << seed;
  }
  for (const Counters& k : out->counters) ASSERT_GE(k.queue_max, 0) << seed;
  ASSERT_FALSE(out->negative) << "seed " << seed;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    ASSERT_LE(out->flows[i].delivered, flows[i].bytes) << seed;
    if (out->flows[i].finished.value() >= 0) {
      ASSERT_EQ(out->flows[i].delivered, flows[i].bytes) << seed;
    }
  }
  // Without faults, and with time enough, everything arrives.
  if (!faults && out->ending == Ending::kComplete) {
    ASSERT_EQ(out->unfinished, 0u) << seed;
  }
}

}  // namespace weft::sim::packet::testing
