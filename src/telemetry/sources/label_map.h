// From exporter labels to parts of the machine: {Hostname="host7",gpu="3"} is sn1/node8/card3. Hosts are found by the site's aliases,
// devices by their index below the host; a label entity="…" says it outright. What cannot be mapped keeps a name made of its labels.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/snapshot.h"
#include "telemetry/sources/prometheus_text.h"

namespace weft::telemetry {

class LabelMap {
 public:
  LabelMap() = default;
  explicit LabelMap(const fabric::Snapshot& site) : site_(site) {}
  // Foreign name of a host, or of a device as "host/device", to a canonical name; goes before every rule.
  void add(std::string foreign, std::string canonical) { names_[std::move(foreign)] = std::move(canonical); }
  // For samples that name no host (an exporter's own page): the host they come from.
  void set_default_host(std::string host) { default_host_ = std::move(host); }

  bool knows(const std::string& host) const;  // a device of the site, or a name that was added
  // Of a canonical name; nothing when the site has no such part.
  std::optional<fabric::DeviceKind> kind_of(const std::string& entity) const;
  std::string node_of(const std::string& entity) const;  // "" when it lies in none

  struct Target {
    std::string entity;
    std::string labels;   // "dim=tp": what tells series of one entity apart
    bool mapped = false;  // entity is a part of the site
  };
  Target map(const PromSample& sample) const;

 private:
  std::optional<fabric::Snapshot> site_;
  std::map<std::string, std::string, std::less<>> names_;
  std::string default_host_;
};

}  // namespace weft::telemetry
