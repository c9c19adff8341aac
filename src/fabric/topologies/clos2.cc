// Two-tier Clos in planes: each node (or each `nodes_per_switch` nodes) has one first-tier switch a plane with `links` to every card and `uplinks` to
// the plane's `cores`. Bandwidth down over bandwidth up is the oversubscription. `card_links` are dealt over the planes instead (18 over 4: 5 4 4 5).
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

struct Shape {
  int planes, uplinks, cores, per_switch;
  std::vector<int> links;  // of a card, by plane
};

Result<Shape> shape(const Wiring& w) {
  Shape s{};
  WEFT_ASSIGN(s.planes, w.count("planes", 1, 1, 256));
  WEFT_ASSIGN(int each, w.count("links", 1, 1, 256));
  s.links.assign(static_cast<std::size_t>(s.planes), each);
  WEFT_ASSIGN(s.per_switch, w.count("nodes_per_switch", 1, 1, 1 << 20));
  if (w.spec.has("card_links")) {
    if (w.spec.has("links"))
      return w.spec.get("card_links").error("give 'links' (per plane) or 'card_links' (of a card, dealt over the planes), not both");
    WEFT_ASSIGN(int total, w.count("card_links", 1, s.planes, 65536));
    s.links = deal(total, s.planes);
  }
  WEFT_ASSIGN(s.cores, w.count("cores", 1, 1, 4096));
  std::size_t most = 0;
  for (const auto& g : w.groups) most = std::max(most, g.size());
  WEFT_ASSIGN(s.uplinks, w.count("uplinks", static_cast<int>(most) * s.links[0] * s.per_switch, 1, 4096));
  if (s.uplinks % s.cores)
    return w.spec.error("uplinks must be a multiple of cores, so that every first-tier switch reaches every core alike");
  return s;
}

Status wire(Wiring& w) {
  WEFT_ASSIGN(Shape s, shape(w));
  for (int plane = 0; plane < s.planes; ++plane) {
    std::vector<DeviceId> cores;
    for (int c = 0; c < s.cores; ++c) cores.push_back(w.add_switch("core", plane * s.cores + c + 1, plane, 1));
    auto per = static_cast<std::size_t>(s.per_switch);
    for (std::size_t g = 0; g < w.groups.size(); g += per) {
      bool inside = w.nodes[g].ok() && per == 1;
      DeviceId first = w.add_switch("switch", inside ? plane : static_cast<int>(g / per) * s.planes + plane + 1, plane, 0,
                                    inside ? w.nodes[g] : DeviceId{});
      for (std::size_t n = g; n < std::min(g + per, w.groups.size()); ++n)
        for (DeviceId point : w.groups[n])
          for (int k = 0; k < s.links[static_cast<std::size_t>(plane)]; ++k) WEFT_TRY(w.connect(point, first, plane, false));
      for (int u = 0; u < s.uplinks; ++u) WEFT_TRY(w.connect(first, cores[static_cast<std::size_t>(u % s.cores)], plane, true));
      w.leaves.push_back(first);
    }
  }
  return {};
}

double links(const Wiring& w) {
  auto s = shape(w);
  if (!s) return 0;
  double down = 0;
  for (int each : s->links) down += each;
  return static_cast<double>(w.all().size()) * down +
         static_cast<double>(s->planes) * static_cast<double>(w.groups.size()) / s->per_switch * s->uplinks;
}

WEFT_REGISTER(topologies(), {"clos2",
                             "two-tier Clos in planes, first tier inside the nodes",
                             {{"planes", "1", "", "parallel planes"},
                              {"links", "1", "", "links per card and plane"},
                              {"card_links", "links × planes", "", "links per card, dealt over the planes"},
                              {"nodes_per_switch", "1", "", "nodes under one first-tier switch; 1: it lies in the node"},
                              {"uplinks", "cards × links", "", "uplinks per first-tier switch"},
                              {"cores", "1", "", "second-tier switches per plane"}},
                             wire,
                             links});

}  // namespace
}  // namespace weft::fabric
