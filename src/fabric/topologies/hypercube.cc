// Hypercube: 2^n end points, joined where their numbers differ in one bit. n ports each, n·2^(n-1) links, as far apart as bits differ.
#include <bit>

#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

Status wire(Wiring& w) {
  WEFT_ASSIGN(int parallel, w.count("links", 1, 1, 64));
  std::vector<DeviceId> points = w.all();
  if (!std::has_single_bit(points.size()))
    return w.spec.error("a hypercube needs a power of two end points, here are " + std::to_string(points.size()));
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t dimension = 0; (std::size_t{1} << dimension) < points.size(); ++dimension) {
      std::size_t to = i ^ (std::size_t{1} << dimension);
      if (to > i)
        for (int k = 0; k < parallel; ++k) WEFT_TRY(w.connect(points[i], points[to], static_cast<int>(dimension), false));
    }
  return {};
}

double links(const Wiring& w) {
  double n = static_cast<double>(w.all().size());
  return n / 2 * std::bit_width(w.all().size()) * w.count("links", 1, 1, 64).value_or(1);
}

WEFT_REGISTER(topologies(),
              {"hypercube", "2^n end points, joined where one bit differs", {{"links", "1", "", "links per pair"}}, wire, links});

}  // namespace
}  // namespace weft::fabric
