#include "fabric/catalogue.h"

#include "base/embedded.h"

namespace weft::fabric {
namespace {

Status quantity(const Yaml& from, std::string_view key, std::string_view unit, auto& into) {
  if (!from.has(key)) return {};
  WEFT_ASSIGN(auto v, from.get(key).quantity(unit));
  using T = typename std::remove_reference_t<decltype(into)>::value_type;
  into = T(static_cast<typename T::rep>(v));
  return {};
}

Result<DeviceModel> read(const std::string& name, const Yaml& y) {
  WEFT_TRY(y.only({"bf16", "fp8", "memory", "memory_bandwidth", "power", "idle_power", "port_latency", "buffer", "ports",
                   "in_network_reduction", "cooling", "source"}));
  DeviceModel m;
  m.name = name;
  WEFT_TRY(quantity(y, "bf16", "FLOP/s", m.bf16));
  WEFT_TRY(quantity(y, "fp8", "FLOP/s", m.fp8));
  WEFT_TRY(quantity(y, "memory", "B", m.memory));
  WEFT_TRY(quantity(y, "memory_bandwidth", "B/s", m.memory_bandwidth));
  WEFT_TRY(quantity(y, "power", "W", m.power));
  WEFT_TRY(quantity(y, "idle_power", "W", m.idle_power));
  WEFT_TRY(quantity(y, "port_latency", "s", m.port_latency));
  WEFT_TRY(quantity(y, "buffer", "B", m.buffer));
  if (y.has("ports")) {
    WEFT_ASSIGN(auto v, y.get("ports").integer(1, 1 << 20));
    m.ports = static_cast<int>(v);
  }
  if (y.has("in_network_reduction")) {
    WEFT_ASSIGN(m.in_network_reduction, y.get("in_network_reduction").boolean());
  }
  if (y.has("cooling")) {
    WEFT_ASSIGN(m.cooling, y.get("cooling").text());
  }
  if (y.has("source")) {
    WEFT_ASSIGN(m.source, y.get("source").text());
  }
  return m;
}

Result<DeviceModel> find(const std::string& path, const char* what, const std::string& name, const Yaml& site_models) {
  if (site_models.has(name)) return read(name, site_models.get(name));
  WEFT_ASSIGN(auto text, embedded_file(path));
  WEFT_ASSIGN(auto yaml, Yaml::parse(text, path));
  if (yaml.has(name)) return read(name, yaml.get(name));
  std::string known;
  for (const auto& [key, value] : yaml.entries()) known += (known.empty() ? "" : ", ") + key;
  return fail(ErrorKind::kNotFound,
              std::string("no ") + what + " '" + name + "' in the catalogue; known: " + known + "; or describe it under 'models:'");
}

}  // namespace

Result<DeviceModel> card_model(const std::string& name, const Yaml& site_models) {
  return find("data/catalogue/cards.yaml", "card", name, site_models);
}
Result<DeviceModel> switch_model(const std::string& name, const Yaml& site_models) {
  return find("data/catalogue/switches.yaml", "switch", name, site_models);
}

}  // namespace weft::fabric
