#include "plan/estimate.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "workload/memory.h"
#include "workload/model.h"

namespace weft::plan {
namespace {

using workload::Strategy;

Software plain() {
  Software s;
  s.name = "plain", s.memory_base = 0, s.fragmentation = 0;
  return s;
}

Estimator make(const std::string& model, const std::string& card = "H100-SXM5") {
  auto e = Estimator::make(*workload::load_model(model), *machine_of_card(card), plain(), workload::Precision::kBf16);
  EXPECT_TRUE(e.has_value());
  return *e;
}

// The search's memory is workload's, whatever the strategy.
TEST(Estimate, MemoryIsTheWorkloadsOnRandomStrategies) {
  Random random(7);
  int compared = 0;
  for (const char* name : {"llama-3-70b", "deepseek-v3", "mixtral-8x7b", "gpt3-175b", "llama-3-405b"}) {
    workload::Job job;
    job.model = *workload::load_model(name);
    Estimator e = make(name);
    for (int i = 0; i < 400; ++i) {
      auto pick = [&](std::initializer_list<int> of) {
        return *(of.begin() + random.integer(0, static_cast<std::int64_t>(of.size()) - 1));
      };
      Strategy& s = job.strategy;
      s = {};
      s.tp = pick({1, 2, 4, 8}), s.pp = pick({1, 2, 4, 5, 8, 16}), s.dp = pick({1, 2, 4, 8}), s.cp = pick({1, 1, 2}),
      s.ep = pick({1, 1, 2, 8});
      s.virtual_stages = pick({1, 1, 2, 3}), s.zero = pick({0, 1, 2, 3}), s.micro_batch = pick({1, 2}), s.sequence_parallel = pick({0, 1});
      s.recompute = static_cast<Strategy::Recompute>(pick({0, 1, 2}));
      s.global_batch = s.dp * s.micro_batch * s.pp * pick({1, 2});
      if (!workload::validate(job.model, s)) continue;
      ++compared;
      double want = static_cast<double>(workload::largest_memory(job).total.value()), got = e.estimate(s).memory.total;
      EXPECT_NEAR(got, want, want * 1e-6 + 100) << name << " tp " << s.tp << " pp " << s.pp << " dp " << s.dp << " ep " << s.ep << " v "
                                                << s.virtual_stages << " zero " << s.zero;
    }
  }
  EXPECT_GT(compared, 300);
}

TEST(Estimate, PartsSumToTheWhole) {
  Estimator e = make("deepseek-v3");
  Strategy s;
  s.pp = 4, s.dp = 64, s.ep = 32, s.global_batch = 1024;
  Estimate x = e.estimate(s);
  const Time& t = x.time;
  EXPECT_NEAR(t.step, t.compute + t.tp + t.cp + t.ep + t.pp + t.bubble + t.zero3 + t.dp + t.optimizer + t.other, 1e-9);
  const MemoryUse& m = x.memory;
  EXPECT_NEAR(m.total, m.weights + m.gradients + m.optimizer + m.activations + m.recomputed + m.ends + m.gathered + m.framework, 1);
  EXPECT_GT(t.ep, 0);
  EXPECT_GT(t.bubble, 0);
}

// Bubble of the closed forms: (pp − 1) / m of the steady time in equal stages, divided by the virtual stages.
TEST(Estimate, SchedulesShrinkTheBubble) {
  Estimator e = make("llama-3-70b");
  Strategy s;
  s.tp = 8, s.pp = 4, s.dp = 1, s.global_batch = 16;
  double plain_bubble = e.estimate(s).time.bubble;
  s.virtual_stages = 5;
  EXPECT_NEAR(e.estimate(s).time.bubble, plain_bubble / 5, plain_bubble * 0.02);
  s.virtual_stages = 1, s.schedule = Strategy::Schedule::kZeroBubble;
  EXPECT_LT(e.estimate(s).time.bubble, plain_bubble * 0.6);
  s.schedule = Strategy::Schedule::kDualPipe;
  EXPECT_LT(e.estimate(s).time.bubble, plain_bubble * 0.6);
}

}  // namespace
}  // namespace weft::plan
