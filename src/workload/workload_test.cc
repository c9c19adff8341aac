#include <gtest/gtest.h>

#include "workload/model.h"
#include "workload/step.h"

namespace weft::workload {
namespace {

fabric::DeviceModel h100() {
  fabric::DeviceModel m;
  m.name = "H100-SXM5", m.bf16 = FlopsPerSecond(989e12), m.memory_bandwidth = BytesPerSecond(3.35e12);
  return m;
}

// Parameter counts as the publishers state them.
TEST(WorkloadModel, PublishedParameterCounts) {
  for (auto [name, billions] : {std::pair{"llama-2-7b", 6.738},
                                {"llama-2-13b", 13.016},
                                {"llama-2-70b", 68.977},
                                {"llama-3-8b", 8.030},
                                {"llama-3-70b", 70.554},
                                {"llama-3-405b", 405.85},
                                {"mixtral-8x7b", 46.70},
                                {"deepseek-v3", 671.0},
                                {"qwen3-235b-a22b", 235.1},
                                {"gpt3-175b", 174.6}}) {
    auto m = load_model(name);
    ASSERT_TRUE(m.has_value()) << m.error().text();
    EXPECT_NEAR(static_cast<double>(m->parameters()) / 1e9, billions, billions * 0.004) << name;
  }
  EXPECT_NEAR(static_cast<double>(load_model("deepseek-v3")->active_parameters()) / 1e9, 37.6, 0.8);
  EXPECT_NEAR(static_cast<double>(load_model("qwen3-235b-a22b")->active_parameters()) / 1e9, 22.2, 0.3);
}

TEST(WorkloadStrategy, GroupsCoverEveryRankOncePerDimension) {
  Strategy s;
  s.tp = 4, s.pp = 2, s.dp = 3, s.cp = 2, s.ep = 6;
  auto groups = make_groups(s);
  ASSERT_TRUE(groups.has_value());
  for (Dim d : {Dim::kTp, Dim::kPp, Dim::kDp, Dim::kEp, Dim::kCp}) {
    std::vector<int> seen(static_cast<std::size_t>(s.world()), 0);
    for (const Group& g : *groups)
      if (g.dim == d)
        for (int r : g.ranks) ++seen[static_cast<std::size_t>(r)];
    for (int n : seen) EXPECT_EQ(n, 1) << dim_name(d);
  }
}

TEST(WorkloadStrategy, SaysWhatWouldDivide) {
  Strategy s;
  s.tp = 5;
  auto bad = validate(*load_model("llama-3-8b"), s);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().text(), "strategy: attention heads 32 not divisible by tp 5; tp may be 1, 2, 4, 8, 16, 32");
}

// Closed formulas: TP with SP 8 · m · L/P · A · (t−1)/t in the layers (plus the vocabulary ends), PP 2 · m · A/t on a middle stage,
// ZeRO-1 reduce-scatter of 4 bytes and all-gather of 2 bytes per parameter.
TEST(WorkloadStep, BytesEqualClosedFormulas) {
  Job job;
  job.name = "j", job.model = *load_model("llama-2-7b");
  Strategy& s = job.strategy;
  s.tp = 4, s.pp = 4, s.dp = 2, s.micro_batch = 1, s.global_batch = 16, s.sequence = 4096, s.recompute = Strategy::Recompute::kNone;
  auto dag = build_step(job, h100());
  ASSERT_TRUE(dag.has_value()) << dag.error().text();
  int middle = s.tp * s.dp * 1;  // first rank of stage 1
  auto sent = bytes_sent(*dag, middle);
  double a = 4096.0 * 4096 * 2, m = 8, layers = 32.0 / 4, t = 4;
  EXPECT_DOUBLE_EQ(sent[0], 8 * m * layers * a * (t - 1) / t);
  EXPECT_DOUBLE_EQ(sent[1], 2 * m * a / t);
  double parameters = layers * ((4.0 * 4096 * 4096 + 3.0 * 4096 * 11008) / t + 2 * 4096);
  EXPECT_DOUBLE_EQ(sent[2], parameters * (4 + 2) * 0.5);
}

TEST(WorkloadStep, ExpertParallelBytes) {
  Job job;
  job.name = "j", job.model = *load_model("mixtral-8x7b");
  Strategy& s = job.strategy;
  s.dp = 8, s.ep = 8, s.micro_batch = 1, s.global_batch = 16, s.sequence = 4096, s.recompute = Strategy::Recompute::kNone;
  auto dag = build_step(job, h100());
  ASSERT_TRUE(dag.has_value()) << dag.error().text();
  // 4 · m · L · B·S/t · k · H · b · (e−1)/e
  EXPECT_DOUBLE_EQ(bytes_sent(*dag, 0)[3], 4.0 * 2 * 32 * 4096 * 2 * 4096 * 2 * 7 / 8);
}

}  // namespace
}  // namespace weft::workload
