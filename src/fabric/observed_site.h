// From what was discovered to a site file. What the source does not say stays unknown in the site; what the person who imports adds (the form
// of the scale-up domain, how many such nodes, how they are joined) is written with the comment "assumed" and listed apart.
#pragma once

#include <string>
#include <vector>

#include "fabric/observed.h"

namespace weft::fabric {

struct SiteAssumptions {
  std::string name;           // of the site; "" = from the file name
  std::string scale_up_form;  // a known form or site: its scale-up domain and card are taken over
  int nodes = 0;              // 0 = as observed
  std::string scale_out;      // "TOPOLOGY:RATE" or "TOPOLOGY:RATE:NICS_PER_NODE" ("rail:400G")
  std::string pick;           // one observed node when there are several
};

struct ImportedSite {
  std::string yaml;
  std::vector<std::string> assumed;         // what the caller supplied, and what follows from it
  std::vector<std::string> unknown;         // as listed in the site
  std::vector<std::string> contradictions;  // between the file and what the caller supplied
};

// Errors: an unknown form or topology, a count of cards that the form contradicts, several machines where one is needed.
Result<ImportedSite> to_site(const Observed& observed, const SiteAssumptions& assume);

}  // namespace weft::fabric
