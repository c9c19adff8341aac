// weft heal plan, up, audit and scenario run where they must say no: wrong part, no room, another site's journal, a hanging job.
#include <filesystem>

#include "tests/weft_command.h"

namespace weft::cli {
namespace {

const char* kJobs = R"(site: lab-32
for: 6m
jobs:
  - {name: alpha, model: llama-3-8b, strategy: {tp: 8, dp: 2, global_batch: 32}}
)";

TEST(HealCommand, AClassOnTheWrongKindOfPartIsRefused) {
  Ran r = weft("heal", {"plan", "lab-32", "--fault", "card_off_bus", "--entity", "leaf1"});
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("card_off_bus applies to a card, and 'leaf1' is a switch; classes of a switch: ecmp_collision"), std::string::npos)
      << r.err;
  EXPECT_EQ(weft("heal", {"plan", "lab-32", "--fault", "card_off_bus", "--entity", "sn1/node2/card3"}).code, 0);
}

TEST(ScenarioCommand, AJobThatCannotBePlacedFails) {
  Ran r = weft("scenario",
               {"run", file("k4.yaml", "site: lab-32\nfor: 2m\njobs: [{name: a, model: llama-3-8b, strategy: {tp: 8, dp: 99}}]\n")});
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.out.find("never ran"), std::string::npos) << r.out;
}

TEST(UpCommand, AJournalOfAnotherSiteIsRefusedAndTimesAreTheTerminals) {
  std::string db = testing::TempDir() + "up-sites.db";
  for (const char* rest : {"", "-wal", "-shm"}) std::filesystem::remove(db + rest);
  std::string tour = file("up-tour.yaml", std::string(kJobs) + "faults: [{fault: scale_up_link_down, at: 2m}]\n");
  auto up = [&](const std::string& site) {
    return weft("up", {site, "--scenario", tour, "--for", "5m", "--speed", "max", "--no-page", "--store", db});
  };
  Ran first = up("lab-32");
  EXPECT_EQ(first.code, 0) << first.out << first.err;
  // The same event, the same time.
  std::size_t at = first.out.find("  isolate");
  ASSERT_NE(at, std::string::npos) << first.out;
  std::string clock = first.out.substr(at - 8, 8);
  Ran audit = weft("audit", {"--store", db, "--kind", "publish"});
  EXPECT_NE(audit.out.find(clock), std::string::npos) << clock << "\n" << audit.out;
  Ran other = up("pod-144");
  EXPECT_NE(other.code, 0);
  EXPECT_NE(other.err.find("the journal is of site 'lab-32', this is 'pod-144': name another file"), std::string::npos) << other.err;
  EXPECT_EQ(other.out.find("gate"), std::string::npos) << "refused before anything starts";
  // Used again on its own site: a new machine, old incidents count no more.
  Ran again = up("lab-32");
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  EXPECT_NE(again.out.find("1 incidents"), std::string::npos) << again.out;
}

// The only scale-up switch goes: "recovered" is said when alpha makes steps over what is left, not when the plan is done.
TEST(ScenarioCommand, TheCoreSwitchOfTheLab) {
  Ran r = weft("scenario", {"run", "core_switch_lost", "--events", "--json"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  EXPECT_NE(r.err.find("resume    job/alpha on 16 cards"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("job/alpha makes steps of"), std::string::npos) << r.err;
}

TEST(ScenarioCommand, ANodeCrashUnderAJobThatWouldGoOnDegraded) {
  Ran r = weft("scenario", {"run", "degraded_node_crash", "--events"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST(ScenarioCommand, ACardAndALinkInTheSameInstant) {
  Ran r = weft("scenario", {"run", "card_and_link_at_once", "--seeds", "2"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
}

TEST(ScenarioCommand, BothNodesOfAJobLeaveItStoppedAndReported) {
  Ran r = weft("scenario", {"run", "two_nodes_at_once", "--events", "--json"});
  EXPECT_EQ(r.out.find("\"fail\""), std::string::npos) << r.out << r.err;
  EXPECT_NE(r.out.find("job/alpha is stopped"), std::string::npos) << r.out << r.err;
  EXPECT_EQ(r.err.find("resume    job/alpha on 16 cards"), std::string::npos) << "never onto the other dead node: " << r.err;
}

}  // namespace
}  // namespace weft::cli
