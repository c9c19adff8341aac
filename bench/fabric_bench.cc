// Sites of about 100,000 cards: building the Snapshot, one health delta, all routes of a 16,384-card job. Targets: 3 s and 2 GiB, 1 ms, 1 s.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "fabric/delta.h"
#include "fabric/routes.h"
#include "fabric/site.h"
#include "large_sites.h"

namespace weft::fabric {
namespace {

const char* text_of(const benchmark::State& state) { return state.range(0) == 8 ? bench::kNodes8 : bench::kRacks72; }

Snapshot built(benchmark::State& state) {
  auto spec = parse_site(text_of(state), "bench");
  auto site = spec ? build(*spec) : Result<Snapshot>(std::unexpected(spec.error()));
  if (!site) {
    state.SkipWithError(site.error().text().c_str());
    return *std::move(SnapshotBuilder("none")).build();
  }
  return *site;
}

void snapshot_build(benchmark::State& state) {
  double cards = 0, links = 0;
  for (auto _ : state) {
    Snapshot s = built(state);
    cards = static_cast<double>(s.cards().size()), links = static_cast<double>(s.link_count());
    benchmark::DoNotOptimize(s);
  }
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  state.counters["cards"] = cards;
  state.counters["links"] = links;
  state.counters["peak_rss_MiB"] = static_cast<double>(use.ru_maxrss) / 1024;  // of the whole process so far
}
BENCHMARK(snapshot_build)->Arg(8)->Arg(72)->Unit(benchmark::kMillisecond);

void health_delta(benchmark::State& state) {
  Snapshot s = built(state);
  std::uint32_t next = 0;
  Delta sick;  // a hundred links are degraded already
  for (std::uint32_t k = 0; k < 100; ++k) sick.links.push_back({LinkId{k * 20011}, {LinkState::kDegraded, 0.9, 0, true}});
  s = *apply(s, sick);
  for (auto _ : state) {
    Delta d;
    d.links.push_back({LinkId{next++ * 7919 % static_cast<std::uint32_t>(s.link_count())}, {LinkState::kDegraded, 0.5, 0, true}});
    auto after = apply(s, d);
    if (!after || after->link_overlay().size() < 100) state.SkipWithError("the delta was not applied");
    benchmark::DoNotOptimize(after);
  }
}
BENCHMARK(health_delta)->Arg(8)->Arg(72)->Unit(benchmark::kMicrosecond);

// From nothing known: a fresh Routes each time.
void job_routes(benchmark::State& state) {
  Snapshot s = built(state);
  auto pairs = bench::job_pairs(s);
  double hops = 0, lost = 0;
  for (auto _ : state) {
    Routes routes(s);
    hops = lost = 0;
    for (auto [from, to] : pairs) {
      const Route& r = routes.best(from, to);
      hops += static_cast<double>(r.hops.size());
      lost += !r.reachable;
    }
  }
  if (lost > 0) state.SkipWithError("pairs without a route");
  state.counters["routes"] = static_cast<double>(pairs.size());
  state.counters["hops"] = hops;
}
BENCHMARK(job_routes)->Arg(8)->Arg(72)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::fabric
