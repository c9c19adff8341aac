#include "workload/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "workload/account.h"
#include "workload/compute_cost.h"
#include "workload/layer.h"
#include "workload/shard.h"

namespace weft::workload {
namespace {

constexpr double kElement = 2;   // bytes of a bf16 activation or weight
constexpr double kGradient = 4;  // gradients are reduced in fp32

struct LayerCost {
  Seconds attention{0}, ffn{0};
  Seconds scores{0};  // of attention: the part that selective recomputation and flash attention do again
};

struct Writer {
  const Job& job;
  const Model& m;
  const Strategy& s;
  const fabric::DeviceModel& card;
  Phase phase;
  Dag dag;
  std::map<std::string, std::uint16_t> label_ids;
  Program* program = nullptr;

  std::uint16_t label(const std::string& text) {
    auto [at, fresh] = label_ids.emplace(text, static_cast<std::uint16_t>(dag.labels.size()));
    if (fresh) dag.labels.push_back(text);
    return at->second;
  }
  std::int32_t push(Op op) {
    program->ops.push_back(op);
    return static_cast<std::int32_t>(program->ops.size()) - 1;
  }
  void compute(Seconds t, const char* what, std::int32_t wait = -1) {
    Op op{OpKind::kCompute};
    op.compute = t, op.label = label(what), op.wait = wait;
    push(op);
  }
  std::int32_t collective(Collective c, Dim dim, double bytes, const char* what, bool async = false) {
    Op op{OpKind::kCollective};
    op.collective = c, op.dim = dim, op.bytes = Bytes(static_cast<std::int64_t>(bytes + 0.5)), op.label = label(what), op.async = async;
    return push(op);
  }
  void p2p(OpKind kind, int peer, double bytes, const char* what, bool async) {
    Op op{kind};
    op.dim = Dim::kPp, op.peer = static_cast<std::int16_t>(peer), op.bytes = Bytes(static_cast<std::int64_t>(bytes + 0.5)),
    op.label = label(what), op.async = async;
    push(op);
  }
  void wait_for(std::int32_t index) {
    Op op{OpKind::kDelay};
    op.wait = index, op.label = label("wait");
    push(op);
  }

  // Tokens of one micro-batch on one rank before tensor parallelism: B·S/c.
  double tokens() const { return static_cast<double>(s.micro_batch) * s.sequence / s.cp; }
  double activation() const { return tokens() * m.hidden * kElement; }  // A/c
  bool is_moe(int layer) const { return moe_layer(m, layer); }

  Result<Seconds> cost(Work w) const { return compute_cost(w, card, s.precision); }

  Result<LayerCost> forward(int layer) const {
    LayerWork w = layer_work(m, s, layer);
    LayerCost c;
    WEFT_ASSIGN(c.attention, cost(w.projections));
    WEFT_ASSIGN(c.scores, cost(w.scores));
    c.attention += c.scores;
    WEFT_ASSIGN(c.ffn, cost(w.ffn));
    return c;
  }

  // Tensor-parallel exchange around a block: with sequence parallelism all-gather before and reduce-scatter after, else one all-reduce after.
  void tp_enter(const char* what) {
    if (s.tp > 1 && s.sequence_parallel) collective(Collective::kAllGather, Dim::kTp, activation(), what);
  }
  void tp_leave(const char* what) {
    if (s.tp > 1) collective(s.sequence_parallel ? Collective::kReduceScatter : Collective::kAllReduce, Dim::kTp, activation(), what);
  }
  double expert_bytes() const { return tokens() / s.tp * m.top_k * m.hidden * kElement; }

