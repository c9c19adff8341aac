#include "plan/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/embedded.h"
#include "base/text.h"
#include "base/yaml.h"
#include "fabric/catalogue.h"
#include "workload/step.h"

namespace weft::plan {
namespace {

using workload::Strategy;

struct Source {
  std::string name, prefix, metric, gpu, kind, software, assumed;
  std::optional<bool> moe;
  double outer = 0;
  int zero = -1;
};
struct Sources {
  std::map<std::string, std::string> cards;
  std::vector<Source> list;
};

Result<Sources> read_sources() {
  const std::string path = "data/measured/sources.yaml";
  WEFT_ASSIGN(auto text, embedded_file(path));
  WEFT_ASSIGN(auto yaml, Yaml::parse(text, path));
  WEFT_TRY(yaml.only({"cards", "sources"}));
  Sources out;
  for (auto& [gpu, y] : yaml.get("cards").entries()) {
    WEFT_ASSIGN(out.cards[gpu], y.text());
  }
  for (const Yaml& y : yaml.get("sources").items()) {
    WEFT_TRY(y.only({"name", "prefix", "metric", "gpu", "moe", "kind", "software", "outer", "zero", "assumed"}));
    Source s;
    for (auto [key, into] : {std::pair{"name", &s.name},
                             {"prefix", &s.prefix},
                             {"metric", &s.metric},
                             {"gpu", &s.gpu},
                             {"kind", &s.kind},
                             {"software", &s.software},
                             {"assumed", &s.assumed}})
      if (y.has(key)) {
        WEFT_ASSIGN(*into, y.get(key).text());
      }
    static constexpr std::array<std::string_view, 6> kKinds = {"time", "memory", "closed_form", "duplicate", "days", "other"};
    if (std::find(kKinds.begin(), kKinds.end(), s.kind) == kKinds.end()) return y.error("no kind '" + s.kind + "'");
    if (y.has("moe")) {
      WEFT_ASSIGN(bool moe, y.get("moe").boolean());
      s.moe = moe;
    }
    if (y.has("outer")) {
      WEFT_ASSIGN(s.outer, y.get("outer").quantity("B/s"));
    }
    if (y.has("zero")) {
      WEFT_ASSIGN(auto zero, y.get("zero").integer(0, 3));
      s.zero = static_cast<int>(zero);
    }
    out.list.push_back(std::move(s));
  }
  return out;
}

struct Cells {
  const Csv& table;
  const Csv::Row& row;
  const std::string& text(std::string_view column) const {
    static const std::string kNone;
    int at = table.column(column);
    return at < 0 ? kNone : row.cells[static_cast<std::size_t>(at)];
  }
  Result<double> number(std::string_view column) const {
    auto v = parse_double(text(column));
    if (!v)
      return fail(ErrorKind::kInvalid, fmt::format("column {}: '{}' is not a number", column, text(column)),
                  fmt::format("{}:{}", table.name, row.line));
    return *v;
  }
  Result<int> count(std::string_view column, int fallback) const {
    if (text(column).empty()) return fallback;
    WEFT_ASSIGN(double v, number(column));
    if (v < 0 || v > 1e9 || v != static_cast<int>(v))
      return fail(ErrorKind::kInvalid, fmt::format("column {}: '{}' is not a count", column, text(column)),
                  fmt::format("{}:{}", table.name, row.line));
    return static_cast<int>(v);
  }
};

// "value after `key`" in the notes: "q_lora 1536".
int noted(const std::string& notes, const std::string& key) {
  std::size_t at = notes.find(key + " ");
  return at == std::string::npos ? 0 : std::atoi(notes.c_str() + at + key.size() + 1);
}

Status fill_model(const Cells& c, workload::Model& m) {
  m.name = c.text("model");
  for (auto [column, into] : {std::pair{"layers", &m.layers},
                              {"hidden", &m.hidden},
                              {"heads", &m.heads},
                              {"kv_heads", &m.kv_heads},
                              {"ffn", &m.ffn},
                              {"vocab", &m.vocab},
                              {"experts", &m.experts},
                              {"topk", &m.top_k}}) {
    WEFT_ASSIGN(*into, c.count(column, 0));
  }
  m.gated_ffn = c.text("gated_ffn") != "0";
  m.tied_embeddings = !m.gated_ffn && m.vocab < 200000;
  const std::string& notes = c.text("notes");
  if (m.heads > 0) m.head_dim = noted(notes, "head_dim") ? noted(notes, "head_dim") : m.hidden / m.heads;
  if (m.experts > 0) {
    m.expert_ffn = m.ffn;
    if (notes.find("MLA") != std::string::npos) {
      m.q_lora_rank = noted(notes, "q_lora"), m.kv_lora_rank = noted(notes, "kv_lora");
      m.nope_head_dim = 128, m.rope_head_dim = 64, m.v_head_dim = 128;
      m.dense_layers = 3, m.ffn = noted(notes, "dense ffn"), m.shared_experts = 1;
    }
  }
  if (notes.find("18 of 36 layers use a 128-token window") != std::string::npos) m.window = 128, m.windowed_layers = 18;
  return {};
}

Result<MeasuredRow> read_row(const Csv& table, const Csv::Row& line, const Sources& sources) {
  Cells c{table, line};
  MeasuredRow out;
  out.id = c.text("id"), out.line = line.line;
  const std::string &metric = c.text("metric"), &notes = c.text("notes"), &gpu = c.text("gpu");
  const Source* source = nullptr;
  for (const Source& s : sources.list)
    if (out.id.starts_with(s.prefix) && (s.metric.empty() || s.metric == metric) && (s.gpu.empty() || gpu.starts_with(s.gpu)) &&
        (!s.moe || *s.moe == !c.text("experts").empty())) {
      source = &s;
      break;
    }
  out.source = source ? source->name : "not declared";
  auto refuse = [&](std::string why) {
    out.refused = std::move(why);
    return out;
  };
  WEFT_ASSIGN(double value, c.number("value"));
  out.value = value;
  static const Source kUnknown{
      "", "", "", "", "time", kDefaultSoftware, "source not declared in data/measured/sources.yaml: software mcore-2024", {}, 50e9, 1};
  const Source& s = source ? *source : kUnknown;
  out.assumed = s.assumed;
  if (s.kind == "duplicate") return refuse("the same measurement is a row in another unit");
  if (s.kind == "closed_form") return refuse("a formula's value, not a measurement (a unit test)");
  if (s.kind == "days") return refuse("time to train, not a step (docs/plan.md, time to train)");
  if (s.kind == "other") return refuse(s.assumed);
  WEFT_TRY(fill_model(c, out.model));
  workload::Model& m = out.model;
  if (m.layers < 1 || m.hidden < 1 || m.heads < 1 || m.vocab < 1 || (m.ffn < 1 && m.expert_ffn < 1))
    return refuse("the row does not give the model's dimensions");
  if (m.kv_heads < 1) m.kv_heads = m.heads;
  auto card = sources.cards.find(gpu);
  out.card = card == sources.cards.end() ? gpu : card->second;
  if (auto known = fabric::card_model(out.card); !known) return refuse("card '" + gpu + "' is not in the catalogue");
  out.software = s.software, out.outer = s.outer;
  Strategy& st = out.strategy;
  WEFT_ASSIGN(int cards, c.count("n_gpu", 0));
  for (auto [column, into] :
       {std::pair{"tp", &st.tp}, {"pp", &st.pp}, {"dp", &st.dp}, {"ep", &st.ep}, {"cp", &st.cp}, {"vpp", &st.virtual_stages}}) {
    bool needed = std::string_view(column) == "tp" || std::string_view(column) == "pp" || std::string_view(column) == "dp";
    WEFT_ASSIGN(*into, c.count(column, needed ? 0 : 1));
    if (*into < 1) return refuse(fmt::format("the row does not give {}", column));
  }
  WEFT_ASSIGN(st.sequence, c.count("seq", 0));
  WEFT_ASSIGN(st.global_batch, c.count("global_batch", 0));
  WEFT_ASSIGN(st.micro_batch, c.count("micro_batch", 0));
  if (st.sequence < 1 || st.global_batch < 1) return refuse("the row does not give the sequence or the batch");
  if (st.micro_batch < 1) return refuse("the row does not give the micro-batch");
  if (st.world() != cards) return refuse(fmt::format("tp × pp × dp × cp = {} is not the {} cards of the row", st.world(), cards));
  if (st.ep > 1 && !m.moe()) return refuse("experts parallel but no experts in the row");
  st.zero = s.zero >= 0 ? s.zero : 1;
  if (notes.find("SHARD_GRAD_OP") != std::string::npos) st.zero = 2;
  const workload::Precision bf16 = workload::Precision::kBf16;
  const std::string& precision = c.text("precision");
  st.precision = precision.find("fp8") != std::string::npos ? workload::Precision::kFp8
                 : precision == "nvfp4"                     ? workload::Precision::kFp4
                                                            : bf16;
  st.sequence_parallel = c.text("sp") == "y" || (c.text("sp").empty() && s.software != "megatron-2021");
  const std::string& recompute = c.text("recompute");
  WEFT_ASSIGN(Software sw, software(s.software));
  st.flash_attention = sw.flash;
  st.recompute = recompute == "full"   ? Strategy::Recompute::kFull
                 : recompute == "none" ? Strategy::Recompute::kNone
                                       : Strategy::Recompute::kSelective;
  if (st.global_batch % (st.dp * st.micro_batch)) {
    if (st.global_batch < st.dp * st.micro_batch) return refuse("fewer sequences than replicas");
    return refuse(fmt::format("batch {} does not divide over dp {} × micro-batch {}", st.global_batch, st.dp, st.micro_batch));
  }
  double tokens = static_cast<double>(st.global_batch) * st.sequence;
  out.flops = workload::model_flops(m, static_cast<std::int64_t>(tokens), st.sequence).value();
  double n = cards;
  if (metric == "step_time") {
  } else if (metric == "tokens_per_s_per_gpu") {
    out.value = tokens / (value * n);
  } else if (metric == "mfu") {
    auto model = fabric::card_model(out.card);
    double peak = model->bf16 ? model->bf16->value() : 0;
    if (st.precision != bf16 && model->fp8) peak = model->fp8->value();
    if (peak <= 0) return refuse("the card's peak is not known");
    out.value = out.flops / (value / 100 * peak * n);
  } else if (metric == "tflops_per_gpu") {
    out.value = out.flops / (value * 1e12 * n);
  } else if (metric == "tflops_per_gpu_hw") {
    double h = m.hidden, seq = st.sequence, hw = 96 * tokens * m.layers * h * h * (1 + seq / (6 * h) + m.vocab / (16.0 * m.layers * h));
    out.value = hw / (value * 1e12 * n);
  } else if (metric == "mem_total") {
    out.memory = true, out.value = value * 1e9;
  } else {
    return refuse("no rule for metric '" + metric + "'");
  }
  if (!(out.value > 0)) return refuse("the measured value is not above zero");
  return out;
}

}  // namespace

Result<std::vector<MeasuredRow>> measured_rows(const Csv& table) {
  for (const char* column :
       {"id", "gpu", "n_gpu", "model", "layers", "hidden", "heads", "metric", "value", "tp", "pp", "dp", "global_batch", "seq"})
    if (table.column(column) < 0)
      return fail(
          ErrorKind::kInvalid,
          fmt::format("no column '{}'; a table of measured training rows has the columns of data/measured/training-measured.csv", column),
          table.name);
  WEFT_ASSIGN(Sources sources, read_sources());
  std::vector<MeasuredRow> out;
  for (const Csv::Row& row : table.rows) {
    WEFT_ASSIGN(MeasuredRow r, read_row(table, row, sources));
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace weft::plan
