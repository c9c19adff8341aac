#include "fabric/topologies/topology.h"

#include <fmt/format.h>

namespace weft::fabric {

Registry<TopologyEntry>& topologies() {
  static Registry<TopologyEntry> registry("topology");
  return registry;
}

const std::vector<std::string_view>& common_keys() {
  static const std::vector<std::string_view> keys = {"topology",     "scope",           "rate",    "medium", "length",      "trunk_medium",
                                                     "trunk_length", "trunk_per_cable", "latency", "mtu",    "packet_cost", "switch",
                                                     "source"};
  return keys;
}

std::vector<DeviceId> Wiring::all() const {
  std::vector<DeviceId> out;
  for (const auto& g : groups) out.insert(out.end(), g.begin(), g.end());
  return out;
}

Result<int> Wiring::count(std::string_view key, int fallback, int low, int high) const {
  if (!spec.has(key)) return fallback;
  WEFT_ASSIGN(auto v, spec.get(key).integer(low, high));
  return static_cast<int>(v);
}

DeviceId Wiring::add_switch(std::string_view base, int number, int plane, int tier, DeviceId inside) {
  std::string name = number < 0 ? fmt::format("{}{}", prefix, base) : fmt::format("{}{}{}", prefix, base, number);
  return builder.add_device(DeviceKind::kSwitch, inside.ok() ? inside : parent, name, switch_model, plane, tier);
}

std::vector<int> deal(int total, int n) {
  std::vector<int> share(static_cast<std::size_t>(n), total / n);
  for (int extra = total % n, i = 0; extra > 0; --extra, ++i) ++share[static_cast<std::size_t>(i % 2 ? i / 2 : n - 1 - i / 2)];
  return share;
}

Status Wiring::connect(DeviceId a, DeviceId b, int plane, BitsPerSecond r, Medium m, double length, bool spare) {
  if (budget-- == 0) return spec.error("the site would have too many links; make it smaller");
  Link link{};
  link.rate = r;
  link.latency_ns = static_cast<float>(latency_ns + (length > 0 ? 5 * length : 0));
  link.length_m = static_cast<float>(length);
  link.medium = m;
  link.networks = networks;
  link.plane = static_cast<std::int16_t>(plane);
  link.spare = spare;
  link.packets = packets;
  bool cable = m != Medium::kBackplane && m != Medium::kBoard && next_cable;
  bool shares = cable && trunk_per_cable > 1 && m == trunk_medium && r == rate;
  if (shares && (in_shared == 0 || in_shared == trunk_per_cable)) shared_cable = next_cable(), in_shared = 0;
  if (shares) ++in_shared;
  link.cable = shares ? shared_cable : cable ? next_cable() : UINT32_MAX;
  auto made = builder.add_link(builder.add_port(a, networks), builder.add_port(b, networks), link);
  if (!made) return std::unexpected(made.error().in(spec.place()));
  return {};
}

Status Wiring::connect(DeviceId a, DeviceId b, int plane, bool trunk, bool spare) {
  return trunk ? connect(a, b, plane, rate, trunk_medium, trunk_length_m, spare) : connect(a, b, plane, rate, medium, length_m, spare);
}

}  // namespace weft::fabric
