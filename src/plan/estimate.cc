#include "plan/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "workload/memory.h"
#include "workload/shard.h"
#include "workload/step.h"

namespace weft::plan {
namespace {

using workload::Collective;
using workload::Model;
using workload::Strategy;
constexpr double kElement = 2;

}  // namespace

Result<Estimator> Estimator::make(const Model& model, const Machine& machine, const Software& software, workload::Precision precision) {
  Estimator e;
  e.model_ = model, e.machine_ = machine, e.software_ = software;
  e.machine_.inner_share *= software.network, e.machine_.outer_share *= software.network;
  WEFT_ASSIGN(e.rate_, workload::compute_rate(machine.card, precision, machine.efficiency));
  e.rate_.matmul = e.rate_.matmul * software.matmul, e.rate_.grouped = e.rate_.grouped * software.matmul;
  e.rate_.attention = e.rate_.attention * software.attention;
  e.rate_.memory = e.rate_.memory / software.traffic;
  e.rate_.launch = e.rate_.launch * software.kernels, e.rate_.ramp = e.rate_.ramp * software.kernels;
  e.limit_ = machine.card.memory ? static_cast<double>(machine.card.memory->value()) : std::numeric_limits<double>::infinity();
  e.slots_.resize(64);
  return e;
}

const collective::Envelope& Estimator::envelope(Collective kind, int members, int stride) const {
  // Members and the number per domain decide; strides beyond the domain are alike.
  int step = std::min(stride, machine_.domain + 1);
  std::uint64_t key =
      (static_cast<std::uint64_t>(members) << 32 | static_cast<std::uint64_t>(step) << 4 | (static_cast<std::uint64_t>(kind) + 1));
  if (used_ * 2 > slots_.size()) {
    std::vector<Slot> old(slots_.size() * 4);
    std::swap(old, slots_);
    for (Slot& s : old)
      if (s.key) {
        std::size_t at = s.key * 0x9E3779B97F4A7C15ull >> 20 & (slots_.size() - 1);
        while (slots_[at].key) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = std::move(s);
      }
  }
  std::size_t mask = slots_.size() - 1, at = key * 0x9E3779B97F4A7C15ull >> 20 & mask;
  while (slots_[at].key && slots_[at].key != key) at = (at + 1) & mask;
  if (!slots_[at].key) {
    slots_[at] = {key, collective::Envelope(kind, group_shape(machine_, members, step))};
    ++used_;
  }
  return slots_[at].envelope;
}

double Estimator::hide(double comm, double share, double window) const {
  double hidden = std::min(comm * share, window);
  return comm - hidden + hidden * software_.contention;
}

Prepared Estimator::prepare(const Strategy& s) const {
  const Model& m = model_;
  Prepared out;
  double tokens = static_cast<double>(s.micro_batch) * s.sequence / s.cp, a = tokens * m.hidden * kElement, t = s.tp;
  bool full = s.recompute == Strategy::Recompute::kFull;
  double passes = full ? 2 : 1;  // forward passes of a layer per micro-batch
  auto tp_enter = [&] { return t > 1 && s.sequence_parallel ? envelope(Collective::kAllGather, s.tp, 1).seconds(a) : 0; };
  auto tp_leave = [&] {
    return t > 1 ? envelope(s.sequence_parallel ? Collective::kReduceScatter : Collective::kAllReduce, s.tp, 1).seconds(a) : 0;
  };
  double around = tp_enter() + tp_leave();
  // Overlapped products and their exchange write straight into the neighbours' memory: inside a domain only.
  double tp_share = s.tp <= machine_.domain ? software_.tp_hidden : 0;
  int kinds = m.moe() ? 2 : 1, first = m.moe() && m.dense_layers == 0 ? 1 : 0;
  for (int k = first; k < kinds; ++k) {
    int layer = k == 0 ? 0 : m.dense_layers;
    if (m.moe() && k == 0 && m.dense_layers == 0) continue;
    bool moe = workload::moe_layer(m, layer);
    Prepared::Layer& l = out.layer[moe ? 1 : 0];
    workload::LayerWork w = workload::layer_work(m, s, layer);
    double projections = workload::compute_cost(w.projections, rate_).value(), scores = workload::compute_cost(w.scores, rate_).value(),
           ffn = workload::compute_cost(w.ffn, rate_).value();
    l.forward = projections + scores + ffn;
    l.backward = 2 * l.forward + (full ? l.forward : 0);
    if (s.flash_attention) l.backward += 0.5 * scores;
    else if (s.recompute == Strategy::Recompute::kSelective) l.backward += scores;
    double blocks = moe ? 1 : 2, tp_forward = blocks * around, cp_forward = 0, cp_backward = 0, ep_forward = 0, ep_backward = 0;
    if (s.cp > 1) {
      double kv = m.mla() ? static_cast<double>(m.kv_lora_rank + m.rope_head_dim) : 2.0 * m.kv_heads * m.head_dim / s.tp;
      double gathered = static_cast<double>(s.micro_batch) * s.sequence * kv * kElement;
      out.cp_gather = cp_forward = envelope(Collective::kAllGather, s.cp, s.tp).seconds(gathered);
      cp_backward = cp_forward + envelope(Collective::kReduceScatter, s.cp, s.tp).seconds(gathered);
    }
    if (moe && s.ep > 1) {
      double bytes = tokens / t * m.top_k * m.hidden * kElement;
      const collective::Envelope& e = envelope(Collective::kAllToAll, s.ep, 1);
      ep_forward = e.seconds(bytes * (s.precision != workload::Precision::kBf16 ? 1.03 / 2 : 1)) + e.seconds(bytes);
      ep_backward = 2 * e.seconds(bytes);
    }
    double tp_f = hide(tp_forward, tp_share, l.forward), tp_b = hide(tp_forward, tp_share, 2 * l.forward);
    double cp_f = hide(cp_forward, software_.cp_hidden, scores), cp_b = hide(cp_backward, software_.cp_hidden, 2.5 * scores);
    double ep_f = hide(ep_forward, software_.ep_hidden, l.forward), ep_b = hide(ep_backward, software_.ep_hidden, 2 * l.forward);
    l.tp = passes * tp_f + tp_b, l.cp = passes * cp_f + cp_b, l.ep = passes * ep_f + ep_b;
    l.ep_hideable = passes * ep_forward + ep_backward;
    l.backward_comm = l.tp + l.cp + l.ep - tp_f - cp_f - ep_f;
    workload::Shard shard = workload::layer_shard(m, s, layer);
    l.dense = shard.dense, l.expert = shard.expert;
    l.activations = workload::layer_activations(m, s, layer);
  }
  out.head_forward = workload::compute_cost(workload::head_work(m, s), rate_).value();
  out.head_backward = 2 * out.head_forward;
  if (s.tp > 1) {
    const collective::Envelope& loss = envelope(Collective::kAllReduce, s.tp, 1);
    out.head_tp = 2 * tp_enter() + tp_leave() + loss.seconds(12 * tokens);
    out.embedding_tp = tp_leave() + tp_enter();
  }
  double table = static_cast<double>(m.vocab) * m.hidden / s.tp;
  out.first_end = table, out.last_end = table + m.hidden, out.shared_end = (m.tied_embeddings ? table : 2 * table) + m.hidden;
  double cut = s.sequence_parallel ? t : 1;
  out.boundary = a / (software_.scatter > 0 ? t : cut);
  out.input = 2 * tokens * m.hidden / cut;
  out.embedding_mask = m.gated_ffn ? 0 : tokens * m.hidden / cut;
  out.logits = tokens * (4.0 * m.vocab / t + 4.0 * m.hidden / cut);
  return out;
}

Estimate Estimator::combine(const Prepared& p, const Strategy& s) const {
  const Model& m = model_;
  const Software& sw = software_;
  Estimate out;
  int pieces = s.pp * s.virtual_stages, base = m.layers / pieces, rest = m.layers % pieces,
      dense_layers = m.moe() ? m.dense_layers : m.layers;
  auto first_layer = [&](int piece) { return piece * base + std::min(piece, rest); };
  struct Count {
    int dense = 0, moe = 0;
  };
  auto count = [&](int stage) {
    Count c;
    int n = base * s.virtual_stages + (rest > stage ? (rest - stage + s.pp - 1) / s.pp : 0);
    if (!m.moe()) {
      c.dense = n;
      return c;
    }
    for (int chunk = 0; chunk < s.virtual_stages; ++chunk) {
      int from = first_layer(chunk * s.pp + stage), to = first_layer(chunk * s.pp + stage + 1);
      if (from >= dense_layers) break;
      c.dense += std::min(to, dense_layers) - from;
    }
    c.moe = n - c.dense;
    return c;
  };
  double micro = s.micro_batches(), v = s.virtual_stages;
  int q = workload::dense_replicas(s), qe = std::max(1, workload::expert_replicas(s)), stage_size = s.tp * s.cp * s.dp;
  bool data = q > 1, dual = s.schedule == Strategy::Schedule::kDualPipe;
  // The expert replicas lie ep ranks apart.
  auto data_time = [&](Collective kind, double dense, double expert, double bytes) {
    double out = q > 1 ? envelope(kind, q, s.tp).seconds(dense * bytes) : 0;
    if (expert > 0 && qe > 1) out += envelope(kind, qe, s.ep).seconds(expert * bytes);
    return out;
  };
  // One layer and micro-batch with its share of ZeRO-3.
  double zero3[2] = {0, 0};
  if (s.zero == 3 && data)
    for (int k = 0; k < 2; ++k) {
      const Prepared::Layer& l = p.layer[k];
      if (l.forward <= 0) continue;
      double gather = data_time(Collective::kAllGather, l.dense, l.expert, kElement),
             reduce = data_time(Collective::kReduceScatter, l.dense, l.expert, sw.gradient_bytes);
      zero3[k] = hide(gather, sw.zero3_hidden, l.forward) + hide(gather + reduce, sw.zero3_hidden, l.backward);
    }
  struct StageTime {
    double compute = 0, tp = 0, cp = 0, ep = 0, zero3 = 0, backward = 0, weight_gradient = 0;
    double total() const { return compute + tp + cp + ep + zero3; }
  };
  auto stage_time = [&](Count c, bool first, bool last) {
    StageTime t;
    double n[2] = {static_cast<double>(c.dense), static_cast<double>(c.moe)};
    for (int k = 0; k < 2; ++k) {
      const Prepared::Layer& l = p.layer[k];
      t.compute += n[k] * (l.forward + l.backward), t.tp += n[k] * l.tp, t.cp += n[k] * l.cp, t.zero3 += n[k] * zero3[k];
      // Hidden behind another micro-batch's computation, for which the exchange takes its share of the card (DeepSeek-V3: 20 of 132 cores).
      double window = l.forward + l.backward, exchange = l.ep_hideable;
      t.ep += n[k] * (dual ? std::max(0.0, exchange - window) + 20.0 / 132 * std::min(exchange, window) : l.ep);
      t.backward += n[k] * (l.backward + l.backward_comm), t.weight_gradient += n[k] * l.forward;
    }
    if (first) t.tp += p.embedding_tp;
    if (last) t.compute += p.head_forward + p.head_backward, t.tp += p.head_tp, t.backward += p.head_backward;
    return t;
  };
  Count all{m.moe() ? std::min(m.dense_layers, m.layers) : m.layers, m.moe() ? m.layers - std::min(m.dense_layers, m.layers) : 0};
  StageTime sum = stage_time(all, true, true);
  int late = 0;  // the first stage without dense layers
  if (m.moe() && m.dense_layers > 0 && s.pp > 1) {
    int long_ones = rest * (base + 1);
    late = m.dense_layers <= long_ones ? (m.dense_layers + base) / (base + 1)
                                       : rest + (m.dense_layers - long_ones + base - 1) / std::max(base, 1);
    late = std::min(late, s.pp - 1);
  }
  const int candidates[4] = {0, std::min(1, s.pp - 1), late, s.pp - 1};
  StageTime slow, first_stage;
  for (int i = 0; i < 4; ++i) {
    int stage = candidates[i];
    if (i > 0 && (stage == candidates[i - 1] || stage == 0)) continue;
    StageTime t = stage_time(count(stage), stage == 0, stage == s.pp - 1);
    if (stage == 0) first_stage = t;
    if (i == 0 || t.total() > slow.total()) slow = t;
  }
  Time& time = out.time;
  double one = slow.total(), others = std::max(0.0, sum.total() - one);
  time.compute = micro * slow.compute, time.tp = micro * slow.tp, time.cp = micro * slow.cp, time.ep = micro * slow.ep,
  time.zero3 = micro * slow.zero3;
  double send = send_time(machine_, s.pp, stage_size, p.boundary).value();
  // Whether a group that reaches so far leaves by the ports that stages send over.
  auto same_ports = [&](int reach) { return s.pp > 1 && (reach > machine_.domain || s.world() <= machine_.domain); };
  if (s.pp > 1) {
    switch (s.schedule) {
      case Strategy::Schedule::k1F1B: time.bubble = others / v; break;
      case Strategy::Schedule::kZeroBubble:  // ZB-H1 (Qi et al. 2023): weight gradients fill two thirds of the bubble
        time.bubble = others * std::max(0.0, 1 - 2 * slow.weight_gradient / std::max(one, 1e-30));
        break;
      case Strategy::Schedule::kDualPipe:  // (pp/2 − 1)(F&B + B − 3W) (DeepSeek-V3, 2024)
        time.bubble = (s.pp / 2.0 - 1) * std::max(0.0, one + slow.backward - 3 * slow.weight_gradient);
        break;
    }
    // 1F1B keeps pp micro-batches between the first and the last stage, two between the last two: a micro-batch takes at least the time of
    // such a loop, sends included, over those in it. Interleaving starts enough chunks ahead to hide its sends. The ramp adds a send per
    // piece each way.
    double loop = v > 1 ? 0 : std::max((one + others + 2 * (s.pp - 1) * send) / s.pp, (one + others / (s.pp - 1) + 2 * send) / 2);
    time.pp = micro * hide(std::max(0.0, loop - one), sw.pp_hidden, one) + 2 * (s.pp * v - 1) * send;
    // A pass begins with keys and values gathered while the pass before still sends.
    double passes = s.recompute == Strategy::Recompute::kFull ? 2 : 1;
    if (same_ports(s.tp * s.cp)) time.cp += micro * v * passes * std::min(send, p.cp_gather) * (1 - sw.cp_hidden);
    if (m.tied_embeddings) time.pp += 2 * send_time(machine_, s.pp, stage_size, p.first_end * sw.gradient_bytes).value();
  }
  Count mine = count(0);
  double end = s.pp == 1 ? p.shared_end : p.first_end, dense = mine.dense * p.layer[0].dense + mine.moe * p.layer[1].dense + end,
         expert = mine.dense * p.layer[0].expert + mine.moe * p.layer[1].expert;
  if (data && s.zero < 3) {
    Collective kind = s.zero >= 1 ? Collective::kReduceScatter : Collective::kAllReduce;
    double repeat = s.zero == 2 ? micro : 1, layers = std::max(1, mine.dense + mine.moe), chunk = layers / v;
    double reduce = data_time(kind, dense, expert, sw.gradient_bytes), table = data_time(kind, p.first_end, 0, sw.gradient_bytes),
           head = data_time(kind, end - p.first_end, 0, sw.gradient_bytes), of_layers = std::max(0.0, reduce - table - head);
    // The head's reduction starts first, then one layer's after another as the last backward passes come to them, the embedding's behind all:
    // that shows, and so does the last layer, or what is left of a chunk's or of all when they take longer than the passes still to do.
    double pass = (first_stage.backward - (s.pp == 1 ? p.head_backward : 0)) / v, rest = pass * (chunk - 1) / chunk,
           all = s.pp == 1 ? head + of_layers - pass : of_layers - rest - (v - 1) * s.pp * pass;
    double shown = table + std::max({of_layers / layers, of_layers / v - rest, all});
    time.dp = repeat * hide(reduce, sw.dp_hidden, std::max(0.0, reduce - shown));
    // The last micro-batch's gradients travel back over the ports that the reductions fill: at half the rate while a layer's lasts.
    if (same_ports(stage_size)) time.pp += (s.pp * v - 1) * std::min(send, of_layers / layers) * sw.dp_hidden;
    if (s.zero >= 1)
      time.dp +=
          hide(data_time(Collective::kAllGather, dense, expert, kElement), sw.gather_hidden, first_stage.total() - first_stage.backward);
  }
  double owned = s.zero >= 1 ? dense / q + expert / qe : dense + expert;
  time.optimizer = workload::compute_cost(workload::optimizer_work(owned), rate_).value();
  time.other = sw.per_step;
  time.step = time.compute + time.tp + time.cp + time.ep + time.pp + time.bubble + time.zero3 + time.dp + time.optimizer + time.other;

  // Memory of the stage that needs most.
  for (int i = 0; i < 4; ++i) {
    int stage = candidates[i];
    if (i > 0 && (stage == candidates[i - 1] || stage == 0)) continue;
    Count c = count(stage);
    bool first = stage == 0, last = stage == s.pp - 1;
    workload::StageSums sums;
    sums.shard.dense = c.dense * p.layer[0].dense + c.moe * p.layer[1].dense +
                       (first && last ? p.shared_end
                        : first       ? p.first_end
                        : last        ? p.last_end
                                      : 0);
    sums.shard.expert = c.dense * p.layer[0].expert + c.moe * p.layer[1].expert;
    sums.layers = c.dense + c.moe;
    sums.widest = std::max(c.dense ? p.layer[0].dense + p.layer[0].expert : 0, c.moe ? p.layer[1].dense + p.layer[1].expert : 0);
    sums.one = std::max(c.dense ? p.layer[0].activations : 0, c.moe ? p.layer[1].activations : 0);
    sums.all = c.dense * p.layer[0].activations + c.moe * p.layer[1].activations;
    workload::TrainBytes b = workload::train_bytes(s, stage, sums, p.input, p.embedding_mask, p.logits);
    MemoryUse use;
    double weights = dual ? 2 : 1;  // both ends of the pipe hold a copy
    use.weights = b.weights * weights, use.gradients = b.gradients * weights, use.optimizer = b.optimizer;
    use.activations = b.activations * (dual ? (s.pp + 1.0) / std::max(1.0, static_cast<double>(s.pp - stage)) : 1);
    use.recomputed = b.recomputed, use.ends = b.embedding + b.logits, use.gathered = b.gathered;
    use.framework = sw.memory_base + sw.fragmentation * (use.activations + use.recomputed + use.ends);
    use.total = use.weights + use.gradients + use.optimizer + use.activations + use.recomputed + use.ends + use.gathered + use.framework;
    use.stage = stage;
    if (i == 0 || use.total > out.memory.total) out.memory = use;
  }
  return out;
}

double mfu(const Model& model, const Strategy& s, double step, const fabric::DeviceModel& card) {
  double tokens = static_cast<double>(s.micro_batches()) * s.micro_batch * s.dp * s.sequence;
  double peak = s.precision != workload::Precision::kBf16 && card.fp8 ? card.fp8->value()
                : card.bf16                                           ? card.bf16->value()
                : card.fp8                                            ? card.fp8->value() / 2
                                                                      : 0;
  if (peak <= 0 || step <= 0) return 0;
  return workload::model_flops(model, static_cast<std::int64_t>(tokens), s.sequence).value() / (step * s.world() * peak);
}

}  // namespace weft::plan
