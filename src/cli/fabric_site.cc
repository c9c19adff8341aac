#include "cli/fabric_site.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "fabric/site.h"

namespace weft::cli {

std::vector<OptionSpec> site_options(std::vector<OptionSpec> own) {
  own.push_back({"--site", "SITE", "the same as naming it first"});
  own.push_back({"--json", "", "JSON instead of text"});
  own.push_back({"--html", "", "an HTML page instead of text"});
  own.push_back({"--out", "FILE", "write there instead of standard output"});
  return own;
}

Result<fabric::Snapshot> site_of(const Options& options, std::vector<std::string>& rest) {
  rest = options.positional;
  std::string site = options.get("site");
  if (site.empty()) {
    if (rest.empty()) return fail(ErrorKind::kInvalid, "name a site: a built-in one (weft list sites) or a site file");
    site = rest.front();
    rest.erase(rest.begin());
  }
  return fabric::load_site(site);
}

int write_report(const Report& report, const Options& options, Io& io, const std::function<Json()>& json) {
  if (options.has("json") && options.has("html")) return report_error(Error{ErrorKind::kInvalid, "--json and --html: choose one", ""}, io);
  std::string text = options.has("json")   ? dump_json(json ? json() : to_json(report)) + "\n"
                     : options.has("html") ? to_html(report)
                                           : to_text(report);
  if (!options.has("out")) return io.out << text, 0;
  if (auto written = write_file(options.get("out"), text); !written) return report_error(written.error(), io);
  return 0;
}

}  // namespace weft::cli
