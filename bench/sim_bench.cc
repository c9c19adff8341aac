// The flow model at the sizes of issue 2: collectives on 1,024 cards, a Llama-3-405B step on 16,384, and what the twin asks again and again.
#include <benchmark/benchmark.h>

#include "sim/engine.h"
#include "sim/machines_for_tests.h"
#include "workload/model.h"
#include "workload/step.h"

namespace {

using namespace weft;
using workload::Collective;

void collective_on(benchmark::State& state, const fabric::Snapshot& s, Collective kind, const char* algorithm) {
  std::vector<fabric::DeviceId> cards(s.cards().begin(), s.cards().end());
  sim::RunOptions options;
  options.algorithm = algorithm;
  double time = 0;
  for (auto _ : state) {
    auto r = sim::run_collective(s, cards, kind, Bytes(64 << 20), options);
    if (!r) return state.SkipWithError(r.error().text().c_str());
    time = r->time.value();
  }
  state.counters["simulated_ms"] = time * 1e3;
}

void RingAllReduce1024(benchmark::State& state) { collective_on(state, sim::testing::flat(1024), Collective::kAllReduce, "ring"); }
void AllToAll1024(benchmark::State& state) { collective_on(state, sim::testing::flat(1024), Collective::kAllToAll, "pairwise"); }
void AllToAll1024Rails(benchmark::State& state) {
  auto s = sim::testing::rails(128, 32, 16, 32);
  if (!s) return state.SkipWithError(s.error().text().c_str());
  collective_on(state, *s, Collective::kAllToAll, "pairwise");
}

struct Step {
  workload::Dag dag;
  workload::Placement placement;
};
Result<Step> step_on(const fabric::Snapshot& s, const char* model, int tp, int pp, int dp, int batch, int sequence) {
  workload::Job job;
  job.name = "bench";
  WEFT_ASSIGN(job.model, workload::load_model(model));
  job.strategy.tp = tp, job.strategy.pp = pp, job.strategy.dp = dp, job.strategy.global_batch = batch, job.strategy.sequence = sequence;
  Step out;
  WEFT_ASSIGN(out.dag, workload::build_step(job, *s.model_of(s.cards()[0])));
  out.placement.groups = out.dag.groups;
  out.placement.cards.assign(s.cards().begin(), s.cards().begin() + job.strategy.world());
  return out;
}

void step(benchmark::State& state, const fabric::Snapshot& s, const Step& job) {
  sim::JobInput in;
  in.dag = &job.dag, in.placement = &job.placement;
  double time = 0, classes = 0;
  for (auto _ : state) {
    auto r = sim::run(s, {in});
    if (!r) return state.SkipWithError(r.error().text().c_str());
    time = to_seconds((*r)[0].step).value();
    classes = static_cast<double>((*r)[0].ranks.size());
  }
  state.counters["step_s"] = time;
  state.counters["rank_classes"] = classes;
}

// 2,048 nodes of eight, TP 8 in the node, PP 16, DP 128; three degraded links and a slow card when range(0) is 1.
void Llama405bOn16384(benchmark::State& state) {
  auto s = sim::testing::rails(2048, 64, 64, 64);
  if (!s) return state.SkipWithError(s.error().text().c_str());
  auto job = step_on(*s, "llama-3-405b", 8, 16, 128, 2048, 8192);
  if (!job) return state.SkipWithError(job.error().text().c_str());
  if (state.range(0)) {
    std::vector<std::pair<fabric::LinkId, fabric::LinkHealth>> links;
    for (std::uint32_t nic : {77u, 5003u, 12099u})
      for (fabric::PortId p : s->ports_of(s->of_kind(fabric::DeviceKind::kNic)[nic]))
        if (s->port(p).networks & fabric::bit(fabric::Network::kScaleOut)) {
          fabric::LinkHealth h;
          h.state = fabric::LinkState::kDegraded, h.rate_factor = 0.25 + nic * 1e-5;
          links.emplace_back(s->port(p).link, h);
        }
    std::sort(links.begin(), links.end(), [](auto& a, auto& b) { return a.first < b.first; });
    fabric::DeviceHealth slow;
    slow.speed_factor = 0.8;
    s = s->with_health(links, std::vector{std::pair(s->cards()[9001], slow)});
  }
  step(state, *s, *job);
}

void Llama8bOn16OfLab32(benchmark::State& state) {
  auto s = fabric::load_site("lab-32");
  if (!s) return state.SkipWithError(s.error().text().c_str());
  auto job = step_on(*s, "llama-3-8b", 8, 1, 2, 32, 8192);
  if (!job) return state.SkipWithError(job.error().text().c_str());
  step(state, *s, *job);
}
void Llama70bOn64OfPod144(benchmark::State& state) {
  auto s = fabric::load_site("pod-144");
  if (!s) return state.SkipWithError(s.error().text().c_str());
  auto job = step_on(*s, "llama-3-70b", 8, 4, 2, 32, 4096);
  if (!job) return state.SkipWithError(job.error().text().c_str());
  step(state, *s, *job);
}

BENCHMARK(RingAllReduce1024)->Unit(benchmark::kMillisecond);
BENCHMARK(AllToAll1024)->Unit(benchmark::kMillisecond);
BENCHMARK(AllToAll1024Rails)->Unit(benchmark::kMillisecond);
BENCHMARK(Llama405bOn16384)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(Llama8bOn16OfLab32)->Unit(benchmark::kMicrosecond);
BENCHMARK(Llama70bOn64OfPod144)->Unit(benchmark::kMicrosecond);

}  // namespace
