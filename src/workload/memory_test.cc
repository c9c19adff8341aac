#include "workload/memory.h"

#include <gtest/gtest.h>

#include "workload/model.h"
#include "workload/shard.h"

namespace weft::workload {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

// Models of Korthikanti et al. 2022, Table 3.
Model gpt(int layers, int hidden, int heads) {
  Model m;
  m.name = "gpt", m.layers = layers, m.hidden = hidden, m.heads = m.kv_heads = heads, m.head_dim = hidden / heads, m.ffn = 4 * hidden,
  m.gated_ffn = false, m.vocab = 51200;
  return m;
}
Job job(Model m, int tp, int pp, int vp, bool sp, Strategy::Recompute r, int micro = 1) {
  Job j;
  j.name = "j", j.model = std::move(m);
  Strategy& s = j.strategy;
  s.tp = tp, s.pp = pp, s.virtual_stages = vp, s.sequence_parallel = sp, s.recompute = r, s.micro_batch = micro, s.sequence = 2048,
  s.zero = 0, s.flash_attention = false;
  s.global_batch = micro * pp * 8;
  return j;
}
double item(const Memory& m, const std::string& name) {
  for (const MemoryItem& i : m.items)
    if (i.name == name) return static_cast<double>(i.bytes.value());
  return 0;
}

// Figure 1 of the paper as closed forms (first stage, GiB): GPT-3 175B on 64 cards, MT-NLG 530B on 280.
TEST(WorkloadMemory, ActivationsOfTheFirstStage) {
  using R = Strategy::Recompute;
  EXPECT_NEAR(item(memory_of(job(gpt(96, 12288, 96), 8, 8, 3, false, R::kNone), 0), "activations") / kGiB, 66.84375, 1e-6);
  EXPECT_NEAR(item(memory_of(job(gpt(105, 20480, 128), 8, 35, 3, false, R::kNone), 0), "activations") / kGiB, 114.0234375, 1e-6);
  EXPECT_NEAR(item(memory_of(job(gpt(105, 20480, 128), 8, 35, 3, true, R::kSelective), 0), "activations") / kGiB, 23.076171875, 1e-6);
}

// 18 bytes per parameter: bf16 weights, fp32 gradients, Adam states; 45.56 GiB a card for 175B on 8 × 8, embeddings and norms apart.
TEST(WorkloadMemory, ParametersGradientsAndOptimizer) {
  Memory m = memory_of(job(gpt(96, 12288, 96), 8, 8, 1, false, Strategy::Recompute::kNone), 3);
  double norms = 18.0 * 12 * 2 * 12288;
  EXPECT_NEAR((item(m, "weights") + item(m, "gradients") + item(m, "optimizer") - norms) / kGiB, 45.5625, 1e-6);
}

// Figure 7 of the paper: activation memory relative to tensor parallelism alone (percent, read from the figure).
TEST(WorkloadMemory, ActivationsRelativeToNone) {
  using R = Strategy::Recompute;
  struct Case {
    Model m;
    int micro;
    double sp, selective, both;
  };
  for (const Case& c : {Case{gpt(48, 6144, 64), 4, 66.84, 49.42, 0}, Case{gpt(105, 20480, 128), 1, 58.31, 62.04, 20.27},
                        Case{gpt(128, 25600, 160), 1, 58.31, 62.04, 20.27}}) {
    auto layer = [&](bool sp, R r) { return layer_activations(c.m, job(c.m, 8, 1, 1, sp, r, c.micro).strategy, 0); };
    double none = layer(false, R::kNone);
    EXPECT_NEAR(100 * layer(true, R::kNone) / none, c.sp, 0.012 * c.sp);
    EXPECT_NEAR(100 * layer(false, R::kSelective) / none, c.selective, 0.012 * c.selective);
    if (c.both > 0) {
      EXPECT_NEAR(100 * layer(true, R::kSelective) / none, c.both, 0.012 * c.both);
    }
  }
}

// BF16 weights of 130 B parameters are 260 GB, more than three cards of 80 GB.
TEST(WorkloadMemory, WeightsOf130B) {
  Model m = *load_model("gpt-130b");
  double n = static_cast<double>(m.parameters());
  EXPECT_NEAR(n / 1e9, 130, 1.3);
  Job j;
  j.name = "j", j.model = m;
  double weights = item(memory_of(j, 0), "weights");
  EXPECT_DOUBLE_EQ(weights, 2 * n);
  EXPECT_NEAR(weights / 1e9, 260, 2.6);
  EXPECT_GT(weights, 3 * 80e9);
}

// ZeRO stages share what they say over the data-parallel ranks (Rajbhandari et al. 2020: 16 Ψ, then 4 Ψ + 12 Ψ / N, 2 Ψ + 14 Ψ / N, 16 Ψ / N; gradients here are fp32).
TEST(WorkloadMemory, ZeroStages) {
  Job j;
  j.name = "j", j.model = *load_model("llama-3-8b");
  j.strategy.dp = 64;
  double n = static_cast<double>(j.model.parameters());
  for (auto [stage, bytes] : {std::pair{0, 18.0}, {1, 6 + 12.0 / 64}, {2, 2 + 16.0 / 64}, {3, 18.0 / 64}}) {
    j.strategy.zero = stage;
    Memory m = memory_of(j, 0);
    EXPECT_NEAR(item(m, "weights") + item(m, "gradients") + item(m, "optimizer"), bytes * n, 4) << stage;
  }
}

// Key/value cache: 2 · layers · kv heads · head dim · 2 bytes per token; latent attention keeps 576 numbers per layer.
TEST(WorkloadMemory, KeyValueCache) {
  Job j;
  j.name = "j", j.kind = JobKind::kInference, j.model = *load_model("llama-3-70b");
  j.inference.decode_batch = 8, j.inference.prompt_tokens = 4000, j.inference.output_tokens = 96;
  j.strategy.tp = 8;
  EXPECT_DOUBLE_EQ(item(memory_of(j, 0, Phase::kDecode), "key/value cache"), 2.0 * 80 * 1 * 128 * 2 * 8 * 4096);
  j.model = *load_model("deepseek-v3");
  EXPECT_DOUBLE_EQ(item(memory_of(j, 0, Phase::kDecode), "key/value cache"), 576.0 * 61 * 2 * 8 * 4096);
}

}  // namespace
}  // namespace weft::workload
