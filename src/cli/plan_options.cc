#include "cli/plan_options.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <cmath>

#include "base/quantity.h"
#include "base/text.h"
#include "cli/job_options.h"
#include "workload/model.h"

namespace weft::cli {

using workload::Strategy;

const std::vector<OptionSpec>& plan_option_specs() {
  static const std::vector<OptionSpec> specs = {
      {"--model", "NAME|FILE", "model by name or config.json"},
      {"--form", "NAME|FILE", "supernode form (data/forms) or site file: card, domain and rates"},
      {"--card", "MODEL", "or a card and its reference machine (data/cards)"},
      {"--domain", "N", "cards of a high-bandwidth domain"},
      {"--inner", "RATE", "one card's rate inside its domain, one direction (\"450 GB/s\")"},
      {"--outer", "RATE", "one card's rate between domains, one direction (\"400 Gb/s\")"},
      {"--price", "USD", "price of a card"},
      {"--cards", "N", "cards of the job"},
      {"--batch", "N", "sequences of a step (default: about 4 M tokens, at least one a card)"},
      {"--seq", "N", "tokens of a sequence (default 4096)"},
      {"--tokens", "N", "tokens of the whole run (\"15T\"; default 20 per active parameter)"},
      {"--precision", "KIND", "bf16 (default), fp8 or fp4"},
      {"--software", "PROFILE", "framework generation (default mcore-2024): data/plan/software.yaml"},
      {"--threads", "N", "threads of the search (default 2); the answer is the same"},
      {"--json", "", "JSON instead of the tables"},
  };
  return specs;
}

Result<plan::Machine> machine_from(const Options& o) {
  if (o.has("form") && o.has("card")) return fail(ErrorKind::kInvalid, "give --form or --card, not both");
  if (!o.has("form") && !o.has("card"))
    return fail(ErrorKind::kInvalid, "name the machine: --form NAME (weft list forms), for example --form gb200-nvl72, or --card MODEL");
  WEFT_ASSIGN(plan::Machine m, o.has("form") ? plan::machine_of_form(o.get("form")) : plan::machine_of_card(o.get("card")));
  WEFT_ASSIGN(auto domain, o.integer("domain", m.domain, 1, 1 << 20));
  if (domain != m.domain) m.inner_reduction = false;
  m.domain = static_cast<int>(domain);
  for (auto [name, into] : {std::pair{"inner", &m.inner}, {"outer", &m.outer}})
    if (o.has(name)) {
      auto rate = parse_quantity(o.get(name), "B/s");
      if (!rate || !(*rate > 0))
        return fail(ErrorKind::kInvalid, fmt::format("--{} takes a rate such as {}, not '{}'", name, "450 GB/s", o.get(name)));
      *into = BytesPerSecond(*rate);
    }
  if (o.has("price")) {
    WEFT_ASSIGN(m.price_usd, o.number("price", 0, 0, 1e9));
  } else if (m.price_usd > 0) {
    m.assumed.push_back(fmt::format("price of a {}: {:g} USD (data/cards)", m.card.name, m.price_usd));
  }
  return m;
}

namespace {

// "15T", "300B", "1.4e12".
Result<double> tokens_of(const std::string& text) {
  double scale = 1;
  std::string_view number = text;
  if (!text.empty()) switch (text.back()) {
      case 'T': scale = 1e12; break;
      case 'B': scale = 1e9; break;
      case 'M': scale = 1e6; break;
      default: break;
    }
  if (scale > 1) number.remove_suffix(1);
  auto v = parse_double(number);
  if (!v || !(*v > 0) || *v * scale > 1e18)
    return fail(ErrorKind::kInvalid, fmt::format("--tokens takes a number such as 15T or 300B, not '{}'", text));
  return *v * scale;
}

}  // namespace

Result<PlanRequest> plan_from(const Options& o) {
  PlanRequest r;
  if (!o.has("model")) return fail(ErrorKind::kInvalid, "name a model: --model NAME|FILE, one of " + join(workload::known_models(), ", "));
  WEFT_ASSIGN(r.model, workload::load_model(o.get("model")));
  WEFT_ASSIGN(r.machine, machine_from(o));
  r.assumed = r.machine.assumed;
  WEFT_ASSIGN(r.software, plan::software(o.get("software", plan::kDefaultSoftware)));
  if (!o.has("software")) r.assumed.push_back(fmt::format("software {}: {}", r.software.name, r.software.about));
  WEFT_ASSIGN(r.economy, plan::economy());
  plan::SearchSpace& s = r.space;
  WEFT_ASSIGN(s.precision, precision_from(o));
  if (s.precision != workload::Precision::kBf16 && !r.machine.card.fp8)
    return fail(ErrorKind::kInvalid, fmt::format("card {} has no {} peak in the catalogue; use --precision bf16", r.machine.card.name,
                                                 workload::precision_name(s.precision)));
  WEFT_ASSIGN(auto seq, o.integer("seq", 4096, 1, 1 << 24));
  s.sequence = static_cast<int>(seq);
  std::int64_t fallback = std::max<std::int64_t>(8, r.machine.domain);
  if (!o.has("cards")) r.assumed.push_back(fmt::format("{} cards (one domain, at least 8); give --cards", fallback));
  WEFT_ASSIGN(auto cards, o.integer("cards", fallback, 1, 1 << 20));
  s.cards = static_cast<int>(cards);
  std::int64_t batch = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(1.0, 4e6 / s.sequence * 0.75))));
  if (batch < s.cards || batch % s.cards) batch = s.cards * std::max<std::int64_t>(1, (batch + s.cards / 2) / s.cards);
  if (!o.has("batch"))
    r.assumed.push_back(fmt::format("a batch of {} sequences ({:.3g} M tokens)", batch, static_cast<double>(batch) * s.sequence / 1e6));
  WEFT_ASSIGN(batch, o.integer("batch", batch, 1, 1 << 24));
  s.global_batch = static_cast<int>(batch);
  WEFT_ASSIGN(auto threads, o.integer("threads", 2, 1, 64));
  s.threads = static_cast<int>(threads);
  s.flash = r.software.flash;
  r.tokens = 20.0 * static_cast<double>(r.model.active_parameters());
  if (o.has("tokens")) {
    WEFT_ASSIGN(r.tokens, tokens_of(o.get("tokens")));
  } else {
    r.assumed.push_back(fmt::format("{:.3g} tokens (20 per active parameter); give --tokens", r.tokens));
  }
  return r;
}

