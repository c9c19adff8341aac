// Hierarchical over two tiers: reduce-scatter inside the domains of g, the collective across the m domains on 1/g of the data by every
// member at once (ring), all-gather inside. 2(g-1)/g·S/B_in + 2(m-1)/m·(S/g)/B_out + latencies, for all-reduce.
#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& shape) {
  int g = per_domain(shape);
  return shape.domains > 1 && g > 1 &&
         (kind == Collective::kAllReduce || kind == Collective::kReduceScatter || kind == Collective::kAllGather);
}

Cost cost(Collective kind, const GroupShape& shape, Bytes bytes) {
  double g = per_domain(shape), m = shape.domains;
  double in = (g - 1) / g, out = (m - 1) / m / g;
  Load inside{in, 0, in};
  double near = (g - 1) * shape.inner_latency.value(), far = (m - 1) * shape.outer_latency.value();
  if (kind != Collective::kAllReduce) return cost_of(shape, {inside, {0, out, 0}}, Seconds(near + far), bytes);
  return cost_of(shape, {inside, {0, 2 * out, 0}, inside}, Seconds(2 * (near + far)), bytes);
}

Schedule schedule(Collective kind, int n, int d) {
  Schedule s;
  s.chunks = n;
  int m = n / d, step = 0;
  // Member i of a domain answers for the chunks of all members i; across domains each answers for its own.
  auto inside = [&](auto pass, int from) {
    int end = from;
    for (int j = 0; j < m; ++j) {
      std::vector<int> members;
      std::vector<std::vector<int>> parts(d);
      for (int i = 0; i < d; ++i) {
        members.push_back(j * d + i);
        for (int k = 0; k < m; ++k) parts[i].push_back(k * d + i);
      }
      end = pass(s, from, members, parts);
    }
    return end;
  };
  auto across = [&](auto pass, int from) {
    int end = from;
    for (int i = 0; i < d; ++i) {
      std::vector<int> members;
      std::vector<std::vector<int>> parts;
      for (int j = 0; j < m; ++j) members.push_back(j * d + i), parts.push_back({j * d + i});
      end = pass(s, from, members, parts);
    }
    return end;
  };
  if (kind != Collective::kAllGather) step = across(ring_scatter, inside(ring_scatter, step));
  if (kind != Collective::kReduceScatter) inside(ring_gather, across(ring_gather, step));
  sort_steps(s);
  return s;
}

std::vector<Phase> phases(Collective kind, int n, int d) {
  int m = n / d;
  Phase inside, across;
  double in = static_cast<double>(d - 1) / d, out = static_cast<double>(m - 1) / m / d * (kind == Collective::kAllReduce ? 2 : 1);
  for (int r = 0; r < n; ++r) {
    inside.push_back({r, r / d * d + (r + 1) % d, in});
    across.push_back({r, (r + d) % n, out});
  }
  if (kind == Collective::kAllReduce) return {inside, across, inside};
  if (kind == Collective::kReduceScatter) return {inside, across};
  return {across, inside};
}

WEFT_REGISTER(algorithms(),
              {"hierarchical", "inside the domains, across them with 1/g of the data, inside again", supports, cost, schedule, phases});

}  // namespace
}  // namespace weft::collective
