// Machines that tests and benchmarks of this folder share.
#pragma once

#include <fmt/format.h>

#include <string>

#include "fabric/site.h"

namespace weft::sim::testing {

// n cards on one switch, one link each.
inline fabric::Snapshot flat(int n, double gigabits = 400, float latency_ns = 250) {
  fabric::SnapshotBuilder b("flat");
  fabric::DeviceModel card;
  card.name = "card", card.bf16 = FlopsPerSecond(1e15);
  auto model = b.add_model(card);
  fabric::DeviceModel crossbar;
  crossbar.name = "crossbar", crossbar.in_network_reduction = true;
  auto sw_model = b.add_model(crossbar);
  auto up = fabric::bit(fabric::Network::kScaleUp);
  auto sn = b.add_device(fabric::DeviceKind::kSupernode, b.site(), "sn1");
  auto node = b.add_device(fabric::DeviceKind::kNode, sn, "node1");
  auto sw = b.add_device(fabric::DeviceKind::kSwitch, sn, "sw1", sw_model, -1, 0);
  std::vector<fabric::DeviceId> cards;
  for (int i = 0; i < n; ++i) {
    cards.push_back(b.add_device(fabric::DeviceKind::kCard, node, fmt::format("card{}", i), model));
    fabric::Link l{};
    l.rate = gbps(gigabits), l.latency_ns = latency_ns, l.length_m = 1, l.networks = up, l.plane = -1, l.cable = UINT32_MAX;
    (void)b.add_link(b.add_port(cards.back(), up), b.add_port(sw, up), l);
  }
  b.add_domain(fabric::DomainKind::kHbd, "hbd1", cards);
  return *std::move(b).build();
}

// Nodes of eight H100 behind four NVSwitches, one NIC a card, rail-optimised.
inline Result<fabric::Snapshot> rails(int nodes, int per_block = 16, int spines = 8, int uplinks = 16) {
  std::string text = fmt::format(R"(site: rails
supernodes:
  - name: sn
    count: {}
    nodes: 1
    cards_per_node: 8
    card: H100-SXM5
    scale_up: {{topology: switched, rate: 200G, switch: NVSwitch3, switches: 4, links: 18, medium: board}}
scale_out:
  topology: rail
  nics_per_node: 8
  nic: ConnectX-7
  rate: 400G
  switch: Tomahawk5-64x800G
  nodes_per_block: {}
  spines: {}
  uplinks: {}
  medium: optical
  length: 30 m
  trunk_medium: optical
  trunk_length: 40 m
  networks: [scale-out]
)",
                                 nodes, per_block, spines, uplinks);
  WEFT_ASSIGN(fabric::SiteSpec spec, fabric::parse_site(text, "rails.yaml"));
  return fabric::build(spec);
}

}  // namespace weft::sim::testing