std::string plan_strategy_text(const Strategy& s) {
  constexpr const char* kRecompute[] = {"", " +selective", " +recompute"};
  std::string out = fmt::format("tp {} pp {} dp {}", s.tp, s.pp, s.dp);
  if (s.cp > 1) out += fmt::format(" cp {}", s.cp);
  if (s.ep > 1) out += fmt::format(" ep {}", s.ep);
  if (s.virtual_stages > 1) out += fmt::format(" v {}", s.virtual_stages);
  if (s.schedule == Strategy::Schedule::kZeroBubble) out += " zb";
  if (s.schedule == Strategy::Schedule::kDualPipe) out += " dualpipe";
  return out + fmt::format(" mb {} z{}{}{}", s.micro_batch, s.zero, s.tp > 1 && !s.sequence_parallel ? " no-sp" : "",
                           kRecompute[static_cast<int>(s.recompute)]);
}

Json time_json(const plan::Time& t) {
  return Json{{"step_s", t.step},  {"compute_s", t.compute}, {"tp_s", t.tp},       {"cp_s", t.cp}, {"ep_s", t.ep},
              {"pp_s", t.pp},      {"bubble_s", t.bubble},   {"zero3_s", t.zero3}, {"dp_s", t.dp}, {"optimizer_s", t.optimizer},
              {"other_s", t.other}};
}
Json memory_json(const plan::MemoryUse& m) {
  return Json{{"total_bytes", m.total},     {"stage", m.stage},         {"weights", m.weights},
              {"gradients", m.gradients},   {"optimizer", m.optimizer}, {"activations", m.activations},
              {"recomputed", m.recomputed}, {"ends", m.ends},           {"gathered", m.gathered},
              {"framework", m.framework}};
}
Json run_json(const plan::Run& r) {
  return Json{{"days", r.days},
              {"days_with_failures", r.days_with_failures},
              {"goodput", r.goodput},
              {"failures_per_day", r.failures_per_day},
              {"checkpoint_every_s", r.checkpoint_every_s},
              {"checkpoint_write_s", r.checkpoint_write_s},
              {"energy_mwh", r.megawatt_hours},
              {"usd", r.usd},
              {"usd_energy", r.usd_energy}};
}
Json map_json(const std::vector<plan::DimensionMap>& map) {
  Json out = Json::array();
  for (const plan::DimensionMap& d : map)
    out.push_back(
        {{"dim", workload::dim_name(d.dim)}, {"members", d.members}, {"reach", d.reach}, {"sent_bytes", d.sent}, {"inside", d.inside}});
  return out;
}
Json request_json(const PlanRequest& r) {
  std::vector<std::string> assumed = r.assumed;
  assumed.insert(assumed.end(), r.economy.assumed.begin(), r.economy.assumed.end());
  return Json{{"version", WEFT_VERSION},
              {"model", r.model.name},
              {"parameters", r.model.parameters()},
              {"active_parameters", r.model.active_parameters()},
              {"machine",
               {{"name", r.machine.name},
                {"card", r.machine.card.name},
                {"domain", r.machine.domain},
                {"inner_bytes_per_s", r.machine.inner.value()},
                {"outer_bytes_per_s", r.machine.outer.value()}}},
              {"software", r.software.name},
              {"cards", r.space.cards},
              {"global_batch", r.space.global_batch},
              {"sequence", r.space.sequence},
              {"precision", workload::precision_name(r.space.precision)},
              {"tokens", r.tokens},
              {"assumed", assumed}};
}
std::vector<std::pair<std::string, std::string>> request_facts(const PlanRequest& r) {
  std::vector<std::pair<std::string, std::string>> out = {
      {"model", fmt::format("{}: {:.4g} B parameters, {:.4g} B active", r.model.name, static_cast<double>(r.model.parameters()) / 1e9,
                            static_cast<double>(r.model.active_parameters()) / 1e9)},
      {"machine", fmt::format("{}: {} in domains of {}, {} inside, {} between", r.machine.name, r.machine.card.name, r.machine.domain,
                              human(r.machine.inner), human(r.machine.outer))},
      {"work", fmt::format("{} cards, {} sequences of {} tokens, {}, {:.3g} tokens in all", r.space.cards, r.space.global_batch,
                           r.space.sequence, workload::precision_name(r.space.precision), r.tokens)},
      {"software", r.software.name}};
  for (const std::string& a : r.assumed) out.emplace_back("assumed", a);
  return out;
}

