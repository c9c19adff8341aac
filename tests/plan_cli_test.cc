// weft plan as a person meets it: answers, exit codes, remedies.
#include <cmath>
#include <fstream>

#include "tests/weft_command.h"

namespace weft::cli {
namespace {

Ran plan(const std::vector<std::string>& words) { return weft("plan", words); }

TEST(PlanCommand, TrainRanksWhatFits) {
  Ran r = plan({"train", "--model", "llama-3-70b", "--form", "hgx-h100", "--cards", "256", "--batch", "1024", "--tokens", "1T", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  Json j = r.json();
  double last = 0;
  EXPECT_EQ(j["strategies"].size(), 10u);
  for (const Json& s : j["strategies"]) {
    EXPECT_GE(s["time"]["step_s"].get<double>(), last);
    last = s["time"]["step_s"];
    EXPECT_LE(s["memory"]["total_bytes"].get<double>(), 80e9);
    const Json& x = s["strategy"];
    EXPECT_EQ(x["tp"].get<int>() * x["pp"].get<int>() * x["dp"].get<int>() * x["cp"].get<int>(), 256);
  }
  EXPECT_FALSE(j["inputs"]["assumed"].empty());
  Ran again = plan({"train", "--model", "llama-3-70b", "--form", "hgx-h100", "--cards", "256", "--batch", "1024", "--tokens", "1T",
                    "--threads", "1", "--exhaustive", "--json"});
  EXPECT_EQ(again.json()["strategies"], j["strategies"]);
}

TEST(PlanCommand, WhenNothingFitsItSaysWhatComesNearest) {
  Ran r = plan({"train", "--model", "llama-3-405b", "--card", "H100-SXM5", "--cards", "8", "--json"});
  EXPECT_EQ(r.code, 1);
  Json j = r.json();
  EXPECT_NE(j["refused"].get<std::string>().find("memory: the smallest"), std::string::npos);
  EXPECT_GT(j["nearest"]["memory"]["total_bytes"].get<double>(), 80e9);
  EXPECT_EQ(plan({"explain", "--model", "llama-3-405b", "--card", "H100-SXM5", "--tp", "8"}).code, 1);
}

TEST(PlanCommand, SizeSaysWhenNoSupernodeIsNeeded) {
  Ran r = plan({"size", "--model", "llama-2-7b", "--card", "H100-SXM5", "--cards", "64", "--batch", "1024", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  Json j = r.json();
  EXPECT_FALSE(j["answer"]["supernode"].get<bool>());
  EXPECT_EQ(j["curve"].size(), 7u);
  EXPECT_NE(j["reasons"][0].get<std::string>().find("you do not need a supernode"), std::string::npos);
}

TEST(PlanCommand, ExplainAndCompareAgreeWithTrain) {
  Ran r = plan({"compare", "hgx-h100", "gb200-nvl72", "--model", "llama-3-70b", "--cards", "144", "--batch", "1152", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  Json machines = r.json()["machines"];
  ASSERT_EQ(machines.size(), 2u);
  EXPECT_GT(machines[0]["time"]["step_s"].get<double>(), machines[1]["time"]["step_s"].get<double>());
  Ran e = plan({"explain", "--model", "llama-3-70b", "--form", "hgx-h100", "--tp", "8", "--pp", "4", "--dp", "4", "--global-batch", "128",
                "--json"});
  EXPECT_EQ(e.code, 0) << e.err << e.out;
  Json t = e.json()["time"];
  double sum = 0;
  for (auto& [name, v] : t.items())
    if (name != "step_s") sum += v.get<double>();
  EXPECT_NEAR(sum, t["step_s"].get<double>(), 1e-9);
}

TEST(PlanCommand, BadInputSaysWhereAndWhatToDo) {
  auto error = [](std::vector<std::string> words) {
    Ran r = plan(std::move(words));
    EXPECT_EQ(r.code, 2);
    return r.err;
  };
  EXPECT_NE(error({"trian"}).find("did you mean 'train'?"), std::string::npos);
  EXPECT_NE(error({"train", "--model", "llama-3-8b"}).find("name the machine: --form NAME"), std::string::npos);
  EXPECT_NE(error({"train", "--card", "H100-SXM5"}).find("name a model: --model NAME|FILE, one of "), std::string::npos);
  EXPECT_NE(error({"train", "--model", "llama-3-8b", "--card", "H100"}).find("H100-SXM5"), std::string::npos);
  EXPECT_NE(error({"train", "--model", "llama-3-8b", "--card", "A100-SXM4", "--precision", "fp8"})
                .find("has no fp8 peak in the catalogue; use --precision bf16"),
            std::string::npos);
  EXPECT_NE(error({"train", "--model", "llama-3-8b", "--card", "H100-SXM5", "--price", "-3"}).find("price"), std::string::npos);
  EXPECT_NE(error({"train", "--model", "llama-3-8b", "--card", "H100-SXM5", "--tokens", "many"})
                .find("--tokens takes a number such as 15T or 300B, not 'many'"),
            std::string::npos);
  EXPECT_NE(error({"train", "--model", "llama-3-8b", "--card", "H100-SXM5", "--software", "mcore-2025"}).find("known: "),
            std::string::npos);
  EXPECT_NE(error({"compare", "hgx-h100", "--model", "llama-3-8b"}).find("name two forms"), std::string::npos);
  std::string path = testing::TempDir() + "plan-broken.json";
  std::ofstream(path) << R"({"model_type": "llama", "num_hidden_layers": 4})";
  EXPECT_NE(error({"train", "--model", path, "--card", "H100-SXM5"}).find("plan-broken.json"), std::string::npos);
}

TEST(PlanCommand, ValidateNamesEverySourceAndRefusal) {
  Ran r = plan({"validate", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  Json j = r.json();
  int rows = 0;
  for (const Json& s : j["sources"]) {
    rows += s["rows"].get<int>();
    EXPECT_EQ(s["rows"].get<int>(), s["predicted"].get<int>() + s["refused"]["count"].get<int>()) << s["source"];
  }
  EXPECT_EQ(rows, static_cast<int>(j["rows"].size()));
  EXPECT_LT(std::abs(j["overall"]["bias"].get<double>()), 0.05);
  EXPECT_LT(j["overall"]["mean_abs_error"].get<double>(), j["overall"]["dumb_error"].get<double>());
}

}  // namespace
}  // namespace weft::cli
