// n-dimensional full mesh (UB-Mesh, arXiv 2503.20377): along every dimension all end points of a line are joined pairwise. An end point has
// the sum of (size - 1) neighbours; two end points are as many links apart as coordinates differ.
#include "fabric/grid.h"

namespace weft::fabric {
namespace {

Status wire(Wiring& w) {
  WEFT_ASSIGN(Grid g, read_grid(w));
  for (std::size_t i = 0; i < g.points.size(); ++i)
    for (std::size_t k = 0; k < g.dims.size(); ++k) {
      const Dimension& d = g.dims[k];
      std::size_t stride = g.stride(k);
      int c = static_cast<int>(i / stride % static_cast<std::size_t>(d.size));
      for (int to = c + 1; to < d.size; ++to) {
        bool leaves = w.spec.has("block") && c / d.block != to / d.block;
        for (int n = 0; n < d.links; ++n)
          WEFT_TRY(w.connect(g.points[i], g.points[i + static_cast<std::size_t>(to - c) * stride], static_cast<int>(k), d.rate,
                             leaves ? w.trunk_medium : d.medium, leaves ? w.trunk_length_m : d.length_m, false));
      }
    }
  return {};
}

double links(const Wiring& w) {
  auto g = read_grid(w);
  double n = 0;
  if (g)
    for (const Dimension& d : g->dims) n += grid_points(w) * (d.size - 1) / 2 * d.links;
  return n;
}

WEFT_REGISTER(topologies(), {"nd_mesh", "n-dimensional full mesh: all pairs along every dimension", grid_parameters(), wire, links});

}  // namespace
}  // namespace weft::fabric
