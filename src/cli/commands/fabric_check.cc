// `weft fabric check SITE`: can it be built, and is it sound?
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include "cli/fabric_site.h"
#include "cli/fabric_verbs.h"

#include "fabric/check.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions = site_options({{"--strict", "", "warnings and unknown results close the gate too"}});
constexpr const char* kExamples = "  weft fabric check lab-32\n  weft fabric check site.yaml --strict --json\n";

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help"))
    return io.out << usage_text("weft fabric check SITE [options]",
                                "Checks cable lengths, switch ports, rack power and cooling, isolation of management, pairs that cannot "
                                "reach each other, and domains that span switch tiers. Exit code 1 when something fails.",
                                kOptions, kExamples),
           0;
  std::vector<std::string> rest;
  auto site = site_of(*options, rest);
  if (!site) return report_error(site.error(), io);
  if (!rest.empty())
    return report_error(Error{ErrorKind::kInvalid, fmt::format("one site at a time; '{}' is too many", rest.front()), ""}, io);
  auto results = fabric::check(*site);
  if (!results) return report_error(results.error(), io);
  if (int code = write_report(fabric::to_report(*results, *site), *options, io, [&] { return fabric::to_json(*results, *site); }))
    return code;
  bool strict = options->has("strict") &&
                std::any_of(results->begin(), results->end(), [](const auto& r) { return r.verdict != fabric::Verdict::kOk; });
  return fabric::passed(*results) && !strict ? 0 : 1;
}

WEFT_REGISTER(fabric_verbs(),
              {"check", "cable lengths, ports, power, cooling, isolation, reachability, tiers; exit 1 when something fails", run});

}  // namespace
}  // namespace weft::cli
