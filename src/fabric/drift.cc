#include "fabric/drift.h"

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"

namespace weft::fabric {

std::string_view drift_name(DriftKind kind) {
  static constexpr std::string_view kNames[] = {"swapped", "moved", "missing", "extra", "slow", "fewer-links", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

namespace {

using Pair = std::pair<std::string, std::string>;
Pair pair_of(const std::string& a, const std::string& b) { return a < b ? Pair{a, b} : Pair{b, a}; }

struct Finder {
  const Snapshot& s;
  const Observed& o;
  Drift out;

  void add(DriftKind kind, std::vector<std::string> entities, std::string text, int explains = 1) {
    out.items.push_back({kind, std::move(entities), std::move(text), explains});
  }

  // ---- a tree of named switches and nodes: who is cabled to whom ------------------------------------------------------------------
  // Ends are nodes and switches; the NIC between them is not named by such sources.
  Result<bool> cables() {
    std::map<std::string, std::string> intended_name;  // as observed → canonical
    std::set<std::string> seen;
    std::map<Pair, Origin> observed;
    for (std::uint32_t d = 0; d < o.devices.size(); ++d) {
      const std::string& foreign = o.devices[d].name;
      if (auto found = s.find_device(foreign);
          found && (s.device(*found).kind == DeviceKind::kNode || s.device(*found).kind == DeviceKind::kSwitch))
        intended_name[foreign] = s.name(*found), seen.insert(s.name(*found));
    }
    if (intended_name.empty())
      return fail(ErrorKind::kNotFound,
                  fmt::format("none of the {} names of {} is a node or switch of site {} (host names belong under node_names: or aliases:)",
                              o.devices.size(), o.files[0], s.site_name()));
    auto name = [&](std::uint32_t d) {
      auto it = intended_name.find(o.devices[d].name);
      return it == intended_name.end() ? o.devices[d].name : it->second;
    };
    for (const ObservedLink& l : o.links)
      if (l.b != kNoDevice && l.network == Network::kScaleOut) observed.try_emplace(pair_of(name(l.a), name(l.b)), l.at);
    std::set<Pair> intended;
    for (std::uint32_t l = 0; l < s.link_count(); ++l) {
      const Link& link = s.link(LinkId{l});
      if (!(link.networks & bit(Network::kScaleOut)) || link.spare) continue;
      std::string ends[2];
      for (int e = 0; e < 2; ++e) {
        DeviceId d = s.port(e ? link.b : link.a).device;
        if (DeviceId n = s.container(d, DeviceKind::kNode); n.ok()) d = n;
        ends[e] = s.name(d);
      }
      if (ends[0] != ends[1]) intended.insert(pair_of(ends[0], ends[1]));
    }
    std::set<Pair> missing, extra;
    for (const Pair& p : intended)
      if (!observed.contains(p)) missing.insert(p);
    for (const auto& [p, at] : observed)
      if (!intended.contains(p)) extra.insert(p);
    out.compared.push_back(fmt::format("{} cables between nodes and switches ({} intended)", observed.size(), intended.size()));

    // A device nobody saw explains all its missing cables.
    std::map<std::string, std::vector<Pair>> lost;
    for (const Pair& p : missing) lost[p.first].push_back(p), lost[p.second].push_back(p);
    for (const auto& [d, pairs] : lost)
      if (!seen.contains(d)) {
        int explained = 0;
        for (const Pair& p : pairs) explained += static_cast<int>(missing.erase(p));
        if (explained) add(DriftKind::kMissing, {d}, fmt::format("{} is not in {}", d, o.files[0]), explained);
      }
    std::map<std::string, std::vector<Pair>> found_new;
    for (const Pair& p : extra)
      for (const std::string& d : {p.first, p.second})
        if (!seen.contains(d)) found_new[d].push_back(p);
    for (const auto& [d, pairs] : found_new) {
      int explained = 0;
      Origin at;
      for (const Pair& p : pairs) at = observed[p], explained += static_cast<int>(extra.erase(p));
      if (explained) add(DriftKind::kExtra, {d}, fmt::format("{} is at {} but not in the site", d, o.place(at)), explained);
    }
    // Two ends exchanged: a–x and b–y intended, a–y and b–x seen.
    std::map<std::string, std::set<std::string>> lacks, has;
    for (const Pair& p : missing) lacks[p.first].insert(p.second), lacks[p.second].insert(p.first);
    for (const Pair& p : extra) has[p.first].insert(p.second), has[p.second].insert(p.first);
    auto switch_like = [&](const std::string& d) {
      auto f = s.find_device(d);
      return f && s.device(*f).kind == DeviceKind::kSwitch;
    };
    for (bool nodes : {true, false})  // nodes are exchanged more often than switches; either reading explains the same four
      for (const auto& [a, lacking] : std::map(lacks)) {
        if (switch_like(a) == nodes) continue;
        for (const std::string& x : std::set(lacking)) {
          if (!missing.contains(pair_of(a, x))) continue;
          bool done = false;
          for (const std::string& y : std::set(has[a])) {
            if (done || !extra.contains(pair_of(a, y))) continue;
            for (const std::string& b : std::set(has[x])) {  // b stands where a should
              if (b == a || !extra.contains(pair_of(b, x)) || !missing.contains(pair_of(b, y))) continue;
              add(DriftKind::kSwapped, {a, b},
                  fmt::format("{} and {} are swapped: {} belongs to {} and {} to {} ({})", a, b, a, x, b, y,
                              o.place(observed[pair_of(a, y)])),
                  4);
              missing.erase(pair_of(a, x)), missing.erase(pair_of(b, y)), extra.erase(pair_of(a, y)), extra.erase(pair_of(b, x));
              done = true;
              break;
            }
          }
        }
      }
    // One end moved.
    for (const Pair& p : std::set(missing))
      for (const auto& [stays, from] : {std::pair(p.first, p.second), std::pair(p.second, p.first)}) {
        auto to = std::find_if(extra.begin(), extra.end(), [&](const Pair& e) { return e.first == stays || e.second == stays; });
        if (to == extra.end() || !missing.contains(p)) continue;
        std::string where = to->first == stays ? to->second : to->first;
        add(DriftKind::kMoved, {stays, from, where},
            fmt::format("{} is cabled to {} instead of {} ({})", stays, where, from, o.place(observed[*to])), 2);
        missing.erase(p), extra.erase(*to);
      }
    for (const Pair& p : missing)
      add(DriftKind::kMissing, {p.first, p.second}, fmt::format("no cable between {} and {}", p.first, p.second));
    for (const Pair& p : extra)
      add(DriftKind::kExtra, {p.first, p.second},
          fmt::format("a cable between {} and {} that the site does not have ({})", p.first, p.second, o.place(observed[p])));
    return true;
  }

  // ---- one machine: what it should hold ---------------------------------------------------------------------------------------------
  void machine(std::uint32_t seen, DeviceId node) {
    std::string where = s.name(node);
    std::vector<std::uint32_t> cards, nics;
    for (std::uint32_t d = 0; d < o.devices.size(); ++d)
      if (o.node_of(d) == seen && d != seen) {
        if (o.is(d, DeviceKind::kCard)) cards.push_back(d);
        if (o.is(d, DeviceKind::kNic) && o.fact(d, "attachment").empty()) nics.push_back(d);
      }
    std::vector<DeviceId> want_cards;
    std::vector<double> want_ports, ports;
    for (DeviceId d : s.children(node)) {
      if (s.device(d).kind == DeviceKind::kCard) want_cards.push_back(d);
      if (s.device(d).kind == DeviceKind::kNic)
        for (PortId p : s.ports_of(d))
          if (LinkId l = s.port(p).link; !l.ok() || !s.link(l).spare) want_ports.push_back(l.ok() ? s.link(l).rate.value() : 0);
    }
    std::map<std::string, std::uint32_t> by_local;
    for (std::uint32_t c : cards) by_local[o.devices[c].name.substr(o.devices[seen].name.size() + 1)] = c;
    bool any_scale_up = std::any_of(o.links.begin(), o.links.end(), [](const ObservedLink& l) { return l.network == Network::kScaleUp; });
    if (cards.empty()) out.skipped.push_back("cards: not identified by the source");
    else out.compared.push_back(fmt::format("{} cards of {}", want_cards.size(), where));
    if (!any_scale_up) out.skipped.push_back("scale-up links: not described by the source");
    std::map<std::uint32_t, int> total;
    for (const ObservedLink& l : o.links)
      if (l.network == Network::kScaleUp)
        for (std::uint32_t end : {l.a, l.b})
          if (end != kNoDevice) {
            auto [it, fresh] = total.try_emplace(end, 0);
            it->second = it->second < 0 || !l.count.one() ? -1 : it->second + *l.count.one();
          }
    std::set<std::uint32_t> matched;
    for (std::size_t i = 0; i < want_cards.size() && !cards.empty(); ++i) {
      std::string name = s.name(want_cards[i]), local = name.substr(where.size() + 1);
      auto it = by_local.find(local);
      if (it == by_local.end()) {
        add(DriftKind::kMissing, {name}, fmt::format("{} is not in {}", name, o.files[0]));
        continue;
      }
      matched.insert(it->second);
      if (!any_scale_up) continue;
      int want = 0;
      for (PortId p : s.ports_of(want_cards[i]))
        if (LinkId l = s.port(p).link; l.ok() && (s.link(l).networks & bit(Network::kScaleUp)) && !s.link(l).spare) ++want;
      auto t = total.find(it->second);
      int have = t == total.end() ? 0 : t->second;
      if (have >= 0 && have != want)
        add(have < want ? DriftKind::kFewerLinks : DriftKind::kExtra, {name},
            fmt::format("{} shows {} scale-up links, {} are intended ({})", name, have, want, o.place(o.devices[it->second].at)),
            std::abs(have - want));
      if (have < 0) out.skipped.push_back(fmt::format("scale-up links of {}: the source contradicts itself", name));
    }
    for (std::uint32_t c : cards)
      if (!matched.contains(c))
        add(DriftKind::kExtra, {o.devices[c].name},
            fmt::format("{} is at {} but not in {}", o.devices[c].name, o.place(o.devices[c].at), where));
    // NIC ports are compared as a set of rates: which port is which is not said by most sources.
    std::size_t unknown_rates = 0;
    std::set<std::uint32_t> own(nics.begin(), nics.end()), with_port;
    for (const ObservedLink& l : o.links)
      if (l.network == Network::kScaleOut && own.contains(l.a)) {
        with_port.insert(l.a);
        if (l.rate.one()) ports.push_back(l.rate.one()->value());
        else ++unknown_rates;
      }
    unknown_rates += own.size() - with_port.size();
    if (nics.empty()) {
      out.skipped.push_back("NICs: none listed by the source");
      return;
    }
    out.compared.push_back(fmt::format("{} network ports of {}", want_ports.size(), where));
    if (ports.size() + unknown_rates != want_ports.size())
      add(ports.size() + unknown_rates < want_ports.size() ? DriftKind::kMissing : DriftKind::kExtra, {where},
          fmt::format("{} has {} network ports, {} are intended", where, ports.size() + unknown_rates, want_ports.size()));
    std::map<double, int> want_rate, have_rate;
    for (double r : want_ports) ++want_rate[r];
    for (double r : ports) ++have_rate[r];
    if (!unknown_rates && !want_rate.contains(0))
      for (const auto& [r, n] : have_rate)
        if (!want_rate.contains(r))
          add(DriftKind::kSlow, {where},
              fmt::format("{} of {}'s ports run at {:g} Gb/s; {:g} Gb/s {} intended", n, where, r / 1e9, want_rate.rbegin()->first / 1e9,
                          want_rate.size() > 1 ? "and others are" : "is"),
              n);
    if (unknown_rates) out.skipped.push_back("rates of the network ports: not all said by the source");
  }
};

}  // namespace

Result<Drift> find_drift(const Snapshot& intended, const Observed& observed, DeviceId node) {
  Finder f{intended, observed, {}};
  bool tree = std::any_of(observed.links.begin(), observed.links.end(), [&](const ObservedLink& l) {
    return l.network == Network::kScaleOut && l.b != kNoDevice && observed.is(l.a, DeviceKind::kSwitch);
  });
  if (tree) {
    WEFT_ASSIGN(bool compared, f.cables());
    (void)compared;
  } else {
    auto seen = observed.of_kind(DeviceKind::kNode);
    auto nodes = intended.of_kind(DeviceKind::kNode);
    if (seen.empty()) return fail(ErrorKind::kInvalid, "the observation holds no machine", observed.files.empty() ? "" : observed.files[0]);
    if (seen.size() > 1 && node.ok())
      return fail(ErrorKind::kInvalid, fmt::format("the file describes {} machines; give one", seen.size()), observed.files[0]);
    if (!node.ok()) {
      if (seen.size() == 1 && nodes.size() == 1) node = nodes[0];
      else
        return fail(ErrorKind::kInvalid,
                    fmt::format("the site has {} nodes and the file does not say which one it is; say it with --node", nodes.size()),
                    observed.files[0]);
    }
    f.machine(seen[0], node);
  }
  std::stable_sort(f.out.items.begin(), f.out.items.end(), [](const DriftItem& a, const DriftItem& b) {
    return a.explains != b.explains ? a.explains > b.explains : a.text < b.text;
  });
  return std::move(f.out);
}

Json to_json(const Drift& d) {
  Json items = Json::array();
  for (const DriftItem& i : d.items)
    items.push_back({{"kind", drift_name(i.kind)}, {"entities", i.entities}, {"text", i.text}, {"explains", i.explains}});
  return {{"drift", d.found()}, {"items", items}, {"compared", d.compared}, {"skipped", d.skipped}};
}

Report report(const Drift& d) {
  Report out;
  out.title =
      d.found() ? fmt::format("{} difference(s) from the intended site", d.items.size()) : "As intended, as far as it could be compared";
  Section& section = out.sections.emplace_back();
  if (d.found()) {
    Table table;
    table.columns = {{"kind"}, {"what"}, {"explains", Align::kRight}};
    for (const DriftItem& i : d.items) table.rows.push_back({std::string(drift_name(i.kind)), i.text, std::to_string(i.explains)});
    section.tables.push_back(std::move(table));
  }
  for (const std::string& c : d.compared) section.facts.emplace_back("compared", c);
  for (const std::string& c : d.skipped) section.facts.emplace_back("not compared", c);
  return out;
}

}  // namespace weft::fabric
