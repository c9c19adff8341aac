// `weft fabric export SITE --format NAME`: a site in the form that other software reads, or as a drawing.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/fabric_verbs.h"
#include "cli/options.h"
#include "fabric/exporters/exporter.h"
#include "fabric/site.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"--format", "NAME", "what to write (see below)"},
    {"--node", "NODE", "formats of one node: which (default: the first)"},
    {"--site", "SITE", "a built-in site or a site file"},
    {"--out", "FILE", "write there instead of standard output"},
};
constexpr const char* kExamples =
    "  weft fabric export lab-32 --format svg --out lab-32.svg\n  weft fabric export site.yaml --format nccl-xml --node sn1/node1 --out "
    "topo.xml\n";

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  std::string site = options->has("site") ? options->get("site") : options->positional.empty() ? "" : options->positional[0];
  if (options->has("help") || site.empty()) {
    std::string formats = "\nformats:\n";
    for (const auto& e : fabric::exporters().entries()) formats += fmt::format("  {:<18} {}\n", e.name, e.help);
    (options->has("help") ? io.out : io.err) << usage_text("weft fabric export SITE --format NAME [options]",
                                                           "Writes a site for other software, or as a drawing.", kOptions, kExamples)
                                             << formats;
    return options->has("help") ? 0 : 2;
  }
  if (options->positional.size() + options->has("site") > 1)
    return report_error(Error{ErrorKind::kInvalid, fmt::format("one site at a time; '{}' is too many", options->positional.back()), ""},
                        io);
  if (!options->has("format"))
    return report_error(Error{ErrorKind::kInvalid, "--format is missing; known: " + fabric::exporters().names(), ""}, io);
  const fabric::ExporterEntry* exporter = fabric::exporters().find(options->get("format"));
  if (!exporter) {
    std::vector<std::string> known;
    for (const auto& e : fabric::exporters().entries()) known.push_back(e.name);
    std::string near = nearest_word(options->get("format"), known);
    return report_error(Error{ErrorKind::kInvalid,
                              fmt::format("no export format '{}'{}; known: {}", options->get("format"),
                                          near.empty() ? "" : ", did you mean '" + near + "'?", fabric::exporters().names()),
                              ""},
                        io);
  }
  auto snapshot = fabric::load_site(site);
  if (!snapshot) return report_error(snapshot.error(), io);
  fabric::ExportOptions how;
  if (options->has("node")) {
    auto node = snapshot->find_device(options->get("node"));
    if (!node) return report_error(node.error(), io);
    how.node = snapshot->container(*node, fabric::DeviceKind::kNode);
    if (!how.node.ok())
      return report_error(Error{ErrorKind::kInvalid, fmt::format("{} is not a node and lies in none", options->get("node")), ""}, io);
    if (!exporter->one_node)
      return report_error(Error{ErrorKind::kInvalid, fmt::format("--node: {} describes the whole site", exporter->name), ""}, io);
  }
  auto text = exporter->write(*snapshot, how);
  if (!text) return report_error(text.error(), io);
  if (exporter->one_node && !options->has("node") && snapshot->of_kind(fabric::DeviceKind::kNode).size() > 1)
    io.err << fmt::format("weft: {} describes one node: {} is written (choose with --node)\n", exporter->name,
                          snapshot->name(snapshot->of_kind(fabric::DeviceKind::kNode)[0]));
  if (options->has("out")) {
    if (auto written = write_file(options->get("out"), *text); !written) return report_error(written.error(), io);
  } else {
    io.out << *text;
  }
  return 0;
}

WEFT_REGISTER(fabric_verbs(), {"export", "a site for other software (NCCL XML, Slurm topology) or as a drawing (SVG, DOT)", run});

}  // namespace
}  // namespace weft::cli
