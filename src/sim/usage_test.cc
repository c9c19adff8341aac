#include "collective/usage.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/flow.h"

#include "sim/machines_for_tests.h"

namespace weft::sim {
namespace {

std::map<std::uint32_t, double> edge_by_edge(const fabric::Snapshot& s, const collective::Phase& phase,
                                             const std::vector<fabric::DeviceId>& cards) {
  fabric::Routes routes(s);
  std::map<std::uint32_t, double> load;
  for (const collective::Edge& e : phase)
    for (const auto& h : routes.best(cards[static_cast<std::size_t>(e.from)], cards[static_cast<std::size_t>(e.to)]).hops)
      load[h.link.v] += e.share * static_cast<double>(h.share);
  return load;
}

// Equally attached cards are treated together; the bytes are those of every route walked singly.
TEST(SimUsage, DensePhasesLoadTheSameLinksAsTheirEdges) {
  auto rails = testing::rails(8, 4, 2, 4);
  ASSERT_TRUE(rails.has_value()) << rails.error().text();
  auto pod = fabric::load_site("pod-144"), lab = fabric::load_site("lab-32");
  ASSERT_TRUE(pod.has_value() && lab.has_value());
  fabric::LinkHealth down;
  down.state = fabric::LinkState::kDown;
  std::vector<std::pair<fabric::LinkId, fabric::LinkHealth>> cut;
  for (std::uint32_t l = 5; l < rails->link_count(); l += 97) cut.emplace_back(fabric::LinkId{l}, down);
  fabric::Snapshot wounded = rails->with_health(cut, {});
  int used = 0;
  fabric::Snapshot flat = testing::flat(40);
  for (const fabric::Snapshot* s : std::vector<const fabric::Snapshot*>{&*rails, &wounded, &*pod, &*lab, &flat}) {
    std::vector<fabric::DeviceId> cards(s->cards().begin(), s->cards().end());
    auto n = static_cast<int>(cards.size());
    collective::Phase phase = collective::algorithms().find("pairwise")->phases(workload::Collective::kAllToAll, n, n)[0];
    fabric::Routes routes(*s);
    collective::UsageBuilder builder(routes);
    double scale = 0;
    auto have = builder.of(phase, cards, false, scale);
    ASSERT_TRUE(have.has_value()) << have.error().text();
    auto want = edge_by_edge(*s, phase, cards);
    ASSERT_EQ(have->size(), want.size());
    for (const collective::LinkUse& u : *have)
      EXPECT_NEAR(u.weight * scale, want[u.link], 1e-6 * want[u.link]) << s->name(fabric::DirectedLink{u.link}.link());
    ++used;
  }
  EXPECT_EQ(used, 5);
}

TEST(SimUsage, ReducingSwitchesGetEachCardsShareOnce) {
  auto lab = fabric::load_site("lab-32");
  ASSERT_TRUE(lab.has_value());
  std::vector<fabric::DeviceId> cards(lab->cards().begin(), lab->cards().end());
  fabric::Routes routes(*lab);
  collective::UsageBuilder builder(routes);
  double scale = 0;
  auto phases = collective::algorithms().find("in_network")->phases(workload::Collective::kAllReduce, 32, 32);
  auto use = builder.of(phases[0], cards, true, scale);
  ASSERT_TRUE(use.has_value()) << use.error().text();
  double card_bytes = 0, trunk_bytes = 0;
  for (const collective::LinkUse& u : *use) {
    const fabric::Link& l = lab->link(fabric::DirectedLink{u.link}.link());
    bool at_card = lab->device(lab->port(l.a).device).kind == fabric::DeviceKind::kCard ||
                   lab->device(lab->port(l.b).device).kind == fabric::DeviceKind::kCard;
    (at_card ? card_bytes : trunk_bytes) += u.weight * scale;
  }
  EXPECT_NEAR(card_bytes, 32 * 2 * 33.0 / 32, 1e-6);
  // Four node switches, one sum up and one result down each.
  EXPECT_NEAR(trunk_bytes, 4 * 2 * 33.0 / 32, 1e-5);
}

TEST(SimUsage, NoWayIsAnErrorThatNamesBothEnds) {
  fabric::Snapshot s = testing::flat(4);
  fabric::LinkHealth down;
  down.state = fabric::LinkState::kDown;
  fabric::Snapshot cut = s.with_health(std::vector{std::pair(fabric::LinkId{2}, down)}, {});
  auto r = run_collective(cut, {cut.cards().begin(), cut.cards().end()}, workload::Collective::kAllReduce, Bytes(1 << 20));
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(r.error().text().find("no usable way from sn1/node1/card1 to sn1/node1/card2"), std::string::npos) << r.error().text();
}

}  // namespace
}  // namespace weft::sim
