#include "fabric/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "fabric/count.h"
#include "fabric/media.h"
#include "fabric/routes.h"
#include "fabric/structure.h"

namespace weft::fabric {
namespace {

// Bands of heat per rack. Disagreeing sources (IDC Magazine 25-35 kW, Factryze ~30 kW, OCP halls at 20 kW) put the end of plain air between 20 and 35.
constexpr double kAirKw = 20, kAirHardKw = 35, kRearDoorKw = 50;
constexpr double kLitresPerMinutePerKw = 1.5;  // OCP guidance for about 10 K rise, as cited by ProphetStor
constexpr const char* kBandsSource =
    "OCP 20 kW hall positions; air to about 35 kW with care (intelligentdatacentres.com); liquid above 50 kW";

class Results {
 public:
  void add(std::string rule, Verdict v, std::string entity, std::string message, std::string source = {}) {
    for (CheckResult& r : out)
      if (r.rule == rule && r.verdict == v && r.message == message) {
        ++more[&r - out.data()];
        return;
      }
    out.push_back({std::move(rule), v, std::move(entity), std::move(message), std::move(source)});
    more.push_back(0);
  }
  std::vector<CheckResult> take() {
    for (std::size_t i = 0; i < out.size(); ++i)
      if (more[i] > 0) out[i].entity += fmt::format(" and {} more", more[i]);
    return std::move(out);
  }

