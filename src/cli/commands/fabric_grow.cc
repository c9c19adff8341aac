// `weft fabric grow SITE`: what changes when the site grows?
#include <fmt/format.h>

#include "base/text.h"
#include "cli/fabric_site.h"
#include "cli/fabric_verbs.h"
#include "fabric/growth.h"
#include "fabric/site.h"

namespace weft::cli {
namespace {

const std::vector<OptionSpec> kOptions =
    site_options({{"--group", "NAME=CARDS", "a job or group whose routes matter, as cards or nodes (may be repeated)", true}});
constexpr const char* kExamples = "  weft fabric grow site.yaml larger.yaml --group train=sn1/node1/card0,sn1/node2/card0\n";

int run(const std::vector<std::string>& words, Io& io) {
  auto options = parse_options(words, kOptions);
  if (!options) return report_error(options.error(), io);
  if (options->has("help"))
    return io.out << usage_text("weft fabric grow SITE AFTER [options]",
                                "Compares a site before and after a change: devices, links and domains that change, routes of jobs that "
                                "change, and what to measure again. Exit code 1 when the sites differ.",
                                kOptions, kExamples),
           0;
  std::vector<std::string> rest;
  auto site = site_of(*options, rest);
  if (!site) return report_error(site.error(), io);
  if (rest.size() != 1)
    return report_error(Error{ErrorKind::kInvalid, "name the site before and the site after: weft fabric grow BEFORE AFTER", ""}, io);
  auto after = fabric::load_site(rest[0]);
  if (!after) return report_error(after.error(), io);
  std::vector<fabric::CardGroup> groups;
  if (options->has("group"))
    for (const std::string& word : options->given.at("group")) {
      std::size_t equals = word.find('=');
      if (equals == std::string::npos || equals == 0)
        return report_error(Error{ErrorKind::kInvalid, "--group is NAME=CARD,CARD,… or NAME=NODE,…, not '" + word + "'", ""}, io);
      fabric::CardGroup g{word.substr(0, equals), {}};
      for (std::string_view name : split(std::string_view(word).substr(equals + 1), ',')) {
        auto d = site->find_device(trim(name));
        if (!d) return report_error(d.error(), io);
        if (site->device(*d).kind == fabric::DeviceKind::kCard) g.cards.push_back(*d);
        for (fabric::DeviceId c : site->children(*d))
          if (site->device(c).kind == fabric::DeviceKind::kCard) g.cards.push_back(c);
      }
      groups.push_back(std::move(g));
    }
  else  // without jobs: every supernode as one
    for (const fabric::Domain& d : site->domains())
      if (d.kind == fabric::DomainKind::kScheduling) groups.push_back({d.name, d.members});
  fabric::Growth growth = fabric::grow(*site, *after, groups);
  if (int code = write_report(fabric::to_report(growth, *site, *after), *options, io)) return code;
  return growth.same() ? 0 : 1;
}

WEFT_REGISTER(fabric_verbs(), {"grow", "two site files compared: which domains, routes and jobs change, what to measure again", run});

}  // namespace
}  // namespace weft::cli
