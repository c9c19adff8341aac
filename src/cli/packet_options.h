// Command-line options of the packet model, shared by the verbs of `weft sim` that use it.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "sim/packet/config.h"
#include "sim/packet/network.h"

namespace weft::cli {

const std::vector<OptionSpec>& packet_option_specs();
Result<sim::packet::Config> packet_config(const Options& options);
// The named site's network, or a fat-tree; `where` gets its name.
Result<sim::packet::Network> packet_network(const Options& options, std::string& where);

}  // namespace weft::cli
