// What the verbs of `weft fabric` that look at a site have in common: reading it, and writing a report in the form asked for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/report.h"
#include "cli/command.h"
#include "cli/options.h"
#include "fabric/snapshot.h"

namespace weft::cli {

// --site, --json, --html, --out, added to a verb's own options.
std::vector<OptionSpec> site_options(std::vector<OptionSpec> own);
// The snapshot of a site given by name or path; its positional words after the site stay in `rest`.
Result<fabric::Snapshot> site_of(const Options& options, std::vector<std::string>& rest);
// Writes `report` as text, JSON or HTML to standard output or --out; `json` replaces the report's own JSON where given. Gives the exit code.
int write_report(const Report& report, const Options& options, Io& io, const std::function<Json()>& json = {});

}  // namespace weft::cli
