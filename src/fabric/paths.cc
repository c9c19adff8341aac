#include "fabric/paths.h"

#include <fmt/format.h>

#include <map>

namespace weft::fabric {

Report to_report(const Route& route, const Snapshot& s, DeviceId from, DeviceId to, Network network) {
  Report r;
  r.title = fmt::format("{} → {} on {}", s.name(from), s.name(to), network_name(network));
  Section head;
  if (!route.reachable) {
    head.paragraphs.push_back(fmt::format("No route on {}: no chain of links that carry traffic joins them.", network_name(network)));
    r.sections.push_back(head);
    return r;
  }
  head.facts = {{"links on one path", fmt::format("{}", route.length)},
                {"links used", fmt::format("{}", route.hops.size())},
                {"one flow reaches", route.width.value() > 0 ? human(route.width) : "not known"},
                {"latency, slowest path", human(route.latency)}};
  r.sections.push_back(head);
  if (route.hops.empty()) return r;
  // Hops in order of travel: by distance from the source, in breadth-first steps over the hops themselves.
  std::map<std::uint32_t, int> depth;
  auto ends = [&](const RouteHop& h) {
    const Link& l = s.link(h.link.link());
    DeviceId a = s.port(l.a).device, b = s.port(l.b).device;
    return h.link.forward() ? std::pair(a, b) : std::pair(b, a);
  };
  std::map<std::uint32_t, bool> entered;
  for (const RouteHop& h : route.hops) entered[ends(h).second.v] = true;
  for (const RouteHop& h : route.hops)
    if (!entered.contains(ends(h).first.v)) depth[ends(h).first.v] = 0;
  for (int round = 0; round <= route.length; ++round)
    for (const RouteHop& h : route.hops)
      if (auto at = depth.find(ends(h).first.v); at != depth.end() && at->second == round) depth.try_emplace(ends(h).second.v, round + 1);
  Table t{"", {{"step", Align::kRight}, {"from"}, {"to"}, {"cable"}, {"share", Align::kRight, "%"}, {"rate", Align::kRight}}, {}};
  for (int step = 0; step <= route.length; ++step)
    for (const RouteHop& h : route.hops) {
      if (depth[ends(h).first.v] != step) continue;
      const Link& l = s.link(h.link.link());
      BitsPerSecond rate = s.effective_rate(h.link.link());
      std::string_view cable = s.cable_name(h.link.link());
      t.rows.push_back({fmt::format("{}", step + 1), s.name(h.link.forward() ? l.a : l.b), s.name(h.link.forward() ? l.b : l.a),
                        cable.empty() ? "–" : "cable/" + std::string(cable), fmt::format("{:.2f}", static_cast<double>(h.share) * 100),
                        rate.value() > 0 ? human(rate) : "not known"});
    }
  r.sections.push_back({"Links", {}, {}, {t}, {}});
  return r;
}

}  // namespace weft::fabric
