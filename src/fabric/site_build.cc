// From a site file to a Snapshot: the parts of the file in order, the first mistake ends it.
#include "fabric/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "fabric/catalogue.h"
#include "fabric/site_values.h"
#include "fabric/topologies/topology.h"

namespace weft::fabric {
namespace {

constexpr std::string_view kSpareSuffix = "-spare";  // scheduling domain of the nodes a site keeps back

// One build in progress. The parts of the site file are handled in order; the first error ends it.
struct Builder {
  const SiteSpec& spec;
  const BuildLimits& limits;
  SnapshotBuilder b;
  Yaml root, models;
  int cables = 0;
  std::size_t links_left;
  struct NodeInfo {
    DeviceId id, supernode;
    std::string rack;
    bool spare = false;
    std::vector<DeviceId> cards;
  };
  std::vector<NodeInfo> nodes;
  std::vector<DeviceId> racks, cdus;
  std::vector<std::vector<DeviceId>> rack_members;
  std::vector<DeviceId> liquid_racks;
  std::vector<DeviceId> leaves_storage;  // switches that storage attaches to
  NetworkSet storage_networks = bit(Network::kStorage);
  Packets storage_packets;  // of the network that carries storage

  Builder(const SiteSpec& s, const BuildLimits& l)
      : spec(s), limits(l), b(s.name), root(s.document), models(s.document.get("models")), links_left(l.max_links) {}

  // Parsing the catalogue once per name, not once per node.
  Result<std::uint32_t> switch_model_id(const Yaml& y) {
    WEFT_ASSIGN(auto name, y.text());
    if (auto at = switch_ids.find(name); at != switch_ids.end()) return at->second;
    auto m = switch_model(name, models);
    if (!m) return std::unexpected(m.error().in(y.place()));
    return switch_ids[name] = b.add_model(*m);
  }
  std::map<std::string, std::uint32_t> switch_ids;

  std::uint32_t next_cable() {
    std::string name;
    do name = fmt::format("C{:04}", ++cables);
    while (b.has_cable(name));
    return b.add_cable(std::move(name));
  }

  Status size_check() const {
    double devices = 1, links = 0;
    for (const Yaml& sn : root.get("supernodes").items()) {
      WEFT_ASSIGN(int n, count(sn, "count", 1, 1, 1 << 30));
      WEFT_ASSIGN(int per, count(sn, "nodes", 1, 1, 1 << 30));
      WEFT_ASSIGN(int cards, count(sn, "cards_per_node", 8, 0, 1 << 20));
      WEFT_ASSIGN(int cpus, count(sn, "cpus_per_node", 0, 0, 64));
      WEFT_ASSIGN(int psus, count(sn, "psus_per_node", 0, 0, 64));
      double here = static_cast<double>(n) * per * (cards + cpus + psus + 4);
      devices += here;
      WEFT_ASSIGN(int per_card, count(sn.get("scale_up"), "links", 1, 0, 1 << 20));
      links += static_cast<double>(n) * per * cards * std::max(1, per_card);
      if (devices > static_cast<double>(limits.max_devices) || links > static_cast<double>(limits.max_links))
        return sn.error(
            fmt::format("{} supernodes of {} nodes with {} cards make more than {} devices or {} links; split the site or lower 'count'", n,
                        per, cards, limits.max_devices, limits.max_links));
    }
    return {};
  }

