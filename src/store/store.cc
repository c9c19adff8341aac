#include "store/store.h"

namespace weft::store {

Registry<BackendEntry>& backends() {
  static Registry<BackendEntry> registry("store backend");
  return registry;
}

}  // namespace weft::store
