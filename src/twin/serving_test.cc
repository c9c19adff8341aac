// Jobs that serve instead of train: time to first token and per token, prefill apart, nothing to save.
#include "twin/scene_for_test.h"

namespace weft::twin {
namespace {

namespace action = heal::action;
namespace event = telemetry::event;
namespace metric = telemetry::metric;
using control::ActionState;

workload::Job serving(const std::string& name, int prefill_ranks) {
  workload::Job job;
  job.name = name, job.kind = workload::JobKind::kInference;
  job.model = *workload::load_model("llama-3-8b");
  job.strategy.tp = 4, job.strategy.dp = 2;
  job.inference.prompt_tokens = 8192, job.inference.output_tokens = 512, job.inference.decode_batch = 32;
  job.inference.prefill_ranks = prefill_ranks;
  return job;
}

struct Serving : Scene {
  static WorldOptions still() {
    WorldOptions o = quiet_options();
    o.noise = false;
    return o;
  }
  Serving() : Scene(still()) {
    EXPECT_TRUE(world->add_job(serving("plain", 0)).has_value());
    EXPECT_TRUE(world->add_job(serving("apart", 4)).has_value());
    int node = 0;
    for (const char* job : {"job/plain", "job/apart"}) {
      Json cards = Json::array();
      for (int c = 0; c < 8; ++c) cards.push_back(lab().name(lab().cards()[static_cast<std::size_t>(node * 8 + c)]));
      EXPECT_EQ(act(action::kJobStart, job, {{"cards", cards}, {"resume", false}}).state, ActionState::kDone);
      ++node;
    }
    run(120);
  }
  double middle(std::string_view metric, std::string_view entity, double from, double to) const {
    const Series* s = find(metric, entity);
    return s ? median(between(*s, from, to)) : std::nan("");
  }
};

// Llama 3 8B: 32 layers, 8 key/value heads of 128, 2 bytes. A prompt of 8192 tokens leaves 8192 · 32 · 2 · (8 / tp 4) · 128 · 2 B = 256 MiB
// on every rank; over a 400G port (50 GB/s) that is 5.37 ms more until the first token than where prefill and decode share ranks.
TEST(ServingJobs, PrefillApartPaysForTheKeysAndValues) {
  Serving s;
  double plain = s.middle(metric::kTtft, "job/plain", 60, 120), apart = s.middle(metric::kTtft, "job/apart", 60, 120);
  // Arithmetic alone: 2 · 8.03e9 · 8192 FLOP over four cards of 989 TFLOP/s.
  EXPECT_GT(plain, 2 * 8.03e9 * 8192 / (4 * 989e12));
  EXPECT_LT(plain, 10 * 2 * 8.03e9 * 8192 / (4 * 989e12));
  EXPECT_NEAR(apart - plain, 268435456.0 / 50e9, 0.02e-3);
  // A token reads all weights and the cache of 32 sequences of 8192 + 512 / 2 tokens: (4.015 + 8.858) GB a card at 3.35 TB/s = 3.84 ms.
  double token = s.middle(metric::kTpot, "job/plain", 60, 120), read = (16.06e9 / 4 + 32.0 * 8448 * 32768) / 3.35e12;
  EXPECT_GT(token, read);
  EXPECT_LT(token, 2 * read);
  EXPECT_EQ(s.find(metric::kCheckpointSeconds, "job/plain"), nullptr);
}

// Weights are in storage: a serving job is stopped at once, also when asked to save first.
TEST(ServingJobs, AStopSavesNothingAndDoesNotWait) {
  Serving s;
  double before = s.clock();
  EXPECT_EQ(s.act(action::kJobStop, "job/plain", {{"checkpoint", true}}, 60).state, ActionState::kDone);
  EXPECT_LT(s.clock() - before, 10) << "there is nothing to save";
  EXPECT_EQ(s.count(event::kCheckpoint), 0);
  double stopped = s.clock();
  s.run(20);
  EXPECT_TRUE(between(*s.find(metric::kTpot, "job/plain"), stopped + 1, 1e9).empty());
  EXPECT_FALSE(between(*s.find(metric::kTpot, "job/apart"), stopped + 1, 1e9).empty());
  EXPECT_EQ(s.act(action::kJobCheckpoint, "job/apart", Json::object(), 60).state, ActionState::kFailed);
}

TEST(ServingJobs, ALostCardEndsTheJob) {
  Serving s;
  FaultSpec f;
  f.fault = "card_off_bus", f.target = "sn1/node1/card2", f.at = seconds(s.clock() + 10);
  ASSERT_TRUE(s.world->inject(f).has_value());
  s.run(60);
  EXPECT_EQ(s.count(event::kStepAborted), 1);
  EXPECT_TRUE(between(*s.find(metric::kTpot, "job/plain"), s.clock() - 20, 1e9).empty());
  EXPECT_FALSE(between(*s.find(metric::kTpot, "job/apart"), s.clock() - 20, 1e9).empty());
}

}  // namespace
}  // namespace weft::twin
