// `weft fabric drift SITE OBSERVED`: the intended site against what was discovered. Exit code 1 when they differ.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/command.h"
#include "cli/fabric_verbs.h"
#include "cli/options.h"
#include "fabric/drift.h"
#include "fabric/importers/importer.h"
#include "fabric/site.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = {
    {"--node", "NODE", "the node that the file describes, where the site has several"},
    {"--format", "NAME", "format of the file (default: recognised by its text)"},
    {"--json", "", "one JSON document: {drift, items: [{kind, entities, text, explains}], compared, skipped}"},
};
constexpr const char* kExamples =
    "  weft fabric drift site.yaml topology.conf\n  weft fabric drift site.yaml topo-m.txt --node sn1/node3\n";

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help") || options->positional.size() != 2) {
    (options->has("help") ? io.out : io.err) << usage_text(
        "weft fabric drift SITE OBSERVED", "Compares the intended site with what was discovered; the smallest explanation first.", kOptions,
        kExamples);
    return options->has("help") ? 0 : 2;
  }
  auto site = fabric::load_site(options->positional[0]);
  if (!site) return report_error(site.error(), io);
  auto text = read_file(options->positional[1], fabric::kMaxImportBytes + 1);
  if (!text) return report_error(text.error(), io);
  auto observed = fabric::import_text(*text, options->positional[1], options->get("format"));
  if (!observed) return report_error(observed.error(), io);
  fabric::DeviceId node;
  if (options->has("node")) {
    auto found = site->find_device(options->get("node"));
    if (!found) return report_error(found.error(), io);
    node = site->container(*found, fabric::DeviceKind::kNode);
    if (!node.ok())
      return report_error(Error{ErrorKind::kInvalid, fmt::format("{} is not a node and lies in none", options->get("node")), ""}, io);
  }
  auto drift = fabric::find_drift(*site, *observed, node);
  if (!drift) return report_error(drift.error(), io);
  if (options->has("json")) io.out << dump_json(fabric::to_json(*drift)) << "\n";
  else io.out << to_text(fabric::report(*drift));
  return drift->found() ? 1 : 0;
}

WEFT_REGISTER(fabric_verbs(), {"drift", "the intended site against what was discovered, explained", run});

}  // namespace
}  // namespace weft::cli
