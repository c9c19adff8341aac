// What the reference site lab-32 was bought for: bus bandwidth over all cards, two jobs side by side, the figures of the worked example.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "cli/command.h"
#include "collective/cost.h"
#include "fabric/catalogue.h"
#include "fabric/delta.h"
#include "fabric/site.h"
#include "place/place.h"
#include "sim/flow.h"
#include "workload/account.h"
#include "workload/memory.h"
#include "workload/model.h"
#include "workload/sizing.h"
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

// ---- figures of the source documents (requirements.md), each by the product's own code; the expectation is the source's number -----------

workload::Job job_of(const char* model) {
  workload::Job job;
  job.name = "j", job.model = *workload::load_model(model);
  return job;
}

// 130 B parameters, 1.4 T tokens: 1.09e24 FLOP; 1000 cards of 989 TFLOP/s at 40 % MFU deliver 1.025e24 in 30 days, so about 32 days.
TEST(SourceFigures, TrainingOf130B) {
  workload::Model model = *workload::load_model("gpt-130b");
  Flops work = workload::training_flops(model, 1.4e12);
  EXPECT_NEAR(work.value(), 1.09e24, 0.01e24);
  auto card = fabric::card_model("H100-SXM5");
  ASSERT_TRUE(card.has_value());
  EXPECT_NEAR(workload::delivered(1000, *card->bf16, 0.4, Seconds(30 * 86400.0)).value(), 1.025e24, 0.001e24);
  EXPECT_NEAR(workload::training_time(work, 1000, *card->bf16, 0.4).value() / 86400, 32, 0.1);
  // The command a person types.
  std::ostringstream out, err;
  cli::Io io{out, err};
  ASSERT_EQ(
      cli::commands()
          .find("workload")
          ->run({"--model", "gpt-130b", "--tp", "8", "--pp", "17", "--tokens", "1.4e12", "--cards", "1000", "--card", "H100-SXM5"}, io),
      0)
      << err.str();
  for (const char* said : {"1.092e+24 FLOP", "31.9 days", "1.025e+24 FLOP in 30 days"})
    EXPECT_NE(out.str().find(said), std::string::npos) << out.str();
}