  // Fills the keys every topology understands and checks that there are no others.
  Result<const TopologyEntry*> prepare(Wiring& w, const std::vector<std::string_view>& extra) {
    const Yaml& y = w.spec;
    if (!y.has("topology")) return y.error("a network needs 'topology: NAME'; known: " + topologies().names());
    WEFT_ASSIGN(auto name, y.get("topology").text());
    const TopologyEntry* t = topologies().find(name);
    if (!t) return y.get("topology").error("unknown topology '" + name + "'; known: " + topologies().names());
    std::vector<std::string_view> keys = common_keys();
    keys.insert(keys.end(), extra.begin(), extra.end());
    for (const Parameter& p : t->parameters) keys.push_back(p.name);
    WEFT_TRY(y.only(keys));
    WEFT_ASSIGN(double rate, rate_of(y, "rate", 0));
    w.rate = BitsPerSecond(rate);
    for (auto [key, medium, length_key, length] :
         {std::tuple{"medium", &w.medium, "length", &w.length_m}, {"trunk_medium", &w.trunk_medium, "trunk_length", &w.trunk_length_m}}) {
      if (y.has(key)) {
        WEFT_ASSIGN(auto m, y.get(key).text());
        auto parsed = parse_medium(m);
        if (!parsed) return y.get(key).error("unknown medium '" + m + "'; known: backplane, board, dac, acc, aec, aoc, optical");
        *medium = *parsed;
      }
      WEFT_ASSIGN(*length, quantity(y, length_key, "m", -1));
    }
    WEFT_ASSIGN(w.trunk_per_cable, count(y, "trunk_per_cable", 1, 1, 64));
    WEFT_ASSIGN(double latency, quantity(y, "latency", "s", 100e-9));
    w.latency_ns = latency * 1e9;
    WEFT_ASSIGN(w.packets, packets(y));
    if (y.has("switch")) {
      WEFT_ASSIGN(w.switch_model, switch_model_id(y.get("switch")));
    }
    w.next_cable = [this] { return next_cable(); };
    w.budget = links_left;
    double links = t->links(w);
    if (links > static_cast<double>(links_left))
      return y.error(
          fmt::format("this topology would need {:.0f} links, more than the limit of {}; make it smaller", links, limits.max_links));
    return t;
  }

  Status run_topology(Wiring& w, const std::vector<std::string_view>& extra) {
    WEFT_ASSIGN(const TopologyEntry* t, prepare(w, extra));
    if (Status s = t->wire(w); !s) return s;
    links_left = w.budget;
    return {};
  }

