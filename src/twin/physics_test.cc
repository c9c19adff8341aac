// Heat and power against closed forms.
#include "twin/physics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "twin/scene_for_test.h"

namespace weft::twin {
namespace {

struct Bench {
  Parameters parameters = *Parameters::load();
  State state{lab(), parameters, Random(1), false};
  Noise noise{Random(1), false};
  void load(double busy) {
    for (Card& c : state.cards) c.used = busy > 0, c.busy = busy, c.wait = 0;
  }
  void run(double seconds, double dt) {
    for (double t = 0; t < seconds - 1e-9; t += dt) step_physics(state, noise, dt, 0.5);
  }
};

TEST(Physics, ParametersHaveRangesAndSources) {
  auto p = Parameters::load();
  ASSERT_TRUE(p.has_value()) << p.error().text();
  EXPECT_GT(p->all().size(), 80u);
  for (const auto& [name, v] : p->all()) {
    EXPECT_FALSE(v.source.empty()) << name;
    EXPECT_LE(v.low, v.high) << name;
  }
}

TEST(Physics, ClockForPowerInvertsThePowerCurve) {
  for (double f : {0.2, 0.5, 0.9, 1.0}) {
    double watts = 70 + (700 - 70) * 0.8 * std::pow(f, 2.2);
    EXPECT_NEAR(clock_for_power(watts, 70, 700, 0.8, 2.2), f, 1e-9);
  }
  EXPECT_EQ(clock_for_power(700, 70, 700, 0, 2.2), 1);   // nothing to do: no limit
  EXPECT_EQ(clock_for_power(2000, 70, 700, 1, 2.2), 1);  // limit above what it draws
}

// T(t) = T_end + (T0 - T_end) e^(-t/tau) for an idle card, whose power does not depend on its clock.
TEST(Physics, CoolsAsAnExponentialWhateverTheTick) {
  for (double dt : {1.0, 10.0}) {
    Bench b;
    b.load(0);
    b.run(2000, dt);
    Card& c = b.state.cards[0];
    double settled = c.temp, tau = b.parameters.get(c.liquid ? "card.tau_liquid_s" : "card.tau_air_s");
    c.temp = settled + 30;
    b.run(20, dt);
    EXPECT_NEAR(c.temp, settled + 30 * std::exp(-20 / tau), 0.05) << "dt " << dt;
  }
}

TEST(Physics, FullLoadSettlesAtTheOrdinaryTemperature) {
  Bench b;
  b.load(1);
  b.run(3000, 1);
  const Card& c = b.state.cards[0];
  ASSERT_TRUE(c.liquid);
  EXPECT_NEAR(c.power, 700, 8);  // H100 SXM at full load, no throttle
  EXPECT_NEAR(c.temp, 58, 4);
  EXPECT_EQ(c.throttle & 0xe8u, 0u);
  // Energy balance of the loop: heat = flow · density · capacity · rise.
  const Cdu& cdu = b.state.cdus.at(0);
  double heat = 32 * c.power, rise = heat / (cdu.flow_lpm / 60 * 1.02 * 3900);
  EXPECT_NEAR(cdu.return_c - cdu.supply_c, rise, 0.02 * rise);
}

TEST(Physics, ThrottlingHoldsTheLimitAndSaysSo) {
  Bench b;
  b.load(1);
  b.run(600, 1);
  for (int t = 0; t < 600; ++t) {
    b.state.reset_knobs();
    b.state.cards[3].knobs.heat = 4;
    step_physics(b.state, b.noise, 1, 0.5);
  }
  const Card &hot = b.state.cards[3], &peer = b.state.cards[4];
  EXPECT_NEAR(hot.temp, b.parameters.get("card.throttle_c"), 1.5);
  EXPECT_EQ(hot.throttle & 0x48u, 0x48u);
  EXPECT_LT(hot.clock, 0.9);
  EXPECT_LT(hot.power, peer.power);
  EXPECT_LT(hot.speed, 0.93);
  EXPECT_EQ(peer.throttle & 0xe8u, 0u);
  EXPECT_GT(peer.speed, 0.98);
}

TEST(Physics, RackCapIsMetByItsCardsAlike) {
  Bench b;
  b.load(1);
  b.run(300, 1);
  Rack& rack = b.state.racks.at(0);
  ASSERT_EQ(rack.nodes.size(), 2u);
  double cap = rack.power * 0.94 * 0.7;  // of what the supplies deliver
  for (int t = 0; t < 100; ++t) {
    b.state.reset_knobs();
    rack.knobs.cap_w = cap;
    step_physics(b.state, b.noise, 1, 0.5);
  }
  EXPECT_NEAR(rack.power * 0.94, cap, 0.01 * cap);
  const Node &first = b.state.nodes[static_cast<std::size_t>(rack.nodes[0])],
             &second = b.state.nodes[static_cast<std::size_t>(rack.nodes[1])];
  EXPECT_NEAR(b.state.cards[static_cast<std::size_t>(first.cards[0])].clock, b.state.cards[static_cast<std::size_t>(second.cards[7])].clock,
              0.01);
  EXPECT_TRUE(b.state.cards[static_cast<std::size_t>(first.cards[0])].throttle & 0x4);
  EXPECT_GT(b.state.cards[31].speed, 0.98);  // another rack
}

TEST(Physics, PowerBrakeCutsClocksAndCools) {
  Bench b;
  b.load(1);
  b.run(600, 1);
  double before = b.state.cards[0].temp;
  for (int t = 0; t < 60; ++t) {
    b.state.reset_knobs();
    b.state.cards[0].knobs.brake = true;
    step_physics(b.state, b.noise, 1, 0.5);
  }
  EXPECT_LE(b.state.cards[0].clock, 0.5);
  EXPECT_EQ(b.state.cards[0].throttle & 0x88u, 0x88u);
  EXPECT_LT(b.state.cards[0].temp, before - 5);
}

}  // namespace
}  // namespace weft::twin
