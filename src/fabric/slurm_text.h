// Slurm's configuration syntax, and what slurm.conf and gres.conf say about a topology.conf that was read before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/observed.h"

namespace weft::fabric {

struct SlurmLine {
  std::vector<std::pair<std::string, std::string>> pairs;  // key lower case, value as written (without quotes)
  int line;                                                // first line of a continued one
};
// Key=Value lines: '#' comments (unless escaped), '\' continues, blanks around '=' allowed (Slurm allows them), Include kept as a pair.
// Errors: a word without '=', a template ("{{", "{%") that was not rendered.
Result<std::vector<SlurmLine>> slurm_lines(std::string_view text, const std::string& file);

// Adds what slurm.conf says: nodes it does not know, nodes that are not placed, whether the tree is used at all (TopologyPlugin), cards per
// node (Gres=gpu:…). The observation must come from the slurm-topology importer.
Status add_slurm_conf(Observed& topology, std::string_view text, const std::string& file);
// The same for gres.conf: node names and cards (File=/dev/nvidia[0-3]).
Status add_gres_conf(Observed& topology, std::string_view text, const std::string& file);

}  // namespace weft::fabric
