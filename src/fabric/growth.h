// A site before and after it grows (or is recabled): which devices and links come and go, which domains change, whose routes change, and what to
// measure again before work goes on. Devices and links are matched by name.
#pragma once

#include <string>
#include <vector>

#include "base/report.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

// Cards that talk to each other in this order (a ring), in the site before: a job or one of its groups.
struct CardGroup {
  std::string name;
  std::vector<DeviceId> cards;
};

struct GroupChange {
  std::string name;
  std::vector<std::string> gone;       // cards that the new site does not have
  std::size_t pairs = 0, changed = 0;  // neighbours whose route takes other links, or the same with other shares or rates
  bool narrower = false, longer = false, cut = false;
  bool any() const { return !gone.empty() || changed > 0; }
};
struct DomainChange {
  DomainKind kind;
  std::string name;
  std::size_t before = 0, after = 0;  // members; 0 = not there
  bool same_size_other_members = false;
};
struct Growth {
  std::vector<std::string> added, removed;  // devices by name, in id order
  std::vector<std::string> recabled;        // devices on both sides whose port leads elsewhere, by port name
  std::size_t links_added = 0, links_removed = 0;
  std::vector<DomainChange> domains;
  std::vector<GroupChange> groups;
  std::vector<std::string> measure_again;  // what, and why
  bool same() const {
    return added.empty() && removed.empty() && recabled.empty() && links_added == 0 && links_removed == 0 && domains.empty();
  }
};

// O(devices + links + routes of the groups).
Growth grow(const Snapshot& before, const Snapshot& after, const std::vector<CardGroup>& groups);
Report to_report(const Growth& growth, const Snapshot& before, const Snapshot& after);

}  // namespace weft::fabric
