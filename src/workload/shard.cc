#include "workload/shard.h"

#include <algorithm>

namespace weft::workload {

Shard layer_shard(const Model& m, const Strategy& s, int layer) {
  double h = m.hidden, t = s.tp, split = 0, whole = 2 * h;  // two norms
  if (m.mla()) {
    double qk = m.nope_head_dim + m.rope_head_dim, heads = m.heads;
    if (m.q_lora_rank) whole += h * m.q_lora_rank + m.q_lora_rank, split += m.q_lora_rank * heads * qk;
    else split += h * heads * qk;
    whole += h * (m.kv_lora_rank + m.rope_head_dim) + m.kv_lora_rank;
    split += m.kv_lora_rank * heads * (m.nope_head_dim + m.v_head_dim) + heads * m.v_head_dim * h;
  } else {
    double q = static_cast<double>(m.heads) * m.head_dim, kv = static_cast<double>(m.kv_heads) * m.head_dim;
    split += 2 * h * q;
    // More tensor ranks than key/value heads: every rank holds one whole head.
    split += 2 * h * (s.tp > m.kv_heads ? static_cast<double>(m.head_dim) * t : kv);
  }
  double matrices = m.gated_ffn ? 3 : 2;
  Shard out;
  if (moe_layer(m, layer)) {
    whole += h * m.experts;
    split += matrices * h * m.expert_ffn * m.shared_experts;
    out.expert = matrices * h * m.expert_ffn * m.experts / s.ep;
  } else {
    split += matrices * h * m.ffn;
  }
  out.dense = whole + split / t;
  return out;
}

int first_layer(const Model& m, const Strategy& s, int piece) {
  int pieces = s.pp * s.virtual_stages;
  return piece * (m.layers / pieces) + std::min(piece, m.layers % pieces);
}

std::vector<int> stage_layers(const Model& m, const Strategy& s, int stage) {
  std::vector<int> out;
  for (int c = 0; c < s.virtual_stages; ++c)
    for (int l = first_layer(m, s, c * s.pp + stage); l < first_layer(m, s, c * s.pp + stage + 1); ++l) out.push_back(l);
  return out;
}

double end_parameters(const Model& m, const Strategy& s, int stage) {
  double table = static_cast<double>(m.vocab) * m.hidden / s.tp, out = 0;
  if (stage == 0) out += table;
  if (stage == s.pp - 1) out += (s.pp == 1 && m.tied_embeddings ? 0 : table) + m.hidden;
  return out;
}

Shard stage_shard(const Model& m, const Strategy& s, int stage) {
  Shard out;
  for (int l : stage_layers(m, s, stage)) {
    Shard one = layer_shard(m, s, l);
    out.dense += one.dense, out.expert += one.expert;
  }
  out.dense += end_parameters(m, s, stage);
  return out;
}

}  // namespace weft::workload
