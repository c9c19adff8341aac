// Two-tier Clos in planes: each node has one first-tier switch a plane with `links` to every card, `uplinks` to the plane's `cores`. Bandwidth up
// over bandwidth down is the oversubscription.
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

struct Shape {
  int planes, links, uplinks, cores;
};

Result<Shape> shape(const Wiring& w) {
  Shape s{};
  WEFT_ASSIGN(s.planes, w.count("planes", 1, 1, 256));
  WEFT_ASSIGN(s.links, w.count("links", 1, 1, 256));
  WEFT_ASSIGN(s.cores, w.count("cores", 1, 1, 4096));
  std::size_t most = 0;
  for (const auto& g : w.groups) most = std::max(most, g.size());
  WEFT_ASSIGN(s.uplinks, w.count("uplinks", static_cast<int>(most) * s.links, 1, 4096));
  if (s.uplinks % s.cores) return w.spec.error("uplinks must be a multiple of cores, so that every first-tier switch reaches every core alike");
  return s;
}

Status wire(Wiring& w) {
  WEFT_ASSIGN(Shape s, shape(w));
  for (int plane = 0; plane < s.planes; ++plane) {
    std::vector<DeviceId> cores;
    for (int c = 0; c < s.cores; ++c) cores.push_back(w.add_switch("core", plane * s.cores + c + 1, plane, 1));
    for (std::size_t g = 0; g < w.groups.size(); ++g) {
      bool inside = w.nodes[g].ok();
      DeviceId first = w.add_switch("switch", inside ? plane : static_cast<int>(g) * s.planes + plane + 1, plane, 0, inside ? w.nodes[g] : DeviceId{});
      for (DeviceId point : w.groups[g])
        for (int k = 0; k < s.links; ++k) WEFT_TRY(w.connect(point, first, plane, false));
      for (int u = 0; u < s.uplinks; ++u) WEFT_TRY(w.connect(first, cores[static_cast<std::size_t>(u % s.cores)], plane, true));
      w.leaves.push_back(first);
    }
  }
  return {};
}

double links(const Wiring& w) {
  auto s = shape(w);
  if (!s) return 0;
  return static_cast<double>(s->planes) * (static_cast<double>(w.all().size()) * s->links + static_cast<double>(w.groups.size()) * s->uplinks);
}

WEFT_REGISTER(topologies(), {"clos2",
                             "two-tier Clos in planes, first tier inside the nodes",
                             {{"planes", "1", "", "parallel planes"}, {"links", "1", "", "links per card and plane"}, {"uplinks", "cards × links", "", "uplinks per first-tier switch"}, {"cores", "1", "", "second-tier switches per plane"}},
                             wire, links});

}  // namespace
}  // namespace weft::fabric
