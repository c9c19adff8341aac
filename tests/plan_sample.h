// Random training steps on eight DGX H100 nodes, planned in closed form and simulated on the flow model, with the same assumptions on both
// sides.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "base/random.h"
#include "fabric/site.h"
#include "place/place.h"
#include "plan/estimate.h"
#include "sim/flow.h"
#include "workload/model.h"
#include "workload/step.h"

namespace weft {

struct PlanSample {
  int compared = 0, far = 0;  // far: beyond 5 %
  double sum = 0, worst = 0;  // of |planned / simulated − 1|
};

// 200 configurations; prints those beyond 5 %.
inline PlanSample plan_sample(std::uint64_t seed) {
  using workload::Strategy;
  PlanSample out;
  auto site = fabric::build(*fabric::parse_site(
      "site: dgx-h100\nsupernodes:\n  - {name: n, count: 8, nodes: 1, cards_per_node: 8, card: H100-SXM5, scale_up: {topology: switched, "
      "rate: 200G, switch: "
      "NVSwitch3, switches: 4, links: 18, medium: board}}\nscale_out: {topology: rail, nics_per_node: 8, nic: ConnectX-7, rate: 400G, "
      "switch: Quantum2, "
      "nodes_per_block: 32, spines: 32, uplinks: 32, medium: optical, length: 10 m, trunk_medium: optical, trunk_length: 20 m}\n",
      "dgx-h100.yaml"));
  EXPECT_TRUE(site.has_value()) << site.error().text();
  if (!site) return out;
  plan::Machine machine = *plan::machine_of_card("H100-SXM5");
  fabric::Routes routes(*site);
  collective::GroupShape all = collective::shape_of({site->cards().begin(), site->cards().end()}, routes);
  machine.efficiency = *workload::efficiency_of("H100-SXM5");  // the graph's, not the one fitted together with a software profile
  machine.domain = 8, machine.inner = all.inner, machine.outer = all.outer, machine.inner_share = machine.outer_share = 1;
  machine.inner_latency = all.inner_latency, machine.outer_latency = all.outer_latency, machine.inner_reduction = all.inner_reduction;
  plan::Software graph;  // what the step's graph assumes
  graph.name = "graph", graph.dp_hidden = 1, graph.memory_base = 0, graph.fragmentation = 0;
  Random random(seed);
  const int kWanted = 200;
  for (int i = 0; i < 4000 && out.compared < kWanted; ++i) {
    auto pick = [&](std::initializer_list<int> of) { return *(of.begin() + random.integer(0, static_cast<std::int64_t>(of.size()) - 1)); };
    const char* names[] = {"llama-3-8b", "llama-2-13b", "llama-3-70b", "mixtral-8x7b"};
    place::Request request;
    workload::Job& job = request.job;
    job.name = "row", job.model = *workload::load_model(names[random.integer(0, 3)]);
    job.model.layers = pick({8, 16});
    Strategy& s = job.strategy;
    s.tp = pick({1, 2, 4, 8}), s.pp = pick({1, 2, 4}), s.cp = pick({1, 1, 1, 2}), s.ep = job.model.moe() ? pick({1, 2, 4, 8}) : 1;
    s.dp = 64 / (s.tp * s.pp * s.cp);
    if (s.dp < 1 || s.tp * s.pp * s.cp * s.dp != 64) continue;
    s.virtual_stages = s.pp > 1 ? pick({1, 1, 2}) : 1, s.zero = pick({0, 1, 1}), s.micro_batch = pick({1, 2}),
    s.sequence_parallel = s.tp > 1 && pick({0, 1});
    s.recompute = static_cast<Strategy::Recompute>(pick({0, 1, 2}));
    s.global_batch = s.dp * s.micro_batch * s.pp * pick({1, 2, 4}), s.sequence = 4096;
    // The graph lets expert gradients ride in the dense group, the planner reduces them over their own: compared where that is alike.
    if (job.model.moe() && (s.tp > 1 || s.cp > 1 || s.zero > 0)) continue;
    if (job.model.moe() && s.ep > 1) s.global_batch *= 8;
    if (!workload::validate(job.model, s)) continue;
    auto answer = place::place(*site, {}, request);
    auto* placement = std::get_if<workload::Placement>(&answer);
    if (!placement) continue;
    auto dag = workload::build_step(job, *site->model_of(site->cards()[0]));
    EXPECT_TRUE(dag.has_value()) << dag.error().text();
    if (!dag) return out;
    auto timeline = sim::run(*site, {{&*dag, placement, {}, Seconds(0)}});
    EXPECT_TRUE(timeline.has_value()) << timeline.error().text();
    if (!timeline) return out;
    double simulated = to_seconds((*timeline)[0].step).value();
    double planned = plan::Estimator::make(job.model, machine, graph, s.precision)->estimate(s).time.step;
    double error = std::abs(planned / simulated - 1);
    ++out.compared, out.sum += error, out.worst = std::max(out.worst, error), out.far += error > 0.05;
    if (error > 0.05)
      std::printf("%s tp %d pp %d v %d dp %d cp %d ep %d zero %d sp %d mb %d gb %d rec %d: planned %.4f simulated %.4f (%+.1f %%)\n",
                  job.model.name.c_str(), s.tp, s.pp, s.virtual_stages, s.dp, s.cp, s.ep, s.zero, s.sequence_parallel, s.micro_batch,
                  s.global_batch, static_cast<int>(s.recompute), planned, simulated, 100 * (planned / simulated - 1));
  }
  std::printf("seed %d: %d configurations: mean %.2f %%, worst %.2f %%, %d beyond 5 %%\n", static_cast<int>(seed), out.compared,
              100 * out.sum / out.compared, 100 * out.worst, out.far);
  EXPECT_EQ(out.compared, kWanted);
  return out;
}

}  // namespace weft