  Status layer_pass(int layer, const LayerCost& c, double scale, const char* attention_label, const char* ffn_label, bool backward) {
    auto cp = [&] {
      if (s.cp == 1) return;
      double kv = m.mla() ? static_cast<double>(m.kv_lora_rank + m.rope_head_dim) : 2.0 * m.kv_heads * m.head_dim / s.tp;
      double gathered = static_cast<double>(s.micro_batch) * s.sequence * kv * kElement;
      collective(Collective::kAllGather, Dim::kCp, gathered, "key/value all-gather");
      if (backward) collective(Collective::kReduceScatter, Dim::kCp, gathered, "key/value gradient reduce-scatter");
    };
    auto attention = [&] {
      tp_enter("attention all-gather");
      cp();
      compute(c.attention * scale, attention_label);
      tp_leave("attention reduce");
    };
    auto ffn = [&] {
      bool experts = is_moe(layer);
      if (experts) {
        // FP8 sends the forward dispatch in one byte and scales.
        if (s.ep > 1)
          collective(Collective::kAllToAll, Dim::kEp, expert_bytes() * (s.precision != Precision::kBf16 && !backward ? 1.03 / 2 : 1),
                     "expert dispatch");
        compute(c.ffn * scale, ffn_label);
        if (s.ep > 1) collective(Collective::kAllToAll, Dim::kEp, expert_bytes(), "expert combine");
        return;
      }
      tp_enter("ffn all-gather");
      compute(c.ffn * scale, ffn_label);
      tp_leave("ffn reduce");
    };
    if (backward) ffn(), attention();
    else attention(), ffn();
    return {};
  }

  // Bytes to hand to the dp group so that a member sends what the reduction of `dense` (over dp × cp) and `expert` (over dp × cp × tp / ep
  // ranks) parameters needs; the expert group's members differ a little from the dp group's, its bytes do not.
  double data_bytes(Shard x, double per_parameter) const {
    int q = dense_replicas(s), qe = expert_replicas(s);
    if (q == 1) return 0;
    return per_parameter * (x.dense + x.expert * (static_cast<double>(qe - 1) / qe) / (static_cast<double>(q - 1) / q));
  }

