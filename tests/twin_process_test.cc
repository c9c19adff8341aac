// The twin as a process of its own (`weft twin`): the same world over the socket as in one's own process, and a controller that is killed
// with SIGKILL again and again while the world lives on. The twin's own log of effects must show every action once.
#include "tests/controller_lives.h"

namespace weft {
namespace {

using namespace lives;

TEST(TwinProcess, OverTheSocketIsTheSameWorld) {
  Folder folder;
  Twin twin(folder);
  telemetry::SeriesTable here, there;
  auto remote = twin::Remote::connect(folder / "s", there);
  ASSERT_TRUE(remote.has_value()) << remote.error().text();
  EXPECT_EQ((*remote)->site(), "lab-32");
  auto scenario = scenario::parse_scenario(kScenario, "crash.yaml");
  twin::WorldOptions options;
  options.seed = 4, options.actuator_failure = 0;
  auto snapshot = fabric::load_site("lab-32");
  twin::World world(*snapshot, here, options);
  for (const auto& job : scenario->jobs) ASSERT_TRUE(world.add_job(job).has_value());
  for (const auto& fault : scenario->faults) ASSERT_TRUE(world.inject(fault).has_value());
  heal::Action start;
  start.id = "T1", start.kind = heal::action::kJobStart, start.target = "job/alpha";
  Json cards = Json::array();
  for (int i = 0; i < 16; ++i) cards.push_back(snapshot->name(snapshot->cards()[static_cast<std::size_t>(i)]));
  start.parameters = Json{{"cards", cards}, {"resume", false}};
  ASSERT_TRUE(world.start(start).has_value());
  ASSERT_TRUE((*remote)->start(start).has_value());
  std::size_t samples = 0, events = 0, ops = 0;
  for (int t = 1; t <= 150; ++t) {
    Instant until = options.start + seconds(t);
    world.wait_until(until), (*remote)->wait_until(until);
    ASSERT_EQ(world.now(), (*remote)->now());
    telemetry::Batch a, b;
    ASSERT_TRUE(world.poll(until, a).has_value());
    auto polled = (*remote)->poll(until, b);
    ASSERT_TRUE(polled.has_value()) << polled.error().text();
    ASSERT_EQ(a.samples.size(), b.samples.size());
    for (std::size_t i = 0; i < a.samples.size(); ++i) {
      ASSERT_EQ(here.metric(a.samples[i].series), there.metric(b.samples[i].series));
      ASSERT_EQ(here.entity(a.samples[i].series), there.entity(b.samples[i].series));
      ASSERT_EQ(a.samples[i].value, b.samples[i].value);
      ASSERT_EQ(a.samples[i].at, b.samples[i].at);
    }
    ASSERT_EQ(a.events.size(), b.events.size());
    for (std::size_t i = 0; i < a.events.size(); ++i) ASSERT_EQ(a.events[i].text, b.events[i].text);
    ASSERT_EQ(a.facts.size(), b.facts.size());
    ASSERT_EQ(a.ops.size(), b.ops.size());
    samples += a.samples.size(), events += a.events.size(), ops += a.ops.size();
  }
  EXPECT_GT(samples, 10000u);
  EXPECT_GT(events, 2u);
  EXPECT_GT(ops, 10u);
}

TEST(TwinProcess, TheWorldOutlivesItsClientAndAnswersByActionId) {
  Folder folder;
  Twin twin(folder);
  Instant then;
  heal::Action a;
  a.id = "P1.1", a.kind = heal::action::kCordon, a.target = "sn1/node2", a.parameters = Json{{"owner", "weft"}, {"reason", "test"}};
  {
    telemetry::SeriesTable table;
    auto first = twin::Remote::connect(folder / "s", table);
    ASSERT_TRUE(first.has_value()) << first.error().text();
    auto bad = (*first)->start({.id = "P1.0", .kind = "fly", .target = "sn1/node2"});
    ASSERT_FALSE(bad.has_value());
    EXPECT_EQ(bad.error().kind, ErrorKind::kInvalid);
    ASSERT_TRUE((*first)->start(a).has_value());
    (*first)->wait_until((*first)->now() + seconds(10));
    then = (*first)->now();
  }
  telemetry::SeriesTable table;
  auto second = twin::Remote::connect(folder / "s", table);
  ASSERT_TRUE(second.has_value()) << second.error().text();
  EXPECT_EQ((*second)->now(), then);
  ASSERT_TRUE((*second)->start(a).has_value());
  (*second)->wait_until(then + seconds(10));
  EXPECT_EQ((*second)->query("P1.1")->state, control::ActionState::kDone);
  EXPECT_EQ((*second)->query("P9.9")->state, control::ActionState::kUnknown);
  auto effects = effects_of(folder);
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_EQ(effects[0]["id"], "P1.1");
  EXPECT_TRUE((*second)->shutdown().has_value());
  EXPECT_FALSE((*second)->query("P1.1").has_value());
  (*second)->wait_until(then + seconds(60));  // without a world time goes on: no loop hangs
  EXPECT_EQ((*second)->now(), then + seconds(60));
}

TEST(TwinProcess, ControllerKilledAtRandomInstants) {
  int life = whole_life_ms(), died = 0;
  for (std::uint64_t seed = 1; seed <= 8 && died < 12; ++seed) died += killed_again_and_again(12, seed, std::max(5, life / 3));
  EXPECT_GE(died, 12);
}

}  // namespace
}  // namespace weft
