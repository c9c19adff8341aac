// `weft fabric paths SITE`: which links does this traffic use?
#include <fmt/format.h>

#include "cli/fabric_site.h"
#include "cli/fabric_verbs.h"
#include "fabric/paths.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions =
    site_options({{"--from", "DEVICE", "the same as naming it first"},
                  {"--to", "DEVICE", "the same as naming it second"},
                  {"--network", "NAME", "scale-up, scale-out, storage, management (default: the one a library would choose)"}});
constexpr const char* kExamples =
    "  weft fabric paths lab-32 sn1/node1/card0 sn1/node4/card7\n  weft fabric paths pod-144 sn1/node1/card0 sn2/node1/card0 --network "
    "scale-out --json\n";

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help"))
    return io.out << usage_text("weft fabric paths SITE FROM TO [options]",
                                "Shows all equal-cost routes between two devices: every link with its share of the traffic, the rate one "
                                "flow can reach and the latency.",
                                kOptions, kExamples),
           0;
  std::vector<std::string> rest;
  auto site = site_of(*options, rest);
  if (!site) return report_error(site.error(), io);
  if (options->has("from")) rest.insert(rest.begin(), options->get("from"));
  if (options->has("to")) rest.push_back(options->get("to"));
  if (rest.size() != 2) return report_error(Error{ErrorKind::kInvalid, "name two devices: weft fabric paths SITE FROM TO", ""}, io);
  auto from = site->find_device(rest[0]), to = site->find_device(rest[1]);
  for (const auto* d : {&from, &to})
    if (!*d) return report_error(d->error(), io);
  fabric::Routes routes(*site);
  fabric::Network network = routes.best_network(*from, *to);
  if (options->has("network")) {
    auto named = fabric::parse_network(options->get("network"));
    if (!named)
      return report_error(
          Error{ErrorKind::kInvalid,
                "unknown network '" + options->get("network") + "'; known: scale-up, scale-out, storage, management, host", ""},
          io);
    network = *named;
  }
  const fabric::Route& route = routes.between(*from, *to, network);
  if (int code = write_report(fabric::to_report(route, *site, *from, *to, network), *options, io)) return code;
  return route.reachable ? 0 : 1;
}

WEFT_REGISTER(fabric_verbs(), {"paths", "the equal-cost routes between two devices, with shares, rate and latency", run});

}  // namespace
}  // namespace weft::cli
