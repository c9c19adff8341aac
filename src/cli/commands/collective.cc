// `weft collective SITE`: one collective on some cards of a site, by every algorithm: predicted predicted and by the flow model.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/quantity.h"
#include "base/report.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "collective/predict.h"
#include "fabric/site.h"
#include "sim/flow.h"

namespace weft::cli {
namespace {

using workload::Collective;

const std::vector<OptionSpec> kOptions = {
    {"--site", "SITE", "the same as naming it first"},
    {"--kind", "NAME", "all-reduce (default), all-gather, reduce-scatter, all-to-all, broadcast"},
    {"--size", "BYTES", "bytes of the whole vector, or of a rank's send buffer (default 256M)"},
    {"--cards", "N|NAMES", "the first N usable cards, or names with commas (default: all usable)"},
    {"--algorithm", "NAME", "only this one"},
    {"--json", "", "JSON instead of the table"},
    {"--out", "FILE", "write the result to a file"},
};
constexpr const char* kExamples =
    "  weft collective lab-32 --kind all-reduce --size 256M\n  weft collective pod-144 --kind all-to-all --size 64MiB --cards 72\n";

struct Row {
  std::string name;
  collective::Cost cost;
  sim::CollectiveRun run;
};

Result<Collective> kind_of(const std::string& name) {
  std::vector<std::string> known;
  for (Collective k :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll, Collective::kBroadcast}) {
    known.emplace_back(workload::collective_name(k));
    if (name == known.back()) return k;
  }
  return fail(ErrorKind::kInvalid, fmt::format("no collective '{}'; known: {}", name, join(known, ", ")));
}

Result<std::vector<fabric::DeviceId>> cards_of(const fabric::Snapshot& s, const std::string& text) {
  std::vector<fabric::DeviceId> usable;
  for (fabric::DeviceId c : s.cards())
    if (s.usable(c)) usable.push_back(c);
  std::vector<fabric::DeviceId> out;
  if (text.empty()) out = usable;
  else if (auto n = parse_int(text)) {
    if (*n < 1 || static_cast<std::size_t>(*n) > usable.size())
      return fail(ErrorKind::kInvalid, fmt::format("--cards {}: the site has {} usable cards", text, usable.size()));
    out.assign(usable.begin(), usable.begin() + static_cast<std::ptrdiff_t>(*n));
  } else {
    for (std::string_view name : split(text, ',')) {
      WEFT_ASSIGN(fabric::DeviceId d, s.find_device(trim(name)));
      if (s.device(d).kind != fabric::DeviceKind::kCard)
        return fail(ErrorKind::kInvalid, fmt::format("{} is a {}, not a card", s.name(d), fabric::kind_name(s.device(d).kind)));
      if (std::find(out.begin(), out.end(), d) != out.end()) return fail(ErrorKind::kInvalid, fmt::format("{} is named twice", s.name(d)));
      out.push_back(d);
    }
  }
  if (out.size() < 2) return fail(ErrorKind::kInvalid, "a collective needs at least two cards");
  return out;
}

// Links without a rate, as imported sites may have, carry nothing: say so before the simulator says "no way".
Status rates_known(const fabric::Snapshot& s, const std::vector<fabric::DeviceId>& cards) {
  for (fabric::DeviceId c : cards)
    for (fabric::PortId p : s.ports_of(c))
      if (fabric::LinkId l = s.port(p).link;
          l.ok() && (s.link(l).networks & fabric::bit(fabric::Network::kScaleUp)) && s.link(l).rate.value() <= 0)
        return fail(ErrorKind::kInvalid, fmt::format("rate of {} is not known; give it in the site file", s.name(l)));
  return {};
}

Json to_json(const fabric::Snapshot& s, const collective::GroupShape& shape, Collective kind, Bytes bytes, const std::vector<Row>& rows,
             const std::string& chosen) {
  Json out;
  out["site"] = s.site_name(), out["kind"] = workload::collective_name(kind), out["bytes"] = bytes.value(), out["chosen"] = chosen;
  out["predicted_by"] = shape.routed ? "routes" : "closed form";
  out["group"] = {{"members", shape.members},
                  {"domains", shape.domains},
                  {"inner_bytes_per_second", shape.inner.value()},
                  {"inner_latency_s", shape.inner_latency.value()},
                  {"outer_bytes_per_second", shape.outer.value()},
                  {"outer_latency_s", shape.outer_latency.value()}};
  for (const Row& r : rows) {
    double busiest = 0;
    for (const auto& l : r.run.links) busiest = std::max(busiest, l.utilisation);
    out["algorithms"].push_back(
        {{"name", r.name},
         {"predicted_s", r.cost.time.value()},
         {"latency_s", r.cost.latency_part.value()},
         {"simulated_s", r.run.time.value()},
         {"bus_bandwidth_bytes_per_second", collective::bus_bandwidth(kind, shape.members, bytes, r.run.time).value()},
         {"busiest_link_utilisation", busiest}});
  }
  return out;
}

Report to_report(const fabric::Snapshot& s, const collective::GroupShape& shape, Collective kind, Bytes bytes, const std::vector<Row>& rows,
                 const std::string& chosen) {
  Section section;
  section.facts = {
      {"collective", fmt::format("{} of {} over {} cards", workload::collective_name(kind), human(bytes), shape.members)},
      {"domains",
       shape.domains == 1 ? "1" : fmt::format("{} of {} to {} cards", shape.domains, shape.min_per_domain, shape.max_per_domain)}};
  if (shape.max_per_domain > 1)
    section.facts.emplace_back("inside", fmt::format("{} a card, {} a message", human(shape.inner), human(shape.inner_latency)));
  if (shape.domains > 1)
    section.facts.emplace_back("between", fmt::format("{} a card, {} a message", human(shape.outer), human(shape.outer_latency)));
  section.facts.emplace_back("chosen", chosen);
  section.facts.emplace_back("predicted by",
                             shape.routed ? "closed form's latency, bytes on the busiest link of the routes" : "closed form");
  Table table;
  table.columns = {{"algorithm"},
                   {"predicted", Align::kRight},
                   {"simulated", Align::kRight},
                   {"of it latency", Align::kRight},
                   {"bus bandwidth", Align::kRight}};
  for (const Row& r : rows)
    table.rows.push_back({r.name, human(r.cost.time), human(r.run.time), human(r.cost.latency_part),
                          human(collective::bus_bandwidth(kind, shape.members, bytes, r.run.time))});
  section.tables.push_back(std::move(table));
  return {fmt::format("Collective on {}", s.site_name()), {section}};
}

int run(const std::vector<std::string>& words, Io& io) {
  auto parsed = parse_options(words, kOptions);
  if (!parsed) return report_error(parsed.error(), io);
  const Options& options = *parsed;
  if (options.has("help")) {
    io.out << usage_text("weft collective SITE [options]", "Time of a collective on a site's cards, by closed form and by the flow model.",
                         kOptions, kExamples);
    return 0;
  }
  std::string site = !options.positional.empty() ? options.positional[0] : options.get("site");
  if (site.empty() || options.positional.size() > 1)
    return report_error(Error{ErrorKind::kInvalid, "name one site: weft collective SITE (weft list shows them)", ""}, io);
  auto kind = kind_of(options.get("kind", "all-reduce"));
  if (!kind) return report_error(kind.error(), io);
  auto size = parse_quantity(options.get("size", "256M"), "B");
  if (!size) return report_error(size.error().in("--size"), io);
  if (*size < 1 || *size > 1e15) return report_error(Error{ErrorKind::kInvalid, "--size must be between 1 B and 1 PB", ""}, io);
  Bytes bytes(static_cast<std::int64_t>(*size));
  auto snapshot = fabric::load_site(site);
  if (!snapshot) return report_error(snapshot.error(), io);
  auto cards = cards_of(*snapshot, options.get("cards"));
  if (!cards) return report_error(cards.error(), io);
  if (Status known = rates_known(*snapshot, *cards); !known) return report_error(known.error(), io);
  fabric::Routes routes(*snapshot);
  collective::GroupShape shape = collective::shape_of(*cards, routes);
  std::string only = options.get("algorithm");
  const collective::Algorithm* named = only.empty() ? nullptr : collective::algorithms().find(only);
  if (!only.empty() && !named)
    return report_error(
        Error{ErrorKind::kInvalid, "no collective algorithm '" + only + "'; known: " + collective::algorithms().names(), ""}, io);
  if (named && !named->supports(*kind, shape))
    return report_error(Error{ErrorKind::kInvalid,
                              fmt::format("{} does not do {} over {} cards in {} domain{} here", only, workload::collective_name(*kind),
                                          shape.members, shape.domains, shape.domains == 1 ? "" : "s"),
                              ""},
                        io);
  std::vector<fabric::DeviceId> ordered;
  for (const auto& domain : collective::domain_order(*cards, routes))
    for (int i : domain) ordered.push_back((*cards)[static_cast<std::size_t>(i)]);
  collective::UsageBuilder usages(routes);
  collective::Predictor predictor(usages);
  std::vector<Row> rows;
  for (const collective::Algorithm& a : collective::algorithms().entries()) {
    if ((named && named != &a) || !a.supports(*kind, shape)) continue;
    sim::RunOptions run_options;
    run_options.algorithm = a.name;
    auto run = sim::run_collective(*snapshot, *cards, *kind, bytes, run_options);
    if (!run) return report_error(run.error(), io);
    rows.push_back({a.name, predictor.cost(a, *kind, shape, ordered, bytes), *std::move(run)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.cost.time < b.cost.time; });
  std::string chosen = named ? only : predictor.choose(*kind, shape, ordered, bytes).algorithm->name;
  std::string text = options.has("json") ? dump_json(to_json(*snapshot, shape, *kind, bytes, rows, chosen)) + "\n"
                                         : to_text(to_report(*snapshot, shape, *kind, bytes, rows, chosen));
  if (!options.has("out")) io.out << text;
  else if (Status s = write_file(options.get("out"), text); !s) return report_error(s.error(), io);
  return 0;
}

WEFT_REGISTER(commands(), {"collective", "time of a collective on a site, by formula and simulated", run});

}  // namespace
}  // namespace weft::cli
