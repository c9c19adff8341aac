// What diagnosis knows of the machine: names to parts, what lies in what, which cards share water or power, which groups of which
// jobs use a link. Rebuilt when the snapshot or the jobs change; answers are cached.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/diagnose.h"
#include "fabric/routes.h"
#include "fabric/snapshot.h"

namespace weft::diagnose {

// A name in telemetry, understood. A port has its device and link too; a job only its index.
struct Part {
  fabric::DeviceId device;
  fabric::PortId port;
  fabric::LinkId link;
  int job = -1;
  bool known() const { return device.ok() || port.ok() || link.ok() || job >= 0; }
  auto operator<=>(const Part&) const = default;
};

struct GroupRef {
  int job = -1;
  int group = -1;  // index into placement.groups
  auto operator<=>(const GroupRef&) const = default;
};

class Machine {
 public:
  void set_snapshot(const fabric::Snapshot& snapshot);
  void set_jobs(std::vector<RunningJob> jobs);
  // Where the job was meant to run, when it says itself that it runs elsewhere; nullptr otherwise.
  const std::vector<fabric::DeviceId>* planned(const std::string& job) const;
  void set_planned(std::map<std::string, std::vector<fabric::DeviceId>> planned) { planned_ = std::move(planned); }
  bool ready() const { return snapshot_.has_value(); }
  const fabric::Snapshot& snapshot() const { return *snapshot_; }
  const std::vector<RunningJob>& jobs() const { return jobs_; }

  const Part& part(std::string_view entity) const;
  std::string name(const Part& part) const;  // canonical: link, port, device or job
  // Being taken care of: out of service, cordoned or failed, itself or what it lies in.
  bool handled(const Part& part) const;

  bool within(fabric::DeviceId inner, fabric::DeviceId outer) const;  // or the same
  fabric::DeviceId node_of(fabric::DeviceId d) const;
  fabric::DeviceId rack_of(fabric::DeviceId d) const;
  // The network links (not PCIe) at a device, and the one link of a part: the link itself, the port's, or a NIC's only one.
  std::vector<fabric::LinkId> links_at(fabric::DeviceId d) const;
  fabric::LinkId link_of(const Part& part) const;
  // Cards inside a device, or fed by it: the power, cooling or rack domains that hold it or bear its name.
  const std::vector<fabric::DeviceId>& cards_of(fabric::DeviceId d) const;
  fabric::DeviceId nic_of(const Part& part) const;     // the NIC, or the NIC at the far end of the link
  fabric::DeviceId switch_of(const Part& part) const;  // the switch, or the switch at either end (far end first for a NIC)
  // What feeds this device with coolant or power: CDUs, pumps; racks; PSUs.
  std::vector<fabric::DeviceId> feeds_of(fabric::DeviceId d, fabric::DeviceKind kind) const;

  // Jobs: rank and job of a card (first running job on it), its groups; groups over a link; groups with a card in `cards`.
  std::optional<std::pair<int, int>> rank_of(fabric::DeviceId card) const;  // job, rank
  std::vector<GroupRef> groups_of(const Part& part) const;  // sorted; of a device: cards in it, or links at it (switch, NIC)
  std::set<int> jobs_of(const Part& part) const;

 private:
  const std::map<std::uint32_t, std::vector<GroupRef>>& link_groups() const;

  std::optional<fabric::Snapshot> snapshot_;
  std::vector<RunningJob> jobs_;
  std::map<fabric::DeviceId, std::pair<int, int>> rank_of_;
  mutable std::map<std::string, Part, std::less<>> parts_;
  mutable std::map<fabric::DeviceId, std::vector<fabric::DeviceId>> cards_;
  mutable std::optional<std::map<std::uint32_t, std::vector<GroupRef>>> link_groups_;
  std::map<std::uint32_t, std::vector<GroupRef>> former_groups_;
  std::map<std::string, std::vector<fabric::DeviceId>> planned_;
};

}  // namespace weft::diagnose
