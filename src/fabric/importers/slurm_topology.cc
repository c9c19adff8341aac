// Slurm topology.conf for the topology/tree plugin: SwitchName= with Nodes= or Switches= (host lists), LinkSpeed=, comments, continued lines.
// Format: Slurm's topology.conf(5). LinkSpeed has arbitrary units there ("not used"), so it never becomes a rate.
#include <fmt/format.h>
#include <algorithm>
#include <climits>
#include <unordered_map>

#include "base/text.h"
#include "fabric/importers/importer.h"
#include "fabric/slurm_text.h"

namespace weft::fabric {
namespace {

bool recognises(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    std::string l = lower(trim(line));
    if (l.empty() || l[0] == '#') continue;
    if (l.starts_with("switchname") || l.starts_with("blockname") || l.starts_with("blocksizes")) return true;
  }
  return false;
}

struct SwitchLine {
  std::uint32_t device;
  std::vector<std::string> children;
  int line;
};

Result<Observed> read(std::string_view text, const std::string& file) {
  WEFT_ASSIGN(auto lines, slurm_lines(text, file));
  Observed o;
  o.files = {file};
  std::unordered_map<std::string, std::uint32_t> switches, nodes;
  std::vector<SwitchLine> tree;
  std::size_t placements = 0, tree_edges = 0;
  auto at = [&](int line) { return fmt::format("{}:{}", file, line); };
  for (const SlurmLine& l : lines) {
    std::string name, node_list, switch_list, speed;
    for (const auto& [key, value] : l.pairs) {
      if (key == "switchname") name = value;
      else if (key == "nodes") node_list = value;
      else if (key == "switches") switch_list = value;
      else if (key == "linkspeed") speed = value;
      else if (key == "blockname" || key == "blocksizes")
        return fail(ErrorKind::kInvalid,
                    "this topology.conf describes blocks (topology/block), not a tree of switches; only the tree is read", at(l.line));
      else if (key == "include") o.unknown.push_back({"switches of included files (Include is not followed)", {0, l.line}});
      else if (key != "default") {
        std::string near = nearest_word(key, {"SwitchName", "Nodes", "Switches", "LinkSpeed"});
        return fail(ErrorKind::kInvalid,
                    fmt::format("unknown key '{}'{}; a tree line has SwitchName, Nodes, Switches, LinkSpeed", key,
                                near.empty() ? "" : ", did you mean " + near + "?"),
                    at(l.line));
      }
    }
    if (name.empty()) {
      if (l.pairs[0].first == "include") continue;
      return fail(ErrorKind::kInvalid, "a line without SwitchName=", at(l.line));
    }
    if (node_list.empty() && switch_list.empty())
      return fail(ErrorKind::kInvalid, fmt::format("switch {} has neither Nodes= nor Switches=", name), at(l.line));
    auto names = expand_hostlist(name, kMaxImportDevices);
    if (!names) return fail(ErrorKind::kInvalid, names.error().message, at(l.line));
    for (const std::string& one : *names) {
      Origin where{0, l.line};
      auto [it, fresh] = switches.try_emplace(one, static_cast<std::uint32_t>(o.devices.size()));
      if (!fresh) {
        o.contradictions.push_back(
            {fmt::format("switch {} is described twice (also {}); both lists are kept", one, o.place(o.devices[it->second].at)), where});
      } else {
        o.add(DeviceKind::kSwitch, one, kNoDevice, where);
        o.devices.back().facts["host"].say(one, where);
      }
      if (!speed.empty()) o.devices[it->second].facts["link_speed"].say(speed, where);
      for (bool leaf : {true, false}) {
        const std::string& list = leaf ? node_list : switch_list;
        if (list.empty()) continue;
        auto children = expand_hostlist(list, kMaxImportDevices);
        if (!children) return fail(ErrorKind::kInvalid, children.error().message, at(l.line));
        if (o.devices.size() + children->size() > kMaxImportDevices || o.links.size() + tree_edges + children->size() > kMaxImportDevices)
          return fail(ErrorKind::kInvalid, fmt::format("more than {} nodes and switches", kMaxImportDevices), at(l.line));
        if (!leaf) {
          tree_edges += children->size();
          tree.push_back({it->second, std::move(*children), l.line});
          continue;
        }
        for (const std::string& child : *children) {
          auto [n, first] = nodes.try_emplace(child, static_cast<std::uint32_t>(o.devices.size()));
          if (first) {
            o.add(DeviceKind::kNode, child, kNoDevice, where);
            o.devices.back().facts["host"].say(child, where);
          }
          o.devices[n->second].facts["leaf"].say(one, where);
          ++placements;
          ObservedLink link{it->second, n->second, Network::kScaleOut, "network", {}, {}, where};
          o.links.push_back(std::move(link));
        }
      }
    }
  }
  if (o.devices.empty()) return fail(ErrorKind::kInvalid, "no SwitchName= line", file);
  if (nodes.empty()) return fail(ErrorKind::kInvalid, "no switch has Nodes=: the tree holds no node", file);

  // The tree above the leaves. A child that nobody describes dangles; a switch below itself is a loop.
  std::vector<std::uint32_t> parent(o.devices.size(), kNoDevice);
  for (const SwitchLine& s : tree)
    for (const std::string& child : s.children) {
      Origin where{0, s.line};
      auto it = switches.find(child);
      if (it == switches.end()) {
        o.contradictions.push_back({fmt::format("switch {} has a child {} that no line describes{}", o.devices[s.device].name, child,
                                                nodes.contains(child) ? " (a node has that name: Nodes= was meant?)" : ""),
                                    where});
        continue;
      }
      if (parent[it->second] != kNoDevice)
        o.contradictions.push_back(
            {fmt::format("switch {} is under both {} and {}", child, o.devices[parent[it->second]].name, o.devices[s.device].name), where});
      else parent[it->second] = s.device;
      o.links.push_back({s.device, it->second, Network::kScaleOut, "network", {}, {}, where});
    }
  // Parents before children; what remains hangs below itself.
  auto all_switches = o.of_kind(DeviceKind::kSwitch);
  std::vector<std::vector<std::uint32_t>> below(o.devices.size());
  std::vector<std::size_t> waits(o.devices.size(), 0);
  for (const ObservedLink& l : o.links)
    if (o.is(l.b, DeviceKind::kSwitch)) below[l.a].push_back(l.b), ++waits[l.b];
  std::vector<std::uint32_t> order;
  std::vector<int> depth(o.devices.size(), 0);
  for (std::uint32_t d : all_switches)
    if (!waits[d]) order.push_back(d);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::uint32_t child : below[order[i]]) {
      if (depth[child] = std::max(depth[child], depth[order[i]] + 1); depth[child] > kMaxImportDepth)
        return fail(ErrorKind::kInvalid, fmt::format("more than {} tiers of switches above {}", kMaxImportDepth, o.devices[child].name),
                    o.place(o.devices[child].at));
      if (--waits[child] == 0) order.push_back(child);
    }
  for (std::uint32_t d : all_switches)
    if (waits[d])
      return fail(ErrorKind::kInvalid, fmt::format("switch {} is below itself: the Switches= lists form a loop", o.devices[d].name),
                  o.place(o.devices[d].at));
  std::vector<std::uint32_t> roots;
  for (std::uint32_t d : all_switches)
    if (parent[d] == kNoDevice) roots.push_back(d);

