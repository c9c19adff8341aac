// A site in one page: what it is made of, its networks tier by tier, its domains, and what in it is not healthy.
#pragma once

#include "base/report.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

Report describe(const Snapshot& site);

}  // namespace weft::fabric
