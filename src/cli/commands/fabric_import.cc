// `weft fabric import FILE > site.yaml`: what others wrote about a machine becomes a site file. The site goes to standard output; what was
// understood, what is not known, what contradicts itself and what was assumed go to standard error.
#include <fmt/format.h>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/fabric_verbs.h"
#include "cli/options.h"
#include "fabric/identity.h"
#include "fabric/importers/importer.h"
#include "fabric/observed_site.h"
#include "fabric/slurm_text.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"--format", "NAME", "read the file as this format (default: recognised by its text)"},
    {"--scale-up-form", "FORM", "scale-up domain and card of this form or site (hgx-h100), where the file does not say"},
    {"--nodes", "N", "this many nodes like the one in the file"},
    {"--scale-out", "TOPOLOGY:RATE", "how the NICs are connected (rail:400G, leaf_spine:400G; a third part gives NICs per node)"},
    {"--pick", "NODE", "of several machines in the file, only this one (node0)"},
    {"--slurm-conf", "FILE", "with topology.conf: compare with this slurm.conf (unknown and unplaced nodes, cards, plugin)"},
    {"--gres-conf", "FILE", "with topology.conf: compare with this gres.conf"},
    {"--name", "NAME", "name of the site (default: the file's)"},
    {"--out", "FILE", "write the site there instead of standard output"},
    {"--json", "", "print the observation itself (every fact with its place) instead of a site file"},
    {"--all", "", "print all remarks, not only the first twenty of each kind"},
};
constexpr const char* kExamples =
    "  weft fabric import topo-m.txt > site.yaml\n"
    "  weft fabric import azure-ndv5-topo.xml --scale-up-form hgx-h100 --nodes 16 --scale-out rail:400G > site.yaml\n"
    "  weft fabric import topology.conf --slurm-conf slurm.conf > site.yaml\n  nvidia-smi topo -m | weft fabric import - > site.yaml\n";

void list(std::ostream& err, const std::string& heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  err << "\n" << heading << "\n";
  for (const std::string& l : lines) err << "  " << l << "\n";
}

Result<std::string> read_input(const std::string& path) {
  if (path != "-") return read_file(path, fabric::kMaxImportBytes + 1);
  std::string text;
  char buffer[65536];
  while (std::cin.read(buffer, sizeof buffer) || std::cin.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > fabric::kMaxImportBytes) break;
  }
  return text;
}

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help") || options->positional.empty()) {
    std::string formats = "\nformats:\n";
    for (const auto& e : fabric::importers().entries()) formats += fmt::format("  {:<18} {}\n", e.name, e.help);
    (options->has("help") ? io.out : io.err) << usage_text("weft fabric import FILE [options] > site.yaml",
                                                           "Reads what others wrote about a machine and writes it as a site file.",
                                                           kOptions, kExamples)
                                             << formats;
    return options->has("help") ? 0 : 2;
  }
  if (options->positional.size() > 1)
    return report_error(Error{ErrorKind::kInvalid, fmt::format("one file at a time; '{}' is too many", options->positional[1]), ""}, io);
  const std::string& path = options->positional[0];
  auto text = read_input(path);
  if (!text) return report_error(text.error(), io);
  auto observed = fabric::import_text(*text, path == "-" ? "standard input" : path, options->get("format"));
  if (!observed) return report_error(observed.error(), io);
  for (auto [option, add] : {std::pair{"slurm-conf", &fabric::add_slurm_conf}, std::pair{"gres-conf", &fabric::add_gres_conf}}) {
    if (!options->has(option)) continue;
    if (observed->format != "slurm-topology")
      return report_error(
          Error{ErrorKind::kInvalid, fmt::format("--{} goes with a topology.conf, not with {}", option, observed->format), ""}, io);
    std::string file = options->get(option);
    auto conf = read_file(file, fabric::kMaxImportBytes + 1);
    if (!conf) return report_error(conf.error(), io);
    if (auto added = add(*observed, *conf, file); !added) return report_error(added.error(), io);
  }
  auto nodes = options->integer("nodes", 0, 1, 1'000'000);
  if (!nodes) return report_error(nodes.error(), io);
  std::string output;
  fabric::ImportedSite site;
  if (options->has("json")) {
    output = dump_json(fabric::to_json(*observed)) + "\n";
  } else {
    fabric::SiteAssumptions assume{options->get("name"), options->get("scale-up-form"), static_cast<int>(*nodes), options->get("scale-out"),
                                   options->get("pick")};
    auto made = fabric::to_site(*observed, assume);
    if (!made) return report_error(made.error(), io);
    site = std::move(*made);
    output = site.yaml;
  }
  io.err << to_text(fabric::report(*observed, options->has("all") ? SIZE_MAX : 20));
  auto collisions = fabric::identify(*observed).collisions();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < collisions.size() && i < 20; ++i)
    names.push_back(fmt::format("the {} '{}' stands for {}", name_space_name(collisions[i].space), collisions[i].foreign,
                                fmt::join(collisions[i].canonical, " and ")));
  if (collisions.size() > 20) names.push_back(fmt::format("… and {} more", collisions.size() - 20));
  list(io.err, "Names that stand for several things", names);
  list(io.err, "Assumed (by your options, not said by the file)", site.assumed);
  list(io.err, "The file and your options disagree", site.contradictions);
  if (options->has("out")) {
    if (auto written = write_file(options->get("out"), output); !written) return report_error(written.error(), io);
  } else {
    io.out << output;
  }
  return 0;
}

WEFT_REGISTER(fabric_verbs(), {"import", "what others wrote about a machine (NCCL XML, nvidia-smi, lspci, Slurm …) as a site file", run});

}  // namespace
}  // namespace weft::cli
