#include "twin/fault.h"

namespace weft::twin {

Registry<FaultEntry>& faults() {
  static Registry<FaultEntry> registry("fault");
  return registry;
}

}  // namespace weft::twin
