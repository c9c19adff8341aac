// Any bytes as a model (config.json or YAML): an error, or dimensions that pass the check.
#include <cstdint>
#include <cstdlib>

#include "workload/model.h"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& importer : workload::importers().entries()) {
    for (const char* file : {"config.json", "model.yaml"}) {
      if (!importer.recognises(text, file)) continue;
      auto model = importer.read(text, file);
      if (!model && (model.error().message.empty() || model.error().kind == ErrorKind::kInternal)) abort();
    }
  }
  return 0;
}
