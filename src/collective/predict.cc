#include "collective/predict.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::collective {
namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
}

Predictor::Walked Predictor::walk(const Algorithm& a, workload::Collective kind, const GroupShape& shape,
                                  std::span<const fabric::DeviceId> cards) {
  const fabric::Snapshot& s = usages_.routes().snapshot();
  Walked out;
  for (const Phase& phase : a.phases(kind, shape.members, per_domain(shape))) {
    double scale = 0, slowest = 0;
    auto links = usages_.of(phase, cards, shape.domains == 1, scale);
    if (!links) return {kNever, 0, 0};
    for (const LinkUse& l : *links) {
      double rate = s.payload_rate(fabric::DirectedLink{l.link}.link()).value();
      slowest = std::max(slowest, rate > 0 ? l.weight / rate : kNever);
    }
    out.seconds_per_byte += scale * slowest;
    if (!shape.direct) continue;  // hops of switched ways differ little, those of meshes by the diameter
    for (const Edge& e : phase) {
      if (e.from == kSwitches || e.to == kSwitches) continue;
      fabric::DeviceId from = cards[static_cast<std::size_t>(e.from)], to = cards[static_cast<std::size_t>(e.to)];
      bool inside = usages_.routes().best_network(from, to) == fabric::Network::kScaleUp;
      double& worst = inside ? out.inner_latency : out.outer_latency;
      worst = std::max(worst, (usages_.routes().best(from, to).latency + (inside ? kInnerOverhead : kOuterOverhead)).value());
    }
  }
  return out;
}

Cost Predictor::cost(const Algorithm& a, workload::Collective kind, const GroupShape& shape, std::span<const fabric::DeviceId> cards,
                     Bytes bytes) {
  if (!shape.routed || shape.members < 2) return a.cost(kind, shape, bytes);
  auto at = static_cast<std::size_t>(std::find(shapes_.begin(), shapes_.end(), shape) - shapes_.begin());
  if (at == shapes_.size()) shapes_.push_back(shape);
  auto [known, fresh] = known_.try_emplace({at, &a, kind});
  if (fresh) known->second = walk(a, kind, shape, cards);
  const Walked& w = known->second;
  GroupShape here = shape;
  if (w.inner_latency > 0) here.inner_latency = Seconds(rounded(w.inner_latency));
  if (w.outer_latency > 0) here.outer_latency = Seconds(rounded(w.outer_latency));
  Cost cost = a.cost(kind, here, bytes);
  // Rates such that the closed form's transfer is the walked one: a pipeline's chunk count follows.
  double want = w.seconds_per_byte * static_cast<double>(bytes.value()), have = (cost.time - cost.latency_part).value();
  if (std::isfinite(want) && std::isfinite(have) && want > 0 && have > 0) {
    for (BytesPerSecond* r : {&here.inner, &here.inner_pair, &here.outer}) *r = BytesPerSecond(r->value() * have / want);
    cost = a.cost(kind, here, bytes);
  }
  cost.time = cost.latency_part + Seconds(want);
  return cost;
}

Choice Predictor::choose(workload::Collective kind, const GroupShape& shape, std::span<const fabric::DeviceId> cards, Bytes bytes) {
  Choice best;
  for (const Algorithm& a : algorithms().entries()) {
    if (!a.supports(kind, shape)) continue;
    Cost c = cost(a, kind, shape, cards, bytes);
    if (!best.algorithm || c.time < best.cost.time) best = {&a, c};
  }
  return best;
}

}  // namespace weft::collective
