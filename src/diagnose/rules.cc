#include "diagnose/rules.h"

#include <cassert>

#include "base/embedded.h"
#include "base/yaml.h"
#include "diagnose/types.h"

namespace weft::diagnose {
namespace {

Status read(const char* path, const char* section, std::map<std::string, double, std::less<>>& into) {
  WEFT_ASSIGN(std::string text, embedded_file(path));
  WEFT_ASSIGN(Yaml root, Yaml::parse(text, path));
  WEFT_TRY(root.only({section}));
  for (const auto& [name, entry] : root.get(section).entries()) {
    WEFT_TRY(entry.only({"value", "unit", "source"}));
    WEFT_ASSIGN(double value, entry.get("value").number(-1e18, 1e18));
    WEFT_ASSIGN(std::string source, entry.get("source").text());
    if (source.empty()) return entry.error("'" + name + "' names no source: say where the value comes from");
    into[name] = value;
  }
  return {};
}

}  // namespace

Result<Rules> Rules::load() {
  Rules rules;
  WEFT_TRY(read("data/diagnose/thresholds.yaml", "thresholds", rules.values_));
  WEFT_TRY(read("data/diagnose/priors.yaml", "priors", rules.priors_));
  for (const auto& [name, value] : rules.priors_) {
    if (!find_fault_class(name)) return fail(ErrorKind::kInvalid, "no fault class '" + name + "'", "data/diagnose/priors.yaml");
    if (value <= 0) return fail(ErrorKind::kInvalid, "prior of '" + name + "' must be above zero", "data/diagnose/priors.yaml");
  }
  return rules;
}

double Rules::operator[](std::string_view name) const {
  auto at = values_.find(name);
  assert(at != values_.end());
  return at == values_.end() ? 0 : at->second;
}

double Rules::prior(std::string_view fault_class) const {
  auto at = priors_.find(fault_class);
  return at == priors_.end() ? 1.0 : at->second;
}

}  // namespace weft::diagnose