  Status supernode(const Yaml& y, int& number) {
    WEFT_TRY(y.only({"name", "count", "nodes", "cards_per_node", "card", "racks", "spare_nodes", "cooling", "psus_per_node",
                     "power_shelves_per_rack", "shelf_power", "rack_power", "cpus_per_node", "scale_up", "node_names", "source",
                     "host_power", "psu_power"}));
    WEFT_ASSIGN(auto base, part_name(y, "name", "sn"));
    WEFT_ASSIGN(int repeat, count(y, "count", 1, 1, 1 << 30));
    WEFT_ASSIGN(int node_count, count(y, "nodes", 1, 1, 1 << 30));
    WEFT_ASSIGN(int cards, count(y, "cards_per_node", 8, 0, 1 << 20));
    WEFT_ASSIGN(int psus, count(y, "psus_per_node", 0, 0, 64));
    WEFT_ASSIGN(int shelves, count(y, "power_shelves_per_rack", 0, 0, 256));
    WEFT_ASSIGN(int cpus, count(y, "cpus_per_node", 0, 0, 64));
    WEFT_ASSIGN(int spares, count(y, "spare_nodes", 0, 0, node_count));
    WEFT_ASSIGN(auto cooling, text(y, "cooling", ""));
    if (!cooling.empty() && cooling != "air" && cooling != "liquid" && cooling != "rear-door")
      return y.get("cooling").error("cooling is air, rear-door or liquid");
    std::uint32_t card = UINT32_MAX;
    if (y.has("card")) {
      WEFT_ASSIGN(auto name, y.get("card").text());
      auto m = card_model(name, models);
      if (!m) return std::unexpected(m.error().in(y.get("card").place()));
      card = b.add_model(*m);
    }
    // What racks, nodes, shelves and supplies may draw or deliver: a model of their own, so that counts and checks can ask.
    auto rating = [&](std::string_view key, std::string_view what) -> Result<std::uint32_t> {
      DeviceModel m;
      m.name = fmt::format("{}-{}", base, what);
      if (what == "rack") m.cooling = cooling;
      if (!y.has(key) && m.cooling.empty()) return UINT32_MAX;
      if (y.has(key)) {
        WEFT_ASSIGN(double v, y.get(key).quantity("W"));
        m.power = Watts(v);
      }
      return b.add_model(std::move(m));
    };
    WEFT_ASSIGN(std::uint32_t rack_model, rating("rack_power", "rack"));
    WEFT_ASSIGN(std::uint32_t host_model, rating("host_power", "host"));
    WEFT_ASSIGN(std::uint32_t shelf_model, rating("shelf_power", "shelf"));
    WEFT_ASSIGN(std::uint32_t psu_model, rating("psu_power", "psu"));
    std::vector<int> per_rack;
    for (const Yaml& item : y.get("racks").items()) {
      WEFT_ASSIGN(auto v, item.integer(1, node_count));
      per_rack.push_back(static_cast<int>(v));
    }
    if (!per_rack.empty()) {
      // The list is repeated until all nodes have a place.
      std::vector<int> pattern = per_rack;
      int total = 0;
      per_rack.clear();
      for (std::size_t i = 0; total < node_count; ++i) per_rack.push_back(pattern[i % pattern.size()]), total += per_rack.back();
      if (total != node_count) return y.get("racks").error(fmt::format("the racks hold {} nodes, but there are {}", total, node_count));
    }
    std::vector<std::string> host_names;
    if (y.has("node_names")) {
      WEFT_ASSIGN(auto list, y.get("node_names").text());
      auto expanded = expand_hostlist(list);
      if (!expanded) return std::unexpected(expanded.error().in(y.get("node_names").place()));
      host_names = *expanded;
      if (host_names.size() != static_cast<std::size_t>(repeat) * static_cast<std::size_t>(node_count))
        return y.get("node_names")
            .error(fmt::format("{} host names for {} nodes", host_names.size(),
                               static_cast<std::size_t>(repeat) * static_cast<std::size_t>(node_count)));
    }
    for (int r = 0; r < repeat; ++r) {
      DeviceId sn = b.add_device(DeviceKind::kSupernode, b.site(), fmt::format("{}{}", base, ++number));
      std::vector<std::vector<DeviceId>> groups;
      std::vector<DeviceId> node_ids;
      std::size_t rack = 0;
      int in_rack = 0;
      for (int n = 0; n < node_count; ++n) {
        DeviceId node = b.add_device(DeviceKind::kNode, sn, fmt::format("node{}", n + 1), host_model);
        NodeInfo info{node, sn, "", n >= node_count - spares, {}};
        if (!per_rack.empty()) {
          if (in_rack == 0) {
            DeviceId id = b.add_device(DeviceKind::kRack, b.site(), fmt::format("rack{}", racks.size() + 1), rack_model);
            racks.push_back(id);
            rack_members.emplace_back();
            if (cooling == "liquid") liquid_racks.push_back(id);
            for (int s = 0; s < shelves; ++s) b.add_device(DeviceKind::kPowerShelf, id, fmt::format("shelf{}", s), shelf_model);
          }
          info.rack = b.name(racks.back());
          rack_members.back().push_back(node);
          if (++in_rack == per_rack[rack]) in_rack = 0, ++rack;
        }
        for (int c = 0; c < cards; ++c) info.cards.push_back(b.add_device(DeviceKind::kCard, node, fmt::format("card{}", c), card));
        for (int c = 0; c < cpus; ++c) b.add_device(DeviceKind::kCpu, node, fmt::format("cpu{}", c));
        for (int p = 0; p < psus; ++p) b.add_device(DeviceKind::kPsu, node, fmt::format("psu{}", p), psu_model);
        if (!host_names.empty())
          b.add_alias(host_names[static_cast<std::size_t>(r) * static_cast<std::size_t>(node_count) + static_cast<std::size_t>(n)], node);
        if (!info.cards.empty()) groups.push_back(info.cards), node_ids.push_back(node);
        nodes.push_back(std::move(info));
      }
      Yaml up = y.get("scale_up");
      if (up.is_null() || groups.empty()) continue;
      WEFT_ASSIGN(auto scope, text(up, "scope", "supernode"));
      if (scope != "supernode" && scope != "node")
        return up.get("scope").error("scope is supernode (one domain) or node (one domain per node)");
      auto wire = [&](std::vector<std::vector<DeviceId>> g, std::vector<DeviceId> ids, const std::string& name) -> Status {
        std::vector<DeviceId> members;
        for (const auto& x : g) members.insert(members.end(), x.begin(), x.end());
        if (up.has("topology")) {  // structure not known: the domain is there, its cards with free ports
          WEFT_ASSIGN(auto topology, up.get("topology").text());
          if (topology == "unknown") {
            WEFT_TRY(up.only({"topology", "scope", "source"}));
            for (DeviceId card_id : members) b.add_port(card_id, bit(Network::kScaleUp));
            b.add_domain(DomainKind::kHbd, name, std::move(members));
            return {};
          }
        }
        Wiring w{b, std::move(g), std::move(ids), sn, "", bit(Network::kScaleUp), up};
        WEFT_TRY(run_topology(w, {}));
        b.add_domain(DomainKind::kHbd, name, std::move(members));
        return {};
      };
      if (scope == "supernode") WEFT_TRY(wire(groups, node_ids, b.name(sn)));
      else
        for (std::size_t g = 0; g < groups.size(); ++g) WEFT_TRY(wire({groups[g]}, {node_ids[g]}, b.name(node_ids[g])));
    }
    return {};
  }

