#include "place/place.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "fabric/delta.h"
#include "fabric/site.h"
#include "workload/model.h"

namespace weft::place {
namespace {

using fabric::DeviceId;
using workload::Dim;

fabric::Snapshot site(const std::string& name) {
  auto s = fabric::load_site(name);
  EXPECT_TRUE(s.has_value()) << s.error().text();
  return *s;
}
fabric::Snapshot written(const std::string& text) {
  auto spec = fabric::parse_site(text, "test.yaml");
  EXPECT_TRUE(spec.has_value()) << spec.error().text();
  auto s = fabric::build(*spec);
  EXPECT_TRUE(s.has_value()) << s.error().text();
  return *s;
}
// Two supernodes of `nodes` nodes with `cards` cards each, one NIC per card, one leaf per rail.
fabric::Snapshot small(int supernodes, int nodes, int cards) {
  auto n = [](int v) { return std::to_string(v); };
  return written("site: small\nsupernodes:\n  - {name: sn, count: " + n(supernodes) + ", nodes: " + n(nodes) +
                 ", cards_per_node: " + n(cards) +
                 ", card: H100-SXM5, scale_up: {topology: switched, rate: 400G, switch: NVSwitch4-NVL72, switches: 2, links: 2, medium: "
                 "backplane, length: 1 m}}\n"
                 "scale_out: {topology: leaf_spine, nics_per_node: " +
                 n(cards) +
                 ", nic: ConnectX-7, rate: 400G, switch: Tomahawk4-64x400G, leaves: 2, spines: 2, uplinks: 4, medium: optical, length: 10 "
                 "m, trunk_medium: optical, trunk_length: 10 m}\n");
}

Request request(const std::string& model, int tp, int pp, int dp, int spares = 0) {
  Request r;
  r.job.name = "job";
  r.job.model = *workload::load_model(model);
  r.job.strategy.tp = tp, r.job.strategy.pp = pp, r.job.strategy.dp = dp, r.job.strategy.global_batch = dp * pp * 4;
  r.job.policy.spare_nodes = spares;
  return r;
}
workload::Placement placed(const Answer& a) {
  if (const auto* no = std::get_if<Refusal>(&a)) {
    ADD_FAILURE() << no->constraint << ": " << no->text;
    return {};
  }
  return std::get<workload::Placement>(a);
}
std::size_t domains(const fabric::Snapshot& s, const std::vector<DeviceId>& cards) {
  std::set<fabric::DomainId> out;
  for (DeviceId c : cards) out.insert(s.hbd_of(c));
  return out.size();
}
fabric::Snapshot with(const fabric::Snapshot& s, const std::string& device, fabric::DeviceHealth h) {
  std::pair<DeviceId, fabric::DeviceHealth> entry{*s.find_device(device), h};
  return s.with_health({}, {&entry, 1});
}
fabric::DeviceHealth failed() {
  fabric::DeviceHealth h;
  h.state = fabric::DeviceState::kFailed, h.reason = "fell off the bus";
  return h;
}

TEST(Place, EveryStrategyIsLegalAndNeverWorseThanRandom) {
  for (const char* where : {"lab-32", "pod-144"}) {
    fabric::Snapshot s = site(where);
    for (Request r : {request("llama-3-8b", 4, 2, 2), request("llama-2-13b", 2, 2, 4), request("llama-3-70b", 8, 4, 1)}) {
      double random = 0;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        r.strategy = "random", r.seed = seed;
        double score = placed(place(s, {}, r)).score;
        random = seed == 1 ? score : std::min(random, score);
      }
      for (const StrategyEntry& e : strategies().entries()) {
        r.strategy = e.name, r.seed = 1;
        Answer a = place(s, {}, r);
        if (e.name == "exact" && std::holds_alternative<Refusal>(a)) {
          EXPECT_EQ(std::get<Refusal>(a).constraint, "size");
          continue;
        }
        workload::Placement p = placed(a);
        EXPECT_EQ(illegal(s, {}, r, p), "") << e.name;
        if (e.name == "topology") {
          EXPECT_LE(p.score, random * (1 + 1e-9)) << where;
        }
      }
    }
  }
}

TEST(Place, TopologyEqualsTheExactOptimumOnSmallCases) {
  struct Case {
    int supernodes, nodes, cards, tp, pp, dp, cp = 1;
  };
  for (Case c : {Case{2, 2, 2, 2, 2, 2}, Case{2, 2, 2, 4, 2, 1}, Case{2, 1, 4, 2, 2, 2}, Case{2, 1, 4, 2, 4, 1}, Case{2, 2, 2, 1, 2, 4},
                 Case{4, 1, 2, 2, 2, 2}, Case{3, 1, 2, 2, 3, 1}, Case{2, 1, 4, 1, 1, 4}, Case{2, 2, 2, 2, 1, 2, 2}}) {
    fabric::Snapshot s = small(c.supernodes, c.nodes, c.cards);
    Request r = request("llama-3-8b", c.tp, c.pp, c.dp);
    r.job.strategy.cp = c.cp;
    r.strategy = "exact";
    double best = placed(place(s, {}, r)).score;
    r.strategy = "topology";
    double ours = placed(place(s, {}, r)).score;
    EXPECT_NEAR(ours, best, best * 1e-9) << c.supernodes << "x" << c.nodes << "x" << c.cards << " tp" << c.tp << " pp" << c.pp << " dp"
                                         << c.dp << " cp" << c.cp;
  }
}

// Three cards gone: first-fit tears an expert group over two supernodes; topology keeps the all-to-all inside one.
TEST(Place, BeatsFirstFit) {
  fabric::Snapshot s = small(2, 4, 4);
  for (const char* gone : {"sn1/node1/card0", "sn1/node2/card0", "sn1/node3/card0"}) s = with(s, gone, failed());
  Request r = request("mixtral-8x7b", 1, 1, 16);
  r.job.strategy.ep = 8;
  r.strategy = "first_fit";
  double first = placed(place(s, {}, r)).score;
  r.strategy = "topology";
  EXPECT_LT(placed(place(s, {}, r)).score, first * 0.95);
}

TEST(Place, TakesTheTighterHoleAndStaysInOneDomain) {
  fabric::Snapshot s = site("pod-144");
  Request big = request("llama-3-8b", 4, 2, 4);
  big.job.name = "big";
  Occupancy occupied;
  occupied.placements.push_back(placed(place(s, {}, big)));
  Request r = request("llama-3-8b", 4, 1, 8);
  workload::Placement p = placed(place(s, occupied, r));
  EXPECT_EQ(domains(s, p.cards), 1u);
  // 32 of 64 cards are taken in one supernode: its hole of 32 is filled before the whole supernode.
  EXPECT_EQ(s.hbd_of(p.cards[0]), s.hbd_of(occupied.placements[0].cards[0]));
}

TEST(Place, KeepsSpareNodesInTheDomain) {
  fabric::Snapshot s = site("pod-144");
  Request r = request("llama-3-8b", 4, 1, 16, 2);
  workload::Placement p = placed(place(s, {}, r));
  ASSERT_EQ(p.spares.size(), 8u);
  EXPECT_EQ(s.hbd_of(p.spares[0]), s.hbd_of(p.cards[0]));
  Request full = request("llama-3-8b", 4, 1, 32, 5);
  Answer no = place(s, {}, full);
  ASSERT_TRUE(std::holds_alternative<Refusal>(no));
  EXPECT_EQ(std::get<Refusal>(no).constraint, "spares");
}

TEST(Place, RefusalsSayWhatWouldHelp) {
  fabric::Snapshot s = site("lab-32");
  Answer a = place(s, {}, request("llama-3-8b", 8, 1, 5));
  ASSERT_TRUE(std::holds_alternative<Refusal>(a));
  EXPECT_EQ(std::get<Refusal>(a).constraint, "capacity");
  EXPECT_EQ(std::get<Refusal>(a).text,
            "need 40 cards; 32 of 32 are free: 0 failed or cordoned, 0 in use by other jobs or kept as their spares, 0 avoided on request; "
            "dp 4 would fit");
  DeviceId card = s.cards()[3];
  fabric::Snapshot sick = with(s, s.name(card), failed());
  a = place(sick, {}, request("llama-3-8b", 8, 1, 4));
  ASSERT_TRUE(std::holds_alternative<Refusal>(a));
  EXPECT_EQ(std::get<Refusal>(a).constraint, "health");
  EXPECT_NE(std::get<Refusal>(a).text.find(s.name(card) + " failed: fell off the bus"), std::string::npos) << std::get<Refusal>(a).text;
  fabric::Snapshot two = small(4, 1, 4);
  a = place(two, {}, request("llama-3-8b", 8, 1, 2));
  ASSERT_TRUE(std::holds_alternative<Refusal>(a));
  EXPECT_EQ(std::get<Refusal>(a).constraint, "tp-in-one-hbd");
  EXPECT_NE(std::get<Refusal>(a).text.find("tp 4 would fit"), std::string::npos) << std::get<Refusal>(a).text;
  a = place(two, {}, request("llama-3-8b", 5, 1, 1));
  EXPECT_EQ(std::get<Refusal>(a).constraint, "strategy");
}

TEST(Place, AvoidsCardsBehindADegradedLink) {
  fabric::Snapshot s = site("pod-144");
  DeviceId card = s.cards()[2];
  fabric::LinkId link = s.port(s.ports_of(card)[0]).link;
  fabric::LinkHealth h;
  h.state = fabric::LinkState::kDegraded, h.rate_factor = 0.5;
  std::pair<fabric::LinkId, fabric::LinkHealth> entry{link, h};
  s = s.with_health({&entry, 1}, {});
  Request r = request("llama-3-8b", 4, 1, 8);
  workload::Placement p = placed(place(s, {}, r));
  EXPECT_EQ(std::count(p.cards.begin(), p.cards.end(), card), 0);
  // Where every card is needed, it is used.
  workload::Placement all = placed(place(s, {}, request("llama-3-8b", 4, 1, 32)));
  EXPECT_EQ(std::count(all.cards.begin(), all.cards.end(), card), 1);
}

TEST(Place, RepairMovesOneRankInsideTheDomain) {
  fabric::Snapshot s = site("pod-144");
  Request r = request("llama-3-8b", 4, 1, 8);
  workload::Placement before = placed(place(s, {}, r));
  s = with(s, s.name(before.cards[5]), failed());
  r.keep = before.cards;
  workload::Placement after = placed(place(s, {}, r));
  int moved = 0;
  for (std::size_t i = 0; i < before.cards.size(); ++i) moved += before.cards[i] != after.cards[i];
  EXPECT_EQ(moved, 1);
  EXPECT_EQ(domains(s, after.cards), 1u);
}

TEST(Place, RepairSwapsALostNodeForASpareOne) {
  fabric::Snapshot s = site("pod-144");
  Request r = request("llama-3-8b", 4, 1, 16, 2);
  workload::Placement before = placed(place(s, {}, r));
  DeviceId node = s.container(before.cards[8], fabric::DeviceKind::kNode);
  s = with(s, s.name(node), failed());
  r.keep = before.cards, r.job.policy.spare_nodes = 0;
  workload::Placement after = placed(place(s, {}, r));
  std::set<DeviceId> nodes;
  for (std::size_t i = 0; i < before.cards.size(); ++i)
    if (before.cards[i] != after.cards[i]) {
      nodes.insert(s.container(after.cards[i], fabric::DeviceKind::kNode));
      EXPECT_EQ(s.device(before.cards[i]).index, s.device(after.cards[i]).index);
    }
  EXPECT_EQ(nodes.size(), 1u);
  EXPECT_EQ(domains(s, after.cards), 1u);
}

// A supernode without room left: the job goes to the other one as a whole, not in two halves.
TEST(Place, RepairMigratesWhenTheDomainIsFull) {
  fabric::Snapshot s = site("pod-144");
  Request r = request("llama-3-8b", 4, 1, 16);
  workload::Placement before = placed(place(s, {}, r));
  ASSERT_EQ(domains(s, before.cards), 1u);
  for (DeviceId n : fabric::spare_nodes(s))
    if (s.hbd_of(s.children(n)[0]) == s.hbd_of(before.cards[0])) s = with(s, s.name(n), failed());
  s = with(s, s.name(before.cards[0]), failed());
  r.keep = before.cards;
  workload::Placement after = placed(place(s, {}, r));
  EXPECT_EQ(domains(s, after.cards), 1u);
  EXPECT_NE(s.hbd_of(after.cards[0]), s.hbd_of(before.cards[0]));
}

std::set<std::string> nodes_of(const fabric::Snapshot& s, const std::vector<DeviceId>& cards, std::size_t from, std::size_t count) {
  std::set<std::string> out;
  for (std::size_t i = from; i < from + count; ++i) out.insert(s.name(s.container(cards[i], fabric::DeviceKind::kNode)));
  return out;
}

// lab-32: one domain of 32 cards, but a node of 8 has a switch of its own. A tensor-parallel group of 8 that loses a card moves as a
// whole to the free node; one card from there would put it behind two switches with the core between them.
TEST(Place, RepairKeepsATensorGroupBehindItsSwitch) {
  fabric::Snapshot s = site("lab-32");
  Request r = request("llama-3-8b", 8, 1, 2);
  workload::Placement before = placed(place(s, {}, r));
  ASSERT_EQ(nodes_of(s, before.cards, 0, 8), std::set<std::string>{"sn1/node1"});
  Request other = request("llama-3-8b", 8, 1, 1);
  other.job.name = "other";
  Occupancy occupied{{before}};
  occupied.placements.push_back(placed(place(s, occupied, other)));
  ASSERT_EQ(nodes_of(s, occupied.placements[1].cards, 0, 8), std::set<std::string>{"sn1/node3"});
  s = with(s, "sn1/node2/card6", failed());
  r.keep = before.cards;
  workload::Placement after = placed(place(s, occupied, r));
  EXPECT_EQ(nodes_of(s, after.cards, 0, 8), std::set<std::string>{"sn1/node1"}) << "the whole group stays";
  EXPECT_EQ(nodes_of(s, after.cards, 8, 8), std::set<std::string>{"sn1/node4"}) << "the broken group moves whole";
  for (std::size_t i = 8; i < 16; ++i) EXPECT_EQ(s.device(after.cards[i]).index, i - 8) << "on the same rails";
  // A third node lost as well: no whole place is left, and a torn group runs, slower, rather than not at all.
  s = with(s, "sn1/node4/card0", failed());
  r.keep = after.cards;
  workload::Placement torn = placed(place(s, occupied, r));
  EXPECT_EQ(nodes_of(s, torn.cards, 0, 8), std::set<std::string>{"sn1/node1"});
  EXPECT_EQ(nodes_of(s, torn.cards, 8, 8), (std::set<std::string>{"sn1/node2", "sn1/node4"}));
  EXPECT_GT(torn.score, after.score);
}

// A group narrower than the node takes a card of the same node: nothing else moves.
TEST(Place, RepairTakesTheFreeCardOfTheSameNode) {
  fabric::Snapshot s = site("lab-32");
  Request r = request("llama-3-8b", 4, 1, 1);
  workload::Placement before = placed(place(s, {}, r));
  s = with(s, s.name(before.cards[2]), failed());
  r.keep = before.cards;
  workload::Placement after = placed(place(s, {}, r));
  EXPECT_EQ(nodes_of(s, after.cards, 0, 4), nodes_of(s, before.cards, 0, 4));
  for (std::size_t i : {0, 1, 3}) EXPECT_EQ(after.cards[i], before.cards[i]);
}

// Rail-optimised scale-out: the substitute for card2 is a card2, so that its data-parallel group keeps its rail.
TEST(Place, RepairKeepsTheRail) {
  fabric::Snapshot s = site("pod-144");
  Request r = request("llama-3-70b", 8, 2, 8);
  workload::Placement before = placed(place(s, {}, r));
  s = with(s, "sn1/node3/card2", failed());
  r.keep = before.cards;
  workload::Placement after = placed(place(s, {}, r));
  std::vector<std::string> moved;
  for (std::size_t i = 0; i < 128; ++i)
    if (before.cards[i] != after.cards[i]) moved.push_back(s.name(before.cards[i]) + " " + s.name(after.cards[i]));
  EXPECT_EQ(moved, std::vector<std::string>{"sn1/node3/card2 sn1/node17/card2"}) << "the site keeps node17 and node18 for this";
}

// The spare nodes of the supernode first (D5); when they are gone the job goes to the other supernode, if its policy lets it.
TEST(Place, RepairAsksThePolicyBeforeItMigrates) {
  fabric::Snapshot s = site("pod-144");
  Request r = request("llama-3-8b", 4, 1, 16);
  workload::Placement before = placed(place(s, {}, r));
  ASSERT_EQ(domains(s, before.cards), 1u);
  std::string home = s.name(before.cards[0]).substr(0, 3);
  r.keep = before.cards, r.job.policy.allow_migration = false;
  s = with(s, s.name(before.cards[0]), failed());
  EXPECT_EQ(nodes_of(s, placed(place(s, {}, r)).cards, 0, 1), std::set<std::string>{home + "/node17"});
  for (const char* spare : {"/node17", "/node18"}) s = with(s, home + spare, failed());
  Answer no = place(s, {}, r);
  ASSERT_TRUE(std::holds_alternative<Refusal>(no));
  EXPECT_EQ(std::get<Refusal>(no).constraint, "migration");
  EXPECT_NE(std::get<Refusal>(no).text.find("allow_migration: false"), std::string::npos);
  r.job.policy.allow_migration = true;
  workload::Placement after = placed(place(s, {}, r));
  EXPECT_EQ(domains(s, after.cards), 1u);
  EXPECT_NE(s.name(after.cards[0]).substr(0, 3), home);
}

// Seven ranks in a domain of eight cards lose one, and the eighth card there runs at a quarter of its speed: one move at home would make
// every step's arithmetic four times as long, so the whole job goes to the other supernode.
TEST(Place, RepairComparesTimeBeforeMovement) {
  fabric::Snapshot s = small(2, 2, 4);
  Request r = request("llama-3-8b", 1, 1, 7);
  r.job.strategy.global_batch = 28;
  workload::Placement before = placed(place(s, {}, r));
  ASSERT_EQ(domains(s, before.cards), 1u);
  std::string home = s.name(before.cards[0]).substr(0, 3);
  fabric::DeviceHealth slow;
  slow.state = fabric::DeviceState::kSuspect, slow.speed_factor = 0.25;
  for (DeviceId c : s.cards())
    if (s.name(c).starts_with(home) && std::count(before.cards.begin(), before.cards.end(), c) == 0) s = with(s, s.name(c), slow);
  s = with(s, s.name(before.cards[6]), failed());
  r.keep = before.cards;
  workload::Placement after = placed(place(s, {}, r));
  for (DeviceId c : after.cards) EXPECT_EQ(s.health(c).speed_factor, 1) << s.name(c);
}

// A site may also keep nodes back by a scheduling domain whose name ends in -spare: no strategy puts a new job there, a repair does.
TEST(Place, NodesInASpareDomainAreForRepair) {
  fabric::Snapshot s = written(
      "site: kept\nsupernodes:\n  - {name: sn, nodes: 3, cards_per_node: 2, card: H100-SXM5, scale_up: {topology: switched, rate: 400G, "
      "switch: "
      "NVSwitch4-NVL72, switches: 2, links: 2, medium: backplane, length: 1 m}}\n"
      "domains: [{kind: scheduling, name: front-spare, members: [sn1/node1]}]\n");
  Request r = request("llama-3-8b", 2, 1, 2);
  for (const StrategyEntry& e : strategies().entries()) {
    r.strategy = e.name;
    EXPECT_EQ(nodes_of(s, placed(place(s, {}, r)).cards, 0, 4), (std::set<std::string>{"sn1/node2", "sn1/node3"})) << e.name;
  }
  Answer no = place(s, {}, request("llama-3-8b", 2, 1, 3));
  ASSERT_TRUE(std::holds_alternative<Refusal>(no));
  EXPECT_EQ(
      std::get<Refusal>(no).text,
      "need 6 cards; 4 of 6 are free: 0 failed or cordoned, 0 in use by other jobs or kept as their spares, 0 avoided on request, 2 in "
      "nodes that the site keeps as spares (spare_nodes); dp 2 would fit");
  r.strategy = "topology";
  r.keep = placed(place(s, {}, r)).cards;
  s = with(s, "sn1/node3", failed());
  EXPECT_EQ(nodes_of(s, placed(place(s, {}, r)).cards, 0, 4), (std::set<std::string>{"sn1/node1", "sn1/node2"}));
}

// Half of node1 and half of node2 are taken: a group of 8 goes to a whole node, not to the two halves behind two switches.
TEST(Place, LeavesHolesThatWouldTearAGroup) {
  fabric::Snapshot s = site("lab-32");
  Occupancy occupied;
  for (const char* c : {"0", "1", "2", "3"})
    for (const char* n : {"sn1/node1/card", "sn1/node2/card"})
      occupied.placements.push_back({"filler", {*s.find_device(std::string(n) + c)}, {}, {}, 0, 0});
  for (const char* strategy : {"topology", "first_fit"}) {
    Request r = request("llama-3-8b", 8, 1, 1);
    r.strategy = strategy;
    EXPECT_EQ(nodes_of(s, placed(place(s, occupied, r)).cards, 0, 8), std::set<std::string>{"sn1/node3"}) << strategy;
  }
  // Two groups of four take the halves.
  workload::Placement p = placed(place(s, occupied, request("llama-3-8b", 4, 1, 2)));
  EXPECT_EQ(nodes_of(s, p.cards, 0, 4).size(), 1u);
  EXPECT_EQ(nodes_of(s, p.cards, 4, 4).size(), 1u);
}

// The site's own spare nodes are for repairs, not for new jobs.
TEST(Place, LeavesTheSitesSpareNodes) {
  fabric::Snapshot s = site("pod-144");
  std::set<DeviceId> spare;
  for (DeviceId n : fabric::spare_nodes(s)) spare.insert(n);
  ASSERT_EQ(spare.size(), 4u);
  Request r = request("llama-3-8b", 4, 1, 32, 4);
  workload::Placement p = placed(place(s, {}, r));
  for (DeviceId c : p.cards) EXPECT_FALSE(spare.contains(s.container(c, fabric::DeviceKind::kNode)));
  for (DeviceId c : p.spares) EXPECT_TRUE(spare.contains(s.container(c, fabric::DeviceKind::kNode)));
  Answer no = place(s, {}, request("llama-3-8b", 4, 1, 36));
  ASSERT_TRUE(std::holds_alternative<Refusal>(no));
  EXPECT_NE(std::get<Refusal>(no).text.find("16 in nodes that the site keeps as spares"), std::string::npos) << std::get<Refusal>(no).text;
}

TEST(Place, SameRequestSameBytes) {
  fabric::Snapshot s = site("pod-144");
  Request r = request("llama-3-70b", 8, 4, 4);
  for (const StrategyEntry& e : strategies().entries()) {
    r.strategy = e.name, r.seed = 7;
    Answer a = place(s, {}, r), b = place(s, {}, r);
    if (std::holds_alternative<Refusal>(a)) continue;
    EXPECT_EQ(placed(a).cards, placed(b).cards) << e.name;
  }
}

}  // namespace
}  // namespace weft::place
