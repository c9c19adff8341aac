// A drawing that needs no other program: tiers of switches above, racks with their nodes and cards below, bundles of links between them with
// a width by their number. Every shape has a title (the name), so that a browser shows it on hover.
#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <set>

#include "fabric/exporters/exporter.h"

namespace weft::fabric {
namespace {

constexpr std::size_t kMaxNodes = 400, kMaxSwitches = 800;
constexpr double kCard = 14, kGap = 4, kPad = 8, kTierGap = 70, kSwitchW = 56, kSwitchH = 22;

std::string xml(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else out += c;
  }
  return out;
}

struct Box {
  double x = 0, y = 0, w = 0, h = 0;
  double cx() const { return x + w / 2; }
};

std::string rect(const Box& b, const char* fill, const std::string& title, double radius = 3, const char* stroke = "#555") {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:g}\" fill=\"{}\" stroke=\"{}\"><title>{}</title></rect>\n",
      b.x, b.y, b.w, b.h, radius, fill, stroke, xml(title));
}
std::string text(double x, double y, const std::string& t, int size = 10, const char* anchor = "middle") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, size, anchor, xml(t));
}

Result<std::string> write(const Snapshot& s, const ExportOptions&) {
  auto nodes = s.of_kind(DeviceKind::kNode);
  if (nodes.size() > kMaxNodes)
    return fail(ErrorKind::kInvalid,
                fmt::format("{} nodes are too many for one drawing (at most {}); draw a smaller site or use dot", nodes.size(), kMaxNodes));
  // Switches outside nodes, by network and tier; those of the management network are not drawn.
  std::map<std::pair<int, int>, std::vector<DeviceId>> tiers;  // (0 scale-out and storage, 1 scale-up; tier) → switches
  std::size_t switches = 0;
  for (DeviceId d : s.of_kind(DeviceKind::kSwitch)) {
    if (s.container(d, DeviceKind::kNode).ok()) continue;
    NetworkSet networks = 0;
    for (PortId p : s.ports_of(d)) networks |= s.port(p).networks;
    if (networks == bit(Network::kManagement)) continue;
    bool up = networks & bit(Network::kScaleUp);
    tiers[{up ? 1 : 0, std::max<int>(0, s.device(d).tier)}].push_back(d);
    ++switches;
  }
  if (switches > kMaxSwitches)
    return fail(ErrorKind::kInvalid, fmt::format("{} switches are too many for one drawing (at most {}); use dot", switches, kMaxSwitches));

  // Nodes stand rack by rack in columns; a node without a rack stands alone.
  std::map<DeviceId, std::string> rack_of;
  for (const Domain& d : s.domains())
    if (d.kind == DomainKind::kRack)
      for (DeviceId m : d.members)
        if (s.device(m).kind == DeviceKind::kNode) rack_of[m] = d.name;
  std::vector<std::pair<std::string, std::vector<DeviceId>>> columns;
  std::map<std::string, std::size_t> column_of;
  for (DeviceId n : nodes) {
    std::string rack = rack_of.contains(n) ? rack_of[n] : "";
    if (rack.empty()) columns.push_back({"", {n}});
    else if (auto [it, fresh] = column_of.try_emplace(rack, columns.size()); fresh) columns.push_back({rack, {n}});
    else columns[it->second].second.push_back(n);
  }
  std::map<DeviceId, Box> at;
  std::map<DeviceId, DeviceId> joint;  // node → first node of its rack: bundles are drawn from racks
  std::map<DeviceId, std::string> joint_name;
  std::size_t tier_rows = tiers.size();
  double top = 56 + static_cast<double>(tier_rows) * kTierGap, x = 20, bottom = top;
  std::string body;
  auto children = [&](DeviceId node, DeviceKind kind) {
    std::vector<DeviceId> out;
    for (DeviceId d : s.children(node))
      if (s.device(d).kind == kind) out.push_back(d);
    return out;
  };
  for (const auto& [rack, members] : columns) {
    double y = top + 18, widest = 0;
    double rack_x = x;
    std::string inside;
    for (DeviceId n : members) {
      auto cards = children(n, DeviceKind::kCard), nics = children(n, DeviceKind::kNic), local = children(n, DeviceKind::kSwitch);
      std::size_t per_row = std::clamp<std::size_t>(cards.size(), 4, 16), rows = (cards.size() + per_row - 1) / per_row;
      std::string label = s.name(n) + (s.alias(n).empty() ? "" : " " + s.alias(n));
      double w = std::max({static_cast<double>(per_row) * (kCard + kGap), static_cast<double>(std::max(nics.size(), local.size())) * 12,
                           6.2 * static_cast<double>(label.size())}) +
                 2 * kPad;
      double cards_y = 16, local_y = local.empty() ? 0 : 14, nic_y = nics.empty() ? 0 : 12;
      Box node{x + kPad, y, w, cards_y + nic_y + static_cast<double>(rows) * (kCard + kGap) + local_y + kPad};
      at[n] = node;
      inside += rect(node, "#fafafa", label, 4) + text(node.x + kPad, node.y + 11, label, 9, "start");
      for (std::size_t i = 0; i < nics.size(); ++i) {
        Box b{node.x + kPad + static_cast<double>(i) * 12, node.y + 15, 10, 8};
        at[nics[i]] = b;
        inside += rect(b, "#9ecae1", s.name(nics[i]), 1);
      }
      for (std::size_t i = 0; i < cards.size(); ++i) {
        Box b{node.x + kPad + static_cast<double>(i % per_row) * (kCard + kGap),
              node.y + cards_y + nic_y + static_cast<double>(i / per_row) * (kCard + kGap), kCard, kCard};
        at[cards[i]] = b;
        bool ok = s.usable(cards[i]);
        inside += rect(b, ok ? "#a1d99b" : "#fc9272",
                       s.name(cards[i]) + (s.model_of(cards[i]) ? ", " + s.model_of(cards[i])->name : "") + (ok ? "" : ", not usable"), 2);
      }
      for (std::size_t i = 0; i < local.size(); ++i) {
        Box b{node.x + kPad + static_cast<double>(i) * 12, node.y + node.h - kPad - 8, 10, 8};
        at[local[i]] = b;
        inside += rect(b, "#bcbddc", s.name(local[i]), 4);
      }
      y += node.h + 6;
      widest = std::max(widest, node.w);
    }
    Box frame{rack_x, top, widest + 2 * kPad, y - top + 4};
    for (DeviceId n : members) joint[n] = members[0];
    joint_name[members[0]] = rack.empty() ? s.name(members[0]) : rack;
    Box outer = rack.empty() ? at[members[0]] : frame;
    if (!rack.empty()) body += rect(frame, "#f0f0f0", rack, 6, "#999") + text(frame.x + kPad, frame.y + 13, rack, 11, "start");
    body += inside;
    at[members[0]] = outer;
    x += frame.w + 12;
    bottom = std::max(bottom, y + 4);
  }
  auto storages = s.of_kind(DeviceKind::kStorage);
  for (DeviceId d : storages) {
    if (s.container(d, DeviceKind::kNode).ok()) continue;
    Box b{x, top + 18, 90, 30};
    at[d] = b;
    body += rect(b, "#fdd0a2", s.name(d)) + text(b.cx(), b.y + 19, s.name(d));
    x += 100;
  }
  double width = std::max(x, 480.0);
  // Highest tier on top; scale-out above scale-up.
  std::size_t row = 0;
  for (auto it = tiers.begin(); it != tiers.end(); ++it) {
    // map order: scale-out tiers 0,1,2 then scale-up 0,1; drawn from the bottom: scale-up first.
    row = 0;
    for (auto other = tiers.begin(); other != tiers.end(); ++other)
      row += other->first.first < it->first.first || (other->first.first == it->first.first && other->first.second > it->first.second);
    double y = 44 + static_cast<double>(row) * kTierGap, step = width / static_cast<double>(it->second.size());
    double w = std::clamp(step - 6, 6.0, kSwitchW);
    body += text(
        6, y - 4,
        fmt::format("{}, tier {}: {} switches", it->first.first ? "scale-up" : "scale-out / storage", it->first.second, it->second.size()),
        9, "start");
    for (std::size_t i = 0; i < it->second.size(); ++i) {
      Box b{step * (static_cast<double>(i) + 0.5) - w / 2, y, w, kSwitchH};
      at[it->second[i]] = b;
      body += rect(b, it->first.first ? "#bcbddc" : "#9ecae1", s.name(it->second[i]), 8);
      std::string local = s.name(it->second[i]);
      local = local.substr(local.rfind('/') + 1);
      if (w > 5.5 * static_cast<double>(local.size())) body += text(b.cx(), b.y + 15, local, 10);
    }
  }
  // Bundles between switches, and from racks (or nodes without one) to switches, so that 72 cards do not hide the picture.
  std::map<std::pair<DeviceId, DeviceId>, std::pair<int, int>> bundles;  // → links, not usable
  for (std::uint32_t l = 0; l < s.link_count(); ++l) {
    const Link& link = s.link(LinkId{l});
    if (link.networks == bit(Network::kManagement)) continue;
    DeviceId ends[2] = {s.port(link.a).device, s.port(link.b).device};
    for (DeviceId& e : ends)
      if (DeviceId n = s.container(e, DeviceKind::kNode); n.ok()) e = joint[n];
    if (ends[0] == ends[1] || !at.contains(ends[0]) || !at.contains(ends[1])) continue;
    auto& [all, bad] = bundles[{std::min(ends[0], ends[1]), std::max(ends[0], ends[1])}];
    ++all, bad += link.rate.value() > 0 && s.effective_rate(LinkId{l}).value() < link.rate.value() && !link.spare;
  }
  auto called = [&](DeviceId d) { return joint_name.contains(d) ? joint_name[d] : s.name(d); };
  std::string lines;
  for (const auto& [ends, count] : bundles) {
    Box a = at[ends.first], b = at[ends.second];
    if (a.y > b.y) std::swap(a, b);
    lines += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-opacity=\"0.45\" "
        "stroke-width=\"{:.1f}\"><title>{} - {}: {} links{}</title></line>\n",
        a.cx(), a.y + a.h, b.cx(), b.y, count.second ? "#d62728" : "#777", std::min(5.0, 0.6 + 0.25 * count.first), xml(called(ends.first)),
        xml(called(ends.second)), count.first, count.second ? fmt::format(", {} below their rate", count.second) : "");
  }
  std::string head = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width + 10, bottom + 16);
  return head +
         text(6, 18, fmt::format("{}: {} cards in {} nodes, {} links", s.site_name(), s.cards().size(), nodes.size(), s.link_count()), 14,
              "start") +
         lines + body + "</svg>\n";
}

WEFT_REGISTER(exporters(), {"svg", "drawing: switch tiers, racks, nodes, cards, bundles of links", false, write});

}  // namespace
}  // namespace weft::fabric
