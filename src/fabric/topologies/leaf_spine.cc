// Leaf and spine, in one or more separate planes: nodes dealt to leaves in blocks, every leaf joined to every spine with `uplinks` / spines links each.
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

Status wire(Wiring& w) {
  WEFT_ASSIGN(int leaves, w.count("leaves", 2, 1, 65536));
  WEFT_ASSIGN(int spines, w.count("spines", 1, 1, 65536));
  WEFT_ASSIGN(int uplinks, w.count("uplinks", spines, 1, 4096));
  WEFT_ASSIGN(int spares, w.count("spare_uplinks", 0, 0, 4096));
  std::string dual = "block";
  if (w.spec.has("attach")) {
    WEFT_ASSIGN(dual, w.spec.get("attach").text());
    if (dual != "block" && dual != "spread")
      return w.spec.get("attach").error("attach is 'block' (a node on one leaf) or 'spread' (its ports over the leaves)");
  }
  if (uplinks % spines) return w.spec.error("uplinks must be a multiple of spines");
  WEFT_ASSIGN(int planes, w.count("planes", 1, 1, 64));
  for (int plane = 0; plane < planes; ++plane) {
    int tag = planes > 1 ? plane : -1;
    std::vector<DeviceId> leaf, spine;
    for (int i = 0; i < leaves; ++i) leaf.push_back(w.add_switch("leaf", plane * leaves + i + 1, tag, 0));
    for (int i = 0; i < spines; ++i) spine.push_back(w.add_switch("spine", plane * spines + i + 1, tag, 1));
    std::size_t per_leaf = (w.groups.size() + leaf.size() - 1) / leaf.size();
    for (std::size_t g = 0; g < w.groups.size(); ++g)
      for (std::size_t k = static_cast<std::size_t>(plane); k < w.groups[g].size(); k += static_cast<std::size_t>(planes))
        WEFT_TRY(w.connect(w.groups[g][k], leaf[dual == "spread" ? k / static_cast<std::size_t>(planes) % leaf.size() : g / per_leaf], tag,
                           false));
    for (DeviceId l : leaf) {
      for (int u = 0; u < uplinks; ++u) WEFT_TRY(w.connect(l, spine[static_cast<std::size_t>(u) % spine.size()], tag, true));
      for (int u = 0; u < spares; ++u) WEFT_TRY(w.connect(l, spine[static_cast<std::size_t>(u) % spine.size()], tag, true, true));
    }
    w.leaves.insert(w.leaves.end(), leaf.begin(), leaf.end());
  }
  return {};
}

double links(const Wiring& w) {
  return static_cast<double>(w.all().size()) + static_cast<double>(w.count("planes", 1).value_or(1)) *
                                                   static_cast<double>(w.count("leaves", 2).value_or(2)) *
                                                   w.count("uplinks", w.count("spines", 1).value_or(1)).value_or(1);
}

WEFT_REGISTER(topologies(), {"leaf_spine",
                             "leaves joined to every spine",
                             {{"leaves", "2", "", "leaf switches"},
                              {"spines", "1", "", "spine switches"},
                              {"uplinks", "spines", "", "uplinks per leaf"},
                              {"spare_uplinks", "0", "", "installed but idle uplinks per leaf"},
                              {"attach", "block", "", "block: a node on one leaf; spread: its ports over the leaves"},
                              {"planes", "1", "", "separate copies; NIC k of a node is in plane k modulo planes"}},
                             wire,
                             links});

}  // namespace
}  // namespace weft::fabric
