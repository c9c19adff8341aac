// `weft fabric show SITE`: what it is made of.
#include <fmt/format.h>

#include "cli/fabric_site.h"
#include "cli/fabric_verbs.h"
#include "fabric/show.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = site_options({});
constexpr const char* kExamples = "  weft fabric show lab-32\n  weft fabric show gb200-nvl72 --json\n";

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help"))
    return io.out << usage_text("weft fabric show SITE [options]",
                                "Shows a site: supernodes, networks tier by tier, domains, and what is not healthy.", kOptions, kExamples),
           0;
  std::vector<std::string> rest;
  auto site = site_of(*options, rest);
  if (!site) return report_error(site.error(), io);
  if (!rest.empty())
    return report_error(Error{ErrorKind::kInvalid, fmt::format("one site at a time; '{}' is too many", rest.front()), ""}, io);
  return write_report(fabric::describe(*site), *options, io);
}

WEFT_REGISTER(fabric_verbs(), {"show", "a site in one page: parts, networks, domains, health", run});

}  // namespace
}  // namespace weft::cli
