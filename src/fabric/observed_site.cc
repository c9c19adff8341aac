#include "fabric/observed_site.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>
#include <tuple>

#include "base/quantity.h"
#include "base/text.h"
#include "fabric/catalogue.h"
#include "fabric/site.h"
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

// A scalar that YAML reads back as this text.
std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

// The same value again in flow style, for parts taken over from a form.
std::string flow(const Yaml& y) {
  if (y.kind() == Yaml::Kind::kMap) {
    std::vector<std::string> parts;
    for (const auto& [key, value] : y.entries()) parts.push_back(key + ": " + flow(value));
    return fmt::format("{{{}}}", fmt::join(parts, ", "));
  }
  if (y.kind() == Yaml::Kind::kList) {
    std::vector<std::string> parts;
    for (const Yaml& item : y.items()) parts.push_back(flow(item));
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }
  std::string text = y.text().value_or("");
  bool plain = !text.empty() &&
               text.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-. /") == std::string::npos &&
               text[0] != '-' && text[0] != ' ';
  return plain ? text : quoted(text);
}

// Card names of the catalogue by PCI vendor:device (the public PCI ID repository, pci-ids.ucw.cz) and by nvidia-smi product name.
std::string card_of(const Observed& o, std::uint32_t card) {
  static const std::pair<std::string_view, std::string_view> kIds[] = {
      {"0x10de:0x20b0", "A100-SXM4"}, {"0x10de:0x20b2", "A100-SXM4"}, {"0x10de:0x2330", "H100-SXM5"}, {"0x10de:0x2324", "H800-SXM"},
      {"0x10de:0x2335", "H200-SXM"},  {"0x10de:0x2901", "B200"},      {"0x1002:0x74a1", "MI300X"},    {"0x1002:0x74a5", "MI325X"}};
  static const std::pair<std::string_view, std::string_view> kNames[] = {
      {"NVIDIA A100-SXM4", "A100-SXM4"}, {"NVIDIA H100 80GB HBM3", "H100-SXM5"}, {"NVIDIA H200", "H200-SXM"}, {"NVIDIA H800", "H800-SXM"},
      {"NVIDIA B200", "B200"},           {"NVIDIA GB200", "GB200-B200"}};
  std::string id = o.fact(card, "vendor") + ":" + o.fact(card, "device"), model = o.fact(card, "model");
  for (auto [key, name] : kIds)
    if (id == key && card_model(std::string(name))) return std::string(name);
  for (auto [key, name] : kNames)
    if (model.starts_with(key) && card_model(std::string(name))) return std::string(name);
  return "";
}

std::string gbits(BitsPerSecond r) { return fmt::format("{:g} Gb/s", r.value() / 1e9); }

struct Machine {
  std::uint32_t node = kNoDevice;
  std::vector<std::uint32_t> cards, nics;
  std::size_t cpus = 0;
};

struct Writer {
  const Observed& o;
  const SiteAssumptions& assume;
  ImportedSite out;
  std::string site_name;

  void line(const std::string& s) { out.yaml += s + "\n"; }
  void assumed(const std::string& s) { out.assumed.push_back(s); }
  void unknown(const std::string& s) {
    if (std::find(out.unknown.begin(), out.unknown.end(), s) == out.unknown.end()) out.unknown.push_back(s);
  }

  std::vector<Machine> machines() const {
    std::map<std::uint32_t, std::size_t> index;
    std::vector<Machine> out;
    for (std::uint32_t d = 0; d < o.devices.size(); ++d) {
      if (o.is(d, DeviceKind::kNode)) index[d] = out.size(), out.push_back({d, {}, {}, 0});
      std::uint32_t node = o.node_of(d);
      if (node == kNoDevice || node == d) continue;
      auto at = index.find(node);
      if (at == index.end()) continue;
      Machine& m = out[at->second];
      if (o.is(d, DeviceKind::kCard)) m.cards.push_back(d);
      if (o.is(d, DeviceKind::kCpu)) ++m.cpus;
      if (o.is(d, DeviceKind::kNic) && o.fact(d, "attachment").empty()) m.nics.push_back(d);
    }
    // Cards in the order of their numbers, so that card3 of the file is card3 of the site.
    for (Machine& m : out)
      std::sort(m.cards.begin(), m.cards.end(), [&](std::uint32_t a, std::uint32_t b) {
        const std::string &x = o.devices[a].name, &y = o.devices[b].name;
        return std::tuple(x.size(), std::string_view(x), a) < std::tuple(y.size(), std::string_view(y), b);
      });
    return out;
  }

