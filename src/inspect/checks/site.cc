// Storage, cooling, power and scheduler: what stands around the cards.
#include "inspect/checks/support.h"

namespace weft::inspect {
namespace {

using fabric::DeviceKind;
namespace metric = telemetry::metric;

void storage(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("storage_latency_max");
  each_device(x, DeviceKind::kStorage, metric::kStorageReadLatency, t, "s",
              "storage answers slowly before any job runs: look at its servers and paths", out,
              [&](const auto& v) { return v.last < t.value; });
}

void coolant(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("coolant_delta_max");
  for (fabric::DeviceId d : x.snapshot.of_kind(DeviceKind::kCdu)) {
    std::string name = x.snapshot.name(d);
    const Observation::Value *in = x.seen.value(metric::kCoolantSupply, name), *back = x.seen.value(metric::kCoolantReturn, name),
                             *flow = x.seen.value(metric::kCoolantFlow, name);
    if (!in || !back || !flow)
      out.push_back(unknown(name, "supply, return or flow not exported", "connect the coolant unit's telemetry (Redfish, Modbus)"));
    else
      out.push_back(judged(name, flow->last > 0 && back->last - in->last < t.value,
                           fmt::format("{:.1f} K at {:.0f} L/min", back->last - in->last, flow->last), t,
                           "too little flow for the heat: look at pumps, valves and filters"));
  }
}

void leak(const Context& x, std::vector<Cell>& out) {
  static const Threshold kNone{0, "0", "OCP: a wet sensor stops the rack"};
  for (DeviceKind kind : {DeviceKind::kRack, DeviceKind::kCdu})
    for (fabric::DeviceId d : x.snapshot.of_kind(kind)) {
      std::string name = x.snapshot.name(d);
      // Air-cooled racks have no leak sensor: nothing is missing there.
      if (const Observation::Value* v = x.seen.value(metric::kLeak, name))
        out.push_back(judged(name, v->last == 0, fmt::format("{:.0f}", v->last), kNone, "leak: isolate the loop, do not start work"));
    }
}

void inlet(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("inlet_temperature_max");
  each_device(x, DeviceKind::kNode, metric::kInletTemp, t, "C", "air inlet too warm: look at the room", out,
              [&](const auto& v) { return v.last <= t.value; });
}

void supplies(const Context& x, std::vector<Cell>& out) {
  for (fabric::DeviceId d : x.snapshot.of_kind(DeviceKind::kNode)) {
    int built = 0;
    for (fabric::DeviceId c : x.snapshot.children(d)) built += x.snapshot.device(c).kind == DeviceKind::kPsu;
    if (built == 0) continue;  // fed by the rack's shelves
    std::string name = x.snapshot.name(d);
    const Observation::Value* v = x.seen.value(metric::kPsuHealthy, name);
    if (!v) out.push_back(unknown(name, "power supplies not exported", "connect the BMC (Redfish)"));
    else
      out.push_back(judged(name, v->last >= built, fmt::format("{:.0f} of {}", v->last, built),
                           Threshold{0, fmt::format("{}", built), "site file"},
                           "a power supply is out: replace it before the brake engages"));
  }
}

void nodes_up(const Context& x, std::vector<Cell>& out) {
  static const Threshold kUp{1, "1", "Prometheus: up"};
  each_device(x, DeviceKind::kNode, metric::kNodeUp, kUp, "", "node does not answer: see its BMC", out,
              [](const auto& v) { return v.last == 1; });
}

void host_memory(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("host_memory_available_min");
  each_device(x, DeviceKind::kNode, metric::kMemAvailable, t, "B", "free host memory (stray processes, page cache of a finished job)", out,
              [&](const auto& v) { return v.last >= t.value; });
}

void isolation(const Context& x, std::vector<Cell>& out) {
  static const Threshold kOwned{0, "an owner and a reason for every isolation",
                                "NVIDIA/NVSentinel#1424, #1872: isolations without owner stay for ever"};
  for (fabric::DeviceId d : x.snapshot.of_kind(DeviceKind::kNode)) {
    std::string name = x.snapshot.name(d);
    const fabric::DeviceHealth& h = x.snapshot.health(d);
    out.push_back(judged(name, !h.cordoned || (!h.owner.empty() && !h.reason.empty()),
                         h.cordoned ? "isolated by " + (h.owner.empty() ? std::string("nobody") : h.owner) : "in the pool", kOwned,
                         "find who isolated this node, or release it"));
  }
}

WEFT_REGISTER(checks(), {"storage_latency", "storage answers quickly", Item::kStorage, storage});
WEFT_REGISTER(checks(), {"coolant", "coolant flow and temperature rise", Item::kFacility, coolant});
WEFT_REGISTER(checks(), {"leak", "no leak", Item::kFacility, leak});
WEFT_REGISTER(checks(), {"inlet_temperature", "air inlet temperature", Item::kFacility, inlet});
WEFT_REGISTER(checks(), {"power_supplies", "all power supplies healthy", Item::kFacility, supplies});
WEFT_REGISTER(checks(), {"node_up", "every node answers", Item::kScheduler, nodes_up});
WEFT_REGISTER(checks(), {"host_memory", "host memory free", Item::kSoftware, host_memory});
WEFT_REGISTER(checks(), {"isolation_owner", "every isolation has an owner and a reason", Item::kScheduler, isolation});

}  // namespace
}  // namespace weft::inspect
