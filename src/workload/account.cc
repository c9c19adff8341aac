#include "workload/account.h"

#include <algorithm>

#include "workload/shard.h"

namespace weft::workload {

double ring_factor(Collective c, int n) { return (c == Collective::kAllReduce ? 2.0 : 1.0) * (n - 1) / n; }

std::vector<double> sent_by_dim(const std::vector<Traffic>& account) {
  std::vector<double> out(5, 0);
  for (const Traffic& t : account) out[static_cast<std::size_t>(t.dim)] += t.sent;
  return out;
}

std::vector<Traffic> account(const Model& m, const Strategy& s, int stage) {
  std::vector<Traffic> out;
  auto add = [&](Dim dim, Collective c, const char* what, int members, double message, double count, bool exposed) {
    if (members > 1 && count > 0 && message > 0)
      out.push_back({dim, false, c, what, members, message, count, message * count * ring_factor(c, members), exposed});
  };
  constexpr double kElement = 2, kGradient = 4;
  double micro = s.micro_batches(), tokens = static_cast<double>(s.micro_batch) * s.sequence / s.cp, a = tokens * m.hidden * kElement;
  bool first = stage == 0, last = stage == s.pp - 1, full = s.recompute == Strategy::Recompute::kFull;
  double dense_layers = 0, moe_layers = 0;
  for (int l : stage_layers(m, s, stage)) (moe_layer(m, l) ? moe_layers : dense_layers) += 1;

  // Tensor parallelism: two blocks of a dense layer, attention alone of an expert layer; forward, backward and, recomputed, forward again.
  double blocks = 2 * dense_layers + moe_layers, passes = full ? 3 : 2;
  if (s.sequence_parallel) {
    add(Dim::kTp, Collective::kAllGather, "layer activations", s.tp, a, micro * blocks * passes, true);
    add(Dim::kTp, Collective::kReduceScatter, "layer activations", s.tp, a, micro * blocks * passes, true);
    if (first)
      add(Dim::kTp, Collective::kReduceScatter, "embedding", s.tp, a, micro, true),
          add(Dim::kTp, Collective::kAllGather, "embedding", s.tp, a, micro, true);
    if (last)
      add(Dim::kTp, Collective::kAllGather, "output head", s.tp, a, 2 * micro, true),
          add(Dim::kTp, Collective::kReduceScatter, "output head", s.tp, a, micro, true);
  } else {
    add(Dim::kTp, Collective::kAllReduce, "layer activations", s.tp, a, micro * blocks * passes, true);
    if (first) add(Dim::kTp, Collective::kAllReduce, "embedding", s.tp, a, micro, true);
    if (last) add(Dim::kTp, Collective::kAllReduce, "output head", s.tp, a, micro, true);
  }
  // Three reductions of one fp32 number per token: maximum, sum, target logit.
  if (last) add(Dim::kTp, Collective::kAllReduce, "loss", s.tp, 12 * tokens, micro, true);

  // Pipeline: an activation forward and a gradient backward per micro-batch and chunk, less the open ends.
  if (s.pp > 1) {
    double v = s.virtual_stages, boundary = a / (s.sequence_parallel ? s.tp : 1);
    double sends = micro * (2 * v - (first ? 1 : 0) - (last ? 1 : 0));
    if (sends > 0) out.push_back({Dim::kPp, true, {}, "stage boundary", s.pp, boundary, sends, boundary * sends, true});
    double table = static_cast<double>(m.vocab) * m.hidden / s.tp * kGradient;
    if (m.tied_embeddings && (first || last)) out.push_back({Dim::kPp, true, {}, "tied embedding gradient", 2, table, 1, table, true});
  }

  // Experts: dispatch and combine, forward and backward; FP8 sends the forward dispatch in one byte and scales.
  double spread = tokens / s.tp * m.top_k * m.hidden * kElement, fp8 = s.precision != Precision::kBf16 ? 1.03 / 2 : 1;
  if (m.moe()) {
    add(Dim::kEp, Collective::kAllToAll, "expert dispatch, forward", s.ep, spread * fp8, micro * moe_layers * (full ? 2 : 1), true);
    add(Dim::kEp, Collective::kAllToAll, "expert combine, forward", s.ep, spread, micro * moe_layers * (full ? 2 : 1), true);
    add(Dim::kEp, Collective::kAllToAll, "expert exchange, backward", s.ep, spread, micro * moe_layers * 2, true);
  }

  // Context: keys and values gathered forward and again backward, their gradients scattered home.
  double kv = m.mla() ? m.kv_lora_rank + m.rope_head_dim : 2.0 * std::max(1.0, static_cast<double>(m.kv_heads) / s.tp) * m.head_dim;
  double gathered = static_cast<double>(s.micro_batch) * s.sequence * kv * kElement, layers = dense_layers + moe_layers;
  add(Dim::kCp, Collective::kAllGather, "keys and values", s.cp, gathered, micro * layers * passes, true);
  add(Dim::kCp, Collective::kReduceScatter, "gradients of keys and values", s.cp, gathered, micro * layers, true);

  // Data: gradients reduced, weights gathered. Expert weights reduce over fewer ranks; their bytes ride in the same group.
  Shard mine = stage_shard(m, s, stage);
  int q = dense_replicas(s), qe = expert_replicas(s);
  auto data = [&](double parameters, int members, const char* gradients, const char* weights) {
    double repeat = s.zero >= 2 ? micro : 1;
    add(Dim::kDp, s.zero >= 1 ? Collective::kReduceScatter : Collective::kAllReduce, gradients, members, parameters * kGradient, repeat,
        false);
    if (s.zero >= 1)
      add(Dim::kDp, Collective::kAllGather, weights, members, parameters * kElement, s.zero == 3 ? 2 * micro : 1, s.zero != 3);
  };
  data(mine.dense, q, "gradients", "weights");
  data(mine.expert, qe, "expert gradients", "expert weights");
  return out;
}

}  // namespace weft::workload
