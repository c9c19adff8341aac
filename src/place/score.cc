#include "place/score.h"

#include <algorithm>
#include <limits>

#include "collective/cost.h"
#include "workload/compute_cost.h"
#include "workload/step.h"

namespace weft::place {

using fabric::DeviceId;
using workload::Dim;
using workload::Traffic;

namespace {
// Part of overlapped communication (gradients) that shows in the step: half, as the last layers' share has nothing to hide behind.
constexpr double kOverlapShown = 0.5;
constexpr double kUnreachable = 1e9;  // seconds: worse than anything, yet comparable
}  // namespace

Scorer::Scorer(fabric::Routes& routes, const workload::Job& job) : routes_(routes), job_(job) {
  for (int stage = 0; stage < job.strategy.pp; ++stage) account_.push_back(workload::account(job.model, job.strategy, stage));
}

double Scorer::share_of_way_out(DeviceId card) {
  const fabric::Snapshot& s = routes_.snapshot();
  DeviceId node = s.container(card, fabric::DeviceKind::kNode);
  if (!node.ok()) return std::numeric_limits<double>::infinity();
  auto [at, fresh] = way_out_.emplace(node.v, 0.0);
  if (!fresh) return at->second;
  double rate = 0, cards = 0;
  for (DeviceId c : s.children(node)) {
    const fabric::Device& d = s.device(c);
    cards += d.kind == fabric::DeviceKind::kCard;
    if (d.kind != fabric::DeviceKind::kNic && d.kind != fabric::DeviceKind::kCard) continue;
    for (fabric::PortId p : s.ports_of(c))
      if (fabric::LinkId l = s.port(p).link; l.ok() && (s.link(l).networks & fabric::bit(fabric::Network::kScaleOut)))
        rate += s.payload_rate(l).value();
  }
  return at->second = cards > 0 ? rate / cards : rate;
}

double Scorer::neighbour_time(DeviceId from, DeviceId to, double bytes) {
  const fabric::Route& r = routes_.best(from, to);
  if (!r.reachable) return kUnreachable;
  if (r.width.value() <= 0) return 0;  // no links between them: the same card
  double rate = r.width.value();
  if (routes_.best_network(from, to) == fabric::Network::kScaleOut) rate = std::min({rate, share_of_way_out(from), share_of_way_out(to)});
  return rate > 0 ? r.latency.value() + bytes / rate : kUnreachable;
}

double Scorer::group_time(const workload::Group& g, const std::vector<DeviceId>& cards) {
  int per_stage = job_.strategy.tp * job_.strategy.cp * job_.strategy.dp;
  double total = 0;
  if (g.dim == Dim::kPp) {
    // Every boundary of the pipeline is crossed by every micro-batch: the slowest boundary sets the pace.
    std::size_t n = g.ranks.size(), pairs = job_.strategy.virtual_stages > 1 ? n : n - 1;
    for (std::size_t i = 0; i < pairs; ++i) {
      const auto& account = account_[static_cast<std::size_t>(g.ranks[i] / per_stage)];
      for (const Traffic& t : account)
        if (t.point_to_point && t.members == job_.strategy.pp && t.what == "stage boundary") {
          double one =
              neighbour_time(cards[static_cast<std::size_t>(g.ranks[i])], cards[static_cast<std::size_t>(g.ranks[(i + 1) % n])], t.message);
          total = std::max(total, one * 2 * job_.strategy.micro_batches() * job_.strategy.virtual_stages);
          break;
        }
    }
    return total;
  }
  std::vector<DeviceId> members;
  members.reserve(g.ranks.size());
  for (int r : g.ranks) members.push_back(cards[static_cast<std::size_t>(r)]);
  collective::GroupShape shape = collective::shape_of(members, routes_);
  if (shape.domains > 1)
    for (DeviceId c : members) shape.outer = std::min(shape.outer, BytesPerSecond(share_of_way_out(c)));
  bool cut = shape.members > 1 && (shape.domains > 1 ? shape.outer.value() <= 0 : shape.inner.value() <= 0);
  for (const Traffic& t : account_[static_cast<std::size_t>(g.ranks[0] / per_stage)]) {
    if (t.dim != g.dim || t.point_to_point) continue;
    if (cut) return kUnreachable;
    collective::Choice c = collective::choose(t.collective, shape, Bytes(static_cast<std::int64_t>(t.message)));
    // Expert gradients reduce over part of the data group only: their bytes are scaled to what a member really sends.
    double part = t.members == shape.members
                      ? 1
                      : workload::ring_factor(t.collective, t.members) / workload::ring_factor(t.collective, shape.members);
    total += c.cost.time.value() * t.count * part * (t.exposed ? 1 : kOverlapShown);
  }
  return total;
}

double Scorer::comm(const std::vector<workload::Group>& groups, const std::vector<DeviceId>& cards) {
  double worst[5] = {};
  for (const workload::Group& g : groups) {
    double& w = worst[static_cast<std::size_t>(g.dim)];
    w = std::max(w, group_time(g, cards));
  }
  return worst[0] + worst[1] + worst[2] + worst[3] + worst[4];
}

double Scorer::compute(const std::vector<DeviceId>& cards) {
  const workload::Strategy& st = job_.strategy;
  double slowest = 0;
  const fabric::DeviceModel* last = nullptr;
  double cost = 0;
  for (DeviceId c : cards) {
    const fabric::DeviceModel* m = routes_.snapshot().model_of(c);
    if (!m) return 0;
    if (m != last) {
      workload::Work w;
      double tokens = static_cast<double>(st.micro_batches()) * st.micro_batch * st.dp * st.sequence;
      w.matmul = Flops(workload::model_flops(job_.model, static_cast<std::int64_t>(tokens), st.sequence).value() / st.world());
      auto t = workload::compute_cost(w, *m, st.precision);
      if (!t) return 0;
      last = m, cost = t->value();
    }
    double speed = routes_.snapshot().health(c).speed_factor;
    slowest = std::max(slowest, cost / (speed > 0 ? speed : 1e-3));
  }
  double micro = st.micro_batches(), bubble = (st.pp - 1.0) / st.virtual_stages / micro;
  return slowest * (1 + bubble);
}

Seconds predicted_comm(fabric::Routes& routes, const workload::Job& job, const workload::Placement& placement) {
  Scorer scorer(routes, job);
  return Seconds(scorer.comm(placement.groups, placement.cards));
}

}  // namespace weft::place
