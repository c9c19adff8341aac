#include "twin/parameters.h"

#include <cassert>
#include <cmath>

#include "base/embedded.h"
#include "base/yaml.h"

namespace weft::twin {

Result<Parameters> Parameters::load() {
  Parameters out;
  for (const char* path : {"data/twin/world.yaml", "data/twin/faults.yaml"}) WEFT_TRY(out.read(path));
  return out;
}

Status Parameters::read(const std::string& path) {
  WEFT_ASSIGN(std::string text, embedded_file(path));
  WEFT_ASSIGN(Yaml file, Yaml::parse(text, path));
  WEFT_TRY(file.only({"parameters"}));
  for (const auto& [name, entry] : file.get("parameters").entries()) {
    WEFT_TRY(entry.only({"value", "low", "high", "unit", "source"}));
    ParameterValue p;
    WEFT_ASSIGN(p.value, entry.get("value").number(-1e15, 1e15));
    WEFT_ASSIGN(p.low, entry.get("low").number(-1e15, 1e15));
    WEFT_ASSIGN(p.high, entry.get("high").number(-1e15, 1e15));
    if (entry.has("unit")) {
      WEFT_ASSIGN(p.unit, entry.get("unit").text());
    }
    WEFT_ASSIGN(p.source, entry.get("source").text());
    if (p.value < p.low || p.value > p.high) return entry.error("value of '" + name + "' lies outside its own range");
    if (!values_.emplace(name, p).second) return entry.error("parameter '" + name + "' is given twice");
  }
  return {};
}

double Parameters::get(std::string_view name) const {
  auto at = values_.find(name);
  assert(at != values_.end());
  return at == values_.end() ? std::nan("") : at->second.value;
}

}  // namespace weft::twin
