#include "workload/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "workload/shard.h"

namespace weft::workload {

// Per token, in bytes. For a plain GELU model with dropout and as many key/value heads as heads this is 34·h, of which 10·h is not cut
// by tensor parallelism without sequence parallelism, plus 5·heads·sequence of scores (Korthikanti et al., equations 1 to 4).
double layer_activations(const Model& m, const Strategy& s, int layer) {
  double h = m.hidden, tokens = static_cast<double>(s.micro_batch) * s.sequence / s.cp, t = s.tp;
  double q = m.mla() ? static_cast<double>(m.heads) * (m.nope_head_dim + m.rope_head_dim) : static_cast<double>(m.heads) * m.head_dim;
  double out = m.mla() ? static_cast<double>(m.heads) * m.v_head_dim : q;
  double kv = m.mla() ? q + out : 2.0 * m.kv_heads * m.head_dim;
  bool dropout = !m.gated_ffn;  // the GPT generation; its masks take one byte per element
  // Replicated over tp without sequence parallelism: two norm inputs, the two block inputs, two dropout masks.
  double replicated = 4 * h + 2 * h + 2 * h + (dropout ? 2 * h : 0);
  double split = 2 * (q + kv + out);
  if (moe_layer(m, layer)) {
    double width = m.expert_ffn, copies = m.top_k;
    split += copies * (2 * h + 6 * width) + copies * 2 * h + m.shared_experts * 6.0 * width;
  } else {
    split += (m.gated_ffn ? 6.0 : 4.0) * m.ffn;
  }
  double scores = !s.flash_attention && s.recompute == Strategy::Recompute::kNone ? 5.0 * m.heads * s.sequence : 0;
  return tokens * (replicated / (s.sequence_parallel ? t : 1) + (split + scores) / t);
}

namespace {

void add(Memory& memory, std::string name, double bytes, std::string how) {
  if (bytes <= 0) return;
  memory.items.push_back({std::move(name), Bytes(static_cast<std::int64_t>(bytes)), std::move(how)});
  memory.total += memory.items.back().bytes;
}

}  // namespace

Memory memory_of(const Job& job, int stage, Phase phase) {
  const Model& m = job.model;
  const Strategy& s = job.strategy;
  Memory out;
  out.stage = stage;
  Shard mine = stage_shard(m, s, stage);
  double q = dense_replicas(s), qe = expert_replicas(s);
  auto sharded = [&](double per, bool cut) { return per * (mine.dense / (cut ? q : 1) + mine.expert / (cut ? qe : 1)); };
  if (phase != Phase::kTrain) {
    const Inference& i = job.inference;
    add(out, "weights", sharded(2, false), "2 bytes per parameter of the stage");
    double per = m.mla() ? m.kv_lora_rank + m.rope_head_dim : 2.0 * std::max(1.0, static_cast<double>(m.kv_heads) / s.tp) * m.head_dim;
    double sequences = phase == Phase::kDecode ? i.decode_batch : 1,
           length = i.prompt_tokens + (phase == Phase::kDecode ? i.output_tokens : 0);
    add(out, "key/value cache", 2 * per * sequences * length * static_cast<double>(stage_layers(m, s, stage).size()),
        fmt::format("{:.0f} sequences of {:.0f} tokens", sequences, length));
    double rows = phase == Phase::kDecode ? sequences : length;
    add(out, "activations", rows * 2 * (4.0 * m.hidden + 3.0 * (m.moe() ? m.expert_ffn * (m.top_k + m.shared_experts) : m.ffn) / s.tp),
        "one layer at a time");
    return out;
  }
  add(out, "weights", sharded(2, s.zero == 3),
      s.zero == 3 ? "2 bytes per parameter over the data-parallel ranks" : "2 bytes per parameter");
  add(out, "gradients", sharded(4, s.zero >= 2),
      s.zero >= 2 ? "4 bytes per parameter over the data-parallel ranks" : "4 bytes per parameter");
  add(out, "optimizer", sharded(12, s.zero >= 1),
      s.zero >= 1 ? "12 bytes per parameter over the data-parallel ranks" : "12 bytes per parameter");
  std::vector<int> layers = stage_layers(m, s, stage);
  double one = 0, all = 0;  // one micro-batch
  for (int l : layers) one = std::max(one, layer_activations(m, s, l)), all += layer_activations(m, s, l);
  double micro = s.micro_batches(), p = s.pp, v = s.virtual_stages;
  // 1F1B keeps pp − stage micro-batches in flight; interleaving keeps (pp − 1) / v more chunks' worth on the first stage.
  double flight = std::min(micro, p - stage);
  if (v > 1) flight = std::min(micro, p * (1 + (p - 1) / (p * v)) - stage / v);
  double tokens = static_cast<double>(s.micro_batch) * s.sequence / s.cp, cut = s.sequence_parallel ? s.tp : 1;
  if (s.recompute == Strategy::Recompute::kFull) {
    add(out, "activations", flight * static_cast<double>(layers.size()) * 2 * tokens * m.hidden / cut,
        fmt::format("layer inputs of {:.4g} micro-batches", flight));
    add(out, "recomputed layer", one, "activations of one layer");
  } else {
    add(out, "activations", flight * all, fmt::format("{} layers of {:.4g} micro-batches", layers.size(), flight));
  }
  // Dropout mask behind the embedding (GPT), for every micro-batch in flight; logits and their gradient in fp32 at the end.
  if (stage == 0 && !m.gated_ffn) add(out, "embedding", flight * tokens * m.hidden / cut, "dropout mask");
  if (stage == s.pp - 1)
    add(out, "logits", tokens * (4.0 * m.vocab / s.tp + 4.0 * m.hidden / cut), "fp32 logits and the head's input, one micro-batch");
  if (s.zero == 3) {
    double widest = 0;
    for (int l : layers) widest = std::max(widest, layer_shard(m, s, l).total());
    add(out, "gathered layers", 2 * 2 * widest, "weights of two layers while they are used");
  }
  return out;
}

Memory largest_memory(const Job& job, Phase phase) {
  Memory worst;
  for (int stage = 0; stage < job.strategy.pp; ++stage)
    if (Memory here = memory_of(job, stage, phase); stage == 0 || here.total > worst.total) worst = std::move(here);
  return worst;
}

}  // namespace weft::workload
