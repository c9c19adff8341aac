#include "workload/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/embedded.h"
#include "base/text.h"

namespace weft::workload {

std::string_view dim_name(Dim d) {
  constexpr std::string_view kNames[] = {"tp", "pp", "dp", "ep", "cp"};
  return kNames[static_cast<std::size_t>(d)];
}

std::string_view precision_name(Precision p) {
  constexpr std::string_view kNames[] = {"bf16", "fp8", "fp4"};
  return kNames[static_cast<std::size_t>(p)];
}

std::string Group::name() const { return std::string(dim_name(dim)) + std::to_string(index); }

namespace {

// Attention weights of one layer.
std::int64_t attention(const Model& m) {
  std::int64_t h = m.hidden;
  if (m.mla()) {
    std::int64_t qk = m.nope_head_dim + m.rope_head_dim, heads = m.heads;
    std::int64_t q = m.q_lora_rank ? h * m.q_lora_rank + m.q_lora_rank * heads * qk + m.q_lora_rank : h * heads * qk;
    std::int64_t kv = h * (m.kv_lora_rank + m.rope_head_dim) + m.kv_lora_rank +
                      static_cast<std::int64_t>(m.kv_lora_rank) * heads * (m.nope_head_dim + m.v_head_dim);
    return q + kv + heads * m.v_head_dim * h;
  }
  std::int64_t q = static_cast<std::int64_t>(m.heads) * m.head_dim, kv = static_cast<std::int64_t>(m.kv_heads) * m.head_dim;
  return h * q + 2 * h * kv + q * h;
}
std::int64_t ffn(const Model& m, int width) { return static_cast<std::int64_t>(m.gated_ffn ? 3 : 2) * m.hidden * width; }
std::int64_t embeddings(const Model& m) { return static_cast<std::int64_t>(m.vocab) * m.hidden * (m.tied_embeddings ? 1 : 2); }

std::int64_t total(const Model& m, bool active) {
  std::int64_t sum = embeddings(m) + m.hidden;  // final norm
  int moe_layers = m.moe() ? m.layers - m.dense_layers : 0, dense_layers = m.layers - moe_layers;
  sum += static_cast<std::int64_t>(m.layers) * (attention(m) + 2 * static_cast<std::int64_t>(m.hidden));
  sum += dense_layers * ffn(m, m.ffn);
  sum += moe_layers *
         (ffn(m, m.expert_ffn) * ((active ? m.top_k : m.experts) + m.shared_experts) + static_cast<std::int64_t>(m.hidden) * m.experts);
  return sum;
}

}  // namespace

std::int64_t Model::parameters() const { return total(*this, false); }
std::int64_t Model::active_parameters() const { return total(*this, true); }

Registry<ModelImporter>& importers() {
  static Registry<ModelImporter> registry("model importer");
  return registry;
}

Status check(const Model& m, const std::string& place) {
  auto bad = [&](const std::string& why) { return fail(ErrorKind::kInvalid, why, place); };
  if (m.layers < 1 || m.hidden < 1 || m.heads < 1 || m.head_dim < 1 || m.vocab < 1)
    return bad("layers, hidden size, heads, head dimension and vocabulary must be at least 1");
  if (!m.mla() && (m.kv_heads < 1 || m.heads % m.kv_heads))
    return bad(fmt::format("{} attention heads are not divisible by {} key/value heads", m.heads, m.kv_heads));
  if (!m.moe() && m.ffn < 1) return bad("the feed-forward width is missing (intermediate_size)");
  if (m.moe() && (m.top_k < 1 || m.top_k > m.experts || m.expert_ffn < 1))
    return bad(fmt::format("{} of {} experts per token with width {} cannot be", m.top_k, m.experts, m.expert_ffn));
  if (m.dense_layers < 0 || m.dense_layers > m.layers) return bad("more dense layers than layers");
  constexpr int kMost = 1 << 24;
  if (m.layers > 100'000 || m.hidden > kMost || m.ffn > kMost || m.vocab > 1 << 28 || m.experts > 1 << 20 || m.expert_ffn > kMost)
    return bad("dimensions are larger than any machine: check the file");
  return {};
}

std::vector<std::string> known_models() {
  std::vector<std::string> out;
  for (const std::string& p : embedded_paths("data/models/"))
    if (std::size_t dot = p.rfind('.'); dot != std::string::npos) out.push_back(p.substr(12, dot - 12));
  std::sort(out.begin(), out.end());
  return out;
}

Result<Model> load_model(const std::string& name_or_path) {
  std::string file = name_or_path;
  Result<std::string> text = fail(ErrorKind::kNotFound, "");
  for (const char* end : {".json", ".yaml"})
    if (!text) {
      std::string path = "data/models/" + name_or_path + end;
      text = embedded_file(path);
      if (text) file = path;
    }
  if (!text) text = read_file(name_or_path, 16 << 20);
  if (!text) {
    if (text.error().kind == ErrorKind::kNotFound && name_or_path.find('/') == std::string::npos)
      return fail(ErrorKind::kNotFound, "no model '" + name_or_path + "': give a config.json, or one of " + join(known_models(), ", "));
    return std::unexpected(text.error());
  }
  for (const ModelImporter& i : importers().entries())
    if (i.recognises(*text, file)) {
      WEFT_ASSIGN(Model m, i.read(*text, file));
      if (m.name.empty()) m.name = name_or_path;
      m.source = file;
      WEFT_TRY(check(m, file));
      return m;
    }
  return fail(ErrorKind::kInvalid, "neither a config.json (JSON with hidden_size …) nor a model YAML (hidden: …)", file);
}

}  // namespace weft::workload