 private:
  std::vector<CheckResult> out;
  std::vector<std::size_t> more;
};

void cable_length(const Snapshot& s, const Media& media, Results& r) {
  // Links by what the rule looks at, so that a million alike are judged once.
  std::map<std::tuple<Medium, float, double>, std::pair<LinkId, std::size_t>> kinds;
  for (std::uint32_t i = 0; i < s.link_count(); ++i) {
    const Link& l = s.link(LinkId{i});
    if (l.medium == Medium::kBoard || l.medium == Medium::kBackplane) continue;
    auto [at, fresh] = kinds.try_emplace({l.medium, l.length_m, l.rate.value()}, LinkId{i}, 0);
    ++at->second.second;
  }
  std::size_t good = 0;
  for (const auto& [key, kind] : kinds) {
    auto [medium, length, rate] = key;
    auto [first, links] = kind;
    std::string entity = s.name(first) + (links > 1 ? fmt::format(" and {} more", links - 1) : "");
    std::string what = fmt::format("{} at {}", medium_name(medium), rate > 0 ? human(BitsPerSecond(rate)) : "an unknown rate");
    auto lane = media.lane_of(BitsPerSecond(rate));
    const MediumLimit* limit = lane ? media.limit(medium, *lane) : nullptr;
    if (medium == Medium::kUnknown || length < 0) {
      r.add("cable-length", Verdict::kUnknown, entity,
            medium == Medium::kUnknown ? "medium not known: give 'medium' in the site file"
                                       : what + ": length not known: give 'length' in the site file");
    } else if (!limit) {
      r.add("cable-length", Verdict::kUnknown, entity,
            fmt::format("{}: the media catalogue has no reach for this {}", what, lane ? "lane rate" : "link rate"));
    } else if (static_cast<double>(length) > limit->reach.value() + 1e-6) {
      const MediumLimit* other = nullptr;
      for (Medium m : {Medium::kAcc, Medium::kAec, Medium::kAoc, Medium::kOptical})
        if (const MediumLimit* x = media.limit(m, *lane); x && !other && static_cast<double>(length) <= x->reach.value()) other = x;
      r.add("cable-length", Verdict::kFail, entity,
            fmt::format("{} of {:g} m is longer than the {:g} m this lane rate ({}) reaches; {}", what, length, limit->reach.value(),
                        human(*lane), other ? fmt::format("use {}", medium_name(other->medium)) : "place the ends closer together"),
            limit->source);
    } else {
      good += links;
    }
  }
  if (good > 0) r.add("cable-length", Verdict::kOk, "", fmt::format("{} links within the reach of their medium", good));
}

void ports(const Snapshot& s, Results& r) {
  std::size_t good = 0;
  for (DeviceId sw : s.of_kind(DeviceKind::kSwitch)) {
    const DeviceModel* m = s.model_of(sw);
    if (!m || m->ports == 0) continue;
    auto used = s.ports_of(sw).size();
    if (used > static_cast<std::size_t>(m->ports))
      r.add("switch-ports", Verdict::kFail, s.name(sw),
            fmt::format("{} ports are used, a {} has {}: add switches or take a larger one", used, m->name, m->ports), m->source);
    else ++good;
  }
  if (good > 0) r.add("switch-ports", Verdict::kOk, "", fmt::format("{} switches have the ports they need", good));
}

void power_and_cooling(const Snapshot& s, Results& r) {
  std::map<std::uint32_t, DeviceId> cdu_of;  // rack → its coolant unit
  for (const Domain& d : s.domains())
    if (d.kind == DomainKind::kCooling) {
      DeviceId cdu;
      for (DeviceId m : d.members)
        if (s.device(m).kind == DeviceKind::kCdu) cdu = m;
      for (DeviceId m : d.members)
        if (s.device(m).kind == DeviceKind::kRack && cdu.ok()) cdu_of[m.v] = cdu;
    }
  std::map<std::uint32_t, double> heat;
  for (const RackPower& p : rack_power(s)) {
    double kw = p.least().value() / 1000;
    std::string name = s.name(p.rack), at_least = p.unknown_parts > 0 && !p.rated ? "at least " : "";
    std::string load = fmt::format("{}{:.1f} kW", at_least, kw);
    bool liquid = p.cooling == "liquid", door = p.cooling == "rear-door";
    if (p.least().value() <= 0) {
      r.add("rack-cooling", Verdict::kUnknown, name, "power not known: give 'card', 'host_power' or 'rack_power' in the site file");
      continue;
    }
    if (p.cooling.empty()) {
      r.add("rack-cooling", kw > kRearDoorKw ? Verdict::kFail : Verdict::kUnknown, name,
            fmt::format("{}; cooling not known: give 'cooling: air, rear-door or liquid'{}", load,
                        kw > kRearDoorKw ? " (above 50 kW only liquid will do)" : ""),
            kBandsSource);
    } else if (liquid) {
      r.add("rack-cooling", Verdict::kOk, name,
            kw > kAirKw ? load + ", more than the 20 kW of plain air; liquid-cooled" : load + ", liquid-cooled", kBandsSource);
    } else if (kw > kRearDoorKw) {
      r.add("rack-cooling", Verdict::kFail, name, load + " needs liquid cooling (more than 50 kW); spread the nodes or change the cooling",
            kBandsSource);
    } else if (kw > kAirHardKw) {
      r.add("rack-cooling", door ? Verdict::kOk : Verdict::kFail, name,
            load + (door ? ", rear-door heat exchanger"
                         : " is too much for air (35 to 50 kW needs a rear-door heat exchanger); spread the nodes or change the cooling"),
            kBandsSource);
    } else if (kw > kAirKw && !door) {
      r.add("rack-cooling", Verdict::kWarning, name,
            load + " by air is in the doubtful band of 20 to 35 kW: check air flow and inlet temperature, or spread the nodes",
            kBandsSource);
    } else {
      r.add("rack-cooling", at_least.empty() ? Verdict::kOk : Verdict::kUnknown, name,
            load + " by " + p.cooling + (at_least.empty() ? "" : ": some parts have no power figure, give 'host_power' or 'rack_power'"),
            kBandsSource);
    }
    if (liquid) {
      if (auto at = cdu_of.find(p.rack.v); at != cdu_of.end()) heat[at->second.v] += kw;
      else r.add("coolant", Verdict::kWarning, name, "liquid-cooled, but no coolant unit serves it: give 'facility: {cdus: N}'");
    }
    // Shelves of the rack and supplies of its nodes, with one missing.
    double shelves = 0, largest = 0;
    std::size_t count = 0;
    bool known = true;
    for (DeviceId part : s.children(p.rack))
      if (s.device(part).kind == DeviceKind::kPowerShelf) {
        const DeviceModel* m = s.model_of(part);
        known = known && m && m->power;
        if (m && m->power) shelves += m->power->value() / 1000, largest = std::max(largest, m->power->value() / 1000);
        ++count;
      }
    if (count == 0) continue;
    if (!known) r.add("rack-power", Verdict::kUnknown, name, "power of the shelves not known: give 'shelf_power'");
    else if (kw > shelves)
      r.add("rack-power", Verdict::kFail, name,
            fmt::format("{} is more than its {} shelves deliver ({:.0f} kW): add shelves", load, count, shelves));
    else if (kw > shelves - largest)
      r.add("rack-power", Verdict::kWarning, name,
            fmt::format("{} with one of {} shelves lost leaves {:.0f} kW: no redundancy", load, count, shelves - largest));
    else
      r.add("rack-power", Verdict::kOk, name,
            fmt::format("{} of {:.0f} kW, still enough with one of {} shelves lost", load, shelves, count));
  }
  for (const auto& [id, kw] : heat) {
    DeviceId cdu{id};
    const DeviceModel* m = s.model_of(cdu);
    std::size_t pumps = 0;
    for (DeviceId c : s.children(cdu)) pumps += s.device(c).kind == DeviceKind::kPump;
    std::string flow = fmt::format("{:.1f} kW of heat, about {:.0f} L/min at 1.5 L/min per kW", kw, kw * kLitresPerMinutePerKw);
    if (m && m->power && kw * 1000 > m->power->value())
      r.add("coolant", Verdict::kFail, s.name(cdu), fmt::format("{}, more than its {:.0f} kW: add a unit", flow, m->power->value() / 1000),
            "OCP, 1.25-2.0 L/min per kW");
    else if (pumps < 2)
      r.add("coolant", Verdict::kWarning, s.name(cdu), flow + ", one pump: its failure stops the coolant", "OCP, 1.25-2.0 L/min per kW");
    else r.add("coolant", Verdict::kOk, s.name(cdu), fmt::format("{}, {} pumps", flow, pumps), "OCP, 1.25-2.0 L/min per kW");
  }
}

void management(const Snapshot& s, Results& r) {
  std::size_t before = 0, links = 0;
  for (std::uint32_t i = 0; i < s.link_count(); ++i) {
    const Link& l = s.link(LinkId{i});
    if (!(l.networks & bit(Network::kManagement))) continue;
    ++links;
    if (l.networks != bit(Network::kManagement))
      r.add("management-isolation", Verdict::kFail, s.name(LinkId{i}),
            "a link carries management and business traffic: give management its own network"),
          ++before;
  }
  for (DeviceId sw : s.of_kind(DeviceKind::kSwitch)) {
    NetworkSet all = 0;
    for (PortId p : s.ports_of(sw)) all |= s.port(p).networks;
    if ((all & bit(Network::kManagement)) && all != bit(Network::kManagement))
      r.add("management-isolation", Verdict::kFail, s.name(sw),
            "a switch carries management and business networks: its failure or overload takes both; use a switch of its own"),
          ++before;
  }
  std::size_t without = 0;
  DeviceId first;
  for (DeviceId node : s.of_kind(DeviceKind::kNode)) {
    bool bmc = false;
    for (DeviceId c : s.children(node)) bmc = bmc || s.device(c).kind == DeviceKind::kBmc;
    if (!bmc && without++ == 0) first = node;
  }
  if (links == 0) r.add("management-isolation", Verdict::kUnknown, "", "the site describes no management network: give 'management:'");
  else if (before == 0) r.add("management-isolation", Verdict::kOk, "", fmt::format("{} management links, apart from all others", links));
  if (links > 0 && without > 0)
    r.add("management-isolation", Verdict::kWarning, s.name(first), fmt::format("{} nodes without a management port", without));
}

void reachability(const Snapshot& s, Results& r) {
  auto say = [&](const Reach& x, const std::string& entity, std::string_view network) {
    if (x.unreachable_pairs > 0)
      r.add("reachability", Verdict::kFail, entity,
            fmt::format(
                "{} of {} pairs cannot reach each other on {}{}", x.unreachable_pairs, x.end_points * (x.end_points - 1) / 2, network,
                x.example_a.ok() && x.example_b.ok() ? fmt::format(", for example {} and {}", s.name(x.example_a), s.name(x.example_b))
                                                     : ""));
  };
  std::size_t domains = 0, unknown = 0;
  Reachability scale_up(s, Network::kScaleUp);
  for (const Domain& d : s.domains()) {
    if (d.kind != DomainKind::kHbd || d.members.size() < 2) continue;
    std::size_t cables = 0;
    for (DeviceId card : d.members)
      for (PortId p : s.ports_of(card)) cables += s.port(p).link.ok() && (s.port(p).networks & bit(Network::kScaleUp));
    ++domains;
    if (cables == 0) {
      ++unknown;
      r.add("reachability", Verdict::kUnknown, d.name, "links of the scale-up domain not known");
    } else {
      say(scale_up.among(d.members), d.name, "scale-up");
    }
  }
  if (domains > unknown) r.add("reachability", Verdict::kOk, "", fmt::format("scale-up looked at in {} domains", domains - unknown));
  for (Network n : {Network::kScaleOut, Network::kStorage, Network::kManagement}) {
    Reach x = reach(s, n);
    bool any = false;
    for (const Link& l : s.links()) any = any || (l.networks & bit(n));
    if (x.end_points < 2) continue;
    if (!any) r.add("reachability", Verdict::kUnknown, std::string(network_name(n)), "its ports are there, its cabling is not known");
    else if (x.unreachable_pairs > 0) say(x, std::string(network_name(n)), network_name(n));
    else r.add("reachability", Verdict::kOk, std::string(network_name(n)), fmt::format("all {} end points reach each other", x.end_points));
  }
}

// A group that is logically one domain and physically two switch tiers gets the slow tier's bandwidth wherever it is placed carelessly.
void tiers(const Snapshot& s, Results& r) {
  Routes routes(s);
  std::map<std::pair<std::size_t, std::size_t>, bool> done;  // domains alike are looked at once
  for (const Domain& d : s.domains()) {
    if (d.kind != DomainKind::kHbd || d.members.size() < 2) continue;
    if (!done.try_emplace({d.members.size(), s.ports_of(d.members[0]).size()}, true).second) continue;
    bool direct = false;
    for (PortId p : s.ports_of(d.members[0]))
      if (s.port(p).link.ok() && s.device(s.port(s.peer(p)).device).kind == DeviceKind::kCard) direct = true;
    std::map<int, std::size_t> lengths;
    for (DeviceId card : d.members)
      if (int l = routes.length(card, d.members[0], Network::kScaleUp); l > 0) ++lengths[l];
    if (lengths.empty()) continue;
    if (lengths.size() == 1) {
      r.add("domain-tiers", Verdict::kOk, d.name,
            fmt::format("all {} cards are equally far apart ({} links)", d.members.size(), lengths.begin()->first));
    } else if (direct) {
      r.add("domain-tiers", Verdict::kOk, d.name,
            fmt::format("direct network: cards are 1 to {} links apart; place groups on neighbours", lengths.rbegin()->first));
    } else {
      r.add("domain-tiers", Verdict::kWarning, d.name,
            fmt::format(
                "one domain over {} switch tiers: {} cards are {} links apart, the others {}; groups that talk most should stay within {}",
                lengths.size(), lengths.begin()->second + 1, lengths.begin()->first, lengths.rbegin()->first, lengths.begin()->second + 1));
    }
  }
}

}  // namespace

std::string_view verdict_name(Verdict v) {
  constexpr std::string_view names[] = {"ok", "unknown", "warning", "fail"};
  return names[static_cast<std::size_t>(v)];
}

Result<std::vector<CheckResult>> check(const Snapshot& site) {
  WEFT_ASSIGN(Media media, Media::built_in());
  Results r;
  cable_length(site, media, r);
  ports(site, r);
  power_and_cooling(site, r);
  management(site, r);
  reachability(site, r);
  tiers(site, r);
  auto out = r.take();
  std::stable_sort(out.begin(), out.end(), [](const CheckResult& x, const CheckResult& y) { return x.rule < y.rule; });
  return out;
}

bool passed(const std::vector<CheckResult>& results) {
  return std::none_of(results.begin(), results.end(), [](const CheckResult& r) { return r.verdict == Verdict::kFail; });
}

Report to_report(const std::vector<CheckResult>& results, const Snapshot& site) {
  Report out;
  out.title = "Check of " + site.site_name();
  Section s;
  std::map<Verdict, std::size_t> n;
  for (const CheckResult& r : results) ++n[r.verdict];
  s.facts = {{"failed", fmt::format("{}", n[Verdict::kFail])},
             {"warnings", fmt::format("{}", n[Verdict::kWarning])},
             {"unknown", fmt::format("{}", n[Verdict::kUnknown])},
             {"ok", fmt::format("{}", n[Verdict::kOk])}};
  Table t{"", {{"rule"}, {"result"}, {"where"}, {"what"}}, {}};
  for (const CheckResult& r : results)
    t.rows.push_back({r.rule, std::string(verdict_name(r.verdict)), r.entity.empty() ? "site" : r.entity,
                      r.message + (r.source.empty() || r.verdict == Verdict::kOk ? "" : " [" + r.source + "]")});
  s.tables.push_back(t);
  out.sections.push_back(s);
  return out;
}

Json to_json(const std::vector<CheckResult>& results, const Snapshot& site) {
  Json j;
  j["site"] = site.site_name();
  j["passed"] = passed(results);
  j["results"] = Json::array();
  for (const CheckResult& r : results)
    j["results"].push_back(
        {{"rule", r.rule}, {"verdict", verdict_name(r.verdict)}, {"entity", r.entity}, {"message", r.message}, {"source", r.source}});
  return j;
}

}  // namespace weft::fabric
