// Single tier: every end point reaches every switch; `links` per end point dealt over `switches` (18 over 4 gives 5 4 4 5, as on an HGX H100
// board). One switch a plane: any pair is one switch apart. With `sides: 2` the end points are halved, each half has its own switches, and twin
// switches are joined by `cross_links` (two racks back to back).
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

Status wire(Wiring& w) {
  WEFT_ASSIGN(int switches, w.count("switches", 1, 1, 1024));
  WEFT_ASSIGN(int per_point, w.count("links", switches, 1, 1024));
  if (per_point < switches)
    return w.spec.error("fewer links per card than switches: some switches would not reach every card; lower 'switches' or raise 'links'");
  bool inside = w.groups.size() == 1 && w.nodes.size() == 1 && w.nodes[0].ok();
  WEFT_ASSIGN(int sides, w.count("sides", 1, 1, 2));
  WEFT_ASSIGN(int cross, w.count("cross_links", sides - 1, sides - 1, 4096));
  std::vector<DeviceId> ids;
  std::vector<int> share = deal(per_point, switches);
  std::vector<DeviceId> points = w.all();
  for (int side = 0; side < sides; ++side)
    for (int s = 0; s < switches; ++s)
      ids.push_back(w.add_switch("switch", inside ? side * switches + s : side * switches + s + 1, s, 0, inside ? w.nodes[0] : DeviceId{}));
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::size_t first = i * static_cast<std::size_t>(sides) / points.size() * static_cast<std::size_t>(switches);
    for (int s = 0; s < switches; ++s)
      for (int k = 0; k < share[static_cast<std::size_t>(s)]; ++k)
        WEFT_TRY(w.connect(points[i], ids[first + static_cast<std::size_t>(s)], s, false));
  }
  for (int s = 0; s < (sides - 1) * switches; ++s)
    for (int k = 0; k < cross; ++k)
      WEFT_TRY(w.connect(ids[static_cast<std::size_t>(s)], ids[static_cast<std::size_t>(switches + s)], s, true));
  w.leaves = ids;
  return {};
}

double links(const Wiring& w) {
  return static_cast<double>(w.all().size()) * w.count("links", w.count("switches", 1).value_or(1), 1, 1024).value_or(1) +
         static_cast<double>(w.count("cross_links", 0, 0, 4096).value_or(0)) * w.count("switches", 1).value_or(1);
}

WEFT_REGISTER(topologies(), {"switched",
                             "single tier of switches, each reaching every end point",
                             {{"switches", "1", "", "switches (planes)"},
                              {"links", "switches", "", "links per end point"},
                              {"sides", "1", "", "2: two halves with switches of their own"},
                              {"cross_links", "1", "", "links between twin switches of the two halves"}},
                             wire,
                             links});

}  // namespace
}  // namespace weft::fabric
