// weft sim traffic and weft sim deadlock as a person meets them: tables, JSON, exit codes, refusals.
#include <fstream>

#include "tests/weft_command.h"

namespace weft::cli {
namespace {

Ran sim(const std::vector<std::string>& words) { return weft("sim", words); }

TEST(SimTraffic, PermutationOnASite) {
  Ran r = sim({"traffic", "lab-32", "--pattern", "permutation", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  Json j = r.json();
  EXPECT_EQ(j["hosts"], 8);
  EXPECT_TRUE(j["complete"].get<bool>());
  // Eight flows of 489 packets; leaves, spines: 2 or 4 links, each way an ACK.
  EXPECT_EQ(j["packets"]["sent"], 8 * 489);
  EXPECT_GE(j["completion_us"]["min"].get<double>(), 2'000'000.0 * (1 + 82.0 / 4096) / 50e9 * 1e6 * 0.999);
  EXPECT_EQ(sim({"lab-32", "traffic", "--json"}).out, r.out);
}

TEST(SimTraffic, TheFlowModelAnswersTheSameQuestion) {
  // One flow alone: both models agree but for store and forward.
  std::string path = ::testing::TempDir() + "one_flow.txt";
  std::ofstream(path) << "# from to bytes start\n0 15 2000000 1.5\n";
  Json packet = sim({"traffic", "--fat-tree", "4", "--pattern", "file:" + path, "--json"}).json();
  Json flow = sim({"traffic", "--fat-tree", "4", "--pattern", "file:" + path, "--model", "flow", "--json"}).json();
  EXPECT_NEAR(packet["completion_us"]["max"].get<double>(), flow["completion_us"]["max"].get<double>(), 0.5);
}

TEST(SimTraffic, ACutRunIsNotFine) {
  Ran r = sim({"traffic", "--fat-tree", "4", "--horizon", "10us"});
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("cut at the horizon"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("16 of 16 flows did not finish"), std::string::npos) << r.out;
}

TEST(SimTraffic, ALosslessDropIsNotFine) {
  // One frame of headroom on 0.5 us cables: the pause comes too late.
  Ran r = sim({"traffic", "--fat-tree", "4", "--pattern", "incast:12", "--headroom", "4200", "--xoff", "20kB"});
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("of a lossless class were dropped"), std::string::npos) << r.out;
}

TEST(SimTraffic, RefusalsSayWhatToDo) {
  auto says = [](std::vector<std::string> words, const char* text) {
    Ran r = sim(words);
    EXPECT_EQ(r.code, 2) << text;
    EXPECT_NE(r.err.find(text), std::string::npos) << r.err;
  };
  says({"traffic", "lab-32", "--pattern", "incast:32"}, "1 to 7 senders");
  says({"traffic", "lab-32", "--pattern", "storm"}, "known: permutation, incast:N, alltoall");
  says({"traffic"}, "name a site");
  says({"traffic", "lab-32", "--balance", "roulette"}, "flow, spray, adaptive");
  says({"traffic", "lab-32", "--kmin", "9kB", "--kmax", "5kB"}, "kmin 9000 is above kmax 5000");
  says({"traffic", "lab-32", "--horizon", "10h"}, "at most 1 h");
  says({"traffic", "lab-32", "--network", "management"}, "describes no links of a management network");
}

TEST(SimDeadlock, ProofOrCycle) {
  Ran tree = sim({"deadlock", "--fat-tree", "4"});
  EXPECT_EQ(tree.code, 0) << tree.out;
  EXPECT_NE(tree.out.find("No cycle"), std::string::npos);
  Ran torus = sim({"deadlock", "tpu-v6e-256", "--network", "scale-up", "--json"});
  EXPECT_EQ(torus.code, 1) << torus.err;
  EXPECT_FALSE(torus.json()["free_of_cycles"].get<bool>());
  EXPECT_GE(torus.json()["cycle"].size(), 3u);
}

}  // namespace
}  // namespace weft::cli
