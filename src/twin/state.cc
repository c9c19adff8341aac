#include "twin/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "telemetry/names.h"

namespace weft::twin {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::DomainKind;
using fabric::LinkId;
using fabric::Network;
namespace fact = telemetry::fact;

namespace {

constexpr fabric::NetworkSet kWires = fabric::bit(Network::kScaleUp) | fabric::bit(Network::kScaleOut) | fabric::bit(Network::kStorage);
const std::string kNothing;

}  // namespace

bool State::ethernet(LinkId link) const {
  fabric::NetworkSet n = built.link(link).networks;
  return (n & (fabric::bit(Network::kScaleOut) | fabric::bit(Network::kStorage))) && !(n & fabric::bit(Network::kScaleUp));
}
bool State::scale_up(LinkId link) const { return built.link(link).networks & fabric::bit(Network::kScaleUp); }

int State::node_of(DeviceId d) const {
  DeviceId n = built.container(d, DeviceKind::kNode);
  return n.ok() ? index_[n.v] : -1;
}

std::vector<LinkId> State::network_links(DeviceId d) const {
  std::vector<LinkId> out;
  for (fabric::PortId p : built.ports_of(d)) {
    LinkId l = built.port(p).link;
    if (l.ok() && built.link(l).networks & kWires) out.push_back(l);
  }
  return out;
}

State::State(fabric::Snapshot snapshot, const Parameters& p, const Random& random, bool noise)
    : parameters(&p), built(std::move(snapshot)) {
  Random spread = random.fork("spread");
  auto vary = [&](double deviation) { return noise ? spread.normal(0, deviation) : 0.0; };
  index_.assign(built.device_count(), -1);
  auto enroll = [&](DeviceKind kind, auto&& add) {
    int i = 0;
    for (DeviceId d : built.of_kind(kind)) index_[d.v] = i++, add(d);
  };
  // The rack of a device: what it lies in, else the rack domain that holds it or what it lies in.
  auto rack_of = [&](DeviceId d) -> int {
    if (DeviceId r = built.container(d, DeviceKind::kRack); r.ok()) return index_[r.v];
    for (fabric::DomainId id : built.domains_of(d)) {
      const fabric::Domain& domain = built.domain(id);
      if (domain.kind != DomainKind::kRack && domain.kind != DomainKind::kPower) continue;
      if (auto r = built.find_device(domain.name); r && built.device(*r).kind == DeviceKind::kRack) return index_[r->v];
      for (DeviceId m : domain.members)
        if (built.device(m).kind == DeviceKind::kRack) return index_[m.v];
    }
    return -1;
  };
  enroll(DeviceKind::kRack, [&](DeviceId d) { racks.push_back({.id = d}); });
  enroll(DeviceKind::kCdu, [&](DeviceId d) { cdus.push_back({.id = d}); });
  enroll(DeviceKind::kStorage, [&](DeviceId d) {
    storages.push_back({.id = d});
    storages.back().read = std::floor(spread.uniform(1e12, 1e14)), storages.back().write = std::floor(spread.uniform(1e12, 1e14));
  });
  enroll(DeviceKind::kNode, [&](DeviceId d) {
    Node n{.id = d};
    n.rack = rack_of(d);
    if (n.rack >= 0) racks[static_cast<std::size_t>(n.rack)].nodes.push_back(static_cast<int>(nodes.size()));
    for (DeviceId c : built.children(d)) n.supplies += built.device(c).kind == DeviceKind::kPsu;
    n.inlet_base = p.get("node.inlet_c") + vary(0.7);
    n.host_w = p.get("node.host_w");
    n.memory = p.get("node.memory_b");
    n.skew = milliseconds(spread.integer(0, 9));  // hosts agree to about 10 ms
    n.phase = static_cast<int>(spread.integer(0, 9));
    nodes.push_back(n);
  });
  enroll(DeviceKind::kCard, [&](DeviceId d) {
    Card c{.id = d};
    const fabric::DeviceModel* model = built.model_of(d);
    c.node = node_of(d);
    c.rack = rack_of(d);
    c.max_w = model && model->power ? model->power->value() : p.get("card.power_w");
    c.idle_w = model && model->idle_power ? model->idle_power->value() : c.max_w * p.get("card.idle_share");
    c.liquid = model && model->cooling.find("liquid") != std::string::npos;
    c.silicon = std::clamp(1 + vary(p.get("card.silicon_spread")), 0.95, 1.05);
    c.offset_c = vary(c.liquid ? p.get("card.liquid_spread_c") : p.get("card.air_spread_c"));
    c.clock_mhz = p.get("card.clock_mhz");
    c.temp = p.get("node.inlet_c") + 10, c.memory_temp = c.temp + 6;
    c.sbe = static_cast<double>(spread.integer(0, 40)), c.replay = static_cast<double>(spread.integer(0, 12));
    c.crc = static_cast<double>(spread.integer(0, 3)), c.nvl_replay = static_cast<double>(spread.integer(0, 3));
    for (LinkId l : network_links(d)) c.scale_up_links += scale_up(l) && !built.link(l).spare;
    if (c.node >= 0) nodes[static_cast<std::size_t>(c.node)].cards.push_back(static_cast<int>(cards.size()));
    if (c.rack >= 0 && c.liquid) racks[static_cast<std::size_t>(c.rack)].liquid = true;
    cards.push_back(c);
  });
  // Who feeds whom with coolant: the cooling domain that holds or names the unit, else its rack, else shared out in turn.
  for (std::size_t i = 0; i < cdus.size(); ++i) {
    Cdu& cdu = cdus[i];
    std::string name = built.name(cdu.id);
    std::vector<DeviceId> roots;
    for (const fabric::Domain& domain : built.domains()) {
      if (domain.kind != DomainKind::kCooling) continue;
      bool mine = domain.name == name || std::binary_search(domain.members.begin(), domain.members.end(), cdu.id);
      if (mine) roots.insert(roots.end(), domain.members.begin(), domain.members.end());
    }
    if (roots.empty())
      if (DeviceId r = built.container(cdu.id, DeviceKind::kRack); r.ok()) roots.push_back(r);
    for (std::size_t c = 0; c < cards.size(); ++c) {
      bool fed = false;
      for (DeviceId at = cards[c].id; at.ok() && !fed; at = built.device(at).parent)
        fed = std::find(roots.begin(), roots.end(), at) != roots.end();
      if (!fed && cards[c].rack >= 0)
        fed = std::find(roots.begin(), roots.end(), racks[static_cast<std::size_t>(cards[c].rack)].id) != roots.end();
      if (roots.empty()) fed = cards[c].liquid && c % cdus.size() == i;
      if (!fed || cards[c].cdu >= 0) continue;
      // A card on a coolant loop is liquid-cooled, whatever its model's usual cooling.
      if (!cards[c].liquid) cards[c].offset_c *= p.get("card.liquid_spread_c") / p.get("card.air_spread_c");
      cards[c].liquid = true, cards[c].cdu = static_cast<int>(i);
      cdu.cards.push_back(static_cast<int>(c));
      if (cards[c].rack >= 0) racks[static_cast<std::size_t>(cards[c].rack)].liquid = true;
    }
    cdu.supply_c = p.get("cdu.supply_c") + vary(0.3);
    cdu.flow_lpm = std::max<std::size_t>(cdu.cards.size(), 1) * p.get("cdu.flow_per_card_lpm");
    cdu.return_c = cdu.supply_c;
  }
  // So that full power settles at the ordinary temperature of its cooling (a loop's mean is a few degrees above its supply).
  for (Card& c : cards)
    c.resistance =
        (c.liquid ? p.get("card.liquid_full_c") - p.get("cdu.supply_c") - 4 : p.get("card.air_full_c") - p.get("node.inlet_c")) / c.max_w;
  ports.resize(built.port_count());
  for (std::uint32_t i = 0; i < built.port_count(); ++i) {
    Port& port = ports[i];
    port.id = fabric::PortId{i};
    const fabric::Port& q = built.port(port.id);
    port.node = node_of(q.device);
    port.at_switch = built.device(q.device).kind == DeviceKind::kSwitch;
    if (!q.link.ok()) continue;
    const fabric::Link& link = built.link(q.link);
    port.exports = link.networks & kWires;
    if (!port.exports) continue;
    port.ethernet = ethernet(q.link);
    port.optical = link.medium == fabric::Medium::kOptical || link.medium == fabric::Medium::kAoc ||
                   (link.medium == fabric::Medium::kUnknown && port.ethernet);
    // Three decades between healthy ports of one box (N12).
    port.log_ber = noise ? spread.uniform(p.get("port.log_ber_low"), p.get("port.log_ber_high"))
                         : (p.get("port.log_ber_low") + p.get("port.log_ber_high")) / 2;
    port.rx_dbm = p.get("port.rx_dbm") + vary(0.5), port.tx_dbm = p.get("port.tx_dbm") + vary(0.4);
    port.bias_ma = p.get("port.bias_ma") + vary(0.5), port.temp_c = p.get("port.module_c") + vary(2);
    // Since-boot totals, and the residue of link bring-up (N14).
    port.tx = std::floor(spread.uniform(1e10, 1e15)), port.rx = std::floor(spread.uniform(1e10, 1e15));
    port.uncorrectable = noise && spread.chance(0.25) ? static_cast<double>(spread.integer(1, 4)) : 0;
    port.retries = static_cast<double>(spread.integer(0, 50)), port.crc = static_cast<double>(spread.integer(0, 2));
    port.pfc_rx = static_cast<double>(spread.integer(0, 100000)), port.pfc_tx = static_cast<double>(spread.integer(0, 100000));
    port.ecn = static_cast<double>(spread.integer(0, 100000));
  }
  enroll(DeviceKind::kNic, [&](DeviceId d) {
    Nic n{.id = d};
    n.node = node_of(d);
    for (fabric::PortId q : built.ports_of(d))
      if (ports[q.v].exports) n.ports.push_back(static_cast<int>(q.v));
    n.byte_ceiling = spread.chance(0.3);
    n.downed = static_cast<double>(spread.integer(1, 6));
    n.tx = std::floor(spread.uniform(1e10, 1e15)), n.rx = std::floor(spread.uniform(1e10, 1e15));
    n.wait = std::floor(spread.uniform(0, 1e9)), n.cnp_sent = static_cast<double>(spread.integer(0, 100000)),
    n.cnp_handled = static_cast<double>(spread.integer(0, 100000));
    n.marked = n.cnp_sent, n.oos = static_cast<double>(spread.integer(0, 20)), n.prio3 = n.tx,
    n.prio0 = std::floor(spread.uniform(1e8, 1e10));
    if (n.node >= 0) nodes[static_cast<std::size_t>(n.node)].nics.push_back(static_cast<int>(nics.size()));
    nics.push_back(n);
  });
  {
    int i = 0;
    for (DeviceId d : built.of_kind(DeviceKind::kSwitch)) index_[d.v] = i++;
  }
  links.resize(built.link_count());
  in_service.resize(built.link_count());
  for (std::uint32_t l = 0; l < built.link_count(); ++l) in_service[l] = built.health(LinkId{l}).in_service;
  double rated = p.get("rack.cap_margin");
  for (Rack& r : racks) {
    double watts = 0;
    for (int n : r.nodes) {
      watts += nodes[static_cast<std::size_t>(n)].host_w;
      for (int c : nodes[static_cast<std::size_t>(n)].cards) watts += cards[static_cast<std::size_t>(c)].max_w;
    }
    r.cap_w = watts * rated;
  }

  // Settings as a well-kept fleet has them.
  auto settle = [&](const std::string& entity, std::string_view key, std::string value) {
    baselines[{entity, std::string(key)}] = value;
    set_fact(entity, key, std::move(value));
  };
  for (const Node& n : nodes) {
    std::string name = built.name(n.id);
    settle(name, fact::kDriver, "570.124.06"), settle(name, fact::kCommLibrary, "2.27.3"), settle(name, fact::kKernel, "6.8.0-1024");
    settle(name, fact::kGovernor, "performance");
  }
  for (std::size_t c = 0; c < cards.size(); ++c) {
    std::string name = built.name(cards[c].id);
    const fabric::DeviceModel* model = built.model_of(cards[c].id);
    if (model) settle(name, fact::kModelName, model->name);
    settle(name, fact::kFirmware, "96.00.A5.00.03");
    settle(name, fact::kSerial, fmt::format("16530{:08d}", c + 1));
  }
  for (const Nic& n : nics) {
    std::string name = built.name(n.id);
    settle(name, fact::kFirmware, "28.43.2566");
    if (n.ports.empty() || !ports[static_cast<std::size_t>(n.ports[0])].ethernet) continue;
    settle(name, fact::kMtu, "4200"), settle(name, fact::kEcn, "true"), settle(name, fact::kPfc, "3"), settle(name, fact::kTrust, "dscp");
  }
  for (DeviceId d : built.of_kind(DeviceKind::kSwitch)) settle(built.name(d), fact::kFirmware, "4.4.0");
  for (DeviceId d : built.of_kind(DeviceKind::kStorage))
    settle(built.name(d), fact::kMtu, "4200"), settle(built.name(d), fact::kEcn, "true"), settle(built.name(d), fact::kPfc, "3");
  for (const Port& port : ports) {
    if (!port.exports) continue;
    std::string name = built.name(port.id);
    if (port.ethernet) settle(name, fact::kNeighbor, built.name(built.peer(port.id)));
    if (port.ethernet && port.at_switch) settle(name, fact::kMtu, "9216"), settle(name, fact::kEcn, "true"), settle(name, fact::kPfc, "3");
  }
}

void State::reset_knobs() {
  for (Card& c : cards) c.knobs = {};
  for (Node& n : nodes) n.knobs = {};
  for (Nic& n : nics) n.knobs = {};
  for (Port& q : ports) q.knobs = {};
  for (LinkKnobs& l : links) l = {};
  for (Rack& r : racks) r.knobs = {};
  for (Cdu& c : cdus) c.knobs = {};
  for (Storage& s : storages) s.knobs = {};
  for (JobKnobs& j : jobs) j = {};
}

const std::string& State::fact(std::string_view entity, std::string_view key) const {
  auto at = facts.find({std::string(entity), std::string(key)});
  return at == facts.end() ? kNothing : at->second;
}
const std::string& State::baseline(std::string_view entity, std::string_view key) const {
  auto at = baselines.find({std::string(entity), std::string(key)});
  return at == baselines.end() ? kNothing : at->second;
}
void State::set_fact(std::string_view entity, std::string_view key, std::string value) {
  std::pair<std::string, std::string> at{std::string(entity), std::string(key)};
  std::string& held = facts[at];
  if (held == value) return;
  held = std::move(value);
  changed_facts.push_back(std::move(at));
}
void State::log(std::string entity, std::string_view kind, std::string code, telemetry::Severity severity, std::string text) {
  lines.push_back({std::move(entity), std::string(kind), std::move(code), std::move(text), severity});
}

}  // namespace weft::twin
