// A route as people read it.
#pragma once

#include "base/report.h"
#include "fabric/routes.h"

namespace weft::fabric {

Report to_report(const Route& route, const Snapshot& site, DeviceId from, DeviceId to, Network network);

}  // namespace weft::fabric
