// `weft sim step|prefill|decode SITE`: one training step, the prefill of a prompt or one decoding step on the flow model: time, MFU, where it
// goes, who waits for whom, which links are busiest.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/report.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/job_options.h"
#include "cli/sim_verbs.h"
#include "fabric/delta.h"
#include "fabric/site.h"
#include "place/place.h"
#include "sim/flow.h"
#include "workload/memory.h"
#include "workload/step.h"

namespace weft::cli {

Registry<SimVerbEntry>& sim_verbs() {
  static Registry<SimVerbEntry> registry("sim verb");
  return registry;
}

namespace {

using fabric::DeviceId;

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = {
      {"--site", "SITE", "the same as naming it"},
      {"--degrade", "LINK=SHARE", "this link carries only SHARE of its rate; 0 is down (may be repeated)", true},
      {"--slow", "CARD=SHARE", "this card computes at SHARE of its speed (may be repeated)", true},
      {"--prompt", "N", "prefill, decode: tokens of a prompt (default 2048)"},
      {"--output", "N", "decode: tokens of an answer (default 256); a step in its middle is simulated"},
      {"--decode-batch", "N", "decode: sequences of a replica at once (default 32)"},
      {"--place", "STRATEGY", "placement strategy (default topology)"},
      {"--no-fold", "", "simulate every rank (slow; the same result)"},
      {"--json", "", "JSON instead of the tables"},
  };
  out.insert(out.end(), job_option_specs().begin(), job_option_specs().end());
  return out;
}
constexpr const char* kExamples =
    "  weft sim step pod-144 --model llama-3-70b --tp 8 --pp 2 --dp 8 --global-batch 128\n"
    "  weft sim step lab-32 --model llama-3-8b --tp 8 --dp 4 --slow sn1/node2/card3=0.8\n"
    "  weft sim decode pod-144 --model deepseek-v3 --tp 4 --dp 4 --ep 16 --decode-batch 64 --prompt 4096\n"
    "  weft sim step site.yaml --model mixtral-8x7b --tp 1 --dp 16 --ep 8 --card H100-SXM5 --json\n";

// "NAME=0.5"; names hold no '='.
Result<std::pair<std::string, double>> named_share(const std::string& text, const char* option) {
  std::size_t at = text.rfind('=');
  Result<double> v = parse_double(at == std::string::npos ? std::string_view() : std::string_view(text).substr(at + 1));
  if (!v || *v < 0 || *v > 1)
    return fail(ErrorKind::kInvalid, fmt::format("--{} takes NAME=SHARE with a share from 0 to 1, not '{}'", option, text));
  return std::pair{text.substr(0, at), *v};
}

Result<fabric::Snapshot> disturbed(const fabric::Snapshot& site, const Options& options) {
  fabric::Delta delta;
  delta.reason = "command line";
  if (auto at = options.given.find("degrade"); at != options.given.end())
    for (const std::string& text : at->second) {
      WEFT_ASSIGN(auto pair, named_share(text, "degrade"));
      WEFT_ASSIGN(fabric::LinkId link, site.find_link(pair.first));
      fabric::LinkHealth h = site.health(link);
      h.state = pair.second == 0 ? fabric::LinkState::kDown : pair.second < 1 ? fabric::LinkState::kDegraded : fabric::LinkState::kUp;
      h.rate_factor = pair.second;
      delta.links.push_back({link, h});
    }
  if (auto at = options.given.find("slow"); at != options.given.end())
    for (const std::string& text : at->second) {
      WEFT_ASSIGN(auto pair, named_share(text, "slow"));
      WEFT_ASSIGN(DeviceId card, site.find_device(pair.first));
      if (site.device(card).kind != fabric::DeviceKind::kCard)
        return fail(ErrorKind::kInvalid, fmt::format("--slow {}: a {}, not a card", pair.first, fabric::kind_name(site.device(card).kind)));
      if (pair.second == 0)
        return fail(ErrorKind::kInvalid,
                    fmt::format("--slow {}: speed 0 would never end; fail the card with 'weft place --fail'", pair.first));
      fabric::DeviceHealth h = site.health(card);
      h.speed_factor = pair.second;
      delta.devices.push_back({card, h});
    }
  return delta.empty() ? site : fabric::apply(site, delta);
}

// What the step needs and an imported site may not say.
Status known_enough(const fabric::Snapshot& s, const workload::Job& job) {
  const workload::Strategy& st = job.strategy;
  if (s.cards().empty()) return fail(ErrorKind::kInvalid, fmt::format("site {} has no accelerator cards", s.site_name()));
  fabric::NetworkSet wired = 0;
  for (const fabric::Link& l : s.links()) wired |= l.networks;
  std::size_t widest = 1;
  for (const fabric::Domain& d : s.domains())
    if (d.kind == fabric::DomainKind::kHbd) widest = std::max(widest, d.members.size());
  if (st.tp > 1 && !(wired & fabric::bit(fabric::Network::kScaleUp)))
    return fail(ErrorKind::kInvalid,
                fmt::format("site {} does not describe the links of a scale-up network (NVLink or the like), which tp {} needs; give them "
                            "on import (weft fabric import FILE --scale-up-form hgx-h100), write scale_up: in the site file, or use --tp 1",
                            s.site_name(), st.tp));
  if (static_cast<std::size_t>(st.world()) > widest && !(wired & fabric::bit(fabric::Network::kScaleOut)))
    return fail(
        ErrorKind::kInvalid,
        fmt::format("site {} does not describe the links of a scale-out network, which {} cards in domains of {} need; give them on import "
                    "(weft fabric import FILE --scale-out rail:400G), write scale_out: in the site file, or use fewer cards",
                    s.site_name(), st.world(), widest));
  for (const fabric::Link& l : s.links()) {
    bool traffic = l.networks & (fabric::bit(fabric::Network::kScaleUp) | fabric::bit(fabric::Network::kScaleOut));
    if (traffic && l.rate.value() <= 0 && !l.spare)
      return fail(
          ErrorKind::kInvalid,
          fmt::format("the rate of {} is not known; give rate: for it in the site file, or on import with --scale-up-form and --scale-out",
                      s.name(s.port(l.a).link)));
  }
  return {};
}

struct Outcome {
  workload::Job job;
  workload::Placement placement;
  workload::Dag dag;
  sim::Timeline timeline;
  workload::Memory memory;
  fabric::DeviceModel card;
  double mfu = 0;
  workload::Phase phase = workload::Phase::kTrain;
};

constexpr const char* kVerbs[] = {"step", "prefill", "decode"};  // by Phase

double step_seconds(const Outcome& o) { return to_seconds(o.timeline.step).value(); }

Json link_json(const fabric::Snapshot& s, const sim::LinkLoad& l) {
  return {{"link", s.name(l.link.link())},
          {"forward", l.link.forward()},
          {"members", l.members},
          {"bytes", l.bytes},
          {"utilisation", l.utilisation}};
}

std::vector<sim::LinkLoad> busiest(const sim::Timeline& t, std::size_t n) {
  std::vector<sim::LinkLoad> out = t.links;
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.utilisation > b.utilisation; });
  if (out.size() > n) out.resize(n);
  return out;
}

