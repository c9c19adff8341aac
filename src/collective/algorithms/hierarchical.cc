// Hierarchical all-reduce: reduce-scatter inside each domain, all-reduce of the pieces across domains, all-gather inside. All-gather and
// reduce-scatter take the parts that apply.
#include "collective/cost.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& s) {
  return (kind == Collective::kAllReduce || kind == Collective::kAllGather || kind == Collective::kReduceScatter) && s.domains > 1 && s.min_per_domain == s.max_per_domain && s.max_per_domain > 1;
}

Cost cost(Collective kind, const GroupShape& s, Bytes bytes) {
  double g = s.max_per_domain, m = s.domains, b = static_cast<double>(bytes.value()), passes = kind == Collective::kAllReduce ? 2 : 1;
  Cost c;
  c.bytes_sent_inner = passes * (g - 1) / g * b;
  c.bytes_sent_outer = passes * (m - 1) / m * b / g;
  c.latency_part = Seconds(passes * ((g - 1) * s.inner_latency.value() + (m - 1) * s.outer_latency.value()));
  c.time = Seconds(c.bytes_sent_inner / s.inner.value() + c.bytes_sent_outer / s.outer.value()) + c.latency_part;
  return c;
}

// Members in domain-major order: rank = domain · d + local.
std::vector<Phase> phases(Collective kind, int n, int d) {
  int m = n / d;
  auto inside = [&] {
    Phase p;
    p.rounds = d - 1;
    for (int k = 0; k < m; ++k)
      for (int i = 0; i < d; ++i) p.edges.push_back({k * d + i, k * d + (i + 1) % d, static_cast<double>(d - 1) / d});
    return p;
  };
  double passes = kind == Collective::kAllReduce ? 2 : 1;
  Phase across;
  across.rounds = passes * (m - 1);
  for (int k = 0; k < m; ++k)
    for (int i = 0; i < d; ++i) across.edges.push_back({k * d + i, (k + 1) % m * d + i, passes * (m - 1) / m / d});
  if (kind == Collective::kReduceScatter) return {inside(), across};
  if (kind == Collective::kAllGather) return {across, inside()};
  return {inside(), across, inside()};
}

Schedule schedule(Collective kind, int n, int d) {
  Schedule s;
  int m = n / d, step = 0;
  s.chunks = n;
  // Piece i of the domains holds the chunks c with c mod d = i; inside it, chunk k·d + i belongs to domain k.
  auto piece = [&](int i) {
    std::vector<int> out;
    for (int k = 0; k < m; ++k) out.push_back(k * d + i);
    return out;
  };
  auto mod = [](int x, int y) { return (x % y + y) % y; };
  if (kind != Collective::kAllGather) {
    for (int k = 0; k < d - 1; ++k, ++step)
      for (int domain = 0; domain < m; ++domain)
        for (int i = 0; i < d; ++i) s.transfers.push_back({step, domain * d + i, domain * d + (i + 1) % d, piece(mod(i - 1 - k, d)), true});
    for (int k = 0; k < m - 1; ++k, ++step)
      for (int domain = 0; domain < m; ++domain)
        for (int i = 0; i < d; ++i) s.transfers.push_back({step, domain * d + i, (domain + 1) % m * d + i, {mod(domain - 1 - k, m) * d + i}, true});
  }
  if (kind != Collective::kReduceScatter) {
    for (int k = 0; k < m - 1; ++k, ++step)
      for (int domain = 0; domain < m; ++domain)
        for (int i = 0; i < d; ++i) s.transfers.push_back({step, domain * d + i, (domain + 1) % m * d + i, {mod(domain - k, m) * d + i}, false});
    for (int k = 0; k < d - 1; ++k, ++step)
      for (int domain = 0; domain < m; ++domain)
        for (int i = 0; i < d; ++i) s.transfers.push_back({step, domain * d + i, domain * d + (i + 1) % d, piece(mod(i - k, d)), false});
  }
  return s;
}

WEFT_REGISTER(algorithms(), {"hierarchical", "inside domains, then across, then inside", supports, cost, phases, schedule});

}  // namespace
}  // namespace weft::collective
