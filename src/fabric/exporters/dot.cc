// Graphviz DOT of the whole site: racks and nodes as clusters, cards and switches as nodes, parallel links as one edge with their number and rate.
// Large sites are drawn by nodes: cards of a node become one box.
#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <tuple>

#include "fabric/exporters/exporter.h"

namespace weft::fabric {
namespace {

constexpr std::size_t kCardsInDetail = 600, kMaxBoxes = 20'000;

std::string quote(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

Result<std::string> write(const Snapshot& s, const ExportOptions&) {
  bool detail = s.cards().size() <= kCardsInDetail;
  auto box = [&](DeviceId d) {  // what stands for this device in the drawing; none = not drawn
    DeviceKind k = s.device(d).kind;
    if (k == DeviceKind::kSwitch || k == DeviceKind::kStorage || (detail && (k == DeviceKind::kCard || k == DeviceKind::kNic))) {
      DeviceId node = s.container(d, DeviceKind::kNode);
      return !detail && node.ok() ? node : d;
    }
    DeviceId node = s.container(d, DeviceKind::kNode);
    return k == DeviceKind::kBmc || k == DeviceKind::kCpu ? DeviceId{} : node;
  };
  std::map<std::tuple<DeviceId, DeviceId, NetworkSet, double>, int> edges;
  for (std::uint32_t l = 0; l < s.link_count(); ++l) {
    const Link& link = s.link(LinkId{l});
    if (link.networks == bit(Network::kManagement)) continue;
    DeviceId a = box(s.port(link.a).device), b = box(s.port(link.b).device);
    if (!a.ok() || !b.ok() || a == b) continue;
    ++edges[{std::min(a, b), std::max(a, b), link.networks, link.rate.value()}];
  }
  std::string out = fmt::format(
      "// Site {}: {} cards, {} links. Draw with: dot -Tsvg (management network left out)\ngraph {} {{\n  rankdir=BT; node [shape=box, "
      "fontname=\"sans-serif\", fontsize=10]; edge [fontsize=8];\n",
      s.site_name(), s.cards().size(), s.link_count(), quote(s.site_name()));
  std::size_t boxes = 0;
  auto name = [&](DeviceId d) { return s.name(d); };
  for (DeviceId node : s.of_kind(DeviceKind::kNode)) {
    std::string label = name(node) + (s.alias(node).empty() ? "" : "\\n" + s.alias(node));
    if (!detail) {
      std::size_t cards = 0;
      for (DeviceId c : s.children(node)) cards += s.device(c).kind == DeviceKind::kCard;
      out += fmt::format("  {} [label=\"{}\\n{} cards\"];\n", quote(name(node)), label, cards);
      ++boxes;
      continue;
    }
    out += fmt::format("  subgraph {} {{\n    label=\"{}\"; style=rounded; color=gray60;\n", quote("cluster_" + name(node)), label);
    for (DeviceId d : s.children(node)) {
      DeviceKind k = s.device(d).kind;
      if (k != DeviceKind::kCard && k != DeviceKind::kNic && k != DeviceKind::kSwitch) continue;
      std::string local = name(d).substr(name(node).size() + 1);
      out += fmt::format("    {} [label=\"{}\"{}];\n", quote(name(d)), local,
                         k == DeviceKind::kCard     ? ", style=filled, fillcolor=\"#cfe8cf\""
                         : k == DeviceKind::kSwitch ? ", shape=ellipse, style=filled, fillcolor=\"#d9d2e9\""
                                                    : ", fontsize=8");
      ++boxes;
    }
    out += "  }\n";
  }
  for (DeviceKind k : {DeviceKind::kSwitch, DeviceKind::kStorage})
    for (DeviceId d : s.of_kind(k)) {
      if (s.container(d, DeviceKind::kNode).ok()) continue;
      if (std::none_of(edges.begin(), edges.end(), [&](const auto& e) { return std::get<0>(e.first) == d || std::get<1>(e.first) == d; }))
        continue;  // management only
      out += fmt::format("  {} [shape={}, style=filled, fillcolor=\"#d0e0f0\"];\n", quote(name(d)),
                         k == DeviceKind::kSwitch ? "ellipse" : "cylinder");
      if (++boxes > kMaxBoxes) break;
    }
  if (boxes > kMaxBoxes)
    return fail(
        ErrorKind::kInvalid,
        fmt::format("the drawing would have more than {} boxes, which nobody can read; draw one node's form or a smaller site", kMaxBoxes));
  for (const auto& [key, count] : edges) {
    const auto& [a, b, networks, rate] = key;
    const char* colour = networks & bit(Network::kScaleUp) ? "#6a3d9a" : networks & bit(Network::kScaleOut) ? "#1f78b4" : "#b15928";
    std::string label = rate > 0 ? fmt::format("{}x{:g}G", count, rate / 1e9) : fmt::format("{}x", count);
    out += fmt::format("  {} -- {} [label=\"{}\", color=\"{}\"];\n", quote(name(a)), quote(name(b)), label, colour);
  }
  return out + "}\n";
}

WEFT_REGISTER(exporters(), {"dot", "Graphviz drawing: nodes, cards, switches, links by number and rate", false, write});

}  // namespace
}  // namespace weft::fabric
