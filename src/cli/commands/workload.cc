// `weft workload`: what a job asks of the machine before any machine is named: parameters, FLOPs, bytes per parallel dimension, memory per card.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/report.h"
#include "cli/command.h"
#include "cli/job_options.h"
#include "fabric/catalogue.h"
#include "workload/account.h"
#include "workload/memory.h"
#include "workload/step.h"

namespace weft::cli {
namespace {

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = {{"--stage", "N", "pipeline stage of the account (default: a middle one)"},
                                 {"--json", "", "JSON instead of the tables"}};
  out.insert(out.end(), job_option_specs().begin(), job_option_specs().end());
  return out;
}
constexpr const char* kExamples =
    "  weft workload --model llama-3-405b --tp 8 --pp 16 --dp 128 --global-batch 2048 --seq 8192\n  weft workload --model deepseek-v3 --pp "
    "16 --dp 128 --ep 64 --precision fp8 --card H800-SXM\n";

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