Json outcome_json(const fabric::Snapshot& s, const Outcome& o) {
  Json ranks = Json::array(), links = Json::array(), memory = Json::array();
  for (const sim::RankTime& r : o.timeline.ranks) {
    Json comm, wait;
    for (std::size_t d = 0; d < 5; ++d) {
      std::string dim(workload::dim_name(static_cast<workload::Dim>(d)));
      comm[dim] = r.comm[d].value(), wait[dim] = r.wait[d].value();
    }
    ranks.push_back({{"rank", r.rank},
                     {"members", r.members},
                     {"card", s.name(o.placement.cards[static_cast<std::size_t>(r.rank)])},
                     {"end_s", r.end.value()},
                     {"compute_s", r.compute.value()},
                     {"communication_s", comm},
                     {"wait_s", wait},
                     {"waits_for", r.waits_for}});
  }
  for (const auto& l : busiest(o.timeline, 20)) links.push_back(link_json(s, l));
  for (const auto& i : o.memory.items) memory.push_back({{"name", i.name}, {"bytes", i.bytes.value()}});
  double t = step_seconds(o);
  Json out{{"site", s.site_name()},
           {"phase", kVerbs[static_cast<int>(o.phase)]},
           {"job", to_json(o.job)},
           {"card", o.card.name},
           {"step_s", t},
           {"mfu", o.mfu},
           {"tokens_per_s", static_cast<double>(o.dag.tokens_per_step) / t},
           {"tokens_per_s_per_card", static_cast<double>(o.dag.tokens_per_step) / t / o.job.strategy.world()},
           {"flops_per_step", o.dag.flops_per_step.value()},
           {"events", o.timeline.events},
           {"ranks", ranks},
           {"links", links},
           {"memory", {{"stage", o.memory.stage}, {"items", memory}, {"total_bytes", o.memory.total.value()}}}};
  if (o.card.memory) out["memory"]["card_bytes"] = o.card.memory->value();
  return out;
}

