// SiteSpec: what a person wrote (a YAML site file; schema in docs/site-file.md) and how it becomes a Snapshot.
// Printing and re-reading gives the same spec. Line numbers are kept for errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

struct SiteSpec {
  std::string name;
  std::string file;  // where it came from, for messages
  Yaml document;     // validated tree; keeps lines
  std::string text;  // as written
};

// A site given by name ("lab-32", "pod-144", any file of data/sites) or by path. Forms ("gb200-nvl72") are sites too.
Result<SiteSpec> read_site(const std::string& name_or_path);
Result<SiteSpec> parse_site(std::string_view text, std::string file);

struct BuildLimits {
  std::size_t max_devices = 4'000'000;
  std::size_t max_links = 16'000'000;
};
// Refuses before allocating when the spec would exceed the limits.
Result<Snapshot> build(const SiteSpec& spec, const BuildLimits& limits = {});
// read_site + build.
Result<Snapshot> load_site(const std::string& name_or_path);
// Nodes that the site file keeps back as spares, in id order: the last `spare_nodes` of a supernode, and what lies in a scheduling domain
// whose name ends in "-spare".
std::vector<DeviceId> spare_nodes(const Snapshot& site);
std::vector<std::string> known_sites();  // names that read_site accepts without a path, sorted

}  // namespace weft::fabric
