// `weft fabric count SITE`: how much of what, and what depends on one part.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/fabric_site.h"
#include "cli/fabric_verbs.h"
#include "fabric/count.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = site_options({});
constexpr const char* kExamples = "  weft fabric count cm384\n  weft fabric count site.yaml --json\n";

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help"))
    return io.out << usage_text("weft fabric count SITE [options]",
                                "Counts links, ports, cables by medium and length, optics and rack power; gives oversubscription and "
                                "bisection per network and single points of failure.",
                                kOptions, kExamples),
           0;
  std::vector<std::string> rest;
  auto site = site_of(*options, rest);
  if (!site) return report_error(site.error(), io);
  if (!rest.empty())
    return report_error(Error{ErrorKind::kInvalid, fmt::format("one site at a time; '{}' is too many", rest.front()), ""}, io);
  auto counted = fabric::count(*site);
  if (!counted) return report_error(counted.error(), io);
  return write_report(fabric::to_report(*counted, *site), *options, io, [&] { return fabric::to_json(*counted, *site); });
}

WEFT_REGISTER(fabric_verbs(), {"count", "links, cables, optics, power, oversubscription, bisection, single points of failure", run});

}  // namespace
}  // namespace weft::cli