  // NICs of every node, wired by a topology.
  Status nic_network(const Yaml& y, std::string_view what) {
    WEFT_ASSIGN(int nics, count(y, "nics_per_node", 1, 1, 64));
    WEFT_ASSIGN(auto model_name, text(y, "nic", ""));
    WEFT_ASSIGN(auto prefix, part_name(y, "prefix"));
    std::uint32_t model = UINT32_MAX;
    if (!model_name.empty()) {
      DeviceModel m;
      m.name = model_name;
      model = b.add_model(m);
    }
    NetworkSet networks = 0;
    for (const Yaml& item : y.get("networks").items()) {
      WEFT_ASSIGN(auto name, item.text());
      auto n = parse_network(name);
      if (!n) return item.error("unknown network '" + name + "'; known: scale-up, scale-out, storage, management");
      networks |= bit(*n);
    }
    if (networks == 0) networks = what == "storage_network" ? bit(Network::kStorage) : bit(Network::kScaleOut);
    std::vector<std::vector<DeviceId>> groups;
    std::vector<DeviceId> none;
    for (NodeInfo& n : nodes) {
      std::vector<DeviceId> group;
      int base = 0;
      if (auto at = nic_count.find(n.id.v); at != nic_count.end()) base = at->second;
      for (int k = 0; k < nics; ++k) group.push_back(b.add_device(DeviceKind::kNic, n.id, fmt::format("nic{}", base + k), model, k));
      nic_count[n.id.v] = base + nics;
      groups.push_back(std::move(group));
      none.push_back({});
    }
    if (groups.empty()) return y.error("there are no nodes to connect");
    if (y.has("topology")) {  // cabling not known: the NICs are there, with free ports
      WEFT_ASSIGN(auto topology, y.get("topology").text());
      if (topology == "unknown") {
        WEFT_TRY(y.only({"topology", "nics_per_node", "nic", "prefix", "networks", "source"}));
        for (const auto& group : groups)
          for (DeviceId nic : group) b.add_port(nic, networks);
        return {};
      }
    }
    Wiring w{b, std::move(groups), std::move(none), b.site(), prefix, networks, y};
    WEFT_TRY(run_topology(w, {"nics_per_node", "nic", "prefix", "networks"}));
    if (networks & bit(Network::kStorage)) leaves_storage = w.leaves, storage_networks = networks, storage_packets = w.packets;
    return {};
  }
  std::map<std::uint32_t, int> nic_count;

  Status storage(const Yaml& y) {
    WEFT_TRY(y.only({"name", "ports", "rate", "medium", "length", "bandwidth", "source"}));
    WEFT_ASSIGN(auto name, part_name(y, "name", "storage1"));
    WEFT_ASSIGN(int ports, count(y, "ports", 1, 1, 4096));
    WEFT_ASSIGN(double rate, rate_of(y, "rate", 0));
    WEFT_ASSIGN(double length, quantity(y, "length", "m", -1));
    WEFT_ASSIGN(auto medium_text, text(y, "medium", "unknown"));
    auto medium = parse_medium(medium_text);
    if (!medium) return y.get("medium").error("unknown medium '" + medium_text + "'");
    DeviceId id = b.add_device(DeviceKind::kStorage, b.site(), name);
    if (leaves_storage.empty())
      return y.error("no network carries storage: give scale_out 'networks: [scale-out, storage]' or a storage_network");
    for (int p = 0; p < ports; ++p) {
      Link link{};
      link.rate = BitsPerSecond(rate), link.latency_ns = static_cast<float>(100 + (length > 0 ? 5 * length : 0)),
      link.length_m = static_cast<float>(length), link.medium = *medium;
      link.networks = storage_networks, link.plane = -1, link.cable = next_cable(), link.packets = storage_packets;
      auto made = b.add_link(b.add_port(id, storage_networks),
                             b.add_port(leaves_storage[static_cast<std::size_t>(p) % leaves_storage.size()], storage_networks), link);
      if (!made) return std::unexpected(made.error().in(y.place()));
    }
    return {};
  }

