// Identity: one entity, one canonical name. Importers bring foreign names (GUID, PCI address, host name, switch port, rank,
// super_device_id …); this maps them to canonical names and reports the collisions that make a foreign name useless.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/observed.h"

namespace weft::fabric {

enum class NameSpace { kHost, kGuid, kPci, kUuid, kSwitchPort, kRank, kNet };
std::string_view name_space_name(NameSpace space);

// The same name in the one spelling that is compared: PCI "0000:0f:00.0" (domain padded, lower case), GUID "0x" + 16 digits,
// hosts lower case without a final dot.
std::string normal_form(NameSpace space, std::string_view foreign);

struct NameCollision {
  NameSpace space;
  std::string foreign;
  std::vector<std::string> canonical;  // two or more, sorted
};

class Identity {
 public:
  // `scope` keeps apart what is unique only inside it (a PCI address inside a host); "" = site-wide.
  void add(NameSpace space, std::string_view scope, std::string_view foreign, std::string_view canonical);
  // Errors: not_found; conflict when the name stands for several entities (the message lists them).
  Result<std::string> canonical(NameSpace space, std::string_view scope, std::string_view foreign) const;
  std::vector<NameCollision> collisions() const;  // sorted
  std::size_t size() const { return names_.size(); }

 private:
  struct Key {
    NameSpace space;
    std::string scope, foreign;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::vector<std::string>> names_;
};

// Everything an observation names. PCI addresses are scoped by node, GUIDs, UUIDs and hosts by site. A GUID of zero, or small counting numbers
// that NCCL writes for sockets, identify nothing and are left out; several ports of one NIC share its GUID without colliding.
Identity identify(const Observed& observed);

}  // namespace weft::fabric
