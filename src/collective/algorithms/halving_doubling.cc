// Recursive vector halving with distance doubling, and back (Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005). The large halves
// go to the near partners, so that only 1/g of the data leaves a domain of g. Powers of two.
#include "collective/parts.h"

namespace weft::collective {
namespace {

using workload::Collective;

bool supports(Collective kind, const GroupShape& shape) {
  return shape.members >= 2 && power_of_two(shape.members) && power_of_two(per_domain(shape)) &&
         (kind == Collective::kAllReduce || kind == Collective::kReduceScatter || kind == Collective::kAllGather);
}

double passes(Collective kind) { return kind == Collective::kAllReduce ? 2 : 1; }

Cost cost(Collective kind, const GroupShape& shape, Bytes bytes) {
  double n = shape.members, g = per_domain(shape), p = passes(kind);
  double near = p * (1 - 1 / g), far = p * (1 / g - 1 / n);
  std::vector<Load> loads;
  if (near > 0) loads.push_back({near, 0, p / 2});
  if (far > 0) loads.push_back({0, far, 0});
  int near_steps = log2_ceil(static_cast<int>(g)), far_steps = log2_ceil(shape.members) - near_steps;
  return cost_of(shape, loads, Seconds(p * (near_steps * shape.inner_latency.value() + far_steps * shape.outer_latency.value())), bytes);
}

// After the steps with distance up to 2^s a rank answers for the chunks whose low s+1 bits are its own.
Schedule schedule(Collective kind, int n, int) {
  Schedule s;
  s.chunks = n;
  int step = 0;
  if (kind != Collective::kAllGather)
    for (int h = 1; h < n; h *= 2, ++step)
      for (int r = 0; r < n; ++r) {
        Transfer t{step, r, r ^ h, {}, true};
        for (int c = 0; c < n; ++c)
          if ((c & (2 * h - 1)) == ((r ^ h) & (2 * h - 1))) t.chunks.push_back(c);
        s.transfers.push_back(std::move(t));
      }
  if (kind != Collective::kReduceScatter)
    for (int h = n / 2; h >= 1; h /= 2, ++step)
      for (int r = 0; r < n; ++r) {
        Transfer t{step, r, r ^ h, {}, false};
        for (int c = 0; c < n; ++c)
          if ((c & (2 * h - 1)) == (r & (2 * h - 1))) t.chunks.push_back(c);
        s.transfers.push_back(std::move(t));
      }
  return s;
}

std::vector<Phase> phases(Collective kind, int n, int d) {
  Phase near, far;
  for (int h = 1; h < n; h *= 2)
    for (int r = 0; r < n; ++r) (h < d ? near : far).push_back({r, r ^ h, passes(kind) / (2 * h)});
  std::vector<Phase> out;
  for (Phase* p : kind == Collective::kAllGather ? std::vector{&far, &near} : std::vector{&near, &far})
    if (!p->empty()) out.push_back(std::move(*p));
  return out;
}

WEFT_REGISTER(algorithms(), {"halving_doubling", "recursive halving and doubling, powers of two: 2(n-1)/n·S/B + 2 log2(n)α", supports, cost,
                             schedule, phases});

}  // namespace
}  // namespace weft::collective
