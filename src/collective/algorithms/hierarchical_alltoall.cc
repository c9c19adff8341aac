// Hierarchical all-to-all: exchange inside the domain first so that each member then talks only to its counterparts in other domains
// (as DeepEP and MSCCL's two-step all-to-all do): fewer, larger messages between domains.
#include "collective/cost.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& s) { return kind == Collective::kAllToAll && s.domains > 1 && s.min_per_domain == s.max_per_domain && s.max_per_domain > 1; }

Cost cost(Collective, const GroupShape& s, Bytes bytes) {
  double g = s.max_per_domain, m = s.domains, b = static_cast<double>(bytes.value());
  Cost c;
  c.bytes_sent_inner = (g - 1) / g * b;
  c.bytes_sent_outer = (m - 1) / m * b;
  c.latency_part = s.inner_latency * (g - 1) + s.outer_latency * (m - 1);
  c.time = Seconds(c.bytes_sent_inner / s.inner.value() + c.bytes_sent_outer / s.outer.value()) + c.latency_part;
  return c;
}

std::vector<Phase> phases(Collective, int n, int d) {
  int m = n / d;
  Phase inside;
  inside.rounds = d - 1;
  inside.all_to_all = true, inside.uniform = 1.0 / d, inside.block = d;
  Phase across;
  across.rounds = m - 1;
  for (int k = 0; k < m; ++k)
    for (int other = 0; other < m; ++other)
      if (other != k)
        for (int i = 0; i < d; ++i) across.edges.push_back({k * d + i, other * d + i, 1.0 / m});
  return {inside, across};
}

Schedule schedule(Collective, int n, int d) {
  Schedule s;
  int m = n / d, step = 0;
  s.chunks = n * n;
  for (int k = 1; k < d; ++k, ++step)
    for (int domain = 0; domain < m; ++domain)
      for (int i = 0; i < d; ++i) {
        int from = domain * d + i, to = domain * d + (i + k) % d;
        std::vector<int> chunks;
        for (int t = 0; t < m; ++t) chunks.push_back(from * n + t * d + (i + k) % d);  // whatever is for that local index anywhere
        s.transfers.push_back({step, from, to, chunks, false});
      }
  for (int k = 1; k < m; ++k, ++step)
    for (int domain = 0; domain < m; ++domain)
      for (int i = 0; i < d; ++i) {
        int from = domain * d + i, target = (domain + k) % m;
        std::vector<int> chunks;
        for (int j = 0; j < d; ++j) chunks.push_back((domain * d + j) * n + target * d + i);  // gathered from the whole domain
        s.transfers.push_back({step, from, target * d + i, chunks, false});
      }
  return s;
}

WEFT_REGISTER(algorithms(), {"hierarchical_alltoall", "all-to-all inside domains, then between counterparts", supports, cost, phases, schedule});

}  // namespace
}  // namespace weft::collective
