#include "place/spread.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft::place {

using fabric::DeviceId;
using workload::Dim;

Spread::Spread(const fabric::Snapshot& snapshot) : s_(snapshot), unit_(snapshot.device_count(), UINT32_MAX) {
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  for (DeviceId card : s_.cards()) {
    std::vector<std::uint32_t> key;
    for (fabric::PortId p : s_.ports_of(card)) {
      fabric::LinkId l = s_.port(p).link;
      if (!l.ok() || !(s_.link(l).networks & fabric::bit(fabric::Network::kScaleUp))) continue;
      if (DeviceId far = s_.port(s_.peer(p)).device; s_.device(far).kind == fabric::DeviceKind::kSwitch) key.push_back(far.v);
    }
    std::sort(key.begin(), key.end());
    key.erase(std::unique(key.begin(), key.end()), key.end());
    if (key.empty()) key = {UINT32_MAX, s_.hbd_of(card).v};
    std::uint32_t u = unit_[card.v] = known.emplace(std::move(key), static_cast<std::uint32_t>(known.size())).first->second;
    if (u == unit_size_.size()) unit_size_.push_back(0);
    ++unit_size_[u];
  }
}

int Spread::torn(Dim dim, const std::vector<DeviceId>& members) const {
  std::set<std::uint32_t> domains, units;
  std::size_t domain_size = 1, unit_size = 1;
  for (DeviceId c : members) {
    fabric::DomainId h = s_.hbd_of(c);
    domains.insert(h.v), units.insert(unit_[c.v]);
    if (h.ok()) domain_size = std::max(domain_size, s_.domain(h).members.size());
    unit_size = std::max<std::size_t>(unit_size, unit_size_[unit_[c.v]]);
  }
  auto beyond = [&](std::size_t used, std::size_t size) {
    return static_cast<int>(used - std::min(used, (members.size() + size - 1) / size));
  };
  return beyond(domains.size(), domain_size) + (dim == Dim::kTp ? beyond(units.size(), unit_size) : 0);
}

int Spread::torn(const std::vector<workload::Group>& groups, const std::vector<DeviceId>& cards) const {
  int sum = 0;
  std::vector<DeviceId> members;
  for (const workload::Group& g : groups) {
    if (g.dim != Dim::kTp && g.dim != Dim::kEp) continue;
    members.clear();
    for (int r : g.ranks) members.push_back(cards[static_cast<std::size_t>(r)]);
    sum += torn(g.dim, members);
  }
  return sum;
}

}  // namespace weft::place
