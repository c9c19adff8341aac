// The two sites of about 100,000 cards that the fabric benchmarks measure, and the groups of a job on 16,384 of their cards.
#pragma once

#include <string>
#include <vector>

#include "fabric/snapshot.h"

namespace weft::bench {

// 12,544 nodes of eight H100 (100,352 cards), 400G NICs by rail into a three-tier fat tree of 64-port leaves.
inline const char* const kNodes8 = R"(
site: nodes8
supernodes:
  - {name: sn, count: 784, nodes: 16, cards_per_node: 8, card: H100-SXM5, racks: [4],
     scale_up: {topology: switched, scope: node, switches: 4, links: 18, rate: 200G, switch: NVSwitch3, medium: board}}
scale_out: {topology: fat_tree, attach: rail, nics_per_node: 8, rate: 400G, switch: Tomahawk5-64x800G, points_per_leaf: 64, leaves_per_pod: 56,
            spines_per_pod: 64, cores: 4096, medium: optical, length: 20 m, trunk_medium: optical, trunk_length: 50 m}
management: {rate: 1G, switch: mgmt-1G, medium: dac, length: 3 m}
)";

// 1,394 racks of 72 GB200 (100,368 cards), 400G NICs by rail into a three-tier fat tree.
inline const char* const kRacks72 = R"(
site: racks72
supernodes:
  - {name: sn, count: 1394, nodes: 18, cards_per_node: 4, card: GB200-B200, racks: [18], cooling: liquid,
     scale_up: {topology: switched, switches: 18, links: 18, rate: 400G, switch: NVSwitch4-NVL72, medium: backplane, length: 1 m}}
scale_out: {topology: fat_tree, attach: rail, nics_per_node: 4, rate: 400G, switch: Tomahawk5-64x800G, points_per_leaf: 36, leaves_per_pod: 68,
            spines_per_pod: 36, cores: 1296, medium: optical, length: 20 m, trunk_medium: optical, trunk_length: 50 m}
management: {rate: 1G, switch: mgmt-1G, medium: dac, length: 3 m}
)";

// Pairs of cards that talk in a job of TP 8 (all pairs), PP 16 (neighbours) and DP 128 (ring) on the first 16,384 cards.
inline std::vector<std::pair<fabric::DeviceId, fabric::DeviceId>> job_pairs(const fabric::Snapshot& site) {
  constexpr std::size_t kTp = 8, kPp = 16, kDp = 128;
  auto cards = site.cards();
  auto card = [&](std::size_t t, std::size_t p, std::size_t d) { return cards[(d * kPp + p) * kTp + t]; };
  std::vector<std::pair<fabric::DeviceId, fabric::DeviceId>> out;
  for (std::size_t d = 0; d < kDp; ++d)
    for (std::size_t p = 0; p < kPp; ++p)
      for (std::size_t t = 0; t < kTp; ++t) {
        for (std::size_t u = 0; u < kTp; ++u)
          if (u != t) out.emplace_back(card(t, p, d), card(u, p, d));
        if (p + 1 < kPp) out.emplace_back(card(t, p, d), card(t, p + 1, d)), out.emplace_back(card(t, p + 1, d), card(t, p, d));
        out.emplace_back(card(t, p, d), card(t, p, (d + 1) % kDp));
      }
  return out;
}

}  // namespace weft::bench
