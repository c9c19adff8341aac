// Torus (or mesh, with wrap: false) of any number of dimensions, each with its own rate: every end point joined to its two neighbours along each
// dimension. A ring of two has one link, not two.
#include "fabric/grid.h"

namespace weft::fabric {
namespace {

Status wire(Wiring& w) {
  WEFT_ASSIGN(Grid g, read_grid(w));
  bool wrap = true;
  if (w.spec.has("wrap")) {
    WEFT_ASSIGN(wrap, w.spec.get("wrap").boolean());
  }
  for (std::size_t i = 0; i < g.points.size(); ++i)
    for (std::size_t k = 0; k < g.dims.size(); ++k) {
      const Dimension& d = g.dims[k];
      std::size_t stride = g.stride(k);
      int c = static_cast<int>(i / stride % static_cast<std::size_t>(d.size));
      bool last = c + 1 == d.size;
      if (last && (!wrap || d.size <= 2)) continue;
      std::size_t to = last ? i - static_cast<std::size_t>(c) * stride : i + stride;
      bool leaves = (c + 1) % d.block == 0 && w.spec.has("block");
      for (int n = 0; n < d.links; ++n)
        WEFT_TRY(w.connect(g.points[i], g.points[to], static_cast<int>(k), d.rate, leaves ? w.trunk_medium : d.medium,
                           leaves ? w.trunk_length_m : d.length_m, false));
    }
  return {};
}

double links(const Wiring& w) {
  auto g = read_grid(w);
  double n = 0;
  if (g)
    for (const Dimension& d : g->dims) n += grid_points(w) * d.links;
  return n;
}

std::vector<Parameter> parameters() {
  std::vector<Parameter> out = grid_parameters();
  out.push_back({"wrap", "true", "", "false: a mesh without the links from end to end"});
  return out;
}

WEFT_REGISTER(topologies(), {"torus", "torus or mesh of 1 to 8 dimensions, each with its rate", parameters(), wire, links});

}  // namespace
}  // namespace weft::fabric