  // One management switch per 48 BMCs, joined in a chain of trunks; carries nothing else.
  Status management(const Yaml& y) {
    WEFT_TRY(y.only({"rate", "switch", "medium", "length", "shared_with"}));
    WEFT_ASSIGN(double rate, rate_of(y, "rate", 1e9));
    WEFT_ASSIGN(double length, quantity(y, "length", "m", -1));
    WEFT_ASSIGN(auto medium_text, text(y, "medium", "dac"));
    auto medium = parse_medium(medium_text);
    if (!medium) return y.get("medium").error("unknown medium '" + medium_text + "'");
    std::uint32_t model = UINT32_MAX;
    if (y.has("switch")) {
      WEFT_ASSIGN(auto name, y.get("switch").text());
      auto m = switch_model(name, models);
      if (!m) return std::unexpected(m.error().in(y.get("switch").place()));
      model = b.add_model(*m);
    }
    NetworkSet role = bit(Network::kManagement);
    if (y.has("shared_with")) {
      WEFT_ASSIGN(auto other, y.get("shared_with").text());
      auto n = parse_network(other);
      if (!n) return y.get("shared_with").error("unknown network '" + other + "'");
      role |= bit(*n);
    }
    auto join = [&](DeviceId x, DeviceId z) -> Status {
      Link link{};
      link.rate = BitsPerSecond(rate), link.latency_ns = 1000, link.length_m = static_cast<float>(length), link.medium = *medium,
      link.networks = role, link.plane = -1, link.cable = next_cable();
      auto made = b.add_link(b.add_port(x, role), b.add_port(z, role), link);
      if (!made) return std::unexpected(made.error().in(y.place()));
      return {};
    };
    DeviceId last;
    int used = 48, number = 0;
    for (const NodeInfo& n : nodes) {
      if (used == 48) {
        DeviceId next = b.add_device(DeviceKind::kSwitch, b.site(), fmt::format("mgmt{}", ++number), model, -1, 0);
        if (last.ok()) WEFT_TRY(join(last, next));
        last = next, used = 0;
      }
      WEFT_TRY(join(b.add_device(DeviceKind::kBmc, n.id, "bmc"), last));
      ++used;
    }
    return {};
  }

  Status facility(const Yaml& y) {
    WEFT_TRY(y.only({"cdus", "pumps_per_cdu", "cdu_capacity", "supply", "flow_per_rack", "source"}));
    WEFT_ASSIGN(int units, count(y, "cdus", 0, 0, 65536));
    for (auto [key, unit] : {std::pair{"supply", "C"}, std::pair{"flow_per_rack", "L/min"}})
      if (y.has(key)) {
        WEFT_ASSIGN(double v, y.get(key).quantity(unit));
        if (key == std::string_view("supply") && (v < 1 || v > 90)) return y.get(key).error("coolant is supplied at 1 to 90 °C");
      }
    std::uint32_t cdu_model = UINT32_MAX;
    if (y.has("cdu_capacity")) {
      DeviceModel m;
      m.name = "cdu";
      WEFT_ASSIGN(double v, y.get("cdu_capacity").quantity("W"));
      m.power = Watts(v);  // heat it can take
      cdu_model = b.add_model(std::move(m));
    }
    WEFT_ASSIGN(int pumps, count(y, "pumps_per_cdu", 2, 1, 16));
    for (int c = 0; c < units; ++c) {
      DeviceId cdu = b.add_device(DeviceKind::kCdu, b.site(), fmt::format("cdu{}", c + 1), cdu_model);
      cdus.push_back(cdu);
      for (int p = 0; p < pumps; ++p) b.add_device(DeviceKind::kPump, cdu, fmt::format("pump{}", p));
    }
    return {};
  }

  // Switches that no topology adds: their cables follow under 'cables'.
  Status explicit_switches() {
    for (const Yaml& item : root.get("switches").items()) {
      WEFT_TRY(item.only({"name", "tier", "plane", "model"}));
      if (!item.has("name")) return item.error("a switch needs 'name: NAME'");
      WEFT_ASSIGN(auto name, part_name(item, "name"));
      WEFT_ASSIGN(int tier, count(item, "tier", -1, 0, 64));
      WEFT_ASSIGN(int plane, count(item, "plane", -1, 0, 32767));
      std::uint32_t model = UINT32_MAX;
      if (item.has("model")) {
        WEFT_ASSIGN(auto model_name, item.get("model").text());
        auto m = switch_model(model_name, models);
        if (!m) return std::unexpected(m.error().in(item.get("model").place()));
        model = b.add_model(*m);
      }
      b.add_device(DeviceKind::kSwitch, b.site(), name, model, plane, tier);
    }
    return {};
  }