  // ---- scale-up of one machine -----------------------------------------------------------------------------------------------
  struct ScaleUp {
    std::string yaml;                         // "" = none or cables
    std::map<std::pair<int, int>, int> mesh;  // explicit: positions of two cards → links
    std::vector<std::vector<int>> hbds;       // of an explicit mesh
    int total = -1;                           // links per card where all agree
    bool described = false;
  };

  ScaleUp scale_up(const Machine& m) {
    ScaleUp s;
    std::map<std::uint32_t, int> at;
    for (std::size_t i = 0; i < m.cards.size(); ++i) at[m.cards[i]] = static_cast<int>(i);
    std::map<std::uint32_t, std::map<int, int>> star;  // switch → card → links
    std::vector<int> totals(m.cards.size(), 0);
    bool open = false;
    const BitsPerSecond* rate = nullptr;
    bool same_rate = true;
    for (const ObservedLink& l : o.links) {
      if (l.network != Network::kScaleUp) continue;
      auto a = at.find(l.a), b = at.find(l.b);
      if (a == at.end() && b == at.end()) continue;
      s.described = true;
      const int* n = l.count.one();
      if (l.rate.one()) {
        same_rate &= !rate || *rate == *l.rate.one();
        rate = l.rate.one();
      } else {
        same_rate = false;
      }
      if (!n) {
        unknown("number of scale-up links: the file contradicts itself");
        return {};
      }
      for (auto end : {a, b})
        if (end != at.end()) totals[static_cast<std::size_t>(end->second)] += *n;
      if (a != at.end() && b != at.end()) s.mesh[std::minmax(a->second, b->second)] += *n;
      else if (l.a == kNoDevice || l.b == kNoDevice) open = true;
      else star[a != at.end() ? l.b : l.a][(a != at.end() ? a : b)->second] += *n;
    }
    if (!s.described) return s;
    bool even = std::all_of(totals.begin(), totals.end(), [&](int t) { return t == totals[0]; });
    s.total = even ? totals[0] : -1;
    std::string tail = rate && same_rate ? fmt::format(", rate: {}", gbits(*rate)) : "";
    if (tail.empty() && assume.scale_up_form.empty()) unknown("rate of the scale-up links");
    if (open) {  // links whose far end is not described (nvlink --status): the same count everywhere is one switched domain only if someone says so
      unknown(fmt::format("far ends of the scale-up links ({} per card)", even ? std::to_string(totals[0]) : "a different number"));
      return s;
    }
    if (s.mesh.empty() && even && !star.empty()) {
      bool all = std::all_of(star.begin(), star.end(), [&](const auto& sw) { return sw.second.size() == m.cards.size(); });
      if (all) {
        std::size_t switches = star.size();
        if (switches == 1 && assume.scale_up_form.empty() && !o.devices[star.begin()->first].facts.contains("pci"))
          unknown("number of scale-up switches (described as one)");
        s.yaml = fmt::format("{{scope: node, topology: switched, switches: {}, links: {}{}}}", switches, totals[0], tail);
        return s;
      }
    }
    std::size_t n = m.cards.size();
    if (star.empty() && s.mesh.size() == n * (n - 1) / 2 &&
        std::all_of(s.mesh.begin(), s.mesh.end(), [&](const auto& e) { return e.second == s.mesh.begin()->second; })) {
      s.yaml = fmt::format("{{scope: node, topology: full_mesh, links: {}{}}}", s.mesh.begin()->second, tail);
      s.mesh.clear();
      return s;
    }
    if (!star.empty()) {
      unknown("wiring of the scale-up switches: not every switch reaches every card");
      s.mesh.clear();
      return s;
    }
    std::vector<int> root(n);
    for (std::size_t i = 0; i < n; ++i) root[i] = static_cast<int>(i);
    auto find = [&](int x) {
      while (root[static_cast<std::size_t>(x)] != x) x = root[static_cast<std::size_t>(x)];
      return x;
    };
    for (const auto& [pair, count] : s.mesh)
      root[static_cast<std::size_t>(std::max(find(pair.first), find(pair.second)))] = std::min(find(pair.first), find(pair.second));
    std::map<int, std::vector<int>> groups;
    for (std::size_t i = 0; i < n; ++i) groups[find(static_cast<int>(i))].push_back(static_cast<int>(i));
    for (auto& [first, members] : groups)
      if (members.size() > 1) s.hbds.push_back(std::move(members));
    return s;
  }

