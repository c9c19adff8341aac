#include "twin/probes.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/flow.h"
#include "twin/physics.h"
#include "twin/world_impl.h"

namespace weft::twin {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::LinkId;
using fabric::LinkState;
namespace action = heal::action;

bool is_probe(std::string_view kind) {
  return kind == action::kProbeLink || kind == action::kProbeCard || kind == action::kProbeNode || kind == action::kProbeCollective ||
         kind == action::kProbeStorage;
}

double World::Impl::stress_speed(const Card& c) const {
  // Where a long GEMM settles: the same balance as step_physics, at full load and steady temperature.
  const Node* node = c.node >= 0 ? &state.nodes[static_cast<std::size_t>(c.node)] : nullptr;
  if (c.knobs.gone || (node && node->knobs.down)) return 0;
  double alpha = parameters.get("card.power_exponent"), at = parameters.get("card.throttle_c");
  double inlet = (node ? node->inlet : parameters.get("node.inlet_c")) + c.offset_c, r = c.resistance * c.knobs.heat;
  if (c.liquid && c.cdu >= 0) {
    const Cdu& cdu = state.cdus[static_cast<std::size_t>(c.cdu)];
    inlet = (cdu.supply_c + cdu.knobs.supply + cdu.return_c) / 2 + c.offset_c, r *= std::pow(std::max(cdu.flow, 0.02), -0.8);
    if (node) r *= std::pow(std::max(node->knobs.fan, 0.2), -parameters.get("node.fan_exponent_liquid"));
  } else if (!c.liquid && node) {
    r *= std::pow(std::max(node->knobs.fan, 0.2), -parameters.get("node.fan_exponent"));
  }
  double clock = std::min(1.0, c.knobs.clock);
  if (c.knobs.limit > 0) clock = std::min(clock, clock_for_power(c.knobs.limit, c.idle_w, c.max_w, 1, alpha));
  if (c.knobs.brake) clock = std::min(clock, parameters.get("card.brake_clock"));
  if (inlet + r * (c.idle_w + (c.max_w - c.idle_w) * std::pow(clock, alpha)) > at)
    clock = std::min(clock, clock_for_power((at - inlet) / r, c.idle_w, c.max_w, 1, alpha));
  return std::pow(clock, parameters.get("card.clock_to_speed")) * (1 - c.knobs.stray) / c.knobs.slow / c.silicon;
}

Json World::Impl::measure(const heal::Action& a) {
  Random draw = random.fork("probe/" + a.id);
  auto near = [&](double v) { return options.noise ? v * (1 + draw.normal(0, parameters.get("action.probe_noise"))) : v; };
  Json out = Json::object();
  if (a.kind == action::kProbeLink) {
    auto found = state.built.find_link(a.target);
    if (!found) return out;
    LinkId l = *found;
    const fabric::Link& link = state.built.link(l);
    const LinkKnobs& k = state.links[l.v];
    const Port &pa = state.ports[link.a.v], &pb = state.ports[link.b.v];
    bool down = k.state == LinkState::kDown || pa.knobs.dark || pb.knobs.dark;
    bool moved =
        changed_at[l.v].ns() && state.now - changed_at[l.v] <= seconds(kProbeLinkSeconds);  // the carrier counter differs before and after
    double ratio = down || k.black_hole ? 0 : k.rate * (moved ? 0.6 : 1.0);
    // Loss on one side slows that direction; go-back-N makes little loss costly.
    auto sided = [&](const Port& receiver) { return std::max(0.0, ratio * (1 - std::min(0.9, receiver.knobs.crc / 200))); };
    double forward = near(sided(pb)), backward = near(sided(pa));
    auto ber = [&](const Port& q) {
      return down ? 0.5 : std::min(0.5, std::pow(10, q.log_ber + (options.noise ? draw.normal(0, 0.08) : 0)) * q.knobs.ber);
    };
    double ba = ber(pa), bb = ber(pb);
    out["bandwidth_ratio"] = std::min(forward, backward), out["forward_ratio"] = forward, out["backward_ratio"] = backward;
    out["large_message_ok"] = !down && !k.black_hole;
    out["ber"] = std::max(ba, bb), out["ber_a"] = ba, out["ber_b"] = bb;
    out["uncorrectable"] = std::floor((pa.knobs.uncorrectable + pb.knobs.uncorrectable) * kProbeLinkSeconds);
    out["carrier_changes"] = moved ? 1 : 0;
    out["latency_us"] = near((static_cast<double>(link.latency_ns) + k.latency_ns) * 1e-3 + 1.5);
  } else if (a.kind == action::kProbeCard || a.kind == action::kProbeNode) {
    auto found = state.built.find_device(a.target);
    if (!found) return out;
    std::vector<int> cards;
    for (std::size_t c = 0; c < state.cards.size(); ++c)
      for (DeviceId d = state.cards[c].id; d.ok(); d = state.built.device(d).parent)
        if (d == *found) cards.push_back(static_cast<int>(c));
    double slowest = cards.empty() ? 0 : 1e9, lanes = 16, copy = 1, hottest = 0;
    bool memory = true, throttled = false;
    int answering = 0;
    for (int i : cards) {
      const Card& c = state.cards[static_cast<std::size_t>(i)];
      double speed = c.knobs.hung ? 0 : stress_speed(c);
      answering += speed > 0;
      slowest = std::min(slowest, speed), lanes = std::min<double>(lanes, c.knobs.lanes), copy = std::min(copy, 1 / c.knobs.host_path),
      hottest = std::max(hottest, c.temp);
      memory = memory && !c.remap_pending && c.knobs.sbe < 50, throttled = throttled || (c.throttle & 0xc8);
    }
    if (a.kind == action::kProbeCard) {
      out["answers"] = answering > 0, out["gemm_ratio"] = near(slowest), out["memory_ok"] = memory && answering > 0,
      out["memory_ratio"] = near(answering > 0 ? 1.0 : 0.0);
      out["temperature_c"] = std::round(hottest), out["throttled"] = throttled, out["pcie_lanes"] = lanes,
      out["host_copy_ratio"] = near(copy);
    } else {
      int n = state.built.device(*found).kind == DeviceKind::kNode ? state.index_of(*found) : state.node_of(*found);
      bool up = n >= 0 && !state.nodes[static_cast<std::size_t>(n)].knobs.down;
      const NodeKnobs k = n >= 0 ? state.nodes[static_cast<std::size_t>(n)].knobs : NodeKnobs{};
      double links = 1;
      for (int i : cards) {
        double have = 0, built = 0;
        for (LinkId l : state.network_links(state.cards[static_cast<std::size_t>(i)].id))
          built += 1, have += state.links[l.v].state == LinkState::kDown ? 0 : state.links[l.v].rate;
        if (built > 0) links = std::min(links, have / built);
      }
      out["answers"] = up, out["cards"] = answering, out["gemm_ratio"] = up ? near(slowest) : 0.0, out["memory_ok"] = memory && up;
      out["all_reduce_ratio"] = up && answering == static_cast<int>(cards.size()) ? near(links / k.comm) : 0.0;
      out["pcie_lanes"] = lanes, out["host_ratio"] = up ? near(k.cpu_clock * (1 - k.cpu_busy * 0.5)) : 0.0;
      out["storage_ratio"] = n >= 0 && up ? near(state.nodes[static_cast<std::size_t>(n)].storage_share) : 0.0;
    }
  } else if (a.kind == action::kProbeCollective) {
    const Json& p = a.parameters.get();
    std::vector<DeviceId> cards;
    if (p.contains("cards"))
      for (const Json& c : p["cards"])
        if (auto d = state.built.find_device(c.get<std::string>())) cards.push_back(*d);
    std::string name = p.value("kind", std::string("all-reduce"));
    workload::Collective kind = workload::Collective::kAllReduce;
    for (auto k : {workload::Collective::kAllReduce, workload::Collective::kAllGather, workload::Collective::kReduceScatter,
                   workload::Collective::kAllToAll, workload::Collective::kBroadcast})
      if (workload::collective_name(k) == name) kind = k;
    Bytes bytes(p.value("bytes", std::int64_t{256} << 20));
    auto now = sim::run_collective(real, cards, kind, bytes), usual = sim::run_collective(state.built, cards, kind, bytes);
    double factor = 1;
    bool held = false;
    for (DeviceId d : cards) {
      int c = state.card_of(d);
      const Card& card = state.cards[static_cast<std::size_t>(c)];
      if (card.node >= 0) factor = std::max(factor, state.nodes[static_cast<std::size_t>(card.node)].knobs.comm);
      held = held || card.knobs.hung || card.knobs.gone;
    }
    if (now)
      for (const sim::LinkLoad& load : now->links) {
        LinkId l = load.link.link();
        held = held || (state.links[l.v].black_hole && state.in_service[l.v]);
      }
    bool good = now && usual && !held;
    out["reachable"] = good, out["algorithm"] = now ? now->algorithm : std::string();
    out["bus_bandwidth_ratio"] = good ? near(usual->time / now->time / factor) : 0.0;
    out["seconds"] = good ? near(now->time.value() * factor) : 0.0;
  } else if (a.kind == action::kProbeStorage) {
    double read = 0, write = 0, latency = 0;
    for (const Storage& s : state.storages)
      read = std::max(read, s.knobs.read), write = std::max(write, s.knobs.write), latency = std::max(latency, s.knobs.latency);
    out["read_ratio"] = read > 0 ? near(1 / read) : 0.0, out["write_ratio"] = write > 0 ? near(1 / write) : 0.0,
    out["latency_s"] = near(parameters.get("storage.latency_s") * latency);
  }
  return out;
}

}  // namespace weft::twin