  Result<Program> train(int stage) {
    Program out;
    program = &out;
    int chunks = s.virtual_stages, micro = s.micro_batches();
    // Layers of (stage, chunk): as even as can be, the first stages take the rest.
    int pieces = s.pp * chunks;
    auto first_layer = [&](int piece) { return workload::first_layer(m, s, piece); };
    bool data = s.dp * s.cp > 1;
    double end = end_parameters(m, s, stage);
    std::vector<LayerCost> costs(static_cast<std::size_t>(m.layers));
    for (int l = 0; l < m.layers; ++l) {
      if (l > 0 && is_moe(l) == is_moe(l - 1)) {
        costs[static_cast<std::size_t>(l)] = costs[static_cast<std::size_t>(l - 1)];
        continue;
      }
      WEFT_ASSIGN(costs[static_cast<std::size_t>(l)], forward(l));
    }
    WEFT_ASSIGN(Seconds head_cost, cost(head_work(m, s)));
    double boundary = activation() / (s.sequence_parallel ? s.tp : 1);
    std::vector<std::int32_t> pending;
    // The embedding belongs to the first piece, head and norm to the last.
    auto ends_of = [&](int which, int at) {
      double table = static_cast<double>(m.vocab) * m.hidden / s.tp;
      double first = at == 0 ? table : 0;
      return which == 0 ? first : end - first;
    };
    auto reduce_gradients = [&](Shard x, bool last) {
      if (data && x.total() > 0 && (last || s.zero >= 2))
        pending.push_back(collective(s.zero >= 1 ? Collective::kReduceScatter : Collective::kAllReduce, Dim::kDp, data_bytes(x, kGradient),
                                     "gradient reduce", true));
    };

    auto forward_pass = [&](int chunk) -> Status {
      int piece = chunk * s.pp + stage;
      if (piece > 0) p2p(OpKind::kRecv, -1, boundary, "activations", false);
      if (piece == 0 && s.zero == 3 && data && stage == 0)
        collective(Collective::kAllGather, Dim::kDp, data_bytes({ends_of(0, stage)}, kElement), "weight all-gather");
      if (piece == 0 && s.tp > 1)
        collective(s.sequence_parallel ? Collective::kReduceScatter : Collective::kAllReduce, Dim::kTp, activation(), "embedding reduce");
      for (int l = first_layer(piece); l < first_layer(piece + 1); ++l) {
        if (s.zero == 3 && data)
          collective(Collective::kAllGather, Dim::kDp, data_bytes(layer_shard(m, s, l), kElement), "weight all-gather");
        WEFT_TRY(layer_pass(l, costs[static_cast<std::size_t>(l)], 1, "attention forward", "ffn forward", false));
      }
      if (piece == pieces - 1) {
        if (s.zero == 3 && data)
          collective(Collective::kAllGather, Dim::kDp, data_bytes({ends_of(1, stage)}, kElement), "weight all-gather");
        tp_enter("head all-gather");
        compute(head_cost, "head and loss forward");
        if (s.tp > 1) collective(Collective::kAllReduce, Dim::kTp, 12 * tokens(), "loss reduce");
      } else {
        p2p(OpKind::kSend, 1, boundary, "activations", true);
      }
      return {};
    };
    auto backward_pass = [&](int chunk, bool last) -> Status {
      int piece = chunk * s.pp + stage;
      if (piece == pieces - 1) {
        if (s.zero == 3 && data)
          collective(Collective::kAllGather, Dim::kDp, data_bytes({ends_of(1, stage)}, kElement), "weight all-gather");
        tp_enter("head all-gather");
        compute(head_cost * 2, "head and loss backward");
        tp_leave("head reduce");
        reduce_gradients({ends_of(1, stage)}, last);
      } else {
        p2p(OpKind::kRecv, 1, boundary, "gradients", false);
      }
      for (int l = first_layer(piece + 1) - 1; l >= first_layer(piece); --l) {
        const LayerCost& c = costs[static_cast<std::size_t>(l)];
        if (s.zero == 3 && data)
          collective(Collective::kAllGather, Dim::kDp, data_bytes(layer_shard(m, s, l), kElement), "weight all-gather");
        if (s.recompute == Strategy::Recompute::kFull) WEFT_TRY(layer_pass(l, c, 1, "attention recompute", "ffn recompute", false));
        // Flash kernels compute the scores once more in their backward pass: 2.5 times the forward instead of 2.
        if (s.flash_attention) compute(c.scores * 0.5, "attention recompute");
        else if (s.recompute == Strategy::Recompute::kSelective) compute(c.scores, "attention recompute");
        WEFT_TRY(layer_pass(l, c, 2, "attention backward", "ffn backward", true));
        reduce_gradients(layer_shard(m, s, l), last);
      }
      if (piece == 0 && s.tp > 1 && s.sequence_parallel) collective(Collective::kAllGather, Dim::kTp, activation(), "embedding all-gather");
      if (piece == 0) {
        if (s.zero == 3 && data)
          collective(Collective::kAllGather, Dim::kDp, data_bytes({ends_of(0, stage)}, kElement), "weight all-gather");
        reduce_gradients({ends_of(0, stage)}, last);
      }
      if (piece > 0) p2p(OpKind::kSend, -1, boundary, "gradients", true);
      return {};
    };

    if (chunks == 1) {
      int warm = std::min(s.pp - 1 - stage, micro);
      for (int i = 0; i < warm; ++i) WEFT_TRY(forward_pass(0));
      for (int i = 0; i < micro - warm; ++i) {
        WEFT_TRY(forward_pass(0));
        WEFT_TRY(backward_pass(0, i == micro - 1));
      }
      for (int i = micro - warm; i < micro; ++i) WEFT_TRY(backward_pass(0, i == micro - 1));
    } else {
      // Interleaved 1F1B (Narayanan et al. 2021): virtual micro-batch k belongs to chunk (k / pp) mod v forwards, reversed backwards.
      int total = micro * chunks, warm = std::min((s.pp - stage - 1) * 2 + (chunks - 1) * s.pp, total);
      auto chunk_of = [&](int k, bool back) {
        int c = k / s.pp % chunks;
        return back ? chunks - 1 - c : c;
      };
      for (int k = 0; k < warm; ++k) WEFT_TRY(forward_pass(chunk_of(k, false)));
      for (int k = 0; k < total; ++k) {
        if (k + warm < total) WEFT_TRY(forward_pass(chunk_of(k + warm, false)));
        WEFT_TRY(backward_pass(chunk_of(k, true), k >= total - s.pp * chunks && (k % s.pp) == s.pp - 1));
      }
    }
    for (std::int32_t p : pending) wait_for(p);
    if (m.tied_embeddings && s.pp > 1 && (stage == 0 || stage == s.pp - 1)) {
      // First and last stage hold one table: both send their gradient to the other, which is an all-reduce of two.
      int peer = stage == 0 ? -1 : 1;
      double table = static_cast<double>(m.vocab) * m.hidden / s.tp * kGradient;
      p2p(OpKind::kSend, peer, table, "tied embedding gradient", true);
      p2p(OpKind::kRecv, peer, table, "tied embedding gradient", false);
    }
    Shard mine = stage_shard(m, s, stage);
    double shard = s.zero >= 1 ? mine.dense / dense_replicas(s) + mine.expert / expert_replicas(s) : mine.total();
    WEFT_ASSIGN(Seconds adam_cost, cost(optimizer_work(shard)));
    compute(adam_cost, "optimizer");
    if (data && (s.zero == 1 || s.zero == 2)) collective(Collective::kAllGather, Dim::kDp, data_bytes(mine, kElement), "weight all-gather");
    return out;
  }

