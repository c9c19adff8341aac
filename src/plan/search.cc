#include "plan/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "workload/shard.h"

namespace weft::plan {
namespace {

using workload::Model;
using workload::Strategy;

std::vector<int> divisors(int n, int most) {
  std::vector<int> out;
  for (int d = 1; d <= n && d <= most; ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

// One (tp, cp, ep, micro-batch, sequence parallel, recompute): prepared once, combined with the rest many times.
struct Block {
  Strategy s;
};

std::vector<Block> blocks(const Model& m, const SearchSpace& space) {
  std::vector<Block> out;
  Strategy s;
  s.sequence = space.sequence, s.global_batch = space.global_batch, s.precision = space.precision, s.flash_attention = space.flash;
  for (int tp : divisors(space.cards, std::min(space.max_tp, m.heads))) {
    if (m.heads % tp || (!m.mla() && m.kv_heads % tp && tp % m.kv_heads) || (!m.moe() && m.ffn % tp)) continue;
    for (int cp : divisors(space.cards / tp, 64)) {
      // Context parallelism is for sequences that one rank cannot hold: at least 4096 tokens stay on a rank.
      if (cp > 1 && (space.sequence / cp < 4096 || space.sequence % cp)) continue;
      for (int ep : m.moe() ? divisors(m.experts, space.cards) : std::vector<int>{1})
        for (int sp = tp > 1 ? 0 : 1; sp < 2; ++sp) {
          if (space.sequence % (cp * (sp ? tp : 1))) continue;
          for (int micro = 1; micro <= space.max_micro_batch; micro *= 2) {
            if (space.global_batch % micro) continue;
            for (auto recompute : {Strategy::Recompute::kNone, Strategy::Recompute::kSelective, Strategy::Recompute::kFull}) {
              if (space.flash && recompute == Strategy::Recompute::kSelective) continue;  // flash attention keeps no scores: the same
              s.tp = tp, s.cp = cp, s.ep = ep, s.sequence_parallel = sp, s.micro_batch = micro, s.recompute = recompute;
              out.push_back({s});
            }
          }
        }
    }
  }
  return out;
}

struct Kept {
  Candidate candidate;
  std::uint64_t order = 0;
};
bool better(const Kept& a, const Kept& b) {
  if (a.candidate.estimate.time.step != b.candidate.estimate.time.step)
    return a.candidate.estimate.time.step < b.candidate.estimate.time.step;
  if (a.candidate.estimate.memory.total != b.candidate.estimate.memory.total)
    return a.candidate.estimate.memory.total < b.candidate.estimate.memory.total;
  return a.order < b.order;
}

struct Worker {
  Estimator estimator;  // own copy: its memo is not shared
  const SearchSpace& space;
  std::vector<Kept> kept;
  std::uint64_t priced = 0, skipped = 0, too_large = 0;
  Kept nearest;
  bool any = false;

  double bar() const {
    return static_cast<int>(kept.size()) < space.keep ? std::numeric_limits<double>::infinity() : kept.back().candidate.estimate.time.step;
  }

  void run(const Block& b, std::uint64_t number) {
    const Model& m = estimator.model();
    Prepared p = estimator.prepare(b.s);
    int moe = m.moe() ? m.layers - std::min(m.dense_layers, m.layers) : 0, dense = m.layers - moe;
    auto whole = [&](auto part) { return dense * part(p.layer[0]) + moe * part(p.layer[1]); };
    double least =
        whole([](const Prepared::Layer& l) { return l.forward + l.backward + l.tp + l.cp; }) + p.head_forward + p.head_backward + p.head_tp;
    std::uint64_t order = number << 20;
    Strategy s = b.s;
    for (int pp : divisors(space.cards / (s.tp * s.cp), m.layers)) {
      s.pp = pp, s.dp = space.cards / (s.tp * s.cp * pp);
      if ((s.tp * s.dp * s.cp) % s.ep || space.global_batch % (s.dp * s.micro_batch)) continue;
      any = true;
      // No stage computes less than its share of the whole, no schedule hides computation.
      if (space.prune && least * s.micro_batches() / pp > bar()) {
        ++skipped;
        continue;
      }
      for (int zero : space.zero) {
        s.zero = zero;
        if (zero > 0 && s.dp * s.cp == 1) continue;
        s.schedule = Strategy::Schedule::k1F1B;
        for (int v = 1; pp * v <= m.layers && (v == 1 || pp > 1) && v <= 16; ++v) {
          if (v > 1 && (m.layers % (pp * v) || s.micro_batches() % pp)) continue;
          s.virtual_stages = v;
          price(p, s, order++);
        }
        s.virtual_stages = 1;
        if (!space.schedules || pp == 1) continue;
        s.schedule = Strategy::Schedule::kZeroBubble;
        price(p, s, order++);
        if (pp % 2 == 0 && s.micro_batches() >= 2 * pp) s.schedule = Strategy::Schedule::kDualPipe, price(p, s, order++);
      }
    }
  }

  void price(const Prepared& p, const Strategy& s, std::uint64_t order) {
    Estimate e = estimator.combine(p, s);
    ++priced;
    if (priced == 1 || e.memory.total < nearest.candidate.estimate.memory.total) nearest = {{s, e}, order};
    if (e.memory.total > estimator.memory_limit()) {
      ++too_large;
      return;
    }
    if (e.time.step > bar()) return;
    Kept k{{s, e}, order};
    kept.insert(std::upper_bound(kept.begin(), kept.end(), k, better), std::move(k));
    if (static_cast<int>(kept.size()) > space.keep) kept.pop_back();
  }
};

}  // namespace

SearchResult search(const Estimator& estimator, const SearchSpace& space) {
  std::vector<Block> all = blocks(estimator.model(), space);
  std::size_t n = static_cast<std::size_t>(std::clamp(space.threads, 1, 64));
  std::vector<Worker> workers(n, Worker{estimator, space, {}, 0, 0, 0, {}, false});
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < n; ++w)
    threads.emplace_back([&, w] {
      for (std::size_t i = w; i < all.size(); i += n) workers[w].run(all[i], i);
    });
  for (std::thread& t : threads) t.join();
  SearchResult out;
  std::vector<Kept> kept;
  Kept nearest;
  for (Worker& w : workers) {
    kept.insert(kept.end(), w.kept.begin(), w.kept.end());
    if (w.priced &&
        (out.priced == 0 || w.nearest.candidate.estimate.memory.total < nearest.candidate.estimate.memory.total ||
         (w.nearest.candidate.estimate.memory.total == nearest.candidate.estimate.memory.total && w.nearest.order < nearest.order)))
      nearest = w.nearest;
    out.priced += w.priced, out.skipped_blocks += w.skipped, out.too_large += w.too_large, out.any = out.any || w.any;
  }
  std::sort(kept.begin(), kept.end(), better);
  for (std::size_t i = 0; i < kept.size() && static_cast<int>(i) < space.keep; ++i) out.best.push_back(kept[i].candidate);
  out.nearest = nearest.candidate;
  if (!out.best.empty()) return out;
  if (!out.any)
    out.first_constraint =
        fmt::format("no strategy divides: {} cards, {} layers, {} heads, a batch of {} sequences; change the cards or the batch",
                    space.cards, estimator.model().layers, estimator.model().heads, space.global_batch);
  else
    out.first_constraint = fmt::format(
        "memory: the smallest of {} configurations needs {:.1f} GB on a card of {:.1f} GB; use more cards or a card with more memory",
        out.priced, out.nearest.estimate.memory.total / 1e9, estimator.memory_limit() / 1e9);
  return out;
}

}  // namespace weft::plan