  // Height above the nodes = tier; unequal depths below one switch are an unbalanced tree, legal and worth saying.
  std::vector<int> low(o.devices.size(), INT_MAX), high(o.devices.size(), -1);
  std::size_t leaves = 0;
  for (const ObservedLink& l : o.links) {
    if (!o.is(l.b, DeviceKind::kNode) || low[l.a] == 0) continue;
    ++leaves;
    int tier = 0;
    for (std::uint32_t up = l.a; up != kNoDevice; up = parent[up], ++tier)
      low[up] = std::min(low[up], tier), high[up] = std::max(high[up], tier);
  }
  int tiers = 0;
  std::uint32_t uneven = kNoDevice;
  for (std::uint32_t d : all_switches) {
    if (high[d] < 0) continue;
    o.devices[d].facts["tier"].say(std::to_string(high[d]), o.devices[d].at);
    tiers = std::max(tiers, high[d] + 1);
    if (low[d] != high[d] && uneven == kNoDevice) uneven = d;
  }
  if (uneven != kNoDevice)
    o.understood.push_back({fmt::format("the tree is unbalanced: under {} the leaves lie {} to {} tiers down", o.devices[uneven].name,
                                        low[uneven], high[uneven]),
                            o.devices[uneven].at});
  o.understood.push_back({fmt::format("{} switches ({} with nodes, {} above them, {} tiers), {} node names, {} different nodes",
                                      switches.size(), leaves, switches.size() - leaves, tiers, placements, nodes.size()),
                          {0, 0}});

  // Islands: what no common switch joins.
  std::vector<std::vector<std::uint32_t>> islands(roots.size());
  std::unordered_map<std::uint32_t, std::size_t> root_index;
  for (std::size_t i = 0; i < roots.size(); ++i) root_index[roots[i]] = i;
  auto root_of = [&](std::uint32_t d) {
    while (parent[d] != kNoDevice) d = parent[d];
    return root_index.at(d);
  };
  for (std::uint32_t n : o.of_kind(DeviceKind::kNode))
    for (const auto& [leaf, where] : o.devices[n].facts["leaf"].all) {
      auto& island = islands[root_of(switches.at(leaf))];
      if (island.empty() || island.back() != n) island.push_back(n);
    }
  for (std::size_t i = 0; i < roots.size(); ++i)
    if (!islands[i].empty())
      o.domains.push_back({DomainKind::kScheduling, o.devices[roots[i]].name, std::move(islands[i]), o.devices[roots[i]].at});
  if (roots.size() > 1)
    o.contradictions.push_back({fmt::format("no top switch: {} switches have none above them, so the nodes form {} islands that no job may "
                                            "span; add a top line SwitchName=… Switches={}",
                                            roots.size(), o.domains.size(),
                                            [&] {
                                              std::vector<std::string> r;
                                              for (auto d : roots)
                                                if (r.size() < 12) r.push_back(o.devices[d].name);
                                              return compress_hostlist(r);
                                            }()),
                                o.devices[roots[0]].at});
  o.unknown.push_back({"rates and number of cables of every link (LinkSpeed has no unit in Slurm)", {0, 0}});
  o.unknown.push_back({"cards and NICs of the nodes; say them with --scale-up-form, or give --slurm-conf", {0, 0}});
  o.unknown.push_back({"whether Slurm uses this file: TopologyPlugin stands in slurm.conf (give it with --slurm-conf)", {0, 0}});
  return o;
}

WEFT_REGISTER(importers(), {"slurm-topology", "Slurm topology.conf of the tree plugin", recognises, read});

}  // namespace
}  // namespace weft::fabric
