// `weft sim traffic SITE --pattern P`: flows over one network, packet by packet (or on the flow model): completion times, pauses, marks, drops.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/quantity.h"
#include "base/report.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/packet_options.h"
#include "cli/sim_verbs.h"
#include "sim/packet/summary.h"
#include "sim/packet/traffic.h"

namespace weft::cli {
namespace {

using namespace sim::packet;

std::atomic<bool> interrupted{false};
void on_signal(int) { interrupted = true; }

std::vector<OptionSpec> specs() {
  std::vector<OptionSpec> out = {
      {"--site", "SITE", "the same as naming it"},
      {"--pattern", "P", "permutation, incast:N, alltoall or file:PATH (FROM TO BYTES [START_US [CLASS]] a line)"},
      {"--bytes", "N", "bytes of every flow (default 2 MB)"},
      {"--model", "M", "packet (default) or flow"},
      {"--seed", "N", "of traffic, hashes and marking (default 1)"},
      {"--threads", "N", "threads (default 1); the result is the same"},
      {"--horizon", "T", "simulated time after which the run is cut, exit code 1 (default 10 s)"},
      {"--json", "", "JSON instead of the tables"},
  };
  out.insert(out.end(), packet_option_specs().begin(), packet_option_specs().end());
  return out;
}

constexpr const char* kExamples =
    "  weft sim traffic lab-32 --pattern permutation\n"
    "  weft sim traffic --fat-tree 8 --pattern incast:32 --control dcqcn --kmin 100kB --kmax 400kB --pmax 0.2\n"
    "  weft sim traffic --fat-tree 16 --pattern permutation --balance spray --model packet --json\n";

double micros(Picos t) { return static_cast<double>(t.value()) * 1e-6; }

Json counters_json(const Network& net, const Config& config, const PortTotal& p) {
  Json histogram = Json::array();
  for (std::uint32_t h : p.counters.histogram) histogram.push_back(h);
  return {{"port", net.port_name(p.port)},
          {"class", config.classes[p.klass].name},
          {"packets", p.counters.packets},
          {"bytes", p.counters.bytes},
          {"payload_bytes", p.counters.payload},
          {"pauses", p.counters.pauses},
          {"paused_us", micros(p.counters.paused)},
          {"marks", p.counters.marks},
          {"drops", p.counters.drops},
          {"queue_max_bytes", p.counters.queue_max},
          {"queue_mean_bytes", p.counters.arrivals ? p.counters.queue_sum / static_cast<double>(p.counters.arrivals) : 0},
          {"queue_histogram", histogram}};
}

struct Ran {
  std::string model, pattern, where;
  Outcome out;
  std::vector<std::string> no;
  std::uint64_t seed = 1;
};

Json percentiles_json(const Percentiles& p) {
  return {{"min", micros(p.least)}, {"mean", micros(p.mean)},  {"median", micros(p.median)}, {"p90", micros(p.p90)},
          {"p99", micros(p.p99)},   {"p99.9", micros(p.p999)}, {"max", micros(p.most)}};
}

Json outcome_json(const Network& net, const Config& config, const Ran& r) {
  Totals t = totals(net, config, r.out);
  Json ports = Json::array();
  for (const PortTotal& port : most_troubled(net, config, r.out, 50)) ports.push_back(counters_json(net, config, port));
  Json series = Json::array();
  for (auto [at, bytes] : r.out.queue_series) series.push_back({micros(at), bytes});
  const Losses& l = r.out.losses;
  return {{"where", r.where},
          {"pattern", r.pattern},
          {"model", r.model},
          {"seed", r.seed},
          {"hosts", net.hosts.size()},
          {"flows", r.out.flows.size()},
          {"unfinished", r.out.unfinished},
          {"complete", r.no.empty()},
          {"complaints", r.no},
          {"completion_us", percentiles_json(completion(r.out.flows))},
          {"acknowledged_us", percentiles_json(acknowledged(r.out.flows))},  // when the senders knew
          {"end_us", micros(r.out.end)},
          {"goodput_bits_per_s", r.out.end.value() > 0 ? static_cast<double>(t.payload) * 8 / to_seconds(r.out.end).value() : 0},
          {"pauses", t.pauses},
          {"paused_us", micros(t.paused)},
          {"pause_frames", r.out.pause_frames},
          {"marks", t.marks},
          {"drops", t.drops},
          {"losses",
           {{"lossless_full", l.lossless_full},
            {"lossy_full", l.lossy_full},
            {"corrupted", l.corrupted},
            {"link_down", l.link_down},
            {"no_route", l.no_route},
            {"hop_limit", l.too_long},
            {"watchdog", l.watchdog}}},
          {"resent", t.resent},
          {"queue_max_bytes", t.queue_max},
          {"hash_imbalance", t.imbalance},
          {"packets", {{"sent", r.out.data_sent}, {"delivered", r.out.data_delivered}, {"in_flight", r.out.in_flight}}},
          {"packet_hops", r.out.packet_hops},
          {"pause_tree", pause_tree(net, r.out, 100)},
          {"ports", ports},
          {"queue_series_us_bytes", series}};
}

Report outcome_report(const Network& net, const Config& config, const Ran& r) {
  Percentiles p = completion(r.out.flows);
  Totals t = totals(net, config, r.out);
  auto us = [](Picos v) { return fmt::format("{:.2f}", micros(v)); };
  Report report;
  report.title = fmt::format("{} on {}, {} model", r.pattern, r.where, r.model);
  Section& s = report.sections.emplace_back();
  s.facts = {{"hosts", fmt::format("{}, {} flows", net.hosts.size(), r.out.flows.size())},
             {"finished", r.out.unfinished == 0 ? "all flows" : fmt::format("{} flows did NOT finish", r.out.unfinished)},
             {"end", human(to_seconds(r.out.end))}};
  if (r.out.end.value() > 0)
    s.facts.emplace_back("goodput", human(BitsPerSecond(static_cast<double>(t.payload) * 8 / to_seconds(r.out.end).value())) + " in all");
  if (r.model == "packet") {
    s.facts.emplace_back("packets", fmt::format("{} sent = {} delivered + {} lost + {} in flight; {} sent again", r.out.data_sent,
                                                r.out.data_delivered, r.out.losses.total(), r.out.in_flight, t.resent));
    s.facts.emplace_back("pauses", fmt::format("{} obeyed, {} in all (sum over ports)", t.pauses, human(to_seconds(t.paused))));
    s.facts.emplace_back("marks, drops", fmt::format("{} marked, {} dropped", t.marks, t.drops));
    s.facts.emplace_back("deepest queue", human(Bytes(t.queue_max)));
    if (t.imbalance > 1)
      s.facts.emplace_back("hash imbalance", fmt::format("{:.2f} × the mean of its equal-cost set at {}", t.imbalance, t.imbalance_at));
    s.facts.emplace_back("work", fmt::format("{} packet-hops", r.out.packet_hops));
  }
  for (const std::string& why : r.no) s.paragraphs.push_back("NOT WHOLE: " + why);
  Table fct;
  fct.title = "Completion of flows [us]";
  fct.columns = {{"min", Align::kRight}, {"mean", Align::kRight},  {"median", Align::kRight}, {"p90", Align::kRight},
                 {"p99", Align::kRight}, {"p99.9", Align::kRight}, {"max", Align::kRight}};
  fct.rows.push_back({us(p.least), us(p.mean), us(p.median), us(p.p90), us(p.p99), us(p.p999), us(p.most)});
  s.tables.push_back(std::move(fct));
  if (auto ports = most_troubled(net, config, r.out, 10); !ports.empty()) {
    Table table;
    table.title = "Ports that were stopped longest or queued most";
    table.columns = {{"port"},
                     {"class"},
                     {"stopped", Align::kRight},
                     {"for", Align::kRight, "us"},
                     {"marks", Align::kRight},
                     {"drops", Align::kRight},
                     {"queue max", Align::kRight}};
    for (const PortTotal& port : ports)
      table.rows.push_back({net.port_name(port.port), config.classes[port.klass].name, std::to_string(port.counters.pauses),
                            us(port.counters.paused), std::to_string(port.counters.marks), std::to_string(port.counters.drops),
                            human(Bytes(port.counters.queue_max))});
    s.tables.push_back(std::move(table));
  }
  if (auto tree = pause_tree(net, r.out, 20); !tree.empty()) {
    Section& stopped = report.sections.emplace_back();
    stopped.heading = "Queues stopped at the end, under the queue they wait for";
    for (std::string& line : tree) stopped.paragraphs.push_back(std::move(line));
  }
  if (r.out.queue_series.size() > 1) {
    Chart chart;
    chart.title = "Deepest queue over time", chart.x_label = "us", chart.y_label = "kB";
    Series line{"deepest queue", {}};
    for (auto [at, bytes] : r.out.queue_series) line.points.emplace_back(micros(at), static_cast<double>(bytes) / 1e3);
    chart.series.push_back(std::move(line));
    s.charts.push_back(std::move(chart));
  }
  return report;
}

int run(const std::vector<std::string>& words, Io& io) {
  const std::vector<OptionSpec> known = specs();
  auto options = parse_options(words, known);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text(
        "weft sim traffic SITE --pattern P [--model packet|flow] …",
        "Sends flows over one network of a site (or a fat-tree) and reports completion times, pauses, marks and drops. Exit code 1 when a "
        "flow does not finish, a lossless class drops or the run is cut.",
        known, kExamples);
    return 0;
  }
  Ran r;
  r.pattern = options->get("pattern", "permutation"), r.model = options->get("model", "packet");
  if (r.model != "packet" && r.model != "flow")
    return report_error(Error{ErrorKind::kInvalid, fmt::format("--model {}: packet or flow", r.model), ""}, io);
  auto net = packet_network(*options, r.where);
  if (!net) return report_error(net.error(), io);
  auto config = packet_config(*options);
  if (!config) return report_error(config.error(), io);
  auto bytes = parse_quantity(options->get("bytes", "2 MB"), "B");
  if (!bytes) return report_error(bytes.error().in("--bytes"), io);
  auto seed = options->integer("seed", 1, 0, INT64_MAX), threads = options->integer("threads", 1, 1, 64);
  auto horizon = parse_quantity(options->get("horizon", "10 s"), "s");
  if (!seed) return report_error(seed.error(), io);
  if (!threads) return report_error(threads.error(), io);
  if (!horizon) return report_error(horizon.error().in("--horizon"), io);
  r.seed = static_cast<std::uint64_t>(*seed);
  config->seed = r.seed;
  config->horizon = to_picos(Seconds(std::min(*horizon, 1e6)));
  auto flows = traffic(*net, r.pattern, Bytes(static_cast<std::int64_t>(*bytes)), r.seed);
  if (!flows) return report_error(flows.error(), io);
  if (r.model == "flow") {
    if (auto ok = check(*config, *net); !ok) return report_error(ok.error(), io);
    std::vector<Picos> ends = fluid_completions(*net, *config, *flows);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      FlowResult f;
      f.started = (*flows)[i].start, f.finished = ends[i];
      if (ends[i].value() >= 0) f.delivered = (*flows)[i].bytes;
      else ++r.out.unfinished;
      r.out.end = std::max(r.out.end, ends[i]);
      r.out.flows.push_back(f);
    }
    if (r.out.unfinished > 0) r.no.push_back(fmt::format("{} flows did not finish", r.out.unfinished));
  } else {
    std::uint64_t hops = estimate_packet_hops(*net, *config, *flows);
    constexpr double kHopsPerSecond = 4e6;
    if (static_cast<double>(hops) > kHopsPerSecond)
      io.err << fmt::format("about {:.1f} M packet-hops, of the order of {:.0f} s on one core\n", static_cast<double>(hops) * 1e-6,
                            static_cast<double>(hops) / kHopsPerSecond);
    RunControl control;
    control.threads = static_cast<int>(*threads);
    control.stop = &interrupted;
    // About 200 points: the time the busiest receiver needs, at the least.
    control.sample = Picos(std::max<std::int64_t>(100'000, fluid_end(*net, *config, *flows).value() / 100));
    SystemClock clock;
    Instant begun = clock.now(), told = begun;
    control.progress = [&](double share, Picos at) {
      Instant now = clock.now();
      if (now - told < seconds(1)) return;
      told = now;
      double spent = to_seconds(now - begun);
      io.err << fmt::format("{:.0f} % delivered at {} of simulated time, about {:.0f} s left\n", 100 * share, human(to_seconds(at)),
                            share > 0.001 ? spent * (1 - share) / share : 0.0);
    };
    auto before = std::signal(SIGINT, on_signal);
    auto out = simulate(*net, *config, *flows, control);
    std::signal(SIGINT, before);
    if (!out) return report_error(out.error(), io);
    r.out = std::move(*out);
    r.no = complaints(*net, *config, r.out);
  }
  if (options->has("json")) io.out << dump_json(outcome_json(*net, *config, r)) << "\n";
  else io.out << to_text(outcome_report(*net, *config, r));
  return r.no.empty() ? 0 : 1;
}

WEFT_REGISTER(sim_verbs(), {"traffic", "flows over one network, packet by packet: completion, pauses, marks, drops", run});

}  // namespace
}  // namespace weft::cli
