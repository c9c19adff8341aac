// Slurm topology.conf (topology/tree) of the scale-out network. Slurm wants a tree: a node has one leaf, a switch one parent. Real networks have
// several leaves per node (rails) and several spines; switches that serve the same nodes are therefore written as one line and named in a comment.
#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "fabric/exporters/exporter.h"

namespace weft::fabric {
namespace {

std::string host(const Snapshot& s, DeviceId node) {
  std::string name = s.alias(node).empty() ? s.name(node) : s.alias(node);
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

struct Group {
  std::vector<DeviceId> switches;     // of this tier, sorted; empty while only carried upwards
  std::vector<std::size_t> children;  // groups below
  std::vector<DeviceId> nodes;
  std::set<DeviceId> reach;  // all switches in and below
};

Result<std::string> write(const Snapshot& s, const ExportOptions&) {
  // Leaves of every node: switches that a NIC of it (or the node itself) is cabled to.
  NetworkSet out = bit(Network::kScaleOut);
  auto neighbours = [&](DeviceId d) {
    std::set<DeviceId> found;
    for (PortId p : s.ports_of(d)) {
      LinkId l = s.port(p).link;
      if (!l.ok() || !(s.link(l).networks & out)) continue;
      DeviceId other = s.port(s.other_end(l, d)).device;
      if (s.device(other).kind == DeviceKind::kSwitch) found.insert(other);
    }
    return found;
  };
  std::map<DeviceId, std::set<DeviceId>> leaf_nodes;
  std::size_t cut = 0;
  for (DeviceId node : s.of_kind(DeviceKind::kNode)) {
    std::set<DeviceId> mine = neighbours(node);
    for (DeviceId d : s.children(node))
      if (s.device(d).kind == DeviceKind::kNic)
        for (DeviceId leaf : neighbours(d)) mine.insert(leaf);
    cut += mine.empty();
    for (DeviceId leaf : mine) leaf_nodes[leaf].insert(node);
  }
  if (leaf_nodes.empty())
    return fail(ErrorKind::kInvalid, "no node is cabled to a switch of the scale-out network, so there is no tree to write");

  // First tier: leaves that serve exactly the same nodes are one line (the rails of a block).
  std::map<std::vector<DeviceId>, std::vector<DeviceId>> by_nodes;
  for (const auto& [leaf, nodes] : leaf_nodes) by_nodes[{nodes.begin(), nodes.end()}].push_back(leaf);
  std::vector<Group> groups;
  std::vector<std::size_t> open;  // groups without a parent
  for (const auto& [nodes, leaves] : by_nodes) groups.push_back({leaves, {}, nodes, {leaves.begin(), leaves.end()}});
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.switches < b.switches; });
  for (std::size_t i = 0; i < groups.size(); ++i) open.push_back(i);

  // Upper tiers: switches above (tier by tier) join the groups that they touch; those that join the same groups are one line.
  std::map<DeviceId, int> tier;
  for (const auto& [leaf, nodes] : leaf_nodes) tier[leaf] = 0;
  std::vector<DeviceId> frontier;
  for (const auto& [leaf, nodes] : leaf_nodes) frontier.push_back(leaf);
  int top = 0;
  for (DeviceId d : s.of_kind(DeviceKind::kSwitch))
    if (s.device(d).tier > 0 && !tier.contains(d)) tier[d] = s.device(d).tier;
  for (std::size_t i = 0; i < frontier.size(); ++i)
    for (DeviceId up : neighbours(frontier[i]))
      if (tier.try_emplace(up, tier[frontier[i]] + 1).second) frontier.push_back(up);
  for (const auto& [d, t] : tier) top = std::max(top, t);
  for (int t = 1; t <= top; ++t) {
    std::map<DeviceId, std::size_t> owner;  // switch → open group
    for (std::size_t g : open)
      for (DeviceId d : groups[g].reach) owner[d] = g;
    std::map<std::vector<std::size_t>, std::vector<DeviceId>> joins;
    for (const auto& [d, its] : tier) {
      if (its != t || owner.contains(d)) continue;
      std::set<std::size_t> below;
      for (DeviceId n : neighbours(d))
        if (auto it = owner.find(n); it != owner.end()) below.insert(it->second);
      if (!below.empty()) joins[{below.begin(), below.end()}].push_back(d);
    }
    // Sets of groups that overlap belong together.
    std::map<std::size_t, std::size_t> root;
    auto find = [&](std::size_t g) {
      while (root.contains(g) && root[g] != g) g = root[g];
      return g;
    };
    for (const auto& [below, switches] : joins)
      for (std::size_t g : below) {
        std::size_t a = find(g), b = find(below[0]);
        if (!root.contains(g)) root[g] = g;
        if (a != b) root[std::max(a, b)] = std::min(a, b);
      }
    std::map<std::size_t, Group> made;
    for (const auto& [below, switches] : joins) {
      Group& group = made[find(below[0])];
      group.switches.insert(group.switches.end(), switches.begin(), switches.end());
      group.reach.insert(switches.begin(), switches.end());
    }
    std::set<std::size_t> closed;
    for (auto& [first, group] : made) {
      for (std::size_t g : open)
        if (root.contains(g) && find(g) == first) {
          group.children.push_back(g);
          group.reach.insert(groups[g].reach.begin(), groups[g].reach.end());
          closed.insert(g);
        }
      std::sort(group.switches.begin(), group.switches.end());
    }
    std::erase_if(open, [&](std::size_t g) { return closed.contains(g); });
    for (auto& [first, group] : made) open.push_back(groups.size()), groups.push_back(std::move(group));
    std::sort(open.begin(), open.end());
  }

  auto label = [&](const Group& g) {
    std::string name = s.name(g.switches[0]);
    std::replace(name.begin(), name.end(), '/', '-');
    return name;
  };
  std::string text = fmt::format("# Scale-out network of site {}, written by weft for topology/tree.\n", s.site_name());
  if (cut) text += fmt::format("# {} node(s) are not cabled to any switch and are left out.\n", cut);
  std::map<DeviceId, int> places;
  for (const Group& g : groups)
    for (DeviceId n : g.nodes) ++places[n];
  std::size_t twice = static_cast<std::size_t>(std::count_if(places.begin(), places.end(), [](const auto& p) { return p.second > 1; }));
  if (twice) text += fmt::format("# {} node(s) hang on leaves that do not serve the same nodes; they stand under each of them.\n", twice);
  for (std::size_t i = groups.size(); i-- > 0;) {
    const Group& g = groups[i];
    if (g.switches.size() > 1) {
      std::vector<std::string> names;
      for (DeviceId d : g.switches) names.push_back(s.name(d));
      text += fmt::format("# {} = {}\n", label(g), compress_hostlist(names));
    }
    std::vector<std::string> list;
    if (!g.children.empty()) {
      for (std::size_t c : g.children) list.push_back(label(groups[c]));
      text += fmt::format("SwitchName={} Switches={}\n", label(g), compress_hostlist(list));
    } else {
      for (DeviceId n : g.nodes) list.push_back(host(s, n));
      text += fmt::format("SwitchName={} Nodes={}\n", label(g), compress_hostlist(list));
    }
  }
  if (open.size() > 1) text += fmt::format("# {} islands: no switch joins them, and none is invented here.\n", open.size());
  return text;
}

WEFT_REGISTER(exporters(), {"slurm-topology", "Slurm topology.conf (tree) of the scale-out network", false, write});

}  // namespace
}  // namespace weft::fabric
