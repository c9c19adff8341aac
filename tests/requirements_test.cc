// What the reference site lab-32 was bought for: bus bandwidth over all cards, two jobs side by side, the figures of the worked example.
#include <gtest/gtest.h>

#include "collective/cost.h"
#include "fabric/delta.h"
#include "fabric/site.h"
#include "place/place.h"
#include "sim/flow.h"
#include "workload/model.h"
#include "workload/step.h"

namespace weft {
namespace {

// All-reduce of 256 MB and more over all 32 cards: at least 37.5 GB/s bus bandwidth (75 of the 100 GB/s a card sends and receives together).
TEST(Lab32Requirements, AllReduceOverAllCards) {
  auto site = fabric::load_site("lab-32");
  ASSERT_TRUE(site.has_value());
  std::vector<fabric::DeviceId> cards(site->cards().begin(), site->cards().end());
  ASSERT_EQ(cards.size(), 32u);
  for (std::int64_t bytes : {std::int64_t{256'000'000}, std::int64_t{1} << 30}) {
    sim::RunOptions ring;
    ring.algorithm = "ring";  // in-network reduction is reported apart
    auto run = sim::run_collective(*site, cards, workload::Collective::kAllReduce, Bytes(bytes), ring);
    ASSERT_TRUE(run.has_value()) << run.error().text();
    double bus = collective::bus_bandwidth(workload::Collective::kAllReduce, 32, Bytes(bytes), run->time).value();
    EXPECT_GE(bus, 37.5e9);
    EXPECT_LE(bus, 50e9) << "a ring cannot beat the card's port";
  }
  // A lost uplink means less bandwidth, not none: eight uplinks carry eight cards, seven carry them at 7/8.
  fabric::LinkId uplink;
  for (std::uint32_t l = 0; l < site->link_count() && !uplink.ok(); ++l) {
    const fabric::Link& link = site->link(fabric::LinkId{l});
    if ((link.networks & fabric::bit(fabric::Network::kScaleUp)) && site->device(site->port(link.b).device).tier == 1)
      uplink = fabric::LinkId{l};
  }
  ASSERT_TRUE(uplink.ok());
  auto hurt = fabric::apply(*site, {{{uplink, {fabric::LinkState::kDown, 0, 0, false}}}, {}, "cut"});
  sim::RunOptions ring;
  ring.algorithm = "ring";
  auto after = sim::run_collective(*hurt, cards, workload::Collective::kAllReduce, Bytes(1 << 30), ring);
  ASSERT_TRUE(after.has_value()) << after.error().text();
  EXPECT_GT(collective::bus_bandwidth(workload::Collective::kAllReduce, 32, Bytes(1 << 30), after->time).value(), 0.8 * 37.5e9);
}

// Two training jobs of two nodes each: together each takes as long as alone.
TEST(Lab32Requirements, TwoJobsDoNotDisturbEachOther) {
  auto site = fabric::load_site("lab-32");
  workload::Job job[2];
  workload::Dag dag[2];
  workload::Placement placed[2];
  place::Occupancy occupied;
  for (int i = 0; i < 2; ++i) {
    job[i].name = i ? "beta" : "alpha";
    job[i].model = *workload::load_model("llama-3-8b");
    job[i].strategy.tp = 8, job[i].strategy.dp = 2, job[i].strategy.global_batch = 16;
    auto answer = place::place(*site, occupied, {.job = job[i]});
    auto* p = std::get_if<workload::Placement>(&answer);
    ASSERT_TRUE(p) << std::get<place::Refusal>(answer).text;
    placed[i] = *p;
    occupied.placements.push_back(*p);
    auto built = workload::build_step(job[i], *site->model_of(p->cards[0]));
    ASSERT_TRUE(built.has_value()) << built.error().text();
    dag[i] = std::move(*built);
  }
  auto both = sim::run(*site, {{.dag = &dag[0], .placement = &placed[0]}, {.dag = &dag[1], .placement = &placed[1]}});
  ASSERT_TRUE(both.has_value()) << both.error().text();
  for (int i = 0; i < 2; ++i) {
    auto alone = sim::run(*site, {{.dag = &dag[i], .placement = &placed[i]}});
    ASSERT_TRUE(alone.has_value());
    double ratio = static_cast<double>((*both)[static_cast<std::size_t>(i)].step.value()) / static_cast<double>((*alone)[0].step.value());
    EXPECT_NEAR(ratio, 1, 0.01) << job[i].name;
  }
}

// 72 cards at 1.8 TB/s both ways: 130 TB/s together, 900 GB/s each way between any two.
TEST(SourceFigures, Nvl72) {
  auto site = fabric::load_site("gb200-nvl72");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  double sum = 0;
  for (const fabric::Link& l : site->links())
    if (l.networks & fabric::bit(fabric::Network::kScaleUp)) sum += 2 * l.rate.value() / 8;
  EXPECT_NEAR(sum, 130e12, 0.5e12);
  fabric::Routes routes(*site);
  EXPECT_NEAR(routes.best(site->cards()[0], site->cards()[71]).width.value(), 900e9, 1e9);
}

}  // namespace
}  // namespace weft
