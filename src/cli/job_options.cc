#include "cli/job_options.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

#include "fabric/catalogue.h"
#include "workload/model.h"

namespace weft::cli {

using workload::Strategy;

const std::vector<OptionSpec>& job_option_specs() {
  static const std::vector<OptionSpec> specs = {
      {"--model", "NAME|FILE", "model by name (weft list models) or path of a config.json or YAML"},
      {"--job", "NAME", "name of the job (default: the model's)"},
      {"--tp", "N", "tensor-parallel degree (default 1)"},
      {"--pp", "N", "pipeline degree (default 1)"},
      {"--dp", "N", "data-parallel degree (default 1)"},
      {"--ep", "N", "expert-parallel degree (default 1)"},
      {"--cp", "N", "context-parallel degree (default 1)"},
      {"--vp", "N", "virtual stages per rank: interleaving (default 1)"},
      {"--micro-batch", "N", "sequences of a micro-batch (default 1)"},
      {"--global-batch", "N", "sequences of a step (default dp × micro-batch × pp)"},
      {"--seq", "N", "tokens of a sequence (default 4096)"},
      {"--zero", "0-3", "ZeRO stage over the data-parallel ranks (default 1)"},
      {"--recompute", "KIND", "none, selective (default) or full"},
      {"--precision", "KIND", "bf16 (default), fp8 or fp4"},
      {"--no-sp", "", "no sequence parallelism beside tp"},
      {"--no-flash", "", "attention scores go through memory, as before flash attention"},
      {"--spares", "N", "whole nodes to keep free for the job (default 0)"},
      {"--card", "MODEL", "card model, where the site does not know it"},
  };
  return specs;
}

Result<workload::Job> job_from(const Options& o) {
  workload::Job job;
  if (!o.has("model"))
    return fail(
        ErrorKind::kInvalid, "name a model: --model NAME|FILE, one of " + [] {
          std::string all;
          for (const std::string& m : workload::known_models()) all += (all.empty() ? "" : ", ") + m;
          return all;
        }());
  WEFT_ASSIGN(job.model, workload::load_model(o.get("model")));
  job.name = o.get("job", job.model.name);
  Strategy& s = job.strategy;
  for (auto [name, into] : {std::pair{"tp", &s.tp},
                            {"pp", &s.pp},
                            {"dp", &s.dp},
                            {"ep", &s.ep},
                            {"cp", &s.cp},
                            {"vp", &s.virtual_stages},
                            {"micro-batch", &s.micro_batch},
                            {"global-batch", &s.global_batch},
                            {"seq", &s.sequence}}) {
    WEFT_ASSIGN(auto v, o.integer(name, *into, 1, 1 << 24));
    *into = static_cast<int>(o.has(name) ? v : *into);
  }
  WEFT_ASSIGN(auto zero, o.integer("zero", s.zero, 0, 3));
  s.zero = static_cast<int>(zero);
  WEFT_ASSIGN(auto spares, o.integer("spares", 0, 0, 1 << 20));
  job.policy.spare_nodes = static_cast<int>(spares);
  std::string recompute = o.get("recompute", "selective");
  if (recompute == "none") s.recompute = Strategy::Recompute::kNone;
  else if (recompute == "selective") s.recompute = Strategy::Recompute::kSelective;
  else if (recompute == "full") s.recompute = Strategy::Recompute::kFull;
  else return fail(ErrorKind::kInvalid, "--recompute is none, selective or full, not '" + recompute + "'");
  WEFT_ASSIGN(s.precision, precision_from(o));
  s.sequence_parallel = !o.has("no-sp");
  s.flash_attention = !o.has("no-flash");
  WEFT_TRY(workload::validate(job.model, s));
  return job;
}

Result<workload::Precision> precision_from(const Options& o) {
  std::string text = o.get("precision", "bf16");
  for (auto p : {workload::Precision::kBf16, workload::Precision::kFp8, workload::Precision::kFp4})
    if (text == workload::precision_name(p)) return p;
  return fail(ErrorKind::kInvalid, "--precision is bf16, fp8 or fp4, not '" + text + "'");
}

Json strategy_json(const Strategy& s) {
  constexpr const char* kRecompute[] = {"none", "selective", "full"};
  constexpr const char* kSchedule[] = {"1f1b", "zero-bubble", "dual-pipe"};
  return Json{{"tp", s.tp},
              {"pp", s.pp},
              {"dp", s.dp},
              {"ep", s.ep},
              {"cp", s.cp},
              {"virtual_stages", s.virtual_stages},
              {"schedule", kSchedule[static_cast<int>(s.schedule)]},
              {"zero", s.zero},
              {"micro_batch", s.micro_batch},
              {"micro_batches", s.micro_batches()},
              {"global_batch", s.micro_batches() * s.micro_batch * s.dp},
              {"sequence", s.sequence},
              {"sequence_parallel", s.sequence_parallel && s.tp > 1},
              {"flash_attention", s.flash_attention},
              {"recompute", kRecompute[static_cast<int>(s.recompute)]},
              {"precision", workload::precision_name(s.precision)},
              {"cards", s.world()}};
}

Json to_json(const workload::Job& job) {
  return Json{{"name", job.name},
              {"model", job.model.name},
              {"parameters", job.model.parameters()},
              {"active_parameters", job.model.active_parameters()},
              {"strategy", strategy_json(job.strategy)}};
}

std::string strategy_text(const Strategy& s) {
  std::string out = fmt::format("tp {} · pp {} · dp {}", s.tp, s.pp, s.dp);
  if (s.cp > 1) out += fmt::format(" · cp {}", s.cp);
  if (s.ep > 1) out += fmt::format(" · ep {}", s.ep);
  if (s.virtual_stages > 1) out += fmt::format(" · {} virtual stages", s.virtual_stages);
  return out + fmt::format(", ZeRO {}, {} × {} sequences of {} tokens, {} cards", s.zero, s.micro_batches() * s.dp, s.micro_batch,
                           s.sequence, s.world());
}

Result<fabric::DeviceModel> card_of(const Options& options, const fabric::Snapshot& site, fabric::DeviceId card, std::ostream& err) {
  const fabric::DeviceModel* known = card.ok() ? site.model_of(card) : nullptr;
  if (options.has("card")) {
    WEFT_ASSIGN(fabric::DeviceModel m, fabric::card_model(options.get("card")));
    err << fmt::format("assumed: every card is {} (--card){}\n", m.name, known ? ", the site says " + known->name : "");
    return m;
  }
  if (!known)
    return fail(ErrorKind::kInvalid,
                fmt::format("site {} does not say what its cards are; give --card MODEL (weft list cards), for example --card H100-SXM5",
                            site.site_name()));
  return *known;
}

}  // namespace weft::cli
