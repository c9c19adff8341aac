#include "workload/account.h"

#include <gtest/gtest.h>

#include "workload/model.h"
#include "workload/step.h"

namespace weft::workload {
namespace {

fabric::DeviceModel h100() {
  fabric::DeviceModel m;
  m.name = "H100-SXM5", m.bf16 = FlopsPerSecond(989e12), m.fp8 = FlopsPerSecond(1979e12), m.memory_bandwidth = BytesPerSecond(3.35e12);
  return m;
}

// What the account says a rank sends is what the Dag's operations send, in every stage and dimension.
TEST(WorkloadAccount, DagSendsWhatTheAccountSays) {
  struct Case {
    const char* model;
    int tp, pp, dp, ep, cp, vp, zero;
    bool sp;
    Strategy::Recompute recompute;
    Precision precision;
  };
  using R = Strategy::Recompute;
  for (const Case& c : {Case{"llama-2-7b", 4, 4, 2, 1, 1, 1, 1, true, R::kNone, Precision::kBf16},
                        {"llama-2-7b", 4, 4, 2, 1, 1, 2, 1, true, R::kFull, Precision::kBf16},
                        {"llama-2-7b", 2, 2, 4, 1, 1, 1, 0, false, R::kSelective, Precision::kBf16},
                        {"llama-3-8b", 2, 1, 4, 1, 2, 1, 2, true, R::kSelective, Precision::kBf16},
                        {"llama-3-8b", 1, 1, 8, 1, 1, 1, 3, true, R::kFull, Precision::kBf16},
                        {"llama-3-70b", 8, 4, 2, 1, 2, 1, 3, true, R::kNone, Precision::kFp8},
                        {"gpt3-175b", 8, 8, 2, 1, 1, 3, 1, true, R::kFull, Precision::kBf16},
                        {"mixtral-8x7b", 2, 2, 8, 8, 1, 1, 1, true, R::kNone, Precision::kBf16},
                        {"mixtral-8x7b", 1, 4, 4, 4, 1, 2, 2, true, R::kFull, Precision::kFp8},
                        {"deepseek-v3", 1, 4, 16, 8, 1, 1, 1, true, R::kSelective, Precision::kFp8},
                        {"qwen3-235b-a22b", 4, 2, 8, 16, 2, 1, 1, true, R::kNone, Precision::kBf16}}) {
    Job job;
    job.name = "j", job.model = *load_model(c.model);
    Strategy& s = job.strategy;
    s.tp = c.tp, s.pp = c.pp, s.dp = c.dp, s.ep = c.ep, s.cp = c.cp, s.virtual_stages = c.vp, s.zero = c.zero, s.sequence_parallel = c.sp,
    s.recompute = c.recompute, s.precision = c.precision;
    s.global_batch = c.dp * c.pp * 2;
    auto dag = build_step(job, h100());
    ASSERT_TRUE(dag.has_value()) << dag.error().text();
    for (int stage = 0; stage < s.pp; ++stage) {
      auto expected = sent_by_dim(account(job.model, s, stage));
      auto sent = bytes_sent(*dag, stage * s.tp * s.cp * s.dp);
      for (std::size_t d = 0; d < 5; ++d)
        EXPECT_NEAR(sent[d], expected[d], 1e-7 * expected[d] + 1) << c.model << " stage " << stage << " " << dim_name(static_cast<Dim>(d));
    }
  }
}

TEST(WorkloadAccount, TiedEmbeddingsMeetOnceBetweenFirstAndLastStage) {
  Model m = *load_model("gpt3-175b");
  ASSERT_TRUE(m.tied_embeddings);
  Strategy s;
  s.tp = 8, s.pp = 4, s.global_batch = 8;
  double found = 0;
  for (const Traffic& t : account(m, s, 3))
    if (t.what == "tied embedding gradient") found = t.sent;
  EXPECT_DOUBLE_EQ(found, 4.0 * m.vocab * m.hidden / 8);
  for (const Traffic& t : account(m, s, 1)) EXPECT_NE(t.what, "tied embedding gradient");
}

}  // namespace
}  // namespace weft::workload
