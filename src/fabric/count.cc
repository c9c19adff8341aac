#include "fabric/count.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "fabric/media.h"

namespace weft::fabric {
namespace {

// Bandwidth of one tier's switches towards end points and lower tiers over that towards higher ones.
void add_oversubscription(const Snapshot& s, std::span<const DeviceId> switches, Network n, NetworkCount& out) {
  std::map<int, std::pair<double, double>> tiers;
  bool unknown = false;
  for (DeviceId sw : switches)
    for (PortId p : s.ports_of(sw)) {
      LinkId l = s.port(p).link;
      if (!l.ok() || !(s.link(l).networks & bit(n)) || s.link(l).spare) continue;
      const Device& far = s.device(s.port(s.peer(p)).device);
      if (far.kind == DeviceKind::kStorage) continue;
      double rate = s.link(l).rate.value();
      unknown = unknown || rate <= 0;
      int tier = s.device(sw).tier;
      bool up = far.kind == DeviceKind::kSwitch && far.tier > tier;
      if (far.kind == DeviceKind::kSwitch && far.tier == tier) continue;  // twins side by side are neither up nor down
      (up ? tiers[tier].second : tiers[tier].first) += rate;
    }
  if (unknown || tiers.empty()) return;
  out.oversubscription = 1;
  for (const auto& [tier, rates] : tiers)
    if (rates.second > 0 && rates.first / rates.second > out.oversubscription)
      out.oversubscription = rates.first / rates.second, out.oversubscribed_tier = tier;
}

// One network, or the part of it that the given end points touch.
NetworkCount measure(const Snapshot& s, Network n, std::span<const DeviceId> end_points, std::string name) {
  NetworkCount out;
  out.name = std::move(name), out.network = n;
  std::vector<DeviceId> on, queue, switches;
  std::set<std::uint32_t> seen;
  for (DeviceId d : end_points)
    for (PortId p : s.ports_of(d))
      if (s.port(p).networks & bit(n)) {
        on.push_back(d), seen.insert(d.v);
        break;
      }
  queue = on;
  bool unknown = false;
  std::size_t ends = 0, spare_ends = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (s.device(queue[i]).kind == DeviceKind::kSwitch) switches.push_back(queue[i]);
    for (PortId p : s.ports_of(queue[i])) {
      LinkId l = s.port(p).link;
      if (!l.ok() || !(s.link(l).networks & bit(n))) continue;
      DeviceId far = s.port(s.peer(p)).device;
      bool inside = seen.contains(far.v) || s.device(far).kind == DeviceKind::kSwitch;
      ++ends;
      ends += !inside;  // its other end is not walked (storage): count it whole here
      spare_ends += s.link(l).spare;
      if (inside && seen.insert(far.v).second) queue.push_back(far);
      if (i < on.size() && !s.link(l).spare) {
        unknown = unknown || s.link(l).rate.value() <= 0;
        out.injection += s.link(l).rate;
      }
    }
  }
  if (unknown) out.injection = BitsPerSecond(0);
  out.end_points = on.size(), out.switches = switches.size(), out.links = ends / 2, out.spare_links = spare_ends / 2;
  if (out.links > 0) out.bisection = bisection(s, n, on);
  add_oversubscription(s, switches, n, out);
  return out;
}

}  // namespace

std::vector<RackPower> rack_power(const Snapshot& s) {
  std::vector<RackPower> out;
  for (const Domain& d : s.domains()) {
    if (d.kind != DomainKind::kRack) continue;
    RackPower r;
    for (DeviceId m : d.members)
      if (s.device(m).kind == DeviceKind::kRack) r.rack = m;
    if (!r.rack.ok()) continue;
    if (const DeviceModel* m = s.model_of(r.rack)) r.rated = m->power, r.cooling = m->cooling;
    auto draws = [&](DeviceId part) {
      const DeviceModel* m = s.model_of(part);
      if (m && m->power) r.parts += *m->power;
      else ++r.unknown_parts;
    };
    for (DeviceId node : d.members) {
      if (s.device(node).kind != DeviceKind::kNode) continue;
      ++r.nodes;
      draws(node);  // the host: processors, fans, NICs
      for (DeviceId part : s.children(node)) {
        DeviceKind k = s.device(part).kind;
        r.cards += k == DeviceKind::kCard;
        if (k == DeviceKind::kCard || k == DeviceKind::kSwitch) draws(part);
      }
    }
    out.push_back(r);
  }
  // Switches of a supernode that lie in no node (a rack's switch trays) are dealt to its racks by nodes.
  std::map<std::uint32_t, std::vector<std::size_t>> racks_of;
  for (std::size_t i = 0; i < out.size(); ++i)
    for (const Domain& d : s.domains())
      if (d.kind == DomainKind::kRack && std::binary_search(d.members.begin(), d.members.end(), out[i].rack))
        for (DeviceId node : d.members)
          if (s.device(node).kind == DeviceKind::kNode) {
            racks_of[s.device(node).parent.v].push_back(i);
            break;
          }
  for (const auto& [supernode, racks] : racks_of) {
    double watts = 0;
    std::size_t unknown = 0, nodes = 0;
    for (DeviceId part : s.children(DeviceId{supernode}))
      if (s.device(part).kind == DeviceKind::kSwitch) {
        if (const DeviceModel* m = s.model_of(part); m && m->power) watts += m->power->value();
        else ++unknown;
      }
    for (std::size_t i : racks) nodes += out[i].nodes;
    for (std::size_t i : racks)
      if (nodes > 0)
        out[i].parts += Watts(watts * static_cast<double>(out[i].nodes) / static_cast<double>(nodes)), out[i].unknown_parts += unknown > 0;
  }
  return out;
}

