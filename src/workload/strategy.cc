#include <fmt/format.h>

#include "workload/types.h"

namespace weft::workload {
namespace {

// "1, 2, 4, 8" up to a dozen: what would divide.
std::string divisors(int n) {
  std::string out;
  int shown = 0;
  for (int d = 1; d <= n && shown < 12; ++d)
    if (n % d == 0) out += (out.empty() ? "" : ", ") + std::to_string(d), ++shown;
  return out;
}

std::unexpected<Error> indivisible(std::string_view what, int value, std::string_view by, int degree) {
  return fail(ErrorKind::kInvalid, fmt::format("{} {} not divisible by {} {}; {} may be {}", what, value, by, degree, by, divisors(value)),
              "strategy");
}

}  // namespace

int Strategy::micro_batches() const {
  int batch = global_batch > 0 ? global_batch : dp * micro_batch * pp;
  return std::max(1, batch / (dp * micro_batch));
}

Status validate(const Model& m, const Strategy& s) {
  for (auto [name, v] : {std::pair{"tp", s.tp},
                         {"pp", s.pp},
                         {"dp", s.dp},
                         {"ep", s.ep},
                         {"cp", s.cp},
                         {"micro_batch", s.micro_batch},
                         {"sequence", s.sequence},
                         {"virtual_stages", s.virtual_stages}})
    if (v < 1) return fail(ErrorKind::kInvalid, fmt::format("{} must be at least 1", name), "strategy");
  if (static_cast<double>(s.tp) * s.pp * s.dp * s.cp > 4e6) return fail(ErrorKind::kInvalid, "more than four million ranks", "strategy");
  if (m.heads % s.tp) return indivisible("attention heads", m.heads, "tp", s.tp);
  if (!m.mla() && m.kv_heads % s.tp && s.tp % m.kv_heads) return indivisible("key/value heads", m.kv_heads, "tp", s.tp);
  if (!m.moe() && m.ffn % s.tp) return indivisible("feed-forward width", m.ffn, "tp", s.tp);
  if (s.pp > m.layers) return fail(ErrorKind::kInvalid, fmt::format("pp {} is more than the {} layers", s.pp, m.layers), "strategy");
  if (s.virtual_stages > 1 && static_cast<double>(s.pp) * s.virtual_stages > m.layers)  // uneven pieces are fine, empty ones are not
    return fail(ErrorKind::kInvalid,
                fmt::format("pp {} times {} virtual stages is more than the {} layers", s.pp, s.virtual_stages, m.layers), "strategy");
  if (s.virtual_stages > 1 && s.pp == 1) return fail(ErrorKind::kInvalid, "virtual stages need pp of at least 2", "strategy");
  if (s.ep > 1 && !m.moe())
    return fail(ErrorKind::kInvalid, fmt::format("ep {} but {} has no experts; use ep 1", s.ep, m.name), "strategy");
  if (m.moe() && m.experts % s.ep) return indivisible("experts", m.experts, "ep", s.ep);
  if ((s.tp * s.dp * s.cp) % s.ep) return indivisible("ranks of a stage (tp × dp × cp)", s.tp * s.dp * s.cp, "ep", s.ep);
  if (s.sequence % (s.cp * (s.sequence_parallel ? s.tp : 1)))
    return indivisible("sequence", s.sequence, s.sequence_parallel ? "cp × tp" : "cp", s.cp * (s.sequence_parallel ? s.tp : 1));
  if (s.global_batch > 0 && s.global_batch % (s.dp * s.micro_batch))
    return indivisible("global batch", s.global_batch, "dp × micro batch", s.dp * s.micro_batch);
  if (s.zero < 0 || s.zero > 3) return fail(ErrorKind::kInvalid, "zero must be 0, 1, 2 or 3", "strategy");
  if (s.virtual_stages > 1 && s.micro_batches() % s.pp) return indivisible("micro-batches", s.micro_batches(), "pp (interleaving)", s.pp);
  return {};
}

Result<std::vector<Group>> make_groups(const Strategy& s) {
  if ((s.tp * s.dp * s.cp) % s.ep)
    return std::unexpected(indivisible("ranks of a stage (tp × dp × cp)", s.tp * s.dp * s.cp, "ep", s.ep).error());
  std::vector<Group> out;
  // rank = tp + TP·(cp + CP·(dp + DP·pp))
  auto rank = [&](int t, int c, int d, int p) { return t + s.tp * (c + s.cp * (d + s.dp * p)); };
  auto add = [&](Dim dim, int& index, std::vector<int> ranks) {
    if (ranks.size() > 1) out.push_back({dim, index++, std::move(ranks)});
  };
  int n = 0;
  for (int p = 0; p < s.pp; ++p)
    for (int d = 0; d < s.dp; ++d)
      for (int c = 0; c < s.cp; ++c) {
        std::vector<int> ranks;
        for (int t = 0; t < s.tp; ++t) ranks.push_back(rank(t, c, d, p));
        add(Dim::kTp, n, ranks);
      }
  n = 0;
  for (int d = 0; d < s.dp; ++d)
    for (int c = 0; c < s.cp; ++c)
      for (int t = 0; t < s.tp; ++t) {
        std::vector<int> ranks;
        for (int p = 0; p < s.pp; ++p) ranks.push_back(rank(t, c, d, p));
        add(Dim::kPp, n, ranks);
      }
  // Dense weights are the same on all dp and cp ranks: their reduction group is dp × cp.
  n = 0;
  for (int p = 0; p < s.pp; ++p)
    for (int t = 0; t < s.tp; ++t) {
      std::vector<int> ranks;
      for (int d = 0; d < s.dp; ++d)
        for (int c = 0; c < s.cp; ++c) ranks.push_back(rank(t, c, d, p));
      add(Dim::kDp, n, ranks);
    }
  // Experts spread over consecutive ranks of a stage (tp, cp, dp order).
  n = 0;
  int stage = s.tp * s.cp * s.dp;
  for (int p = 0; p < s.pp; ++p)
    for (int e = 0; e < stage / s.ep; ++e) {
      std::vector<int> ranks;
      for (int k = 0; k < s.ep; ++k) ranks.push_back(p * stage + e * s.ep + k);
      add(Dim::kEp, n, ranks);
    }
  n = 0;
  for (int p = 0; p < s.pp; ++p)
    for (int d = 0; d < s.dp; ++d)
      for (int t = 0; t < s.tp; ++t) {
        std::vector<int> ranks;
        for (int c = 0; c < s.cp; ++c) ranks.push_back(rank(t, c, d, p));
        add(Dim::kCp, n, ranks);
      }
  return out;
}

}  // namespace weft::workload
