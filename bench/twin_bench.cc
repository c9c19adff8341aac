// The twin alone and the whole loop over it, on one core: virtual seconds per second of processor time, every series at 1 Hz.
#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include "control/loop.h"
#include "fabric/site.h"
#include "scenario/scenario.h"
#include "store/store.h"
#include "twin/world.h"

namespace {

using namespace weft;

constexpr const char* kLab = R"(site: lab-32
for: 1h
jobs:
  - {name: alpha, model: llama-3-8b, strategy: {tp: 8, dp: 2, global_batch: 32}, policy: {checkpoint_every: 5m}}
  - {name: beta, model: llama-3-8b, strategy: {tp: 8, dp: 1, global_batch: 16}, policy: {checkpoint_every: 5m}}
)";

void play(benchmark::State& state, const char* text, double virtual_s, bool whole_loop, bool every_series) {
  auto scenario = scenario::parse_scenario(text, "bench.yaml");
  if (!scenario) return state.SkipWithError(scenario.error().text().c_str());
  auto snapshot = fabric::load_site(scenario->site);
  if (!snapshot) return state.SkipWithError(snapshot.error().text().c_str());
  std::size_t series_count = 0, samples = 0;
  for (auto _ : state) {
    telemetry::SeriesTable series;
    twin::WorldOptions options;
    options.every_series = every_series;
    twin::World world(*snapshot, series, options);
    for (const auto& job : scenario->jobs)
      if (auto s = world.add_job(job); !s) return state.SkipWithError(s.error().text().c_str());
    auto journal = *store::backends().find("memory")->open("");
    control::Loop loop(*snapshot, world, {&world}, {&world}, series, *journal, {});
    for (const auto& job : scenario->jobs)
      if (auto s = loop.submit(job); !s) return state.SkipWithError(s.error().text().c_str());
    Instant end = world.now() + seconds(virtual_s);
    if (whole_loop) {
      if (auto s = loop.run(end); !s) return state.SkipWithError(s.error().text().c_str());
    } else {
      telemetry::Batch batch;
      // The jobs' start is the loop's doing; then the world runs alone.
      if (auto s = loop.run(world.now() + seconds(60)); !s) return state.SkipWithError(s.error().text().c_str());
      while (world.now() < end) {
        world.wait_until(world.now() + options.sample_every);
        batch.clear();
        if (auto s = world.poll(world.now(), batch); !s) return state.SkipWithError(s.error().text().c_str());
        samples += batch.samples.size();
      }
    }
    series_count = world.series_count();
  }
  state.counters["series"] = static_cast<double>(series_count);
  if (samples) state.counters["samples_per_s"] = benchmark::Counter(static_cast<double>(samples), benchmark::Counter::kIsRate);
  state.counters["virtual_s_per_s"] = benchmark::Counter(virtual_s * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void TwinLab32(benchmark::State& state) { play(state, kLab, 1800, false, false); }
void TwinLab32EverySeries1Hz(benchmark::State& state) { play(state, kLab, 1800, false, true); }
void WholeLoopLab32EverySeries1Hz(benchmark::State& state) { play(state, kLab, 1800, true, true); }
void WholeLoopLab32(benchmark::State& state) { play(state, kLab, 1800, true, false); }

BENCHMARK(TwinLab32)->Unit(benchmark::kMillisecond);
BENCHMARK(TwinLab32EverySeries1Hz)->Unit(benchmark::kMillisecond);
BENCHMARK(WholeLoopLab32)->Unit(benchmark::kMillisecond);
BENCHMARK(WholeLoopLab32EverySeries1Hz)->Unit(benchmark::kMillisecond);

}  // namespace