Result<Count> count(const Snapshot& s) {
  WEFT_ASSIGN(Media media, Media::built_in());
  Count c;
  for (int k = 0; k <= static_cast<int>(DeviceKind::kOcs); ++k)
    if (std::size_t n = s.of_kind(static_cast<DeviceKind>(k)).size(); n > 0 && k != 0)
      c.devices.emplace_back(static_cast<DeviceKind>(k), n);
  c.ports = s.port_count();
  for (const Port& p : s.ports()) c.free_ports += !p.link.ok();
  c.links = s.link_count();

  std::map<std::tuple<Medium, float, double>, CableCount> kinds;
  std::set<std::uint32_t> cables;
  for (const Link& l : s.links()) {
    c.spare_links += l.spare;
    CableCount& k = kinds[{l.medium, l.length_m, l.rate.value()}];
    k.medium = l.medium, k.length_m = static_cast<double>(l.length_m), k.rate = l.rate;
    ++k.links;
    bool board = l.medium == Medium::kBoard || l.medium == Medium::kBackplane;
    if (board) continue;
    if (l.cable != UINT32_MAX && !cables.insert(l.cable).second) continue;
    ++k.cables, ++c.cables;
    if (l.medium != Medium::kOptical) continue;
    c.optical_modules += 2;
    if (auto lane = media.lane_of(l.rate))
      if (const MediumLimit* limit = media.limit(l.medium, *lane)) c.optics_power += limit->end_power * 2;
  }
  for (auto& [key, k] : kinds) c.by_cable.push_back(k);

  // Scale-up by domain; domains alike are measured once.
  std::map<std::tuple<std::size_t, std::size_t, double>, std::size_t> shapes;
  double both = 0;
  bool known = s.cards().size() > 0;
  for (std::uint32_t d = 0; d < s.domains().size(); ++d) {
    const Domain& domain = s.domains()[d];
    if (domain.kind != DomainKind::kHbd) continue;
    std::size_t ends = 0;
    double rate = 0;
    for (DeviceId card : domain.members)
      for (PortId p : s.ports_of(card))
        if (LinkId l = s.port(p).link; l.ok() && (s.link(l).networks & bit(Network::kScaleUp))) {
          ++ends, rate += s.link(l).rate.value();
          known = known && s.link(l).rate.value() > 0;
        }
    known = known && ends > 0;
    both += rate * 2 / 8;
    auto [at, fresh] = shapes.emplace(std::tuple(domain.members.size(), ends, rate), c.networks.size());
    if (fresh) c.networks.push_back(measure(s, Network::kScaleUp, domain.members, "scale-up of " + domain.name));
    else ++c.networks[at->second].same;
  }
  if (known && both > 0) c.aggregate = BytesPerSecond(both);
  for (Network n : {Network::kScaleOut, Network::kStorage, Network::kManagement}) {
    std::vector<DeviceId> ends;
    for (DeviceKind k : {DeviceKind::kNic, DeviceKind::kBmc, DeviceKind::kCard})
      for (DeviceId d : s.of_kind(k)) ends.push_back(d);
    std::sort(ends.begin(), ends.end());
    NetworkCount m = measure(s, n, ends, std::string(network_name(n)));
    if (m.end_points > 0) c.networks.push_back(std::move(m));
  }
  c.racks = rack_power(s);
  for (Network n : {Network::kScaleUp, Network::kScaleOut, Network::kStorage, Network::kManagement})
    for (CutPoint& p : cut_points(s, n)) c.cut_points.push_back(p);
  return c;
}

}  // namespace weft::fabric
