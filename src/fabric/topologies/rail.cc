// Rail-optimised: NIC r of every node in a block of `nodes_per_block` goes to leaf r of that block; all leaves of a rail (or of all rails) meet at
// the spines. Same-rail traffic stays under one leaf inside a block.
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

Status wire(Wiring& w) {
  std::size_t rails = 0;
  for (const auto& g : w.groups) rails = std::max(rails, g.size());
  WEFT_ASSIGN(int block, w.count("nodes_per_block", static_cast<int>(w.groups.size()), 1, 65536));
  WEFT_ASSIGN(int spines, w.count("spines", 1, 0, 65536));
  WEFT_ASSIGN(int uplinks, w.count("uplinks", std::max(spines, 0), 0, 4096));
  WEFT_ASSIGN(int spares, w.count("spare_uplinks", 0, 0, 4096));
  WEFT_ASSIGN(int spare_nics, w.count("spare_links", 0, 0, 16));
  if (spines > 0 && uplinks % spines) return w.spec.error("uplinks must be a multiple of spines");
  std::size_t blocks = (w.groups.size() + static_cast<std::size_t>(block) - 1) / static_cast<std::size_t>(block);
  if (spines == 0 && blocks > 1) return w.spec.error("several blocks need spines to reach each other");
  std::vector<DeviceId> spine;
  for (int i = 0; i < spines; ++i) spine.push_back(w.add_switch("spine", i + 1, -1, 1));
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t r = 0; r < rails; ++r) {
      DeviceId leaf = w.add_switch("leaf", static_cast<int>(b * rails + r + 1), static_cast<int>(r), 0);
      for (std::size_t g = b * static_cast<std::size_t>(block); g < std::min(w.groups.size(), (b + 1) * static_cast<std::size_t>(block));
           ++g)
        if (r < w.groups[g].size()) {
          WEFT_TRY(w.connect(w.groups[g][r], leaf, static_cast<int>(r), false));
          for (int s = 0; s < spare_nics; ++s) WEFT_TRY(w.connect(w.groups[g][r], leaf, static_cast<int>(r), false, true));
        }
      for (int u = 0; u < uplinks; ++u)
        WEFT_TRY(w.connect(leaf, spine[static_cast<std::size_t>(u) % spine.size()], static_cast<int>(r), true));
      for (int u = 0; u < spares && !spine.empty(); ++u)
        WEFT_TRY(w.connect(leaf, spine[static_cast<std::size_t>(u) % spine.size()], static_cast<int>(r), true, true));
      w.leaves.push_back(leaf);
    }
  return {};
}

double links(const Wiring& w) {
  std::size_t rails = 0;
  for (const auto& g : w.groups) rails = std::max(rails, g.size());
  double blocks =
      static_cast<double>(w.groups.size()) / std::max(1, w.count("nodes_per_block", static_cast<int>(w.groups.size())).value_or(1)) + 1;
  return static_cast<double>(w.all().size()) * 2 + blocks * static_cast<double>(rails) * w.count("uplinks", 1, 0).value_or(1);
}

WEFT_REGISTER(topologies(), {"rail",
                             "rail-optimised: NIC r of every node to leaf r of its block",
                             {{"nodes_per_block", "all", "", "nodes under one set of leaves"},
                              {"spines", "1", "", "spine switches"},
                              {"uplinks", "spines", "", "uplinks per leaf"},
                              {"spare_uplinks", "0", "", "installed but idle uplinks per leaf"},
                              {"spare_links", "0", "", "installed but idle links per NIC"}},
                             wire,
                             links});

}  // namespace
}  // namespace weft::fabric