  // Prefill: a forward pass over the prompts. Decode: one token for every sequence of the batch; weights and keys stream from memory.
  Result<Program> infer(int stage) {
    Program out;
    program = &out;
    bool decode = phase == Phase::kDecode;
    double batch = job.inference.decode_batch, prompt = job.inference.prompt_tokens;
    double rows = decode ? batch : prompt;  // tokens this pass
    double context = decode ? prompt + job.inference.output_tokens / 2.0 : prompt / 2;
    int per = m.layers / s.pp, first = stage * per + std::min(stage, m.layers % s.pp), last = first + per + (stage < m.layers % s.pp);
    double boundary = rows * m.hidden * kElement;
    if (stage > 0) p2p(OpKind::kRecv, -1, boundary, "activations", false);
    for (int l = first; l < last; ++l) {
      Shard mine = layer_shard(m, s, l);
      double read = mine.dense, worked = mine.dense;
      if (is_moe(l)) {
        // Experts that some token of the expert group chose, uniform routing; each rank works on its share of the choices.
        double choices = rows / s.tp * s.ep * m.top_k;
        read += mine.expert * (1 - std::pow(1 - 1.0 / m.experts, choices));
        worked += static_cast<double>(m.gated_ffn ? 3 : 2) * m.hidden * m.expert_ffn * m.top_k / s.tp;
      }
      double kv =
          m.mla() ? static_cast<double>(m.kv_lora_rank + m.rope_head_dim) : 2.0 * m.kv_heads * m.head_dim / std::min(s.tp, m.kv_heads);
      Work w;
      w.matmul = Flops(2 * rows * worked);
      w.attention = Flops(4 * rows * context * m.heads * (m.mla() ? m.v_head_dim : m.head_dim) / s.tp);
      w.weights = Bytes(static_cast<std::int64_t>(read * kElement));
      w.traffic = Bytes(static_cast<std::int64_t>(decode ? batch * context * kv * kElement : 0));
      w.kernels = 10;
      WEFT_ASSIGN(Seconds t, cost(w));
      compute(t * 0.5, "attention");
      if (s.tp > 1) collective(Collective::kAllReduce, Dim::kTp, boundary, "attention reduce");
      if (is_moe(l) && s.ep > 1)
        collective(Collective::kAllToAll, Dim::kEp, rows / s.tp * m.top_k * m.hidden * kElement, "expert dispatch");
      compute(t * 0.5, "ffn");
      if (is_moe(l) && s.ep > 1) collective(Collective::kAllToAll, Dim::kEp, rows / s.tp * m.top_k * m.hidden * kElement, "expert combine");
      else if (s.tp > 1) collective(Collective::kAllReduce, Dim::kTp, boundary, "ffn reduce");
    }
    if (stage + 1 < s.pp) {
      p2p(OpKind::kSend, 1, boundary, "activations", true);
    } else {
      Work head;
      head.matmul = Flops(2 * (decode ? batch : 1) * m.hidden * static_cast<double>(m.vocab) / s.tp);
      head.weights = Bytes(static_cast<std::int64_t>(static_cast<double>(m.hidden) * m.vocab * kElement / s.tp));
      WEFT_ASSIGN(Seconds t, cost(head));
      compute(t, "head");
    }
    return out;
  }
};

}  // namespace

Flops model_flops(const Model& m, std::int64_t tokens, int sequence) {
  double attention =
      m.mla() ? static_cast<double>(m.heads) * (m.nope_head_dim + m.rope_head_dim + m.v_head_dim) : 2.0 * m.heads * m.head_dim;
  double embedding_lookup = m.tied_embeddings ? 0 : static_cast<double>(m.vocab) * m.hidden;  // a lookup multiplies nothing
  double dense = 6 * (static_cast<double>(m.active_parameters()) - embedding_lookup);
  return Flops(static_cast<double>(tokens) * (dense + 6.0 * m.layers * sequence * attention));
}

Result<Dag> build_step(const Job& job, const fabric::DeviceModel& card, Phase phase) {
  WEFT_TRY(validate(job.model, job.strategy));
  const Strategy& s = job.strategy;
  if (phase == Phase::kTrain && s.schedule != Strategy::Schedule::k1F1B)
    return fail(ErrorKind::kInvalid, "the step's graph knows the 1F1B schedule only (interleaved too); weft plan estimates the others",
                "strategy");
  double size = static_cast<double>(s.micro_batches()) * job.model.layers / s.pp * 24 * s.pp;
  if (size > 2e7)
    return fail(ErrorKind::kInvalid,
                fmt::format("a step of {} micro-batches and {} layers has over {:.0f} operations; raise micro_batch or lower global_batch",
                            s.micro_batches(), job.model.layers, 2e7),
                "strategy");
  Writer w{job, job.model, s, card, phase, {}, {}};
  w.dag.job = job.name;
  WEFT_ASSIGN(w.dag.groups, make_groups(s));
  for (int stage = 0; stage < s.pp; ++stage) {
    WEFT_ASSIGN(Program p, phase == Phase::kTrain ? w.train(stage) : w.infer(stage));
    w.dag.programs.push_back(std::move(p));
  }
  int per_stage = s.tp * s.cp * s.dp;
  for (int r = 0; r < s.world(); ++r) w.dag.program_of.push_back(static_cast<std::uint32_t>(r / per_stage));
  if (phase == Phase::kTrain) {
    w.dag.tokens_per_step = static_cast<std::int64_t>(s.micro_batches()) * s.micro_batch * s.dp * s.sequence;
    w.dag.flops_per_step = model_flops(job.model, w.dag.tokens_per_step, s.sequence);
  } else {
    w.dag.tokens_per_step =
        static_cast<std::int64_t>(phase == Phase::kDecode ? job.inference.decode_batch : job.inference.prompt_tokens) * s.dp;
    w.dag.flops_per_step = Flops(2.0 * static_cast<double>(job.model.active_parameters()) * static_cast<double>(w.dag.tokens_per_step));
  }
  return std::move(w.dag);
}

std::vector<double> bytes_sent(const Dag& dag, int rank) {
  std::vector<double> out(5, 0);
  std::vector<double> members(5, 1);
  for (const Group& g : dag.groups)
    if (std::find(g.ranks.begin(), g.ranks.end(), rank) != g.ranks.end())
      members[static_cast<std::size_t>(g.dim)] = static_cast<double>(g.ranks.size());
  for (const Op& op : dag.programs[dag.program_of[static_cast<std::size_t>(rank)]].ops) {
    auto d = static_cast<std::size_t>(op.dim);
    double n = members[d], b = static_cast<double>(op.bytes.value());
    if (op.kind == OpKind::kSend) out[d] += b;
    if (op.kind == OpKind::kCollective) out[d] += b * (n - 1) / n * (op.collective == Collective::kAllReduce ? 2 : 1);
  }
  return out;
}

std::string_view collective_name(Collective c) {
  constexpr std::string_view kNames[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"};
  return kNames[static_cast<std::size_t>(c)];
}

}  // namespace weft::workload