  // Domains that no form or topology implies: {kind: hbd, name: …, members: [sn1/node1/card0, …]}.
  Status explicit_domains() {
    for (const Yaml& item : root.get("domains").items()) {
      WEFT_TRY(item.only({"kind", "name", "members"}));
      WEFT_ASSIGN(auto kind_text, item.get("kind").text());
      std::optional<DomainKind> kind;
      for (auto k :
           {DomainKind::kHbd, DomainKind::kRack, DomainKind::kPower, DomainKind::kCooling, DomainKind::kFailure, DomainKind::kScheduling})
        if (domain_kind_name(k) == kind_text) kind = k;
      if (!kind)
        return item.get("kind").error("unknown kind of domain '" + kind_text + "'; known: hbd, rack, power, cooling, failure, scheduling");
      WEFT_ASSIGN(auto name, item.get("name").text());
      std::vector<DeviceId> members;
      for (const Yaml& m : item.get("members").items()) {
        WEFT_ASSIGN(auto member, m.text());
        DeviceId d = find(member);
        if (!d.ok()) return m.error("no device '" + member + "' in this site");
        members.push_back(d);
      }
      if (members.empty()) return item.error("a domain needs 'members: [DEVICE, …]'");
      b.add_domain(*kind, name, std::move(members));
    }
    return {};
  }

  Status explicit_cables() {
    for (const Yaml& item : root.get("cables").items()) {
      WEFT_TRY(item.only({"name", "from", "to", "rate", "medium", "length", "networks", "spare", "mtu", "packet_cost"}));
      if (!item.has("from") || !item.has("to")) return item.error("a cable needs both ends: 'from: DEVICE:PORT' and 'to: DEVICE:PORT'");
      WEFT_ASSIGN(double rate, rate_of(item, "rate", 0));
      WEFT_ASSIGN(double length, quantity(item, "length", "m", -1));
      WEFT_ASSIGN(auto medium_text, text(item, "medium", "unknown"));
      auto medium = parse_medium(medium_text);
      if (!medium) return item.get("medium").error("unknown medium '" + medium_text + "'");
      NetworkSet networks = 0;
      for (const Yaml& n : item.get("networks").items()) {
        WEFT_ASSIGN(auto name, n.text());
        auto parsed = parse_network(name);
        if (!parsed) return n.error("unknown network '" + name + "'");
        networks |= bit(*parsed);
      }
      if (networks == 0) networks = bit(Network::kScaleOut);
      Link link{};
      link.rate = BitsPerSecond(rate), link.latency_ns = static_cast<float>(100 + (length > 0 ? 5 * length : 0)),
      link.length_m = static_cast<float>(length), link.medium = *medium, link.networks = networks, link.plane = -1;
      WEFT_ASSIGN(link.packets, packets(item));
      if (item.has("spare")) {
        WEFT_ASSIGN(link.spare, item.get("spare").boolean());
      }
      WEFT_ASSIGN(auto name, part_name(item, "name"));
      if (b.has_cable(name)) return item.get("name").error("a cable '" + name + "' is there already; give each its own name");
      link.cable = name.empty() ? next_cable() : b.add_cable(name);
      PortId ends[2];
      DeviceId devices[2];
      for (int e = 0; e < 2; ++e) {
        Yaml y = item.get(e ? "to" : "from");
        WEFT_ASSIGN(auto where, y.text());
        std::size_t colon = where.rfind(':');
        auto device = find(where.substr(0, colon));
        if (!device.ok()) return y.error("dangling cable: no device '" + where.substr(0, colon) + "' in this site");
        devices[e] = device;
        int number = -1;
        if (colon != std::string::npos) {
          std::string_view digits = std::string_view(where).substr(colon + 1);
          if (digits.starts_with('p')) digits.remove_prefix(1);
          auto v = parse_int(digits);
          if (!v || *v < 0 || *v > 65534) return y.error("'" + where + "' does not end in a port number");
          number = static_cast<int>(*v);
        }
        std::string key = number < 0 ? "" : fmt::format("{}:{}", device.v, number);
        if (!key.empty() && explicit_ports.contains(key)) ends[e] = explicit_ports[key];
        else if (!key.empty() && b.has_port(device, number)) ends[e] = b.port_of(device, number);
        else ends[e] = number < 0 ? b.add_port(device, networks) : b.add_port(device, networks, number);
        if (!key.empty()) explicit_ports[key] = ends[e];
      }
      if (devices[0] == devices[1]) return item.error("this cable joins " + b.name(devices[0]) + " with itself");
      auto made = b.add_link(ends[0], ends[1], link);
      if (!made) return std::unexpected(made.error().in(item.place()));
    }
    return {};
  }
  std::map<std::string, PortId> explicit_ports;