Report outcome_report(const fabric::Snapshot& s, const Outcome& o) {
  double t = step_seconds(o), tokens = static_cast<double>(o.dag.tokens_per_step);
  Report report;
  bool train = o.phase == workload::Phase::kTrain, decode = o.phase == workload::Phase::kDecode;
  const workload::Inference& inference = o.job.inference;
  report.title = fmt::format("{} of {} on {}", train ? "One step" : decode ? "One decoding step" : "Prefill", o.job.name, s.site_name());
  Section& section = report.sections.emplace_back();
  const workload::Strategy& st = o.job.strategy;
  section.facts = {
      {"strategy", train ? strategy_text(st)
                         : fmt::format("tp {} · pp {} · dp {} · ep {}, {} cards; {}", st.tp, st.pp, st.dp, st.ep, st.world(),
                                       decode ? fmt::format("{} sequences a replica, {} tokens of prompt, {} of answer",
                                                            inference.decode_batch, inference.prompt_tokens, inference.output_tokens)
                                              : fmt::format("a prompt of {} tokens a replica", inference.prompt_tokens))},
      {train    ? "step time"
       : decode ? "time per output token"
                : "time to first token",
       human(Seconds(t))},
      {"MFU", o.mfu > 0 ? fmt::format("{:.1f} % of {} per {}", 100 * o.mfu,
                                      human(o.job.strategy.precision == workload::Precision::kFp8 && o.card.fp8
                                                ? *o.card.fp8
                                                : o.card.bf16.value_or(FlopsPerSecond(0))),
                                      o.card.name)
                        : "not known (the card's peak is not)"},
      {"tokens", fmt::format("{:.0f} per second, {:.0f} per second and card", tokens / t, tokens / t / o.job.strategy.world())}};
  if (o.card.memory)
    section.facts.emplace_back(
        "memory", fmt::format("{:.1f} of {:.1f} GB a card on stage {}{}", static_cast<double>(o.memory.total.value()) / 1e9,
                              static_cast<double>(o.card.memory->value()) / 1e9, o.memory.stage,
                              o.memory.total > *o.card.memory ? (train ? ": does not fit (more pp, tp, zero or recompute helps)"
                                                                       : ": does not fit (more pp or tp, or a smaller decode batch helps)")
                                                              : ""));
  else
    section.facts.emplace_back("memory", fmt::format("{:.1f} GB a card on stage {}; the card's memory is not known",
                                                     static_cast<double>(o.memory.total.value()) / 1e9, o.memory.stage));
  Table table;
  table.title = "Where the step goes, by class of ranks [share of the step, %]";
  table.columns = {{"rank"}, {"ranks alike", Align::kRight}, {"compute", Align::kRight}};
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < 5; ++d)
    for (const auto& r : o.timeline.ranks)
      if (r.comm[d].value() + r.wait[d].value() > 0) {
        dims.push_back(d);
        break;
      }
  for (std::size_t d : dims) table.columns.push_back({std::string(workload::dim_name(static_cast<workload::Dim>(d))), Align::kRight});
  table.columns.push_back({"wait", Align::kRight});
  table.columns.push_back({"end", Align::kRight});
  table.columns.push_back({"waits most for"});
  std::vector<const sim::RankTime*> shown;
  for (const auto& r : o.timeline.ranks) shown.push_back(&r);
  // All stages of a healthy step; of many classes the ones that compute longest (a slow card) first.
  constexpr std::size_t kMost = 16;
  if (shown.size() > kMost) {
    std::stable_sort(shown.begin(), shown.end(), [](const auto* a, const auto* b) { return a->compute > b->compute; });
    shown.resize(kMost);
  }
  auto share = [&](double v) { return fmt::format("{:.1f}", 100 * v / t); };
  for (const sim::RankTime* r : shown) {
    std::vector<std::string> row{fmt::format("{} ({})", r->rank, s.name(o.placement.cards[static_cast<std::size_t>(r->rank)])),
                                 std::to_string(r->members), share(r->compute.value())};
    double wait = 0;
    for (std::size_t d = 0; d < 5; ++d) wait += r->wait[d].value();
    for (std::size_t d : dims) row.push_back(share(r->comm[d].value()));
    row.push_back(share(wait));
    row.push_back(share(r->end.value()));
    row.push_back(
        r->waits_for >= 0 ? fmt::format("{} ({})", r->waits_for, s.name(o.placement.cards[static_cast<std::size_t>(r->waits_for)])) : "-");
    table.rows.push_back(std::move(row));
  }
  section.tables.push_back(std::move(table));
  if (o.timeline.ranks.size() > kMost)
    section.paragraphs.push_back(fmt::format("{} more classes of ranks; --json lists all.", o.timeline.ranks.size() - kMost));
  Table links;
  links.title = "Most loaded links";
  links.columns = {{"link"}, {"alike", Align::kRight}, {"carried", Align::kRight}, {"busy", Align::kRight, "%"}};
  for (const auto& l : busiest(o.timeline, 8))
    links.rows.push_back({s.name(l.link.link()), std::to_string(l.members), human(Bytes(static_cast<std::int64_t>(l.bytes))),
                          fmt::format("{:.1f}", 100 * l.utilisation)});
  if (!links.rows.empty()) section.tables.push_back(std::move(links));
  Table parts;
  parts.title = fmt::format("Memory of a card of stage {} (the fullest)", o.memory.stage);
  parts.columns = {{"part"}, {"GB", Align::kRight}, {"how"}};
  for (const auto& i : o.memory.items)
    parts.rows.push_back({i.name, fmt::format("{:.2f}", static_cast<double>(i.bytes.value()) / 1e9), i.how});
  section.tables.push_back(std::move(parts));
  return report;
}

