// Models by name (data/models/NAME.json, Hugging Face style dimensions) or by path; importers live in importers/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"
#include "workload/types.h"

namespace weft::workload {

Result<Model> load_model(const std::string& name_or_path);
std::vector<std::string> known_models();  // built in, sorted

struct ModelImporter {
  std::string name;
  std::string help;
  bool (*recognises)(std::string_view text, std::string_view file);
  Result<Model> (*read)(std::string_view text, const std::string& file);
};
Registry<ModelImporter>& importers();
// Dimensions that cannot be: zero layers, heads that do not divide, more experts per token than experts.
Status check(const Model& model, const std::string& place);

}  // namespace weft::workload
