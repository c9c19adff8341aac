// A job of 16,384 cards is placed in about a second; the limit here leaves room for a loaded machine.
#include <gtest/gtest.h>

#include <ctime>

#include "fabric/site.h"
#include "place/place.h"
#include "workload/model.h"

namespace weft::place {
namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void place_405b(const std::string& text, int tp, int pp, int dp) {
  auto spec = fabric::parse_site(text, "large.yaml");
  ASSERT_TRUE(spec.has_value()) << spec.error().text();
  auto site = fabric::build(*spec);
  ASSERT_TRUE(site.has_value()) << site.error().text();
  Request r;
  r.job.name = "llama", r.job.model = *workload::load_model("llama-3-405b");
  r.job.strategy.tp = tp, r.job.strategy.pp = pp, r.job.strategy.dp = dp, r.job.strategy.sequence = 8192,
  r.job.strategy.global_batch = 2048;
  double start = cpu_seconds();
  Answer a = place(*site, {}, r);
  double took = cpu_seconds() - start;
  const auto* p = std::get_if<workload::Placement>(&a);
  ASSERT_NE(p, nullptr) << std::get<Refusal>(a).text;
  EXPECT_EQ(illegal(*site, {}, r, *p), "");
  std::printf("%zu cards placed in %.2f s of processor time\n", p->cards.size(), took);
  EXPECT_LT(took, 3);
}

TEST(PlaceSlow, SixteenThousandCardsInNodesOfEight) {
  place_405b(
      "site: large\nsupernodes:\n  - {name: n, count: 2048, nodes: 1, cards_per_node: 8, card: H100-SXM5, scale_up: {topology: switched, "
      "rate: 200G, switch: NVSwitch3, switches: 4, links: 18, medium: board}}\n"
      "scale_out: {topology: rail, nics_per_node: 8, nic: ConnectX-7, rate: 400G, switch: Tomahawk5-64x800G, nodes_per_block: 32, spines: "
      "32, uplinks: 32, medium: optical, length: 10 m, trunk_medium: optical, trunk_length: 30 m}\n",
      8, 16, 128);
}

TEST(PlaceSlow, SixteenThousandCardsInRacksOf72) {
  place_405b(
      "site: large\nsupernodes:\n  - {name: n, count: 232, nodes: 18, cards_per_node: 4, card: GB200-B200, scale_up: {topology: switched, "
      "rate: 400G, switch: NVSwitch4-NVL72, switches: 18, links: 18, medium: backplane, length: 1 m}}\n"
      "scale_out: {topology: rail, nics_per_node: 4, nic: ConnectX-7, rate: 400G, switch: Tomahawk5-64x800G, nodes_per_block: 18, spines: "
      "16, uplinks: 16, medium: optical, length: 10 m, trunk_medium: optical, trunk_length: 30 m}\n",
      8, 16, 128);
}

}  // namespace
}  // namespace weft::place
