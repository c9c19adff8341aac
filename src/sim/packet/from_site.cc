#include "sim/packet/from_site.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::sim::packet {

using fabric::DeviceKind;

Result<Network> from_site(const fabric::Snapshot& site, fabric::Network role) {
  NetworkBuilder b;
  std::vector<std::uint32_t> node(site.device_count(), kNone);
  bool cards_meet = false;
  auto sends = [](DeviceKind k) { return k == DeviceKind::kNic || k == DeviceKind::kCard; };
  std::vector<fabric::LinkId> used;
  for (std::uint32_t i = 0; i < site.link_count(); ++i) {
    fabric::LinkId id{i};
    const fabric::Link& l = site.link(id);
    if (!(l.networks & fabric::bit(role)) || !site.carries(id)) continue;
    DeviceKind x = site.device(site.port(l.a).device).kind, y = site.device(site.port(l.b).device).kind;
    auto member = [&](DeviceKind k) { return sends(k) || k == DeviceKind::kSwitch; };
    if (!member(x) || !member(y)) continue;  // storage boxes and management controllers send nothing here
    if (site.effective_rate(id).value() <= 0)
      return fail(ErrorKind::kInvalid, fmt::format("the rate of {} is not known; give rate: for it in the site file", site.name(id)));
    cards_meet |= sends(x) && sends(y);
    used.push_back(id);
  }
  if (used.empty())
    return fail(ErrorKind::kInvalid, fmt::format("site {} describes no links of a {} network; choose another with --network",
                                                 site.site_name(), fabric::network_name(role)));
  std::vector<fabric::DeviceId> devices;
  for (fabric::LinkId id : used)
    for (fabric::PortId p : {site.link(id).a, site.link(id).b}) devices.push_back(site.port(p).device);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (fabric::DeviceId d : devices) {
    const fabric::DeviceModel* m = site.model_of(d);
    node[d.v] = b.add_node(site.name(d), sends(site.device(d).kind), m && m->buffer ? m->buffer->value() : 0, d.v);
  }
  for (fabric::LinkId id : used) {
    const fabric::Link& l = site.link(id);
    fabric::DeviceId x = site.port(l.a).device, y = site.port(l.b).device;
    double cable = static_cast<double>(l.latency_ns) + site.health(id).extra_latency_ns;
    auto towards = [&](fabric::DeviceId d) {
      const fabric::DeviceModel* m = site.model_of(d);
      bool passes = site.device(d).kind == DeviceKind::kSwitch && m && m->port_latency;
      return to_picos(Seconds(cable * 1e-9 + (passes ? m->port_latency->value() : 0)));
    };
    b.add_cable(node[x.v], node[y.v], site.effective_rate(id), towards(y), id.v, towards(x));
  }
  b.hosts_forward(cards_meet);
  return b.build();
}

}  // namespace weft::sim::packet