int run(const std::vector<std::string>& words, Io& io) {
  // The other verbs have files of their own; the verb may come after the site.
  for (std::size_t i = 0; i < words.size() && i < 2 && !words[i].starts_with("-"); ++i)
    if (const SimVerbEntry* v = sim_verbs().find(words[i])) {
      std::vector<std::string> rest = words;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      return v->run(rest, io);
    }
  const std::vector<OptionSpec> known = specs();
  auto options = parse_options(words, known);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text(
        "weft sim step|prefill|decode SITE --model NAME [--tp N --pp N --dp N …]",
        "Places the job, builds one training step (or the prefill of one prompt, or one decoding step) and runs it on the flow model.",
        known, kExamples);
    io.out << "\nOther verbs (weft sim VERB --help):\n";
    for (const SimVerbEntry& v : sim_verbs().entries()) io.out << fmt::format("  {:<10} {}\n", v.name, v.help);
    return 0;
  }
  Outcome o;
  std::vector<std::string> words_left = options->positional;
  int verbs = 0;
  for (int i = 0; i < 3; ++i)
    if (std::erase(words_left, kVerbs[i]) > 0) o.phase = static_cast<workload::Phase>(i), ++verbs;
  if (verbs != 1 || words_left.size() > 1)
    return report_error(Error{ErrorKind::kInvalid, "weft sim step|prefill|decode SITE --model NAME … ('weft sim --help' has examples)", ""},
                        io);
  std::string name = words_left.empty() ? options->get("site") : words_left[0];
  if (name.empty()) return report_error(Error{ErrorKind::kInvalid, "name a site: weft sim step SITE (weft list sites)", ""}, io);
  auto job = job_from(*options);
  if (!job) return report_error(job.error(), io);
  o.job = *job;
  if (o.phase != workload::Phase::kTrain) {
    o.job.kind = workload::JobKind::kInference;
    for (auto [option, into] : {std::pair{"prompt", &o.job.inference.prompt_tokens},
                                {"output", &o.job.inference.output_tokens},
                                {"decode-batch", &o.job.inference.decode_batch}}) {
      auto v = options->integer(option, *into, 1, 1 << 24);
      if (!v) return report_error(v.error(), io);
      *into = static_cast<int>(*v);
    }
  }
  auto site = fabric::load_site(name);
  if (!site) return report_error(site.error(), io);
  if (auto ok = known_enough(*site, o.job); !ok) return report_error(ok.error(), io);
  auto snapshot = disturbed(*site, *options);
  if (!snapshot) return report_error(snapshot.error(), io);
  place::Request request;
  request.job = o.job;
  request.strategy = options->get("place", "topology");
  if (!place::strategies().find(request.strategy))
    return report_error(
        Error{ErrorKind::kInvalid, "no placement strategy '" + request.strategy + "'; known: " + place::strategies().names(), ""}, io);
  // Placed on the site as it is; what --degrade and --slow say happens afterwards.
  place::Answer answer = place::place(*site, {}, request);
  if (auto* no = std::get_if<place::Refusal>(&answer)) {
    if (options->has("json")) io.out << dump_json({{"refused", {{"constraint", no->constraint}, {"text", no->text}}}}) << "\n";
    else io.out << fmt::format("no placement ({}): {}\n", no->constraint, no->text);
    return 1;
  }
  o.placement = std::get<workload::Placement>(answer);
  auto card = card_of(*options, *site, o.placement.cards[0], io.err);
  if (!card) return report_error(card.error(), io);
  o.card = *card;
  auto dag = workload::build_step(o.job, o.card, o.phase);
  if (!dag) return report_error(dag.error(), io);
  o.dag = std::move(*dag);
  sim::RunOptions run_options;
  run_options.fold = !options->has("no-fold");
  auto timelines = sim::run(*snapshot, {{&o.dag, &o.placement, {}, Seconds(0)}}, run_options);
  if (!timelines) return report_error(timelines.error(), io);
  o.timeline = std::move((*timelines)[0]);
  o.memory = workload::largest_memory(o.job, o.phase);
  fabric::Known<FlopsPerSecond> peak = o.job.strategy.precision == workload::Precision::kFp8 && o.card.fp8 ? o.card.fp8 : o.card.bf16;
  if (peak) o.mfu = o.dag.flops_per_step.value() / (peak->value() * step_seconds(o) * o.job.strategy.world());
  if (options->has("json")) io.out << dump_json(outcome_json(*snapshot, o)) << "\n";
  else io.out << to_text(outcome_report(*snapshot, o));
  return 0;
}

WEFT_REGISTER(commands(), {"sim", "one step of a job (training, prefill, decode) on the flow model: time, MFU, who waits for whom", run});

}  // namespace
}  // namespace weft::cli
