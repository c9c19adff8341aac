// What placement predicts is what the simulator sees: on a site with holes, topology's step is faster than first-fit's and than random ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/site.h"
#include "place/place.h"
#include "sim/flow.h"
#include "workload/model.h"
#include "workload/step.h"

namespace weft {
namespace {

TEST(PlaceSimulated, TopologyIsFasterThanFirstFitOnASiteWithHoles) {
  auto site = fabric::load_site("pod-144");
  ASSERT_TRUE(site.has_value());
  std::vector<std::pair<fabric::DeviceId, fabric::DeviceHealth>> gone;
  for (const char* card : {"sn1/node1/card0", "sn1/node2/card0", "sn1/node3/card0"}) {
    fabric::DeviceHealth h;
    h.state = fabric::DeviceState::kFailed;
    gone.emplace_back(*site->find_device(card), h);
  }
  std::sort(gone.begin(), gone.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  fabric::Snapshot s = site->with_health({}, gone);
  place::Request request;
  request.job.name = "moe", request.job.model = *workload::load_model("mixtral-8x7b");
  request.job.strategy.dp = 64, request.job.strategy.ep = 8, request.job.strategy.global_batch = 128;
  auto dag = workload::build_step(request.job, *s.model_of(s.cards()[0]));
  ASSERT_TRUE(dag.has_value()) << dag.error().text();
  auto step = [&](const char* strategy) {
    request.strategy = strategy;
    place::Answer a = place::place(s, {}, request);
    auto* p = std::get_if<workload::Placement>(&a);
    EXPECT_NE(p, nullptr);
    auto t = sim::run(s, {{&*dag, p, {}, Seconds(0)}});
    EXPECT_TRUE(t.has_value()) << t.error().text();
    return to_seconds((*t)[0].step).value();
  };
  double topology = step("topology");
  EXPECT_LT(topology, step("first_fit") * 0.99);
  for (request.seed = 1; request.seed <= 3; ++request.seed) EXPECT_LT(topology, step("random") * 0.99);
}

}  // namespace
}  // namespace weft