// BF16 weights of 130 B are 260 GB, more than three 80 GB cards hold; FP16 gradients of 10 B are 20 GB.
TEST(SourceFigures, WeightsAndGradients) {
  workload::Memory memory = workload::memory_of(job_of("gpt-130b"), 0);
  double weights = 0;
  for (const auto& item : memory.items)
    if (item.name == "weights") weights = static_cast<double>(item.bytes.value());
  EXPECT_NEAR(weights, 260e9, 0.5e9);
  auto card = fabric::card_model("H100-SXM5");
  EXPECT_EQ(card->memory->value(), 80'000'000'000);
  EXPECT_GT(weights, 3.0 * static_cast<double>(card->memory->value()));
  EXPECT_EQ(workload::half_precision(10e9).value(), 20'000'000'000);
}

// A 4096 × 4096 BF16 activation (sequence × hidden of Llama 3 8B) is handed to the tensor-parallel all-reduce as 32 MiB.
TEST(SourceFigures, AllReduceMessageOf32MiB) {
  workload::Job job = job_of("llama-3-8b");
  job.strategy.tp = 8, job.strategy.sequence_parallel = false, job.strategy.sequence = 4096, job.strategy.micro_batch = 1;
  bool seen = false;
  for (const auto& t : workload::account(job.model, job.strategy, 0)) {
    if (t.dim != workload::Dim::kTp || t.collective != workload::Collective::kAllReduce || seen) continue;
    seen = true;
    EXPECT_EQ(t.message, 32.0 * (1 << 20)) << t.what;
  }
  EXPECT_TRUE(seen);
}

// TP 8 × PP 16 = 128 close cards, with 1.5 to 2 times margin 192 to 256; and they do lie in one domain where one is large enough.
TEST(SourceFigures, CloseDomain) {
  workload::Job job = job_of("gpt3-175b");
  job.strategy.tp = 8, job.strategy.pp = 16;
  workload::CloseDomain close = workload::close_domain(job.strategy);
  EXPECT_EQ(close.cards, 128);
  EXPECT_EQ(close.margin_low, 192);
  EXPECT_EQ(close.margin_high, 256);
  auto site = fabric::load_site("cm384");
  ASSERT_TRUE(site.has_value()) << site.error().text();
  auto answer = place::place(*site, {}, {.job = job});
  ASSERT_TRUE(std::holds_alternative<workload::Placement>(answer)) << std::get<place::Refusal>(answer).text;
  const auto& cards = std::get<workload::Placement>(answer).cards;
  ASSERT_EQ(cards.size(), 128u);
  for (fabric::DeviceId c : cards) EXPECT_EQ(site->hbd_of(c), site->hbd_of(cards[0]));
}

fabric::Snapshot written(const std::string& text) {
  auto spec = fabric::parse_site(text, "test.yaml");
  EXPECT_TRUE(spec.has_value()) << (spec ? "" : spec.error().text());
  auto site = fabric::build(*spec);
  EXPECT_TRUE(site.has_value()) << (site ? "" : site.error().text());
  return *site;
}

// A full mesh of 1000 nodes has 499,500 links; of 8 cards, 7 ports a card.
TEST(SourceFigures, FullMesh) {
  fabric::Snapshot large = written(
      "site: m\nsupernodes:\n  - {name: sn, nodes: 1000, cards_per_node: 1, scale_up: {topology: full_mesh, rate: 400G, links: 1}}\n");
  EXPECT_EQ(large.link_count(), 499'500u);
  fabric::Snapshot eight =
      written("site: m\nsupernodes:\n  - {name: sn, nodes: 1, cards_per_node: 8, scale_up: {topology: full_mesh, rate: 400G, links: 1}}\n");
  EXPECT_EQ(eight.link_count(), 28u);
  for (fabric::DeviceId c : eight.cards()) EXPECT_EQ(eight.ports_of(c).size(), 7u);
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

// 4 nodes × 2 × 400G = 3.2 Tb/s of scale-out; worst path of the 32 cards: card, node switch, core switch, node switch, card.
TEST(SourceFigures, Lab32) {
  auto site = fabric::load_site("lab-32");
  ASSERT_TRUE(site.has_value());
  double out = 0;
  for (fabric::DeviceId nic : site->of_kind(fabric::DeviceKind::kNic))
    for (fabric::PortId p : site->ports_of(nic)) out += site->link(site->port(p).link).rate.value();
  EXPECT_EQ(out, 3.2e12);
  fabric::Routes routes(*site);
  int longest = 0;
  for (fabric::DeviceId a : site->cards())
    for (fabric::DeviceId b : site->cards())
      if (a != b) longest = std::max(longest, routes.length(a, b, fabric::Network::kScaleUp));
  EXPECT_EQ(longest, 4) << "four links, three switches";
  const fabric::Route& way = routes.best(*site->find_device("sn1/node1/card0"), *site->find_device("sn1/node4/card7"));
  std::set<std::string> switches;
  for (const fabric::RouteHop& h : way.hops)
    for (fabric::PortId p : {site->link(h.link.link()).a, site->link(h.link.link()).b})
      if (fabric::DeviceId d = site->port(p).device; site->device(d).kind == fabric::DeviceKind::kSwitch) switches.insert(site->name(d));
  EXPECT_EQ(switches, (std::set<std::string>{"sn1/core1", "sn1/node1/switch0", "sn1/node4/switch0"}));
}

// MTU 1500 to 9000 gains 8 to 15 % on some collectives: headers alone about 5 to 6 %, the rest is the declared cost per packet.
TEST(SourceFigures, MtuGain) {
  auto bus = [](const std::string& packets, workload::Collective kind) {
    fabric::Snapshot site = written(
        "site: mtu\nsupernodes:\n  - {name: sn, nodes: 8, cards_per_node: 1, card: H100-SXM5}\n"
        "scale_out: {topology: leaf_spine, nics_per_node: 1, nic: ConnectX-7, rate: 400G, switch: Tomahawk4-64x400G, leaves: 1, spines: 1, "
        "uplinks: 8, medium: optical, length: 10 m, trunk_medium: optical, trunk_length: 10 m" +
        packets + "}\n");
    std::vector<fabric::DeviceId> cards(site.cards().begin(), site.cards().end());
    auto run = sim::run_collective(site, cards, kind, Bytes(std::int64_t{1} << 30));
    EXPECT_TRUE(run.has_value()) << (run ? "" : run.error().text());
    return run ? collective::bus_bandwidth(kind, 8, Bytes(std::int64_t{1} << 30), run->time).value() : 0;
  };
  for (auto kind : {workload::Collective::kAllReduce, workload::Collective::kAllGather, workload::Collective::kAllToAll}) {
    auto gain = [&](const std::string& cost) { return 100 * (bus(", mtu: 9000" + cost, kind) / bus(", mtu: 1500" + cost, kind) - 1); };
    double headers = gain("");
    EXPECT_GT(headers, 5);
    EXPECT_LT(headers, 6);
    // One nanosecond and two per packet: within the source's 8 to 15 %.
    for (const char* cost : {", packet_cost: 1 ns", ", packet_cost: 2 ns"}) {
      EXPECT_GT(gain(cost), 8) << cost;
      EXPECT_LT(gain(cost), 15) << cost;
    }
    EXPECT_NEAR(bus("", kind), 50e9, 0.02 * 50e9) << "no MTU given: the whole rate is payload";
  }
}

}  // namespace
}  // namespace weft
