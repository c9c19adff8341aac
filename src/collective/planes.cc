#include "collective/planes.h"

#include <algorithm>
#include <map>

namespace weft::collective {

using fabric::DeviceId;
using fabric::Network;

std::vector<Plane> common_planes(std::span<const DeviceId> cards, fabric::Routes& routes) {
  const fabric::Snapshot& s = routes.snapshot();
  std::vector<Plane> planes;
  std::vector<DeviceId> first;              // of each plane
  std::map<std::uint32_t, std::size_t> of;  // switch → plane
  for (std::size_t i = 0; i < cards.size(); ++i)
    for (fabric::PortId p : s.ports_of(cards[i])) {
      fabric::LinkId l = s.port(p).link;
      if (!l.ok() || !(s.link(l).networks & fabric::bit(Network::kScaleUp)) || !s.carries(l) || s.effective_rate(l).value() <= 0) continue;
      DeviceId to = s.port(s.peer(p)).device;
      auto [at, fresh] = of.try_emplace(to.v, planes.size());
      if (fresh) {
        for (std::size_t k = 0; k < first.size() && at->second == planes.size(); ++k)
          if (routes.length(to, first[k], Network::kScaleUp) >= 0) at->second = k;
        if (at->second == planes.size()) {
          if (i > 0) continue;  // the first member is not in it
          first.push_back(to), planes.emplace_back().links.resize(cards.size());
        }
      }
      if (at->second < planes.size()) planes[at->second].links[i].push_back({fabric::directed(l, s.link(l).a == p), to});
    }
  double sum = 0;
  for (Plane& plane : planes) {
    std::size_t least = SIZE_MAX;
    for (const auto& links : plane.links) least = std::min(least, links.size());
    plane.share = static_cast<double>(least);
    sum += plane.share;
  }
  std::erase_if(planes, [](const Plane& p) { return p.share <= 0; });
  for (Plane& plane : planes) plane.share /= sum;
  return planes;
}

}  // namespace weft::collective
