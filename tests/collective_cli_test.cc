// weft collective as a person meets it: table, JSON, exit codes and remedies.
#include "tests/weft_command.h"

namespace weft::cli {
namespace {

Ran run_collective(const std::vector<std::string>& words) { return weft("collective", words); }

TEST(CollectiveCommand, Lab32MeetsItsRequirement) {
  Ran r = run_collective({"lab-32", "--kind", "all-reduce", "--size", "256M", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  auto json = parse_json(r.out, "out");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ((*json)["bytes"], 256'000'000);
  EXPECT_EQ((*json)["group"]["members"], 32);
  bool ring = false, in_network = false;
  for (const Json& a : (*json)["algorithms"]) {
    ring = ring || a["name"] == "ring", in_network = in_network || a["name"] == "in_network";
    if (a["name"] == "ring") {
      EXPECT_GE(a["bus_bandwidth_bytes_per_second"].get<double>(), 37.5e9);
    }
    EXPECT_NEAR(a["predicted_s"].get<double>(), a["simulated_s"].get<double>(), a["predicted_s"].get<double>() * 0.01) << a["name"];
    EXPECT_LE(a["busiest_link_utilisation"].get<double>(), 1.0);
  }
  EXPECT_TRUE(ring && in_network);
  EXPECT_EQ((*json)["chosen"], (*json)["algorithms"][0]["name"]);
}

TEST(CollectiveCommand, NamedCardsAndOneAlgorithm) {
  Ran r = run_collective({"--site", "pod-144", "--cards", "sn1/node1/card0, sn2/node1/gpu0", "--algorithm", "ring"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("2 of 1 to 1 cards"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("ring"), std::string::npos);
  EXPECT_EQ(r.out.find("pairwise"), std::string::npos);
}

TEST(CollectiveCommand, MistakesAreNamed) {
  EXPECT_EQ(run_collective({"lab-32", "--kind", "scan"}).code, 2);
  EXPECT_NE(run_collective({"lab-32", "--kind", "scan"}).err.find("known: all-reduce, all-gather"), std::string::npos);
  EXPECT_NE(run_collective({"lab-32", "--algorithm", "tree"}).err.find("known: bruck, direct, double_binary_tree"), std::string::npos);
  EXPECT_NE(run_collective({"lab-32", "--algorithm", "hierarchical"}).err.find("does not do all-reduce over 32 cards in 1 domain here"),
            std::string::npos);
  EXPECT_NE(run_collective({"lab-32", "--cards", "33"}).err.find("32 usable cards"), std::string::npos);
  EXPECT_NE(run_collective({"lab-32", "--cards", "1"}).err.find("at least two"), std::string::npos);
  EXPECT_NE(run_collective({"lab-32", "--size", "big"}).err.find("--size"), std::string::npos);
  EXPECT_EQ(run_collective({}).code, 2);
  EXPECT_EQ(run_collective({"no-such-site"}).code, 2);
}

}  // namespace
}  // namespace weft::cli