  // ---- cards: XML, matrices, lspci -----------------------------------------------------------------------------------------------
  Status machines_site(std::vector<Machine> list) {
    if (!assume.pick.empty()) {
      std::vector<Machine> chosen;
      for (const Machine& m : list)
        if (o.devices[m.node].name == assume.pick) chosen.push_back(m);
      if (chosen.empty())
        return fail(ErrorKind::kNotFound, fmt::format("--pick {}: the file describes node0 to node{}", assume.pick, list.size() - 1));
      list = chosen;
    }
    if (list.size() > 1 && (assume.nodes > 0 || !assume.scale_up_form.empty() || !assume.scale_out.empty())) {
      bool alike = std::all_of(list.begin(), list.end(), [&](const Machine& m) {
        return m.cards.size() == list[0].cards.size() && m.nics.size() == list[0].nics.size();
      });
      if (!alike)
        return fail(ErrorKind::kInvalid, fmt::format("the file describes {} different machines; choose one with --pick node0 … node{}",
                                                     list.size(), list.size() - 1));
      if (assume.nodes > 0)
        return fail(ErrorKind::kInvalid,
                    fmt::format("--nodes repeats one machine, but the file describes {}; choose one with --pick node0", list.size()));
    }

    SiteSpec form;
    Yaml form_sn;
    int form_nodes = 1;
    if (!assume.scale_up_form.empty()) {
      WEFT_ASSIGN(form, read_site(assume.scale_up_form));
      form_sn = form.document.get("supernodes").at(0);
      WEFT_ASSIGN(auto cards, form_sn.has("cards_per_node") ? form_sn.get("cards_per_node").integer(0, 1 << 20) : Result<std::int64_t>(8));
      WEFT_ASSIGN(auto nodes, form_sn.has("nodes") ? form_sn.get("nodes").integer(1, 1 << 30) : Result<std::int64_t>(1));
      form_nodes = static_cast<int>(nodes);
      for (const Machine& m : list)
        if (!m.cards.empty() && static_cast<std::int64_t>(m.cards.size()) != cards)
          return fail(ErrorKind::kConflict,
                      fmt::format("the file has {} cards in {}, form {} has {} per node; give the form of this machine", m.cards.size(),
                                  o.devices[m.node].name, assume.scale_up_form, cards));
      for (Machine& m : list)
        if (m.cards.empty()) {
          assumed(fmt::format("{} cards in {} (form {}; the file does not say which devices are cards)", cards, o.devices[m.node].name,
                              assume.scale_up_form));
          m.cards.assign(static_cast<std::size_t>(cards), kNoDevice);
        }
    }

    line("supernodes:");
    std::vector<std::string> cables, domains;
    int number = 0;
    for (const Machine& m : list) {
      int nodes = assume.nodes > 0 ? assume.nodes : 1;
      std::string indent = "    ";
      int supernodes = 1, per = nodes;
      std::string card;
      std::set<std::string> models;
      for (std::uint32_t c : m.cards) models.insert(c == kNoDevice ? "" : card_of(o, c));
      if (models.size() == 1) card = *models.begin();
      ScaleUp up = scale_up(m);
      bool form_up = form_sn.has("scale_up");
      if (form_up && form_nodes > 1) {  // a rack-scale form: whole supernodes only
        if (assume.nodes <= 0) per = form_nodes, assumed(fmt::format("{} nodes per supernode (form {})", form_nodes, assume.scale_up_form));
        if (per % form_nodes)
          return fail(ErrorKind::kInvalid,
                      fmt::format("--nodes {} is not a multiple of {}, the nodes of one {}", per, form_nodes, assume.scale_up_form));
        supernodes = per / form_nodes, per = form_nodes;
      }
      line(fmt::format("  - name: {}", list.size() > 1 ? o.devices[m.node].name + "-sn" : "sn"));
      if (supernodes > 1) line(fmt::format("{}count: {}                # assumed", indent, supernodes));
      line(fmt::format("{}nodes: {}{}", indent, per, assume.nodes > 0 || per > 1 ? "                # assumed" : ""));
      if (assume.nodes > 0) assumed(fmt::format("{} nodes like the one in the file", assume.nodes));
      line(fmt::format("{}cards_per_node: {}        # {}", indent, m.cards.size(),
                       m.cards.empty()                               ? "not known: no device is said to be a card"
                       : !m.cards.empty() && m.cards[0] == kNoDevice ? "assumed"
                                                                     : fmt::format("from line {}", o.devices[m.cards[0]].at.line)));
      if (m.cards.empty()) unknown("number of cards");
      if (!card.empty())
        line(fmt::format("{}card: {}        # by {}", indent, card,
                         o.fact(m.cards[0], "device").empty()
                             ? "product name"
                             : "PCI id " + o.fact(m.cards[0], "vendor") + ":" + o.fact(m.cards[0], "device")));
      else if (form_sn.has("card")) {
        card = form_sn.get("card").text().value_or("");
        line(fmt::format("{}card: {}        # assumed", indent, flow(form_sn.get("card"))));
        assumed(fmt::format("card {} (form {})", card, assume.scale_up_form));
      } else if (!m.cards.empty()) {
        unknown("model of the cards");
      }
      if (!card.empty() && form_sn.has("card") && form_sn.get("card").text().value_or("") != card)
        out.contradictions.push_back(fmt::format("the file's cards are {}, those of form {} are {}; the file's are kept", card,
                                                 assume.scale_up_form, form_sn.get("card").text().value_or("")));
      if (m.cpus) line(fmt::format("{}cpus_per_node: {}", indent, m.cpus));
      if (form_up) {
        line(fmt::format("{}scale_up: {}        # assumed", indent, flow(with_scope(form_sn.get("scale_up"), form_nodes))));
        assumed(fmt::format("scale-up as in form {}", assume.scale_up_form));
        auto links =
            form_sn.get("scale_up").has("links") ? form_sn.get("scale_up").get("links").integer(0, 1 << 20) : Result<std::int64_t>(-1);
        if (up.described && up.total >= 0 && links && *links >= 0 &&
            form_sn.get("scale_up").get("topology").text().value_or("") == "switched" && *links != up.total)
          return fail(ErrorKind::kConflict,
                      fmt::format("the file shows {} scale-up links per card, form {} has {}; this is another machine (or links are down)",
                                  up.total, assume.scale_up_form, *links));
      } else if (!up.yaml.empty()) {
        line(fmt::format("{}scale_up: {}", indent, up.yaml));
      } else if (!up.mesh.empty()) {
        for (int n = 0; n < per; ++n) {
          std::string node = fmt::format("{}{}/node{}", list.size() > 1 ? o.devices[m.node].name + "-sn" : "sn", number + 1, n + 1);
          for (const auto& [pair, count] : up.mesh)
            for (int k = 0; k < count; ++k)
              cables.push_back(
                  fmt::format("  - {{from: {0}/card{1}, to: {0}/card{2}, networks: [scale-up]}}", node, pair.first, pair.second));
          for (std::size_t h = 0; h < up.hbds.size(); ++h) {
            std::vector<std::string> members;
            for (int c : up.hbds[h]) members.push_back(fmt::format("{}/card{}", node, c));
            domains.push_back(fmt::format("  - {{kind: hbd, name: {}-hive{}, members: [{}]}}", node, h, fmt::join(members, ", ")));
          }
        }
      } else if (!up.described && m.cards.size() > 1) {
        unknown("scale-up network (give --scale-up-form)");
      }
      number += supernodes;
    }
    WEFT_TRY(scale_out(list));
    if (!cables.empty()) {
      line("cables:");
      for (const std::string& c : cables) line(c);
    }
    if (!domains.empty()) {
      line("domains:");
      for (const std::string& d : domains) line(d);
    }
    return {};
  }

