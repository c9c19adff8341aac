// weft workload, place and sim step as a person meets them: tables, JSON, exit codes, remedies.

#include "tests/weft_command.h"
#include "workload/model.h"

namespace weft::cli {
namespace {

const char* kNoScaleUp =
    "site: vm\nsupernodes:\n  - {name: n, count: 2, nodes: 1, cards_per_node: 8}\nscale_out: {topology: leaf_spine, nics_per_node: 8, nic: "
    "ConnectX-7, rate: 400G, switch: Tomahawk4-64x400G, leaves: 1, spines: 1, uplinks: 16}\n";

TEST(WorkloadCommand, AccountAndMemory) {
  Ran r = weft("workload", {"--model", "llama-3-70b", "--tp", "8", "--pp", "4", "--dp", "4", "--card", "H100-SXM5", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  Json j = r.json();
  EXPECT_EQ(j["job"]["strategy"]["cards"], 128);
  // 4 · 4 = 16 micro-batches of one sequence: 4 per replica; 4 forward and 4 backward of A per layer, ring of 8.
  double a = 4096.0 * 8192 * 2, tp = 0;
  for (const Json& t : j["traffic"])
    if (t["dim"] == "tp") tp += t["sent_bytes"].get<double>();
  EXPECT_DOUBLE_EQ(tp, 8.0 * 4 * 20 * a * 7 / 8);
  EXPECT_TRUE(j["fits"]["fits"].get<bool>());
}

TEST(PlaceCommand, TableRefusalAndRepair) {
  Ran r = weft("place", {"lab-32", "--model", "llama-3-8b", "--tp", "8", "--dp", "2"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("sn1/node1/card0…7"), std::string::npos) << r.out;
  r = weft("place", {"lab-32", "--model", "llama-3-8b", "--tp", "8", "--dp", "8"});
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("dp 4 would fit"), std::string::npos) << r.out;
  r = weft("place", {"pod-144", "--model", "llama-3-8b", "--tp", "4", "--dp", "16", "--fail", "sn1/node2", "--json"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_EQ(r.json()["moved"], 4);
  r = weft("place", {"lab-32", "--model", "llama-3-8b", "--tp", "5"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("tp may be 1, 2, 4, 8, 16, 32"), std::string::npos) << r.err;
  r = weft("place", {"lab-32"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--model"), std::string::npos);
}

TEST(SimCommand, StepSlowCardAndDegradedLink) {
  std::vector<std::string> base = {"step", "lab-32", "--model", "llama-3-8b", "--tp", "8", "--dp", "4", "--global-batch", "32", "--json"};
  Ran r = weft("sim", base);
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  Json healthy = r.json();
  double step = healthy["step_s"].get<double>();
  // 50 GB/s a card carry the tensor-parallel traffic: a low share is right here.
  EXPECT_GT(healthy["mfu"].get<double>(), 0.05);
  EXPECT_LT(healthy["mfu"].get<double>(), 0.7);
  EXPECT_EQ(healthy["tokens_per_s"].get<double>(), 32 * 4096.0 / step);
  auto with = [&](const char* option, const std::string& value) {
    std::vector<std::string> words = base;
    words.insert(words.end(), {option, value});
    return weft("sim", words);
  };
  // A card at half speed makes its tensor-parallel group, and with it the step, wait.
  Ran slow = with("--slow", "sn1/node2/card3=0.5");
  ASSERT_EQ(slow.code, 0) << slow.err;
  double compute = healthy["ranks"][0]["compute_s"].get<double>();
  EXPECT_NEAR(slow.json()["step_s"].get<double>(), step + compute, 0.15 * compute);
  bool named = false;
  Json slowed = slow.json();
  for (const Json& rank : slowed["ranks"]) named = named || rank["waits_for"] == 11;
  EXPECT_TRUE(named) << slow.out;
  EXPECT_EQ(with("--slow", "sn1/node2=0.5").code, 2);
  EXPECT_EQ(with("--degrade", "nothing=0.5").code, 2);
}

// Decoding streams the weights: Llama 3 70B in bf16 over 8 cards of 3.35 TB/s cannot be faster than 141 GB / 8 / 3.35 TB/s = 5.3 ms a token;
// prefill of 2048 tokens needs 2 · 70.6e9 · 2048 FLOP, at least 37 ms at the peak of 8 cards.
TEST(SimCommand, PrefillAndDecode) {
  std::vector<std::string> words = {"decode", "lab-32", "--model", "llama-3-70b", "--tp", "8", "--decode-batch", "8", "--json"};
  Ran r = weft("sim", words);
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  double decode = r.json()["step_s"].get<double>();
  EXPECT_GT(decode, 5.2e-3);
  EXPECT_LT(decode, 25e-3);
  EXPECT_EQ(r.json()["phase"], "decode");
  words[0] = "prefill";
  r = weft("sim", words);
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  double prefill = r.json()["step_s"].get<double>();
  EXPECT_GT(prefill, 36e-3);
  EXPECT_LT(prefill, 0.5);
  EXPECT_EQ(weft("sim", {"lab-32", "--model", "llama-3-70b"}).code, 2);
  // With 2,048 choices of 256 experts a step all experts are read: 671e9 · 2 bytes over 16 cards of 8 TB/s take at least 10 ms.
  r = weft("sim",
           {"decode", "pod-144", "--model", "deepseek-v3", "--tp", "4", "--dp", "4", "--ep", "16", "--decode-batch", "64", "--json"});
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  EXPECT_GT(r.json()["step_s"].get<double>(), 0.010);
  EXPECT_LT(r.json()["step_s"].get<double>(), 0.060);
}

TEST(SimCommand, AsksForWhatTheSiteDoesNotSay) {
  std::string path = file("weft_no_scale_up.yaml", kNoScaleUp);
  Ran r = weft("sim", {"step", path, "--model", "llama-3-8b", "--tp", "8", "--dp", "2"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--scale-up-form"), std::string::npos) << r.err;
  r = weft("sim", {"step", path, "--model", "llama-3-8b", "--dp", "16"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--card"), std::string::npos) << r.err;
  r = weft("sim", {"step", path, "--model", "llama-3-8b", "--dp", "16", "--card", "H100-SXM5"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("assumed: every card is H100-SXM5"), std::string::npos) << r.err;
}

TEST(WorkloadModelFiles, HuggingFaceConfigs) {
  auto m = workload::load_model(file(
      "weft_config_moe.json",
      R"({"model_type": "qwen2_moe", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 5632,
    "moe_intermediate_size": 1408, "num_experts": 60, "num_experts_per_tok": 4, "shared_expert_intermediate_size": 5632, "vocab_size": 151936, "hidden_act": "silu"})"));
  ASSERT_TRUE(m.has_value()) << m.error().text();
  // Qwen1.5-MoE-A2.7B: 14.3 B parameters, 2.7 B active (its model card).
  EXPECT_NEAR(static_cast<double>(m->parameters()) / 1e9, 14.3, 0.2);
  EXPECT_NEAR(static_cast<double>(m->active_parameters()) / 1e9, 2.7, 0.2);
  auto bad = workload::load_model(file("weft_config_bad.json", "{\"hidden_size\": 4096,\n \"num_hidden_layers\": \"many\"}"));
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().text().find("num_hidden_layers"), std::string::npos) << bad.error().text();
  auto cut = workload::load_model(file("weft_config_cut.json", "{\"hidden_size\": 4096,\n"));
  ASSERT_FALSE(cut.has_value());
  EXPECT_NE(cut.error().text().find("weft_config_cut.json:"), std::string::npos) << cut.error().text();
}

}  // namespace
}  // namespace weft::cli
