// Short YAML: {name, layers, hidden, heads, kv_heads, ffn, vocab, experts, top_k …}.
#include "base/yaml.h"
#include "workload/model.h"

namespace weft::workload {
namespace {

bool recognises(std::string_view text, std::string_view file) {
  return file.ends_with(".yaml") || file.ends_with(".yml") || text.find("hidden:") != std::string_view::npos;
}

Result<Model> read(std::string_view text, const std::string& file) {
  WEFT_ASSIGN(Yaml y, Yaml::parse(text, file));
  Model m;
  struct Field {
    std::string_view key;
    int* into;
  };
  const Field fields[] = {{"layers", &m.layers},
                          {"hidden", &m.hidden},
                          {"heads", &m.heads},
                          {"kv_heads", &m.kv_heads},
                          {"head_dim", &m.head_dim},
                          {"ffn", &m.ffn},
                          {"vocab", &m.vocab},
                          {"experts", &m.experts},
                          {"top_k", &m.top_k},
                          {"shared_experts", &m.shared_experts},
                          {"expert_ffn", &m.expert_ffn},
                          {"dense_layers", &m.dense_layers},
                          {"q_lora_rank", &m.q_lora_rank},
                          {"kv_lora_rank", &m.kv_lora_rank},
                          {"rope_head_dim", &m.rope_head_dim},
                          {"nope_head_dim", &m.nope_head_dim},
                          {"v_head_dim", &m.v_head_dim}};
  std::vector<std::string_view> known = {"name", "gated_ffn", "tied_embeddings", "source"};
  for (const Field& f : fields) known.push_back(f.key);
  WEFT_TRY(y.only(known));
  for (const Field& f : fields)
    if (y.has(f.key)) {
      WEFT_ASSIGN(auto v, y.get(f.key).integer(0, 1 << 28));
      *f.into = static_cast<int>(v);
    }
  if (y.has("name")) {
    WEFT_ASSIGN(m.name, y.get("name").text());
  }
  for (auto [key, into] : {std::pair{"gated_ffn", &m.gated_ffn}, {"tied_embeddings", &m.tied_embeddings}})
    if (y.has(key)) {
      WEFT_ASSIGN(*into, y.get(key).boolean());
    }
  if (m.kv_heads == 0) m.kv_heads = m.heads;
  if (m.head_dim == 0 && m.heads > 0) m.head_dim = m.hidden / m.heads;
  if (m.ffn == 0 && !m.moe()) m.ffn = 4 * m.hidden;
  return m;
}

WEFT_REGISTER(importers(), {"model_yaml", "short YAML with a model's dimensions", recognises, read});

}  // namespace
}  // namespace weft::workload
