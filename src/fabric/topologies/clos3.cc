// Three-tier Clos in planes: a first-tier switch per node and plane, `mids` second-tier switches per pod and plane, `cores` third-tier switches per
// plane. Each step's uplinks over its downlinks is that step's oversubscription.
#include <fmt/format.h>

#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

struct Shape {
  int planes, links, pod, mids, uplinks, cores, mid_uplinks;
};

Result<Shape> shape(const Wiring& w) {
  Shape s{};
  int most = 1;
  for (const auto& g : w.groups) most = std::max(most, static_cast<int>(g.size()));
  WEFT_ASSIGN(s.planes, w.count("planes", 1, 1, 256));
  WEFT_ASSIGN(s.links, w.count("links", 1, 1, 256));
  WEFT_ASSIGN(s.pod, w.count("nodes_per_pod", static_cast<int>(w.groups.size()), 1, 1 << 20));
  WEFT_ASSIGN(s.mids, w.count("mids", 1, 1, 4096));
  WEFT_ASSIGN(s.uplinks, w.count("uplinks", most * s.links, 1, 4096));
  WEFT_ASSIGN(s.cores, w.count("cores", 1, 1, 4096));
  WEFT_ASSIGN(s.mid_uplinks, w.count("mid_uplinks", std::max(1, s.pod * s.uplinks / s.mids), 1, 65535));
  if (s.uplinks % s.mids) return w.spec.error(fmt::format("uplinks ({}) must be a multiple of mids ({})", s.uplinks, s.mids));
  if (s.mid_uplinks % s.cores)
    return w.spec.error(fmt::format("mid_uplinks ({}) must be a multiple of cores ({})", s.mid_uplinks, s.cores));
  return s;
}

Status wire(Wiring& w) {
  WEFT_ASSIGN(Shape s, shape(w));
  std::size_t pods = (w.groups.size() + static_cast<std::size_t>(s.pod) - 1) / static_cast<std::size_t>(s.pod);
  for (int plane = 0; plane < s.planes; ++plane) {
    std::vector<DeviceId> cores;
    for (int c = 0; c < s.cores; ++c) cores.push_back(w.add_switch("core", plane * s.cores + c + 1, plane, 2));
    for (std::size_t p = 0; p < pods; ++p) {
      std::vector<DeviceId> mids;
      for (int m = 0; m < s.mids; ++m) {
        mids.push_back(w.add_switch("mid", (static_cast<int>(p) * s.planes + plane) * s.mids + m + 1, plane, 1));
        for (int u = 0; u < s.mid_uplinks; ++u) WEFT_TRY(w.connect(mids.back(), cores[static_cast<std::size_t>(u % s.cores)], plane, true));
      }
      for (std::size_t g = p * static_cast<std::size_t>(s.pod); g < std::min(w.groups.size(), (p + 1) * static_cast<std::size_t>(s.pod));
           ++g) {
        bool inside = w.nodes[g].ok();
        DeviceId first =
            w.add_switch("switch", inside ? plane : static_cast<int>(g) * s.planes + plane + 1, plane, 0, inside ? w.nodes[g] : DeviceId{});
        for (DeviceId point : w.groups[g])
          for (int k = 0; k < s.links; ++k) WEFT_TRY(w.connect(point, first, plane, false));
        for (int u = 0; u < s.uplinks; ++u) WEFT_TRY(w.connect(first, mids[static_cast<std::size_t>(u % s.mids)], plane, true));
        w.leaves.push_back(first);
      }
    }
  }
  return {};
}

double links(const Wiring& w) {
  auto s = shape(w);
  if (!s) return 0;
  double nodes = static_cast<double>(w.groups.size()), pods = nodes / s->pod + 1;
  return s->planes * (static_cast<double>(w.all().size()) * s->links + nodes * s->uplinks + pods * s->mids * s->mid_uplinks);
}

WEFT_REGISTER(topologies(), {"clos3",
                             "three-tier Clos in planes, first tier inside the nodes",
                             {{"planes", "1", "", "parallel planes"},
                              {"links", "1", "", "links per card and plane"},
                              {"nodes_per_pod", "all", "", "nodes under one set of second-tier switches"},
                              {"mids", "1", "", "second-tier switches per pod and plane"},
                              {"uplinks", "cards × links", "", "uplinks per first-tier switch"},
                              {"cores", "1", "", "third-tier switches per plane"},
                              {"mid_uplinks", "as many as down", "", "uplinks per second-tier switch"}},
                             wire,
                             links});

}  // namespace
}  // namespace weft::fabric
