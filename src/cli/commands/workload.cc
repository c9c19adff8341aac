// `weft workload`: what a job asks of the machine before any machine is named: parameters, FLOPs, bytes per parallel dimension, memory per card.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/report.h"
#include "cli/command.h"
#include "cli/job_options.h"
#include "fabric/catalogue.h"
#include "workload/account.h"
#include "workload/memory.h"
#include "workload/sizing.h"
#include "workload/step.h"

namespace weft::cli {
namespace {

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = {{"--stage", "N", "pipeline stage of the account (default: a middle one)"},
                                 {"--tokens", "N", "tokens of the whole training run, e.g. 1.4e12: its FLOPs and, with --cards, its time"},
                                 {"--cards", "N", "cards that train (with --tokens and --card)"},
                                 {"--mfu", "SHARE", "share of the cards' peak that is reached (default 0.4)"},
                                 {"--json", "", "JSON instead of the tables"}};
  out.insert(out.end(), job_option_specs().begin(), job_option_specs().end());
  return out;
}
constexpr const char* kExamples =
    "  weft workload --model llama-3-405b --tp 8 --pp 16 --dp 128 --global-batch 2048 --seq 8192\n  weft workload --model deepseek-v3 --pp "
    "16 --dp 128 --ep 64 --precision fp8 --card H800-SXM\n"
    "  weft workload --model gpt-130b --tp 8 --pp 16 --tokens 1.4e12 --cards 1000 --card H100-SXM5\n";

std::string gb(double bytes) { return fmt::format("{:.2f}", bytes / 1e9); }

int run(const std::vector<std::string>& words, Io& io) {
  const std::vector<OptionSpec> known = specs();
  auto options = parse_options(words, known);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft workload --model NAME [--tp N --pp N --dp N …]",
                         "The account of a training step: FLOPs, bytes and operations per parallel dimension, memory per card.", known,
                         kExamples);
    return 0;
  }
  if (!options->positional.empty())
    return report_error(
        Error{ErrorKind::kInvalid, "weft workload takes no site; it is about the job alone (weft sim step SITE runs it)", ""}, io);
  auto job = job_from(*options);
  if (!job) return report_error(job.error(), io);
  const workload::Strategy& s = job->strategy;
  auto stage = options->integer("stage", s.pp / 2, 0, s.pp - 1);
  if (!stage) return report_error(stage.error(), io);
  std::vector<workload::Traffic> account = workload::account(job->model, s, static_cast<int>(*stage));
  workload::Memory memory = workload::largest_memory(*job);
  double tokens = static_cast<double>(s.micro_batches()) * s.micro_batch * s.dp * s.sequence;
  double flops = workload::model_flops(job->model, static_cast<std::int64_t>(tokens), s.sequence).value();
  std::string fits;
  Json fits_json;
  auto run_tokens = options->number("tokens", 0, 0, 1e18);
  auto run_cards = options->integer("cards", 0, 1, 100'000'000);
  auto mfu = options->number("mfu", 0.4, 0.001, 1);
  if (!run_tokens) return report_error(run_tokens.error(), io);
  if (!run_cards) return report_error(run_cards.error(), io);
  if (!mfu) return report_error(mfu.error(), io);
  if (options->has("cards") && (*run_tokens <= 0 || !options->has("card")))
    return report_error(Error{ErrorKind::kInvalid, "--cards needs --tokens N and --card MODEL to say how long the training takes", ""}, io);
  workload::CloseDomain close = workload::close_domain(s);
  double weights = static_cast<double>(workload::half_precision(static_cast<double>(job->model.parameters())).value());
  Json sizing{{"weights_bf16_bytes", weights},
              {"close_domain", {{"cards", close.cards}, {"margin_low", close.margin_low}, {"margin_high", close.margin_high}}}};
  std::string whole;
  if (*run_tokens > 0) {
    Flops work = workload::training_flops(job->model, *run_tokens);
    whole = fmt::format("6·N·D of {:.4g} tokens: {:.4g} FLOP", *run_tokens, work.value());
    sizing["training_flops"] = work.value();
    if (options->has("cards")) {
      auto card = fabric::card_model(options->get("card"));
      if (!card) return report_error(card.error(), io);
      auto peak = s.precision == workload::Precision::kFp8 ? card->fp8 : card->bf16;
      if (!peak) return report_error(Error{ErrorKind::kInvalid, "the peak of " + card->name + " is not known at this precision", ""}, io);
      int n = static_cast<int>(*run_cards);
      Seconds time = workload::training_time(work, n, *peak, *mfu);
      double month = workload::delivered(n, *peak, *mfu, Seconds(30 * 86400.0)).value();
      whole += fmt::format("; {} {} at {:.0f} % MFU: {:.1f} days ({:.4g} FLOP in 30 days)", n, card->name, 100 * *mfu, time.value() / 86400,
                           month);
      sizing["training_seconds"] = time.value(), sizing["flops_in_30_days"] = month;
    }
  }
  if (options->has("card")) {
    auto card = fabric::card_model(options->get("card"));
    if (!card) return report_error(card.error(), io);
    if (card->memory) {
      bool ok = memory.total <= *card->memory;
      fits = fmt::format("{} of {} GB of a {}: {}", gb(static_cast<double>(memory.total.value())),
                         gb(static_cast<double>(card->memory->value())), card->name, ok ? "fits" : "does not fit");
      fits_json = {{"card", card->name}, {"memory_bytes", card->memory->value()}, {"fits", ok}};
    } else {
      fits = "the memory of " + card->name + " is not known";
    }
  }
  if (options->has("json")) {
    Json traffic = Json::array(), items = Json::array();
    for (const auto& t : account)
      traffic.push_back({{"dim", workload::dim_name(t.dim)},
                         {"operation", t.point_to_point ? "send" : workload::collective_name(t.collective)},
                         {"what", t.what},
                         {"members", t.members},
                         {"message_bytes", t.message},
                         {"count", t.count},
                         {"sent_bytes", t.sent},
                         {"exposed", t.exposed}});
    for (const auto& i : memory.items) items.push_back({{"name", i.name}, {"bytes", i.bytes.value()}, {"how", i.how}});
    Json out{{"job", to_json(*job)},    {"tokens_per_step", tokens},
             {"flops_per_step", flops}, {"stage", *stage},
             {"traffic", traffic},      {"memory", {{"stage", memory.stage}, {"items", items}, {"total_bytes", memory.total.value()}}}};
    out["sizing"] = sizing;
    if (!fits_json.is_null()) out["fits"] = fits_json;
    io.out << dump_json(out) << "\n";
    return 0;
  }
  Report report;
  report.title = fmt::format("Workload {}", job->name);
  Section& section = report.sections.emplace_back();
  section.facts = {
      {"model", fmt::format("{}: {:.2f} B parameters, {:.2f} B active per token", job->model.name,
                            static_cast<double>(job->model.parameters()) / 1e9, static_cast<double>(job->model.active_parameters()) / 1e9)},
      {"strategy", strategy_text(s)},
      {"step", fmt::format("{:.0f} tokens, {:.4g} FLOP (forward and backward)", tokens, flops)}};
  section.facts.emplace_back("weights", fmt::format("{} GB in BF16, as many for FP16 gradients", gb(weights)));
  section.facts.emplace_back("close domain", fmt::format("{} cards (tp × pp), with 1.5 to 2 times margin {} to {}", close.cards,
                                                         close.margin_low, close.margin_high));
  if (!whole.empty()) section.facts.emplace_back("training", whole);
  if (!fits.empty()) section.facts.emplace_back("memory", fits);
  Table bytes;
  bytes.title = fmt::format("Sent by one rank of stage {} per step", *stage);
  bytes.columns = {{"dim"},
                   {"operation"},
                   {"what"},
                   {"members", Align::kRight},
                   {"message", Align::kRight, "MB"},
                   {"count", Align::kRight},
                   {"sent", Align::kRight, "GB"},
                   {"step waits"}};
  for (const auto& t : account)
    bytes.rows.push_back({std::string(workload::dim_name(t.dim)),
                          t.point_to_point ? "send" : std::string(workload::collective_name(t.collective)), t.what,
                          std::to_string(t.members), fmt::format("{:.2f}", t.message / 1e6), fmt::format("{:.0f}", t.count), gb(t.sent),
                          t.exposed ? "yes" : "overlaps"});
  if (account.empty()) section.paragraphs.push_back("One card: nothing is sent.");
  else section.tables.push_back(std::move(bytes));
  Table parts;
  parts.title = fmt::format("Memory of a card of stage {} (the fullest)", memory.stage);
  parts.columns = {{"part"}, {"GB", Align::kRight}, {"how"}};
  for (const auto& i : memory.items) parts.rows.push_back({i.name, gb(static_cast<double>(i.bytes.value())), i.how});
  parts.rows.push_back({"total", gb(static_cast<double>(memory.total.value())), "without the framework's own buffers"});
  section.tables.push_back(std::move(parts));
  io.out << to_text(report);
  return 0;
}

WEFT_REGISTER(commands(), {"workload", "a job's FLOPs, bytes per parallel dimension and memory per card", run});

}  // namespace
}  // namespace weft::cli
