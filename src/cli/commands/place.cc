// `weft place SITE`: where a job's groups would lie, or the first constraint that cannot be kept and what would help.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

#include "base/report.h"
#include "cli/command.h"
#include "cli/job_options.h"
#include "fabric/site.h"
#include "place/place.h"

namespace weft::cli {
namespace {

using fabric::DeviceId;

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = {
      {"--site", "SITE", "the same as naming it first"},
      {"--strategy", "NAME", "topology (default), first_fit, random, exact"},
      {"--avoid", "NAME", "a card, node, rack … not to use (may be repeated)", true},
      {"--fail", "NAME", "suppose this card or node failed, and show the repair of the placement (may be repeated)", true},
      {"--seed", "N", "of the random strategy (default 1)"},
      {"--json", "", "JSON instead of the table"},
  };
  out.insert(out.end(), job_option_specs().begin(), job_option_specs().end());
  return out;
}
constexpr const char* kExamples =
    "  weft place lab-32 --model llama-3-8b --tp 8 --dp 2\n  weft place pod-144 --model llama-3-70b --tp 8 --pp 2 --dp 8 --spares 2 "
    "--json\n"
    "  weft place pod-144 --model llama-3-8b --tp 4 --dp 16 --fail sn1/node2\n";

// "sn1/node1/card0…3, sn1/node2/card0": runs of cards of one node together.
std::string card_list(const fabric::Snapshot& s, const std::vector<DeviceId>& cards) {
  std::string out;
  for (std::size_t i = 0; i < cards.size();) {
    std::size_t j = i;
    while (j + 1 < cards.size() && s.device(cards[j + 1]).parent == s.device(cards[i]).parent &&
           s.device(cards[j + 1]).index == s.device(cards[j]).index + 1)
      ++j;
    out += (out.empty() ? "" : ", ") + s.name(cards[i]);
    if (j > i) out += fmt::format("…{}", s.device(cards[j]).index);
    i = j + 1;
  }
  return out;
}

int refuse(const place::Refusal& no, const Options& options, Io& io) {
  if (options.has("json")) io.out << dump_json({{"refused", {{"constraint", no.constraint}, {"text", no.text}}}}) << "\n";
  else io.out << fmt::format("no placement ({}): {}\n", no.constraint, no.text);
  return 1;
}

void print(const fabric::Snapshot& s, const workload::Job& job, const workload::Placement& p, const std::vector<DeviceId>& before,
           const Options& options, Io& io) {
  fabric::Routes routes(s);
  double comm = place::predicted_comm(routes, job, p).value();
  std::map<workload::Dim, std::pair<std::size_t, std::size_t>> inside;  // groups in one domain, groups
  for (const workload::Group& g : p.groups) {
    std::set<fabric::DomainId> homes;
    bool loose = false;
    for (int r : g.ranks)
      homes.insert(s.hbd_of(p.cards[static_cast<std::size_t>(r)])), loose = loose || !s.hbd_of(p.cards[static_cast<std::size_t>(r)]).ok();
    auto& n = inside[g.dim];
    n.first += homes.size() == 1 && !loose;
    ++n.second;
  }
  int moved = 0;
  for (std::size_t r = 0; r < before.size(); ++r) moved += before[r] != p.cards[r];
  if (options.has("json")) {
    Json groups = Json::array(), cards = Json::array(), spares = Json::array();
    for (DeviceId c : p.cards) cards.push_back(s.name(c));
    for (DeviceId c : p.spares) spares.push_back(s.name(c));
    for (const workload::Group& g : p.groups) groups.push_back({{"name", g.name()}, {"ranks", g.ranks}});
    Json out{{"site", s.site_name()}, {"job", to_json(job)}, {"cards", cards},          {"groups", groups},
             {"spares", spares},      {"score_s", p.score},  {"communication_s", comm}, {"snapshot_version", p.snapshot_version}};
    if (!before.empty()) out["moved"] = moved;
    io.out << dump_json(out) << "\n";
    return;
  }
  Report report;
  report.title = fmt::format("{} on {}", job.name, s.site_name());
  Section& section = report.sections.emplace_back();
  section.facts = {{"strategy", strategy_text(job.strategy)},
                   {"predicted step", fmt::format("{}, of it communication {}", human(Seconds(p.score)), human(Seconds(comm)))}};
  if (!before.empty()) section.facts.emplace_back("moved", fmt::format("{} of {} ranks", moved, before.size()));
  if (!p.spares.empty()) section.facts.emplace_back("spares", card_list(s, p.spares));
  Table kinds;
  kinds.columns = {{"groups"}, {"number", Align::kRight}, {"members", Align::kRight}, {"inside one domain", Align::kRight}};
  for (const auto& [dim, n] : inside) {
    std::size_t members = 0;
    for (const workload::Group& g : p.groups)
      if (g.dim == dim) members = std::max(members, g.ranks.size());
    kinds.rows.push_back({std::string(workload::dim_name(dim)), std::to_string(n.second), std::to_string(members),
                          fmt::format("{} of {}", n.first, n.second)});
  }
  section.tables.push_back(std::move(kinds));
  Table table;
  table.columns = {{"group"}, {"ranks"}, {"cards"}};
  workload::Dim shown = job.strategy.tp > 1 ? workload::Dim::kTp : job.strategy.ep > 1 ? workload::Dim::kEp : workload::Dim::kDp;
  constexpr std::size_t kMost = 64;
  std::size_t all = 0;
  for (const workload::Group& g : p.groups) {
    if (g.dim != shown || ++all > kMost) continue;
    std::vector<DeviceId> cards;
    for (int r : g.ranks) cards.push_back(p.cards[static_cast<std::size_t>(r)]);
    table.rows.push_back({g.name(),
                          g.ranks.back() - g.ranks.front() + 1 == static_cast<int>(g.ranks.size())
                              ? fmt::format("{}…{}", g.ranks.front(), g.ranks.back())
                              : fmt::format("{}, {} …", g.ranks[0], g.ranks[1]),
                          card_list(s, cards)});
  }
  if (p.groups.empty()) table.rows.push_back({"-", "0", card_list(s, p.cards)});
  section.tables.push_back(std::move(table));
  if (all > kMost) section.paragraphs.push_back(fmt::format("{} more groups; --json lists all.", all - kMost));
  io.out << to_text(report);
}

int run(const std::vector<std::string>& words, Io& io) {
  const std::vector<OptionSpec> known = specs();
  auto options = parse_options(words, known);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text("weft place SITE --model NAME [--tp N --pp N --dp N …]",
                         "Puts a job on cards: tensor-parallel groups inside one high-bandwidth domain, the rest by least predicted "
                         "communication, healthy links first.",
                         known, kExamples);
    return 0;
  }
  std::string name = !options->positional.empty() ? options->positional[0] : options->get("site");
  if (name.empty() || options->positional.size() > 1)
    return report_error(Error{ErrorKind::kInvalid, "name one site: weft place SITE --model NAME (weft list sites)", ""}, io);
  auto job = job_from(*options);
  if (!job) return report_error(job.error(), io);
  auto site = fabric::load_site(name);
  if (!site) return report_error(site.error(), io);
  auto seed = options->integer("seed", 1, 0, INT64_MAX);
  if (!seed) return report_error(seed.error(), io);
  place::Request request;
  request.job = *job;
  request.strategy = options->get("strategy", "topology");
  request.seed = static_cast<std::uint64_t>(*seed);
  if (!place::strategies().find(request.strategy))
    return report_error(
        Error{ErrorKind::kInvalid, "no placement strategy '" + request.strategy + "'; known: " + place::strategies().names(), ""}, io);
  auto devices = [&](const char* option) -> Result<std::vector<DeviceId>> {
    std::vector<DeviceId> out;
    if (auto at = options->given.find(option); at != options->given.end())
      for (const std::string& n : at->second) {
        WEFT_ASSIGN(DeviceId d, site->find_device(n));
        out.push_back(d);
      }
    return out;
  };
  auto avoid = devices("avoid"), gone = devices("fail");
  if (!avoid) return report_error(avoid.error(), io);
  if (!gone) return report_error(gone.error(), io);
  request.avoid = *avoid;
  place::Answer answer = place::place(*site, {}, request);
  if (auto* no = std::get_if<place::Refusal>(&answer)) return refuse(*no, *options, io);
  workload::Placement placement = std::get<workload::Placement>(answer);
  std::vector<DeviceId> before;
  fabric::Snapshot snapshot = *site;
  if (!gone->empty()) {
    std::vector<std::pair<DeviceId, fabric::DeviceHealth>> health;
    for (DeviceId d : *gone) {
      fabric::DeviceHealth h = snapshot.health(d);
      h.state = fabric::DeviceState::kFailed, h.reason = "supposed (--fail)";
      health.emplace_back(d, h);
    }
    snapshot = snapshot.with_health({}, health);
    before = placement.cards;
    request.keep = before, request.job.policy.spare_nodes = 0;
    answer = place::place(snapshot, {}, request);
    if (auto* no = std::get_if<place::Refusal>(&answer)) return refuse(*no, *options, io);
    placement = std::get<workload::Placement>(answer);
  }
  print(snapshot, *job, placement, before, *options, io);
  return 0;
}

WEFT_REGISTER(commands(), {"place", "put a job on cards, or say why not", run});

}  // namespace
}  // namespace weft::cli
