#include "workload/layer.h"

#include <algorithm>

#include "workload/shard.h"

namespace weft::workload {

LayerWork layer_work(const Model& m, const Strategy& s, int layer) {
  constexpr double kElement = 2;  // bytes of a bf16 activation
  double t = static_cast<double>(s.micro_batch) * s.sequence / s.cp, h = m.hidden;
  double heads_dim = m.mla() ? static_cast<double>(m.heads) * m.v_head_dim : static_cast<double>(m.heads) * m.head_dim;
  double qk_dim = m.mla() ? static_cast<double>(m.heads) * (m.nope_head_dim + m.rope_head_dim) : heads_dim;
  double projections;
  if (m.mla()) {
    double q = m.q_lora_rank ? h * m.q_lora_rank + m.q_lora_rank * qk_dim : h * qk_dim;
    projections = q + h * (m.kv_lora_rank + m.rope_head_dim) +
                  static_cast<double>(m.kv_lora_rank) * m.heads * (m.nope_head_dim + m.v_head_dim) + heads_dim * h;
  } else {
    projections = h * heads_dim + 2 * h * m.kv_heads * m.head_dim + heads_dim * h;
  }
  LayerWork out;
  // Keys a token sees: the causal half of the sequence, less in windowed layers (spread evenly over all layers).
  double context = s.sequence, seen = context / 2;
  if (m.windowed_layers > 0) seen += (std::min<double>(m.window, seen) - seen) * m.windowed_layers / m.layers;
  Work& a = out.projections;
  a.matmul = Flops(2 * t * projections / s.tp);
  // Norm, residual and dropout read and write whole tokens on every tensor rank unless the sequence is cut too.
  double whole = s.sequence_parallel ? s.tp : 1;
  a.traffic = Bytes(static_cast<std::int64_t>(t * kElement * (h * 6 / whole + 2 * heads_dim / s.tp)));
  a.kernels = 8;
  Work& scores = out.scores;
  // Causal: flash kernels skip the masked half; older ones compute and store it all (13 bytes per score over softmax, mask and dropout).
  scores.attention = Flops(2 * t * (s.flash_attention ? seen : context) * (qk_dim + heads_dim) / s.tp);
  if (!s.flash_attention) scores.traffic = Bytes(static_cast<std::int64_t>(13 * t * context * m.heads / s.tp));
  scores.kernels = s.flash_attention ? 1 : 5;
  Work& f = out.ffn;
  double matrices = m.gated_ffn ? 3 : 2;
  if (moe_layer(m, layer)) {
    // Experts hold whole tokens (no tensor parallelism inside an expert): t/tp tokens per rank with sequence parallelism. Each chosen copy
    // is sorted to its expert and back: four reads and writes.
    double copies = t * m.top_k / s.tp, routed = m.expert_ffn, shared = static_cast<double>(m.expert_ffn) * m.shared_experts;
    f.matmul = Flops(2 * t * (matrices * h * shared + h * m.experts) / s.tp);
    f.grouped = Flops(2 * copies * matrices * h * routed);
    f.weights = Bytes(static_cast<std::int64_t>(kElement * matrices * h * routed * m.experts / s.ep));
    f.traffic =
        Bytes(static_cast<std::int64_t>(t * kElement * h * 6 / whole + kElement * (copies * (routed * 3 + 4 * h) + t * shared * 3 / s.tp)));
    f.kernels = 12;
  } else {
    f.matmul = Flops(2 * t * matrices * h * m.ffn / s.tp);
    f.traffic = Bytes(static_cast<std::int64_t>(t * kElement * (h * 6 / whole + static_cast<double>(m.ffn) * 3 / s.tp)));
    f.kernels = 6;
  }
  return out;
}

Work head_work(const Model& m, const Strategy& s) {
  double t = static_cast<double>(s.micro_batch) * s.sequence / s.cp;
  Work head;
  head.matmul = Flops(2 * t * m.hidden * static_cast<double>(m.vocab) / s.tp);
  head.traffic = Bytes(static_cast<std::int64_t>(t * static_cast<double>(m.vocab) / s.tp * 4));
  head.kernels = 4;
  return head;
}

Work optimizer_work(double parameters) {
  Work adam;
  adam.traffic = Bytes(static_cast<std::int64_t>(parameters * 28));  // reads and writes 4-byte states: weights, two moments, gradient
  adam.kernels = 4;
  return adam;
}

}  // namespace weft::workload
