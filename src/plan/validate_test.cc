#include "plan/validate.h"

#include <gtest/gtest.h>

#include "base/embedded.h"
#include "plan/calibrate.h"

namespace weft::plan {
namespace {

std::vector<MeasuredRow> measured() {
  auto table = parse_csv(*embedded_file("data/measured/training-measured.csv"), "training-measured.csv");
  auto rows = measured_rows(*table);
  EXPECT_TRUE(rows.has_value()) << rows.error().text();
  return *rows;
}

// What is published in docs/plan.md may get better, not worse.
TEST(Validate, EverySourceKeepsItsPublishedError) {
  Validation v = validate(measured(), {});
  EXPECT_EQ(v.rows.size(), 661u);
  const std::map<std::string, double> most = {
      {"SC21 Table 1", 0.03},
      {"SC21 Table 2", 0.06},
      {"Korthikanti Table 5", 0.05},
      {"MegaScale (Megatron-LM)", 0.03},
      {"BLOOM sweep", 0.08},
      {"BLOOM memory", 0.05},
      {"MPT A100", 0.06},
      {"MPT H100", 0.03},
      {"dgxc H100", 0.05},
      {"vTrain multi-node", 0.13},
      {"vTrain single node", 0.08},
      {"Megatron-Bridge dense", 0.11},
      {"Megatron-Bridge MoE", 0.30},
  };
  int found = 0;
  for (const SourceErrors& s : v.sources) {
    EXPECT_EQ(s.rows, s.predicted + s.refused);
    if (auto at = most.find(s.name); at != most.end()) {
      EXPECT_LE(s.mean_abs_error, at->second) << s.name;
      ++found;
    }
    if (s.predicted == 0) {
      EXPECT_FALSE(s.reasons.empty()) << s.name;
    }
  }
  EXPECT_EQ(found, static_cast<int>(most.size()));
}

TEST(Validate, BadTablesSayWhere) {
  auto of = [](const char* text) {
    auto t = parse_csv(text, "t.csv");
    return measured_rows(*t).error().text();
  };
  EXPECT_EQ(of("id,value\nx,1\n"),
            "t.csv: no column 'gpu'; a table of measured training rows has the columns of data/measured/training-measured.csv");
  EXPECT_EQ(of("id,gpu,n_gpu,model,layers,hidden,heads,metric,value,tp,pp,dp,global_batch,seq\nx,H100,8,m,32,4096,32,step_time,fast,1,1,8,"
               "64,4096\n"),
            "t.csv:2: column value: 'fast' is not a number");
}

TEST(Calibrate, FindsAParameterThatWasTurned) {
  std::vector<MeasuredRow> rows = measured();
  Knowledge k = *stated_knowledge(rows);
  auto only = [](const MeasuredRow& r) { return r.source == "SC21 Table 1" || r.source == "Korthikanti Table 5"; };
  for (MeasuredRow& r : rows)  // as if the card were what the model says
    if (only(r)) r.value = predict(r, k).value;
  Knowledge wrong = k;
  for (auto& [card, e] : wrong.cards) e.matmul *= 0.8;
  Parameter p{"a100.matmul", {"A100-SXM4", "A100-SXM4-40GB"}, "", "matmul", 0.3, 0.95};
  Fitted fit = calibrate(rows, wrong, {p}, only);
  EXPECT_NEAR(fit.values[0], k.cards.at("A100-SXM4").matmul, 0.01);
  EXPECT_LT(fit.after, 0.01);
}

// data/cards and data/plan/software.yaml hold what `weft plan calibrate` prints.
TEST(Calibrate, TheStatedValuesAreTheFittedOnes) {
  std::vector<MeasuredRow> rows = measured();
  std::vector<Parameter> parameters = *calibration_parameters();
  Knowledge stated = *stated_knowledge(rows);
  auto all = [](const MeasuredRow&) { return true; };
  Fitted before = calibrate(rows, stated, parameters, all, 0), fit = calibrate(rows, neutral(stated, parameters), parameters, all, 600);
  EXPECT_NEAR(before.before, fit.after, 0.0001);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    EXPECT_NEAR(before.values[i], fit.values[i], 0.001 * fit.values[i]) << parameters[i].name;
}

}  // namespace
}  // namespace weft::plan
