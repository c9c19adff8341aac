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

TrainBytes train_bytes(const Strategy& s, int stage, const StageSums& sums, double input, double mask, double logits) {
  TrainBytes out;
  double q = dense_replicas(s), qe = expert_replicas(s);
  auto sharded = [&](double per, bool cut) {
    return per * (cut ? sums.shard.dense / q + (sums.shard.expert > 0 ? sums.shard.expert / qe : 0) : sums.shard.total());
  };
  out.weights = sharded(2, s.zero == 3), out.gradients = sharded(4, s.zero >= 2), out.optimizer = sharded(12, s.zero >= 1);
  double micro = s.micro_batches(), p = s.pp, v = s.virtual_stages;
  // 1F1B keeps pp − stage micro-batches in flight; interleaving keeps (pp − 1) / v more chunks' worth on the first stage.
  out.flight = std::min(micro, v > 1 ? p * (1 + (p - 1) / (p * v)) - stage / v : p - stage);
  bool full = s.recompute == Strategy::Recompute::kFull;
  out.activations = out.flight * (full ? sums.layers * input : sums.all);
  if (full) out.recomputed = sums.one;
  if (stage == 0) out.embedding = out.flight * mask;
  if (stage == s.pp - 1) out.logits = logits;
  if (s.zero == 3) out.gathered = 2 * 2 * sums.widest;
  return out;
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
  if (phase != Phase::kTrain) {
    const Inference& i = job.inference;
    add(out, "weights", 2 * mine.total(), "2 bytes per parameter of the stage");
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
  StageSums sums;
  sums.shard = mine;
  for (int l : stage_layers(m, s, stage)) {
    double kept = layer_activations(m, s, l);
    sums.one = std::max(sums.one, kept), sums.all += kept, sums.widest = std::max(sums.widest, layer_shard(m, s, l).total());
    ++sums.layers;
  }
  double tokens = static_cast<double>(s.micro_batch) * s.sequence / s.cp, cut = s.sequence_parallel ? s.tp : 1;
  // Dropout mask behind the embedding (GPT), for every micro-batch in flight; logits and their gradient in fp32 at the end.
  TrainBytes b = train_bytes(s, stage, sums, 2 * tokens * m.hidden / cut, m.gated_ffn ? 0 : tokens * m.hidden / cut,
                             tokens * (4.0 * m.vocab / s.tp + 4.0 * m.hidden / cut));
  const char* over = " bytes per parameter over the data-parallel ranks";
  const char* here = " bytes per parameter";
  add(out, "weights", b.weights, std::string("2") + (s.zero == 3 ? over : here));
  add(out, "gradients", b.gradients, std::string("4") + (s.zero >= 2 ? over : here));
  add(out, "optimizer", b.optimizer, std::string("12") + (s.zero >= 1 ? over : here));
  if (s.recompute == Strategy::Recompute::kFull) {
    add(out, "activations", b.activations, fmt::format("layer inputs of {:.4g} micro-batches", b.flight));
    add(out, "recomputed layer", b.recomputed, "activations of one layer");
  } else {
    add(out, "activations", b.activations, fmt::format("{} layers of {:.4g} micro-batches", sums.layers, b.flight));
  }
  add(out, "embedding", b.embedding, "dropout mask");
  add(out, "logits", b.logits, "fp32 logits and the head's input, one micro-batch");
  add(out, "gathered layers", b.gathered, "weights of two layers while they are used");
  return out;
}

Memory largest_memory(const Job& job, Phase phase) {
  Memory worst;
  for (int stage = 0; stage < job.strategy.pp; ++stage)
    if (Memory here = memory_of(job, stage, phase); stage == 0 || here.total > worst.total) worst = std::move(here);
  return worst;
}

}  // namespace weft::workload