Table time_table(const plan::Time& t) {
  Table out;
  out.title = "A step";
  out.columns = {{"part"}, {"ms", Align::kRight}, {"%", Align::kRight}};
  for (auto [name, v] : {std::pair{"computation", t.compute},
                         {"tensor parallel", t.tp},
                         {"context parallel", t.cp},
                         {"expert exchange", t.ep},
                         {"pipeline sends", t.pp},
                         {"pipeline bubble", t.bubble},
                         {"sharded weights (ZeRO-3)", t.zero3},
                         {"data parallel", t.dp},
                         {"optimizer", t.optimizer},
                         {"other", t.other}})
    if (v > 0) out.rows.push_back({name, fmt::format("{:.2f}", v * 1e3), fmt::format("{:.1f}", 100 * v / t.step)});
  out.rows.push_back({"step", fmt::format("{:.2f}", t.step * 1e3), "100.0"});
  return out;
}
Table memory_table(const plan::MemoryUse& m, double limit) {
  Table out;
  out.title = fmt::format("Memory of a card of stage {} (the fullest)", m.stage);
  out.columns = {{"part"}, {"GB", Align::kRight}};
  for (auto [name, v] : {std::pair{"weights", m.weights},
                         {"gradients", m.gradients},
                         {"optimizer", m.optimizer},
                         {"activations", m.activations},
                         {"recomputed layer", m.recomputed},
                         {"embedding and logits", m.ends},
                         {"gathered layers", m.gathered},
                         {"framework and fragmentation (assumed)", m.framework}})
    if (v > 0) out.rows.push_back({name, fmt::format("{:.2f}", v / 1e9)});
  out.rows.push_back({std::isfinite(limit) ? fmt::format("total of {:.0f}", limit / 1e9) : "total", fmt::format("{:.2f}", m.total / 1e9)});
  return out;
}

}  // namespace weft::cli
