#include "collective/parts.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace weft::collective {
namespace {

double over(double bytes, double rate) { return bytes <= 0 ? 0 : rate > 0 ? bytes / rate : std::numeric_limits<double>::infinity(); }

}  // namespace

Seconds transfer_time(const GroupShape& shape, const Load& load, Bytes bytes) {
  double s = static_cast<double>(bytes.value());
  double pair = shape.inner_pair.value() > 0 ? shape.inner_pair.value() : shape.inner.value();
  return Seconds(
      std::max({over(load.inner * s, shape.inner.value()), over(load.inner_edge * s, pair), over(load.outer * s, shape.outer.value())}));
}

Cost cost_of(const GroupShape& shape, const std::vector<Load>& phases, Seconds latency, Bytes bytes) {
  Cost cost;
  cost.latency_part = cost.time = latency;
  for (const Load& load : phases) {
    cost.time += transfer_time(shape, load, bytes);
    cost.bytes_sent_inner += load.inner * static_cast<double>(bytes.value());
    cost.bytes_sent_outer += load.outer * static_cast<double>(bytes.value());
  }
  return cost;
}

int log2_ceil(int n) {
  int k = 0;
  while ((1 << k) < n) ++k;
  return k;
}

double wire_factor(workload::Collective kind, int n) {
  if (n < 2) return 0;
  double f = static_cast<double>(n - 1) / n;
  switch (kind) {
    case workload::Collective::kAllReduce: return 2 * f;
    case workload::Collective::kBroadcast: return 1;
    default: return f;
  }
}

int ring_scatter(Schedule& s, int step, const std::vector<int>& members, const std::vector<std::vector<int>>& parts) {
  int n = static_cast<int>(members.size());
  for (int t = 0; t < n - 1; ++t)
    for (int p = 0; p < n; ++p) s.transfers.push_back({step + t, members[p], members[(p + 1) % n], parts[((p - 1 - t) % n + n) % n], true});
  return step + n - 1;
}

int ring_gather(Schedule& s, int step, const std::vector<int>& members, const std::vector<std::vector<int>>& parts) {
  int n = static_cast<int>(members.size());
  for (int t = 0; t < n - 1; ++t)
    for (int p = 0; p < n; ++p) s.transfers.push_back({step + t, members[p], members[(p + 1) % n], parts[((p - t) % n + n) % n], false});
  return step + n - 1;
}

void sort_steps(Schedule& s) {
  std::stable_sort(s.transfers.begin(), s.transfers.end(), [](const Transfer& a, const Transfer& b) { return a.step < b.step; });
}

void tidy(Phase& phase) {
  std::stable_sort(phase.begin(), phase.end(),
                   [](const Edge& a, const Edge& b) { return std::tie(a.from, a.to) < std::tie(b.from, b.to); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < phase.size(); ++i)
    if (kept > 0 && phase[kept - 1].from == phase[i].from && phase[kept - 1].to == phase[i].to) phase[kept - 1].share += phase[i].share;
    else phase[kept++] = phase[i];
  phase.resize(kept);
}

}  // namespace weft::collective
