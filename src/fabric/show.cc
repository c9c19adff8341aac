#include "fabric/show.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "fabric/site.h"

namespace weft::fabric {
namespace {

// "a", "a, b", "a … z (17)".
std::string names(const Snapshot& s, const std::vector<DeviceId>& list) {
  if (list.empty()) return "–";
  if (list.size() <= 2) return s.name(list.front()) + (list.size() == 2 ? ", " + s.name(list.back()) : "");
  return fmt::format("{} … {} ({})", s.name(list.front()), s.name(list.back()), list.size());
}

std::string model_name(const Snapshot& s, DeviceId d) {
  const DeviceModel* m = s.model_of(d);
  return m ? m->name : "not known";
}

Section supernodes(const Snapshot& s) {
  Section out{"Supernodes", {}, {}, {}, {}};
  Table t{"",
          {{"supernode"},
           {"nodes", Align::kRight},
           {"spare", Align::kRight},
           {"cards", Align::kRight},
           {"card"},
           {"usable cards", Align::kRight}},
          {}};
  std::set<std::uint32_t> spare;
  for (DeviceId n : spare_nodes(s)) spare.insert(n.v);
  std::size_t shown = 0;
  for (DeviceId sn : s.of_kind(DeviceKind::kSupernode)) {
    if (++shown > 20) continue;
    std::size_t nodes = 0, spares = 0, cards = 0, usable = 0;
    std::string card = "–";
    for (DeviceId node : s.children(sn)) {
      if (s.device(node).kind != DeviceKind::kNode) continue;
      ++nodes, spares += spare.contains(node.v);
      for (DeviceId c : s.children(node))
        if (s.device(c).kind == DeviceKind::kCard) ++cards, usable += s.usable(c), card = model_name(s, c);
    }
    t.rows.push_back(
        {s.name(sn), fmt::format("{}", nodes), fmt::format("{}", spares), fmt::format("{}", cards), card, fmt::format("{}", usable)});
  }
  if (shown > 20) out.paragraphs.push_back(fmt::format("The first 20 of {} supernodes.", shown));
  out.tables.push_back(t);
  return out;
}

Section networks(const Snapshot& s) {
  Section out{"Networks",
              {"Switches of one network, place, tier and model together. Links: from the lower end; rates in one direction."},
              {},
              {},
              {}};
  Table t{"", {{"network"}, {"from"}, {"to"}, {"links", Align::kRight}, {"spare", Align::kRight}, {"rate", Align::kRight}, {"medium"}}, {}};
  auto role = [&](DeviceId d) {
    const Device& x = s.device(d);
    if (x.kind != DeviceKind::kSwitch) return std::string(kind_name(x.kind));
    std::string base = s.name(d);
    base = base.substr(base.rfind('/') + 1);
    while (!base.empty() && base.back() >= '0' && base.back() <= '9') base.pop_back();
    return fmt::format("{}{}", base, x.tier >= 0 ? fmt::format(" (tier {})", x.tier) : "");
  };
  struct Sum {
    std::size_t links = 0, spare = 0;
  };
  std::map<std::tuple<int, std::string, std::string, double, Medium>, Sum> sums;
  for (const Link& l : s.links()) {
    DeviceId a = s.port(l.a).device, b = s.port(l.b).device;
    auto rank = [&](DeviceId d) { return s.device(d).kind == DeviceKind::kSwitch ? 10 + s.device(d).tier : 0; };
    if (rank(a) > rank(b)) std::swap(a, b);
    for (int n = 0; n < 5; ++n)
      if (l.networks & bit(static_cast<Network>(n))) {
        Sum& sum = sums[{n, role(a), role(b), l.rate.value(), l.medium}];
        ++sum.links, sum.spare += l.spare;
      }
  }
  for (const auto& [key, sum] : sums) {
    const auto& [n, from, to, rate, medium] = key;
    t.rows.push_back({std::string(network_name(static_cast<Network>(n))), from, to, fmt::format("{}", sum.links),
                      fmt::format("{}", sum.spare), rate > 0 ? human(BitsPerSecond(rate)) : "not known", std::string(medium_name(medium))});
  }
  out.tables.push_back(t);
  return out;
}

Section domains(const Snapshot& s) {
  Section out{"Domains", {}, {}, {}, {}};
  Table t{"", {{"kind"}, {"name"}, {"members"}}, {}};
  std::map<DomainKind, std::size_t> shown;
  for (const Domain& d : s.domains())
    if (++shown[d.kind] <= 8) t.rows.push_back({std::string(domain_kind_name(d.kind)), d.name, names(s, d.members)});
  for (auto [kind, n] : shown)
    if (n > 8) out.paragraphs.push_back(fmt::format("The first 8 of {} {} domains.", n, domain_kind_name(kind)));
  out.tables.push_back(t);
  return out;
}

Section health(const Snapshot& s) {
  Section out{"Health", {}, {}, {}, {}};
  Table t{"", {{"what"}, {"state"}}, {}};
  for (const auto& [link, h] : s.link_overlay()) {
    std::string state = h.state == LinkState::kDown       ? "down"
                        : h.state == LinkState::kDegraded ? fmt::format("degraded to {:.0f} %", h.rate_factor * 100)
                                                          : "up";
    t.rows.push_back({s.name(link), state + (h.in_service ? "" : ", out of service")});
  }
  for (const auto& [device, h] : s.device_overlay()) {
    std::string state = h.state == DeviceState::kFailed ? "failed" : h.state == DeviceState::kSuspect ? "suspect" : "up";
    t.rows.push_back({s.name(device), state + (h.cordoned ? ", cordoned" : "") + (h.owner.empty() ? "" : " by " + h.owner) +
                                          (h.reason.empty() ? "" : ": " + h.reason)});
  }
  if (t.rows.empty()) out.paragraphs.push_back("Nothing differs from what was built.");
  else out.tables.push_back(t);
  return out;
}

}  // namespace

Report describe(const Snapshot& s) {
  Report r;
  r.title = "Site " + s.site_name();
  Section head;
  for (int k = 1; k <= static_cast<int>(DeviceKind::kOcs); ++k)
    if (std::size_t n = s.of_kind(static_cast<DeviceKind>(k)).size())
      head.facts.emplace_back(std::string(kind_name(static_cast<DeviceKind>(k))), fmt::format("{}", n));
  head.facts.emplace_back("links", fmt::format("{}", s.link_count()));
  head.facts.emplace_back("version", fmt::format("{}", s.version()));
  head.facts.emplace_back("content", fmt::format("{:016x}", s.content_hash()));
  r.sections = {head, supernodes(s), networks(s), domains(s), health(s)};
  return r;
}

}  // namespace weft::fabric
