// `weft sim deadlock SITE`: can pauses of a lossless class wait for each other in a circle? A cycle is named, or there is a proof that none exists.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/report.h"
#include "cli/packet_options.h"
#include "cli/sim_verbs.h"
#include "sim/packet/deadlock.h"

namespace weft::cli {
namespace {

using namespace sim::packet;

int run(const std::vector<std::string>& words, Io& io) {
  std::vector<OptionSpec> known = {{"--site", "SITE", "the same as naming it"},
                                   {"--network", "ROLE", "scale-out (default) or scale-up"},
                                   {"--fat-tree", "K", "instead of a site: k-ary fat-tree"},
                                   {"--json", "", "JSON instead of the text"}};
  auto options = parse_options(words, known);
  if (!options) return report_error(options.error(), io);
  if (options->has("help")) {
    io.out << usage_text(
        "weft sim deadlock SITE",
        "Follows every shortest route of the network and looks for a cycle of buffers that wait for each other (cyclic buffer dependency), "
        "without which PFC cannot deadlock. Exit code 1 when there is one.",
        known, "  weft sim deadlock pod-144\n  weft sim deadlock tpu-v6e-256 --network scale-up\n");
    return 0;
  }
  std::string where;
  auto net = packet_network(*options, where);
  if (!net) return report_error(net.error(), io);
  Dependencies d = buffer_dependencies(*net);
  std::vector<std::string> cycle;
  for (std::uint32_t p : d.cycle)
    cycle.push_back(fmt::format("{} → {}", net->port_name(p), net->nodes[net->ports[net->ports[p].peer].node].name));
  if (options->has("json")) {
    io.out << dump_json({{"where", where},
                         {"hosts", net->hosts.size()},
                         {"free_of_cycles", d.cycle.empty()},
                         {"channels", d.channels},
                         {"dependencies", d.edges},
                         {"cycle", cycle}})
           << "\n";
    return d.cycle.empty() ? 0 : 1;
  }
  Report report;
  report.title = fmt::format("PFC deadlock on {}", where);
  Section& s = report.sections.emplace_back();
  s.facts = {{"hosts", std::to_string(net->hosts.size())},
             {"routes", "all shortest paths between all hosts, one lossless class"},
             {"channels", fmt::format("{} link directions that wait for another, {} dependencies", d.channels, d.edges)}};
  if (d.cycle.empty()) {
    s.paragraphs.push_back(
        "No cycle: the channels can be taken away one after another, each waiting only for channels taken before. Pauses along these "
        "routes always end "
        "(Dally and Seitz, 1987). A failed link that sends traffic down and up again is another set of routes: ask again for the site with "
        "the failure.");
  } else {
    s.paragraphs.push_back(
        fmt::format("A cycle of {} buffers: if all of them fill, every one waits for the next and none can empty.", cycle.size()));
    Table t;
    t.columns = {{"waits"}, {"then for"}};
    for (std::size_t i = 0; i < cycle.size(); ++i) t.rows.push_back({cycle[i], cycle[(i + 1) % cycle.size()]});
    s.tables.push_back(std::move(t));
    s.paragraphs.push_back(
        "Remedies: routes that never turn from down to up, a lossless class per hop or per crossing of a ring's date line, or a lossy "
        "class with selective repeat.");
  }
  io.out << to_text(report);
  return d.cycle.empty() ? 0 : 1;
}

WEFT_REGISTER(sim_verbs(), {"deadlock", "can lossless pauses wait in a circle? the cycle, or a proof that there is none", run});

}  // namespace
}  // namespace weft::cli
