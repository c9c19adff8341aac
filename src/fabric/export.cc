// The registry of exporters.
#include "fabric/exporters/exporter.h"

namespace weft::fabric {

Registry<ExporterEntry>& exporters() {
  static Registry<ExporterEntry> registry("exporter");
  return registry;
}

}  // namespace weft::fabric
