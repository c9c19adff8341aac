// Fat tree of three tiers (Al-Fares et al., SIGCOMM 2008; `k` alone gives theirs): pods of leaves and spines, spine s of every pod joined to core
// group s. With attach: rail, NIC r of every node in a block goes to the block's leaf r, as on rail-optimised machines.
#include <fmt/format.h>

#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

struct Shape {
  int per_leaf, leaves, spines, cores, uplinks, spine_uplinks;  // leaves, spines: per pod; cores: in all
  bool rail = false;
  std::size_t rails = 0, pods = 0, blocks = 0;
};

Result<Shape> shape(const Wiring& w) {
  Shape s{};
  WEFT_ASSIGN(int k, w.count("k", 0, 2, 65534));
  if (k % 2) return w.spec.get("k").error("k is even: half of a switch's ports go down, half up");
  int half = std::max(1, k / 2);
  WEFT_ASSIGN(s.per_leaf, w.count("points_per_leaf", half, 1, 65534));
  WEFT_ASSIGN(s.leaves, w.count("leaves_per_pod", half, 1, 65534));
  WEFT_ASSIGN(s.spines, w.count("spines_per_pod", half, 1, 65534));
  WEFT_ASSIGN(s.cores, w.count("cores", s.spines * half, 1, 1 << 20));
  WEFT_ASSIGN(s.uplinks, w.count("uplinks", s.spines, 1, 65534));
  if (k == 0 && !w.spec.has("points_per_leaf"))
    return w.spec.error("a fat tree needs 'k: PORTS', or points_per_leaf, leaves_per_pod, spines_per_pod and cores");
  if (s.cores % s.spines)
    return w.spec.error(
        fmt::format("cores ({}) must be a multiple of spines_per_pod ({}): spine s of every pod reaches core group s", s.cores, s.spines));
  WEFT_ASSIGN(s.spine_uplinks, w.count("spine_uplinks", s.cores / s.spines, 1, 65534));
  if (s.uplinks % s.spines) return w.spec.error(fmt::format("uplinks ({}) must be a multiple of spines_per_pod ({})", s.uplinks, s.spines));
  if (s.spine_uplinks % (s.cores / s.spines))
    return w.spec.error(
        fmt::format("spine_uplinks ({}) must be a multiple of the {} cores in a spine's group", s.spine_uplinks, s.cores / s.spines));
  if (w.spec.has("attach")) {
    WEFT_ASSIGN(auto how, w.spec.get("attach").text());
    if (how != "block" && how != "rail")
      return w.spec.get("attach").error("attach is 'block' (end points in order) or 'rail' (NIC r of a node to leaf r of its block)");
    s.rail = how == "rail";
  }
  std::size_t points = 0;
  for (const auto& g : w.groups) s.rails = std::max(s.rails, g.size()), points += g.size();
  auto per_leaf = static_cast<std::size_t>(s.per_leaf), leaves = static_cast<std::size_t>(s.leaves);
  if (s.rail) {
    if (leaves % s.rails)
      return w.spec.error(fmt::format("leaves_per_pod ({}) must be a multiple of the {} NICs of a node for attach: rail", leaves, s.rails));
    s.blocks = (w.groups.size() + per_leaf - 1) / per_leaf;
    s.pods = (s.blocks * s.rails + leaves - 1) / leaves;
  } else {
    s.pods = (points + per_leaf * leaves - 1) / (per_leaf * leaves);
  }
  if (k > 0 && s.pods > static_cast<std::size_t>(k))
    return w.spec.error(
        fmt::format("a fat tree of k = {} holds {} end points, here are {}; raise k", k, std::int64_t{k} * k * k / 4, points));
  return s;
}

Status wire(Wiring& w) {
  WEFT_ASSIGN(Shape s, shape(w));
  auto per_leaf = static_cast<std::size_t>(s.per_leaf), leaves = static_cast<std::size_t>(s.leaves),
       spines = static_cast<std::size_t>(s.spines);
  std::size_t group = static_cast<std::size_t>(s.cores) / spines;
  std::vector<DeviceId> core, leaf;
  for (int c = 0; c < s.cores; ++c) core.push_back(w.add_switch("core", c + 1, -1, 2));
  for (std::size_t p = 0; p < s.pods; ++p) {
    std::vector<DeviceId> spine;
    for (std::size_t i = 0; i < spines; ++i) {
      spine.push_back(w.add_switch("spine", static_cast<int>(p * spines + i + 1), -1, 1));
      for (int u = 0; u < s.spine_uplinks; ++u)
        WEFT_TRY(w.connect(spine.back(), core[i * group + static_cast<std::size_t>(u) % group], -1, true));
    }
    for (std::size_t i = 0; i < leaves; ++i) {
      std::size_t number = p * leaves + i;
      leaf.push_back(w.add_switch("leaf", static_cast<int>(number + 1), s.rail ? static_cast<int>(number % s.rails) : -1, 0));
      for (int u = 0; u < s.uplinks; ++u)
        WEFT_TRY(
            w.connect(leaf.back(), spine[static_cast<std::size_t>(u) % spines], s.rail ? static_cast<int>(number % s.rails) : -1, true));
    }
  }
  std::size_t i = 0;
  for (std::size_t g = 0; g < w.groups.size(); ++g)
    for (std::size_t r = 0; r < w.groups[g].size(); ++r, ++i)
      WEFT_TRY(
          w.connect(w.groups[g][r], leaf[s.rail ? g / per_leaf * s.rails + r : i / per_leaf], s.rail ? static_cast<int>(r) : -1, false));
  w.leaves = leaf;
  return {};
}

double links(const Wiring& w) {
  auto s = shape(w);
  if (!s) return 0;
  double pods = static_cast<double>(s->pods), points = 0;
  for (const auto& g : w.groups) points += static_cast<double>(g.size());
  return points + pods * s->leaves * s->uplinks + pods * s->spines * s->spine_uplinks;
}

WEFT_REGISTER(topologies(), {"fat_tree",
                             "three tiers of leaves, spines and cores in pods",
                             {{"k", "0", "", "ports of a switch: the classic k-ary fat tree; other parameters override"},
                              {"points_per_leaf", "k/2", "", "end points per leaf"},
                              {"leaves_per_pod", "k/2", "", "leaves per pod"},
                              {"spines_per_pod", "k/2", "", "spines per pod"},
                              {"cores", "spines_per_pod × k/2", "", "core switches in all"},
                              {"uplinks", "spines_per_pod", "", "uplinks per leaf"},
                              {"spine_uplinks", "cores / spines_per_pod", "", "uplinks per spine"},
                              {"attach", "block", "", "block: end points in order; rail: NIC r of a node to leaf r of its block"}},
                             wire,
                             links});

}  // namespace
}  // namespace weft::fabric
