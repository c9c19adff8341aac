// Hugging Face config.json: llama-like (GQA), mixtral, qwen-moe, deepseek (shared experts, MLA), gpt2-like keys.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "workload/model.h"

namespace weft::workload {
namespace {

bool recognises(std::string_view text, std::string_view file) {
  std::size_t at = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  return file.ends_with(".json") || (at != std::string_view::npos && text[at] == '{');
}

Result<Model> read(std::string_view text, const std::string& file) {
  WEFT_ASSIGN(Json j, parse_json(text, file));
  if (!j.is_object()) return fail(ErrorKind::kInvalid, "a config.json is an object", file);
  // Multimodal files keep the language model under text_config.
  if (j.contains("text_config") && j["text_config"].is_object()) j = Json(j["text_config"]);
  Status bad;
  auto integer = [&](std::initializer_list<const char*> keys, int fallback) {
    for (const char* k : keys) {
      if (!j.contains(k) || j[k].is_null()) continue;
      if (!j[k].is_number_integer() || j[k].get<double>() < 0 || j[k].get<double>() > 2147483647.0) {
        bad = fail(ErrorKind::kInvalid, std::string("'") + k + "' is not a whole number that fits", file);
        return fallback;
      }
      return j[k].get<int>();
    }
    return fallback;
  };
  Model m;
  m.layers = integer({"num_hidden_layers", "n_layer", "num_layers"}, 0);
  m.hidden = integer({"hidden_size", "n_embd", "d_model"}, 0);
  m.heads = integer({"num_attention_heads", "n_head"}, 0);
  m.kv_heads = integer({"num_key_value_heads"}, m.heads);
  m.head_dim = integer({"head_dim"}, m.heads > 0 ? m.hidden / m.heads : 0);
  m.ffn = integer({"intermediate_size", "ffn_dim", "n_inner"}, m.hidden * 4);
  m.vocab = integer({"vocab_size"}, 0);
  m.experts = integer({"n_routed_experts", "num_local_experts", "num_experts"}, 0);
  m.top_k = integer({"num_experts_per_tok", "top_k"}, m.experts ? 2 : 0);
  m.shared_experts = integer({"n_shared_experts"}, 0);
  m.expert_ffn = integer({"moe_intermediate_size"}, m.experts ? m.ffn : 0);
  // Qwen MoE gives the shared expert's width instead of a count; it is a whole number of experts.
  int shared_width = integer({"shared_expert_intermediate_size"}, 0);
  if (m.shared_experts == 0 && shared_width > 0 && m.expert_ffn > 0) {
    if (shared_width % m.expert_ffn)
      return fail(
          ErrorKind::kInvalid,
          "'shared_expert_intermediate_size' is no multiple of 'moe_intermediate_size'; write the model as YAML with shared_experts", file);
    m.shared_experts = shared_width / m.expert_ffn;
  }
  m.dense_layers = integer({"first_k_dense_replace"}, 0);
  m.q_lora_rank = integer({"q_lora_rank"}, 0);
  m.kv_lora_rank = integer({"kv_lora_rank"}, 0);
  m.rope_head_dim = integer({"qk_rope_head_dim"}, 0);
  m.nope_head_dim = integer({"qk_nope_head_dim"}, 0);
  m.v_head_dim = integer({"v_head_dim"}, 0);
  if (!bad) return std::unexpected(bad.error());
  for (auto [value, key] :
       {std::pair{m.layers, "num_hidden_layers"}, {m.hidden, "hidden_size"}, {m.heads, "num_attention_heads"}, {m.vocab, "vocab_size"}})
    if (value == 0) return fail(ErrorKind::kInvalid, std::string("'") + key + "' is missing: this is no transformer configuration", file);
  std::string type = j.contains("model_type") && j["model_type"].is_string() ? j["model_type"].get<std::string>() : "";
  std::string act = j.contains("hidden_act") && j["hidden_act"].is_string() ? j["hidden_act"].get<std::string>() : "";
  m.gated_ffn = act == "silu" || act == "swiglu" || (act.empty() && type != "gpt2" && type != "opt" && type != "bloom");
  m.tied_embeddings = j.contains("tie_word_embeddings") && j["tie_word_embeddings"].is_boolean() && j["tie_word_embeddings"].get<bool>();
  if (j.contains("name") && j["name"].is_string()) m.name = j["name"].get<std::string>();
  return m;
}

WEFT_REGISTER(importers(), {"hf_config", "Hugging Face style config.json", recognises, read});

}  // namespace
}  // namespace weft::workload
