// Leaf and spine: nodes dealt to leaves in blocks, every leaf joined to every spine with `uplinks` / spines links each.
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
    if (dual != "block" && dual != "spread") return w.spec.get("attach").error("attach is 'block' (a node on one leaf) or 'spread' (its ports over the leaves)");
  }
  if (uplinks % spines) return w.spec.error("uplinks must be a multiple of spines");
  std::vector<DeviceId> leaf, spine;
  for (int i = 0; i < leaves; ++i) leaf.push_back(w.add_switch("leaf", i + 1, -1, 0));
  for (int i = 0; i < spines; ++i) spine.push_back(w.add_switch("spine", i + 1, -1, 1));
  std::size_t per_leaf = (w.groups.size() + leaf.size() - 1) / leaf.size();
  for (std::size_t g = 0; g < w.groups.size(); ++g)
    for (std::size_t k = 0; k < w.groups[g].size(); ++k) WEFT_TRY(w.connect(w.groups[g][k], leaf[dual == "spread" ? k % leaf.size() : g / per_leaf], -1, false));
  for (DeviceId l : leaf) {
    for (int u = 0; u < uplinks; ++u) WEFT_TRY(w.connect(l, spine[static_cast<std::size_t>(u) % spine.size()], -1, true));
    for (int u = 0; u < spares; ++u) WEFT_TRY(w.connect(l, spine[static_cast<std::size_t>(u) % spine.size()], -1, true, true));
  }
  w.leaves = leaf;
  return {};
}

double links(const Wiring& w) { return static_cast<double>(w.all().size()) + static_cast<double>(w.count("leaves", 2).value_or(2)) * w.count("uplinks", w.count("spines", 1).value_or(1)).value_or(1); }

WEFT_REGISTER(topologies(), {"leaf_spine",
                             "leaves joined to every spine",
                             {{"leaves", "2", "", "leaf switches"}, {"spines", "1", "", "spine switches"}, {"uplinks", "spines", "", "uplinks per leaf"}, {"spare_uplinks", "0", "", "installed but idle uplinks per leaf"},
                              {"attach", "block", "", "block: a node on one leaf; spread: its ports over the leaves"}},
                             wire, links});

}  // namespace
}  // namespace weft::fabric
