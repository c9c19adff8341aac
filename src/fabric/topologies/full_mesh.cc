// Full mesh: every pair of end points joined directly; N(N-1)/2 pairs, N-1 ports each. Good for eight cards, hopeless for a thousand.
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

Status wire(Wiring& w) {
  WEFT_ASSIGN(int links, w.count("links", 1, 1, 64));
  std::vector<DeviceId> points = w.all();
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = i + 1; j < points.size(); ++j)
      for (int k = 0; k < links; ++k) WEFT_TRY(w.connect(points[i], points[j], k, false));
  return {};
}

double links(const Wiring& w) {
  double n = static_cast<double>(w.all().size());
  return n * (n - 1) / 2 * w.count("links", 1, 1, 64).value_or(1);
}

WEFT_REGISTER(topologies(), {"full_mesh", "every pair joined directly", {{"links", "1", "", "links per pair"}}, wire, links});

}  // namespace
}  // namespace weft::fabric
