// Catalogues of cards and switches (data/catalogue/*.yaml, sources inside): name → DeviceModel. What an entry leaves out stays unknown.
#pragma once

#include <string>

#include "base/yaml.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

// Errors: not_found with the known names. A name that is not in the catalogue but is defined in the site file's `models` is looked up there first.
Result<DeviceModel> card_model(const std::string& name, const Yaml& site_models = {});
Result<DeviceModel> switch_model(const std::string& name, const Yaml& site_models = {});

}  // namespace weft::fabric
