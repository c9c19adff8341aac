#include "fabric/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "fabric/routes.h"

namespace weft::fabric {
namespace {

std::vector<std::string> device_names(const Snapshot& s) {
  std::vector<std::string> out;
  for (std::uint32_t d = 1; d < s.device_count(); ++d) out.push_back(s.name(DeviceId{d}));
  return out;
}

std::map<std::string, std::string> far_ends(const Snapshot& s) {
  std::map<std::string, std::string> out;
  for (const Link& l : s.links()) {
    std::string a = s.name(l.a), b = s.name(l.b);
    out.emplace(std::min(a, b), std::max(a, b));
  }
  return out;
}

// What a route looks like from outside: the links by their ends, with shares and rates.
std::vector<std::tuple<std::string, float, double>> shape(const Snapshot& s, const Route& r) {
  std::vector<std::tuple<std::string, float, double>> out;
  for (const RouteHop& h : r.hops) {
    const Link& l = s.link(h.link.link());
    out.emplace_back(s.name(h.link.forward() ? l.a : l.b) + ">" + s.name(h.link.forward() ? l.b : l.a), h.share,
                     s.effective_rate(h.link.link()).value());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Growth grow(const Snapshot& before, const Snapshot& after, const std::vector<CardGroup>& groups) {
  Growth g;
  std::vector<std::string> was = device_names(before), is = device_names(after);
  std::set<std::string> was_set(was.begin(), was.end()), is_set(is.begin(), is.end());
  for (const std::string& n : is)
    if (!was_set.contains(n)) g.added.push_back(n);
  for (const std::string& n : was)
    if (!is_set.contains(n)) g.removed.push_back(n);
  auto old_links = far_ends(before), new_links = far_ends(after);
  for (const auto& [port, far] : new_links) {
    auto at = old_links.find(port);
    if (at == old_links.end()) ++g.links_added;
    else if (at->second != far) g.recabled.push_back(fmt::format("{}: was {}, is {}", port, at->second, far));
  }
  for (const auto& [port, far] : old_links) g.links_removed += !new_links.contains(port);

  std::map<std::pair<DomainKind, std::string>, std::pair<std::vector<std::string>, std::vector<std::string>>> domains;
  for (const Domain& d : before.domains())
    for (DeviceId m : d.members) domains[{d.kind, d.name}].first.push_back(before.name(m));
  for (const Domain& d : after.domains())
    for (DeviceId m : d.members) domains[{d.kind, d.name}].second.push_back(after.name(m));
  std::set<std::string> grown_hbds;
  for (auto& [key, members] : domains) {
    std::sort(members.first.begin(), members.first.end()), std::sort(members.second.begin(), members.second.end());
    if (members.first == members.second) continue;
    g.domains.push_back(
        {key.first, key.second, members.first.size(), members.second.size(), members.first.size() == members.second.size()});
    if (key.first == DomainKind::kHbd) grown_hbds.insert(key.second);
  }

  Routes old_routes(before), new_routes(after);
  bool longer = false, narrower = false;
  for (const CardGroup& group : groups) {
    GroupChange c;
    c.name = group.name;
    for (std::size_t i = 0; i < group.cards.size(); ++i) {
      DeviceId a = group.cards[i], b = group.cards[(i + 1) % group.cards.size()];
      auto new_a = after.find_device(before.name(a)), new_b = after.find_device(before.name(b));
      if (!new_a) {
        c.gone.push_back(before.name(a));
        continue;
      }
      if (!new_b || a == b) continue;
      ++c.pairs;
      const Route &x = old_routes.best(a, b), &y = new_routes.best(*new_a, *new_b);
      if (x.reachable == y.reachable && x.length == y.length && shape(before, x) == shape(after, y)) continue;
      ++c.changed;
      c.longer = c.longer || y.length > x.length;
      c.narrower = c.narrower || y.width < x.width;
      c.cut = c.cut || (x.reachable && !y.reachable);
    }
    longer = longer || c.longer, narrower = narrower || c.narrower;
    g.groups.push_back(std::move(c));
  }

  std::map<DeviceKind, std::size_t> new_kinds;
  for (const std::string& n : g.added)
    if (auto d = after.find_device(n)) ++new_kinds[after.device(*d).kind];
  if (new_kinds[DeviceKind::kNode] > 0)
    g.measure_again.push_back(fmt::format("acceptance of {} new nodes: cards, links inside the node, configuration against the others",
                                          new_kinds[DeviceKind::kNode]));
  for (const std::string& name : grown_hbds)
    g.measure_again.push_back("all-reduce and all-to-all inside " + name + ": its members changed");
  if (new_kinds[DeviceKind::kSwitch] > 0)
    g.measure_again.push_back(fmt::format(
        "scale-out all-reduce and all-to-all across the {} new switches: lossless settings hop by hop, then bandwidth under load",
        new_kinds[DeviceKind::kSwitch]));
  if (!g.recabled.empty())
    g.measure_again.push_back(
        fmt::format("{} recabled ports: discovered cabling against this file, then error counters under load", g.recabled.size()));
  for (const GroupChange& c : g.groups)
    if (c.any())
      g.measure_again.push_back("collectives of " + c.name + ": " +
                                (c.cut             ? "a pair has no route any more"
                                 : !c.gone.empty() ? "cards are gone"
                                 : c.narrower      ? "a route became narrower"
                                 : c.longer        ? "a route became longer"
                                                   : "routes take other links"));
  return g;
}

Report to_report(const Growth& g, const Snapshot& before, const Snapshot& after) {
  Report r;
  r.title = fmt::format("From {} to {}", before.site_name(), after.site_name());
  Section head{"", {}, {}, {}, {}};
  head.facts = {{"cards", fmt::format("{} → {}", before.cards().size(), after.cards().size())},
                {"devices added", fmt::format("{}", g.added.size())},
                {"devices removed", fmt::format("{}", g.removed.size())},
                {"links added", fmt::format("{}", g.links_added)},
                {"links removed", fmt::format("{}", g.links_removed)},
                {"ports recabled", fmt::format("{}", g.recabled.size())}};
  if (g.same()) head.paragraphs.push_back("Both sites have the same devices, links and domains.");
  r.sections.push_back(head);
  auto list = [](const std::vector<std::string>& all) {
    std::vector<std::string> out(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(all.size(), 12)));
    if (all.size() > 12) out.push_back(fmt::format("… and {} more", all.size() - 12));
    return out;
  };
  if (!g.removed.empty()) r.sections.push_back({"Removed devices", list(g.removed), {}, {}, {}});
  if (!g.recabled.empty()) r.sections.push_back({"Recabled", list(g.recabled), {}, {}, {}});
  if (!g.domains.empty()) {
    Table t{"", {{"kind"}, {"domain"}, {"before", Align::kRight}, {"after", Align::kRight}, {"note"}}, {}};
    for (const DomainChange& d : g.domains)
      t.rows.push_back({std::string(domain_kind_name(d.kind)), d.name, fmt::format("{}", d.before), fmt::format("{}", d.after),
                        d.before == 0               ? "new"
                        : d.after == 0              ? "gone"
                        : d.same_size_other_members ? "other members"
                                                    : ""});
    r.sections.push_back({"Domains that change", {}, {}, {t}, {}});
  }
  if (!g.groups.empty()) {
    Table t{"", {{"group"}, {"neighbour pairs", Align::kRight}, {"routes changed", Align::kRight}, {"how"}}, {}};
    for (const GroupChange& c : g.groups)
      t.rows.push_back({c.name, fmt::format("{}", c.pairs), fmt::format("{}", c.changed),
                        !c.gone.empty() ? fmt::format("{} cards gone ({} …)", c.gone.size(), c.gone[0])
                        : c.cut         ? "a pair has no route"
                        : c.narrower    ? "narrower"
                        : c.longer      ? "longer"
                        : c.changed     ? "other links"
                                        : "unchanged"});
    r.sections.push_back({"Jobs and groups", {}, {}, {t}, {}});
  }
  if (!g.measure_again.empty()) r.sections.push_back({"Measure again before work goes on", g.measure_again, {}, {}, {}});
  return r;
}

}  // namespace weft::fabric