  // A form of one node describes a domain per node, however many nodes are imported.
  static Yaml with_scope(Yaml scale_up, int form_nodes) {
    if (form_nodes > 1 || scale_up.has("scope")) return scale_up;
    std::string text = flow(scale_up);
    auto again = Yaml::parse("{scope: node, " + text.substr(1), "form");
    return again ? *again : scale_up;
  }

  Status scale_out(const std::vector<Machine>& list) {
    // Ports by rate; the fastest kind is taken for the scale-out network, the rest has no known role.
    std::map<double, int> by_rate;
    int nics = 0, unknown_rate = 0;
    bool alike = true;
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::map<double, int> mine;
      int no_rate = 0;
      std::set<std::uint32_t> with_port, own(list[i].nics.begin(), list[i].nics.end());
      for (const ObservedLink& l : o.links)
        if (l.network == Network::kScaleOut && own.contains(l.a)) {
          with_port.insert(l.a);
          if (l.rate.one()) ++mine[l.rate.one()->value()];
          else ++no_rate;
        }
      int plain = static_cast<int>(own.size() - with_port.size()) + no_rate;
      alike = alike && (i == 0 || (mine == by_rate && plain == unknown_rate));
      if (i == 0) by_rate = mine, unknown_rate = plain;
    }
    if (!alike) {
      unknown("NICs: their number differs from machine to machine, so none are in the site (use --pick to import one machine)");
      return {};
    }
    double rate = by_rate.empty() ? 0 : by_rate.rbegin()->first;
    nics = by_rate.empty() ? unknown_rate : by_rate.rbegin()->second;
    for (const auto& [r, n] : by_rate)
      if (r != rate) unknown(fmt::format("role of {} further network port(s) of {} (left out)", n, gbits(BitsPerSecond(r))));
    if (!by_rate.empty() && unknown_rate) unknown(fmt::format("role of {} NIC(s) without a speed (left out)", unknown_rate));
    if (assume.scale_out.empty()) {
      if (nics == 0) {
        unknown("scale-out network (give --scale-out rail:400G)");
        return {};
      }
      if (rate == 0) unknown("rate of the NICs");
      unknown("what the NICs are connected to (give --scale-out rail:400G)");
      line(fmt::format("scale_out: {{topology: unknown, nics_per_node: {}}}{}", nics,
                       rate > 0 ? "        # ports of " + gbits(BitsPerSecond(rate)) : ""));
      return {};
    }
    auto parts = split(assume.scale_out, ':');
    std::string topology(parts[0]);
    if (!topologies().find(topology)) {
      std::vector<std::string> known;
      for (const auto& t : topologies().entries()) known.push_back(t.name);
      std::string near = nearest_word(topology, known);
      return fail(ErrorKind::kInvalid, fmt::format("--scale-out {}: unknown topology '{}'{}; known: {}", assume.scale_out, topology,
                                                   near.empty() ? "" : ", did you mean '" + near + "'?", topologies().names()));
    }
    if (parts.size() > 3)
      return fail(
          ErrorKind::kInvalid,
          fmt::format("--scale-out {}: expected TOPOLOGY, TOPOLOGY:RATE or TOPOLOGY:RATE:NICS (rail:400G, rail:400G:8)", assume.scale_out));
    double given = 0;
    if (parts.size() > 1 && !parts[1].empty()) {
      auto r = parse_quantity(parts[1], "Gb/s");
      if (!r || *r <= 0)
        return fail(ErrorKind::kInvalid, fmt::format("--scale-out {}: '{}' is not a rate (400G)", assume.scale_out, parts[1]));
      given = *r;
    }
    int per_node = nics;
    if (parts.size() > 2) {
      auto n = parse_int(parts[2]);
      if (!n || *n < 1 || *n > 64)
        return fail(ErrorKind::kInvalid,
                    fmt::format("--scale-out {}: '{}' is not a number of NICs per node (1 to 64)", assume.scale_out, parts[2]));
      per_node = static_cast<int>(*n);
    }
    if (per_node == 0) {
      per_node = static_cast<int>(list[0].cards.size());
      assumed(fmt::format("{} NICs per node, one per card (the file lists none)", per_node));
    } else if (nics && per_node != nics) {
      out.contradictions.push_back(
          fmt::format("the file has {} network ports per node, --scale-out says {}; the latter is written", nics, per_node));
    }
    per_node = std::clamp(per_node, 1, 64);
    if (given > 0 && rate > 0 && given != rate)
      out.contradictions.push_back(fmt::format("the file's ports run at {}, --scale-out says {}; the latter is written",
                                               gbits(BitsPerSecond(rate)), gbits(BitsPerSecond(given))));
    double use = given > 0 ? given : rate;
    if (use == 0) unknown("rate of the NICs");
    int nodes = std::max<int>(assume.nodes, static_cast<int>(list.size()));
    if (!assume.scale_up_form.empty() && assume.nodes == 0)
      if (auto form = read_site(assume.scale_up_form))
        nodes = static_cast<int>(form->document.get("supernodes").at(0).get("nodes").integer(1, 1 << 30).value_or(nodes));
    std::string more;
    if (topology == "rail") {
      // One block, as many uplinks as node ports on every leaf: no oversubscription. At most 8 spines.
      int spines = std::min(8, nodes), uplinks = (nodes + spines - 1) / spines * spines;
      more = fmt::format(", nodes_per_block: {}, spines: {}, uplinks: {}", nodes, spines, uplinks);
      assumed(fmt::format("rail-optimised in one block: {} leaves of {} node ports and {} uplinks each, {} spines (not oversubscribed)",
                          per_node, nodes, uplinks, spines));
    } else if (topology == "leaf_spine") {
      int ports = nodes * per_node, leaves = std::max(1, (ports + 31) / 32), spines = std::min(8, (ports + leaves - 1) / leaves),
          uplinks = ((ports + leaves - 1) / leaves + spines - 1) / spines * spines;
      more = fmt::format(", leaves: {}, spines: {}, uplinks: {}", leaves, spines, uplinks);
      assumed(
          fmt::format("{} leaves of up to 32 node ports with {} uplinks each, {} spines (not oversubscribed)", leaves, uplinks, spines));
    }
    line(fmt::format("scale_out: {{topology: {}, nics_per_node: {}{}{}}}        # assumed", topology, per_node,
                     use > 0 ? ", rate: " + gbits(BitsPerSecond(use)) : "", more));
    assumed(fmt::format("scale-out network {}{}", topology, given > 0 ? " of " + gbits(BitsPerSecond(given)) : ""));
    return {};
  }

  // ---- trees of switches over named nodes: Slurm ---------------------------------------------------------------------------------
  Status tree_site() {
    if (assume.nodes > 0) return fail(ErrorKind::kInvalid, "--nodes repeats one machine; this file names its nodes itself");
    if (!assume.scale_out.empty()) return fail(ErrorKind::kInvalid, "--scale-out: this file describes the scale-out network itself");
    Yaml form_sn;
    if (!assume.scale_up_form.empty()) {
      WEFT_ASSIGN(auto form, read_site(assume.scale_up_form));
      form_sn = form.document.get("supernodes").at(0);
      if (auto n = form_sn.get("nodes"); !n.is_null() && n.integer(1, 1 << 30).value_or(1) != 1)
        return fail(ErrorKind::kInvalid,
                    fmt::format("form {} spans several nodes; which nodes of a Slurm tree share one such domain is not said in the file",
                                assume.scale_up_form));
    }
    auto nodes = o.of_kind(DeviceKind::kNode);
    auto switches = o.of_kind(DeviceKind::kSwitch);
    std::set<std::string> taken;
    for (std::uint32_t s : switches) taken.insert(o.devices[s].name);
    std::string base = "sn";
    while (std::any_of(taken.begin(), taken.end(), [&](const std::string& t) { return t.starts_with(base); })) base += "x";
    // NICs, where the source knows them: local numbers in the order of their names.
    std::map<std::uint32_t, std::vector<std::uint32_t>> nics;
    std::map<std::uint32_t, std::size_t> nic_number;
    for (std::uint32_t d = 0; d < o.devices.size(); ++d)
      if (o.is(d, DeviceKind::kNic) && o.devices[d].parent != kNoDevice) nics[o.devices[d].parent].push_back(d);
    std::size_t most_nics = 0;
    for (auto& [node, list] : nics) {
      std::sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
        const std::string &x = o.devices[a].name, &y = o.devices[b].name;
        return std::tuple(x.size(), std::string_view(x), a) < std::tuple(y.size(), std::string_view(y), b);
      });
      for (std::size_t i = 0; i < list.size(); ++i) nic_number[list[i]] = i;
      most_nics = std::max(most_nics, list.size());
    }
    if (most_nics > 64)
      return fail(ErrorKind::kInvalid, fmt::format("a host with {} adapters: its name stands for several machines", most_nics), o.files[0]);
    // Nodes with the same number of cards form one entry; slurm.conf or gres.conf may have said it.
    std::map<std::string, std::vector<std::uint32_t>> by_cards;
    for (std::uint32_t n : nodes) by_cards[o.fact(n, "gpus")].push_back(n);
    std::map<std::uint32_t, std::string> name;
    if (!nodes.empty()) line("supernodes:");
    int number = 0;
    for (const auto& [cards, members] : by_cards) {
      std::vector<std::string> hosts;
      ++number;
      for (std::size_t i = 0; i < members.size(); ++i) {
        hosts.push_back(o.devices[members[i]].name);
        name[members[i]] = fmt::format("{}{}/node{}", base, number, i + 1);
      }
      line(fmt::format("  - name: {}", base));
      line(fmt::format("    nodes: {}", members.size()));
      line(fmt::format("    node_names: {}", quoted(compress_hostlist(hosts))));
      if (!cards.empty()) {
        line(fmt::format("    cards_per_node: {}", cards));
      } else if (form_sn.has("cards_per_node")) {
        line(fmt::format("    cards_per_node: {}        # assumed", flow(form_sn.get("cards_per_node"))));
        assumed(fmt::format("{} cards per node (form {})", flow(form_sn.get("cards_per_node")), assume.scale_up_form));
      } else {
        line("    cards_per_node: 0        # not known");
        unknown("cards of the nodes (give --slurm-conf, --gres-conf or --scale-up-form)");
      }
      if (cards == "0" || form_sn.is_null()) continue;
      if (form_sn.has("card")) line(fmt::format("    card: {}        # assumed", flow(form_sn.get("card"))));
      if (form_sn.has("scale_up")) {
        line(fmt::format("    scale_up: {}        # assumed", flow(with_scope(form_sn.get("scale_up"), 1))));
        assumed(fmt::format("card and scale-up as in form {}", assume.scale_up_form));
      }
    }
    if (most_nics) {
      line(fmt::format("scale_out: {{topology: unknown, nics_per_node: {}}}        # the largest number seen in one host", most_nics));
      if (std::any_of(nics.begin(), nics.end(), [&](const auto& n) { return n.second.size() < most_nics; }) || nics.size() < nodes.size())
        unknown(fmt::format("whether hosts with fewer than {} adapters have more that were not seen (drawn without a cable)", most_nics));
    } else {
      line("scale_out: {topology: unknown, nics_per_node: 1}        # number of NICs not known: drawn as one");
      unknown("number of NICs per node (drawn as one)");
    }
    line("switches:");
    auto local = [&](std::uint32_t s) {
      std::string n = o.devices[s].name;
      for (char& c : n)
        if (c == '/' || c == ':' || c == ' ' || c == ',') c = '_';
      return n;
    };
    std::set<std::string> used;
    for (std::uint32_t s : switches) {
      if (!used.insert(local(s)).second)
        return fail(ErrorKind::kConflict, fmt::format("two switches would both be called {}; rename one", local(s)),
                    o.place(o.devices[s].at));
      std::string tier = o.fact(s, "tier");
      line(fmt::format("  - {{name: {}{}}}", quoted(local(s)), tier.empty() ? "" : ", tier: " + tier));
    }
    line("cables:");
    for (const ObservedLink& l : o.links) {
      auto end = [&](std::uint32_t d, const std::string& port) {
        if (o.is(d, DeviceKind::kNode)) return name[d] + "/nic0";
        if (o.is(d, DeviceKind::kNic))
          return fmt::format("{}/nic{}", name[o.devices[d].parent], nic_number[d]) + (port.empty() ? "" : ":p" + port);
        return local(d) + (port.empty() ? "" : ":" + port);
      };
      line(fmt::format("  - {{from: {}, to: {}{}}}", quoted(end(l.a, l.port_a)), quoted(end(l.b, l.port_b)),
                       l.rate.one() ? ", rate: " + gbits(*l.rate.one()) : ""));
    }
    return {};
  }

  Status run() {
    std::string file = o.files.empty() ? "import" : o.files[0];
    std::string stem = file.substr(file.find_last_of('/') + 1);
    stem = stem.substr(0, stem.find_last_of('.'));
    site_name = assume.name.empty() ? stem : assume.name;
    for (char& c : site_name)
      if (c == '/' || c == ':' || c == ' ' || c == '"' || c == '#' || static_cast<unsigned char>(c) < 0x21) c = '-';
    if (site_name.empty() || site_name[0] == '-') site_name = "imported" + site_name;
    line(fmt::format(
        "# Written by weft fabric import from {} ({}). What the file does not say stays unknown; \"assumed\" marks what was added by hand.",
        [&] {
          std::string f = file.substr(file.find_last_of('/') + 1);
          std::erase_if(f, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
          return f;
        }(),
        o.format));
    line("site: " + quoted(site_name));
    bool tree = std::any_of(o.links.begin(), o.links.end(), [&](const ObservedLink& l) {
      return l.network == Network::kScaleOut && l.b != kNoDevice && o.is(l.a, DeviceKind::kSwitch);
    });
    if (tree) WEFT_TRY(tree_site());
    else WEFT_TRY(machines_site(machines()));
    // What the caller has answered is no longer unknown; what this writer says in the site's own words need not stand twice.
    auto answered = [&](const std::string& text) {
      auto begins = [&](std::string_view with) { return text.starts_with(with); };
      bool up = !assume.scale_up_form.empty(), net = !assume.scale_out.empty();
      if (begins("what the network ports are connected to") || begins("speed of the network ports") ||
          begins("rate of the scale-up links") || begins("number of NVLink switches"))
        return true;
      return (up && (begins("scale-up links") || begins("whether the NVLinks") || begins("cards and NICs of the nodes") ||
                     begins("which devices are accelerators"))) ||
             (net && begins("network cards"));
    };
    for (const Remark& r : o.unknown)
      if (tree || !answered(r.text)) unknown(r.text);
    if (!out.unknown.empty()) {
      line("unknown:");
      for (const std::string& u : out.unknown) line("  - " + quoted(u));
    }
    return {};
  }
};

}  // namespace

Result<ImportedSite> to_site(const Observed& observed, const SiteAssumptions& assume) {
  Writer w{observed, assume, {}, {}};
  WEFT_TRY(w.run());
  // What is written must be what `read_site` reads: a mistake here is ours and must not leave the house.
  auto spec = parse_site(w.out.yaml, "imported site");
  if (!spec) return fail(ErrorKind::kInternal, "the site that was written is not readable: " + spec.error().text());
  if (auto built = build(*spec); !built)
    return fail(built.error().kind, "the site that was written cannot be built: " + built.error().text());
  return std::move(w.out);
}

}  // namespace weft::fabric
