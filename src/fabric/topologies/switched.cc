// Single tier: every end point reaches every switch; `links` per end point dealt over `switches` (18 over 4 gives 5 4 4 5, as on an HGX H100
// board). One switch a plane: any pair is one switch apart.
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

Status wire(Wiring& w) {
  WEFT_ASSIGN(int switches, w.count("switches", 1, 1, 1024));
  WEFT_ASSIGN(int per_point, w.count("links", switches, 1, 1024));
  if (per_point < switches) return w.spec.error("fewer links per card than switches: some switches would not reach every card; lower 'switches' or raise 'links'");
  bool inside = w.groups.size() == 1 && w.nodes.size() == 1 && w.nodes[0].ok();
  std::vector<DeviceId> ids;
  std::vector<int> share(static_cast<std::size_t>(switches), per_point / switches);
  for (int extra = per_point % switches, i = 0; extra > 0; --extra, ++i) ++share[static_cast<std::size_t>(i % 2 ? i / 2 : switches - 1 - i / 2)];
  for (int s = 0; s < switches; ++s) ids.push_back(w.add_switch("switch", inside ? s : s + 1, s, 0, inside ? w.nodes[0] : DeviceId{}));
  for (DeviceId point : w.all())
    for (int s = 0; s < switches; ++s)
      for (int k = 0; k < share[static_cast<std::size_t>(s)]; ++k) WEFT_TRY(w.connect(point, ids[static_cast<std::size_t>(s)], s, false));
  w.leaves = ids;
  return {};
}

double links(const Wiring& w) {
  return static_cast<double>(w.all().size()) * w.count("links", w.count("switches", 1).value_or(1), 1, 1024).value_or(1);
}

WEFT_REGISTER(topologies(), {"switched", "single tier of switches, each reaching every end point", {{"switches", "1", "", "switches (planes)"}, {"links", "switches", "", "links per end point"}}, wire, links});

}  // namespace
}  // namespace weft::fabric