  DeviceId find(std::string_view name) const { return b.find(name); }

  Status domains() {
    for (std::size_t r = 0; r < racks.size(); ++r) {
      std::vector<DeviceId> members = rack_members[r];
      members.push_back(racks[r]);
      b.add_domain(DomainKind::kRack, b.name(racks[r]), members);
      b.add_domain(DomainKind::kPower, b.name(racks[r]) + "-power", members);
      b.add_domain(DomainKind::kFailure, b.name(racks[r]) + "-failure", members);
    }
    // Liquid-cooled racks are dealt to the coolant units in order.
    for (std::size_t c = 0; c < cdus.size(); ++c) {
      std::vector<DeviceId> members{cdus[c]};
      for (std::size_t r = 0; r < liquid_racks.size(); ++r) {
        if (r * cdus.size() / liquid_racks.size() != c) continue;
        for (std::size_t k = 0; k < racks.size(); ++k)
          if (racks[k] == liquid_racks[r]) {
            members.push_back(racks[k]);
            members.insert(members.end(), rack_members[k].begin(), rack_members[k].end());
          }
      }
      b.add_domain(DomainKind::kCooling, b.name(cdus[c]), members);
    }
    // Work goes to what is not kept spare.
    std::map<std::pair<std::uint32_t, bool>, std::vector<DeviceId>> by_supernode;
    for (const NodeInfo& n : nodes) {
      auto& cards = by_supernode[{n.supernode.v, n.spare}];
      cards.insert(cards.end(), n.cards.begin(), n.cards.end());
    }
    for (const auto& [key, cards] : by_supernode)
      b.add_domain(DomainKind::kScheduling, b.name(DeviceId{key.first}) + (key.second ? std::string(kSpareSuffix) : ""), cards);
    return {};
  }

  Result<Snapshot> run() {
    WEFT_TRY(size_check());
    int number = 0;
    for (const Yaml& y : root.get("supernodes").items()) WEFT_TRY(supernode(y, number));
    if (root.has("scale_out")) WEFT_TRY(nic_network(root.get("scale_out"), "scale_out"));
    if (root.has("storage_network")) WEFT_TRY(nic_network(root.get("storage_network"), "storage_network"));
    for (const Yaml& y : root.get("storage").items()) WEFT_TRY(storage(y));
    if (root.has("management")) WEFT_TRY(management(root.get("management")));
    if (root.has("facility")) WEFT_TRY(facility(root.get("facility")));
    WEFT_TRY(explicit_switches());
    WEFT_TRY(explicit_cables());
    WEFT_TRY(explicit_domains());
    for (const auto& [foreign, node] : root.get("aliases").entries()) {
      WEFT_ASSIGN(auto target, node.text());
      DeviceId d = find(target);
      if (!d.ok()) return node.error("alias for '" + target + "', which is not in this site");
      b.add_alias(foreign, d);
    }
    WEFT_TRY(domains());
    auto built = std::move(b).build();
    if (!built) return std::unexpected(built.error().in(spec.file));
    return built;
  }
};

}  // namespace

std::vector<DeviceId> spare_nodes(const Snapshot& site) {
  std::vector<DeviceId> out;
  for (const Domain& d : site.domains())
    if (d.kind == DomainKind::kScheduling && std::string_view(d.name).ends_with(kSpareSuffix))
      for (DeviceId card : d.members)
        if (DeviceId node = site.container(card, DeviceKind::kNode); node.ok() && (out.empty() || out.back() != node)) out.push_back(node);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Result<Snapshot> build(const SiteSpec& spec, const BuildLimits& limits) { return Builder(spec, limits).run(); }

}  // namespace weft::fabric
