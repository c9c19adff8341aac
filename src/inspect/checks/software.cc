// Software stack: the same driver, library, kernel and governor on every node.
#include "inspect/checks/support.h"

namespace weft::inspect {
namespace {

using fabric::DeviceKind;

void driver(const Context& x, std::vector<Cell>& out) {
  same_everywhere(x, telemetry::fact::kDriver, names_of(x, DeviceKind::kNode), "install the fleet's driver on this node", out);
}
void library(const Context& x, std::vector<Cell>& out) {
  same_everywhere(x, telemetry::fact::kCommLibrary, names_of(x, DeviceKind::kNode),
                  "install the fleet's communication library on this node", out);
}
void kernel(const Context& x, std::vector<Cell>& out) {
  same_everywhere(x, telemetry::fact::kKernel, names_of(x, DeviceKind::kNode), "boot the fleet's kernel on this node", out);
}
void governor(const Context& x, std::vector<Cell>& out) {
  same_everywhere(x, telemetry::fact::kGovernor, names_of(x, DeviceKind::kNode), "set the governor the fleet uses (usually performance)",
                  out);
}
void firmware(const Context& x, std::vector<Cell>& out) {
  // Firmware is comparable among devices of one model only.
  std::map<std::uint32_t, std::vector<std::string>> by_model;
  for (DeviceKind kind : {DeviceKind::kCard, DeviceKind::kNic})
    for (fabric::DeviceId d : x.snapshot.of_kind(kind))
      by_model[x.snapshot.device(d).model * 4 + (kind == DeviceKind::kNic)].push_back(x.snapshot.name(d));
  for (const auto& [model, names] : by_model)
    same_everywhere(x, telemetry::fact::kFirmware, names, "bring the firmware to the fleet's version", out);
}

WEFT_REGISTER(checks(), {"driver_version", "one driver version", Item::kSoftware, driver});
WEFT_REGISTER(checks(), {"library_version", "one communication library version", Item::kSoftware, library});
WEFT_REGISTER(checks(), {"kernel_version", "one kernel version", Item::kSoftware, kernel});
WEFT_REGISTER(checks(), {"cpu_governor", "one CPU governor", Item::kSoftware, governor});
WEFT_REGISTER(checks(), {"firmware_version", "one firmware version per model", Item::kSoftware, firmware});

}  // namespace
}  // namespace weft::inspect
