// Hybrid cube mesh of eight cards as in DGX-1 with V100: two quads, fully joined inside, each card with one partner in the other quad; six links a
// card, some pairs with two. Counts as `nvidia-smi topo -m` prints them on that machine (NV1, NV2).
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

constexpr int kLinks[8][8] = {{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                              {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

Status wire(Wiring& w) {
  std::vector<DeviceId> points = w.all();
  if (points.size() != 8)
    return w.spec.error("a cube mesh joins eight cards, here are " + std::to_string(points.size()) +
                        "; use 'scope: node' for one per node");
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = i + 1; j < 8; ++j)
      for (int k = 0; k < kLinks[i][j]; ++k) WEFT_TRY(w.connect(points[i], points[j], -1, false));
  return {};
}

double links(const Wiring&) { return 24; }

WEFT_REGISTER(topologies(), {"cube_mesh", "hybrid cube mesh of eight cards with six links each (DGX-1)", {}, wire, links});

}  // namespace
}  // namespace weft::fabric
