// Scale-up and scale-out links: up, at their rate, clean, and configured alike at both ends.
#include "inspect/checks/support.h"

namespace weft::inspect {
namespace {

using fabric::DeviceKind;
using fabric::Network;
namespace metric = telemetry::metric;

void scale_up_active(const Context& x, std::vector<Cell>& out) {
  for (fabric::DeviceId d : x.snapshot.cards()) {
    int built = 0;
    for (fabric::PortId p : x.snapshot.ports_of(d)) {
      fabric::LinkId l = x.snapshot.port(p).link;
      if (l.ok() && (x.snapshot.link(l).networks & fabric::bit(Network::kScaleUp)) && !x.snapshot.link(l).spare) ++built;
    }
    std::string name = x.snapshot.name(d);
    if (built == 0) continue;  // the site file knows no scale-up link of this card
    const Observation::Value* v = x.seen.value(metric::kScaleUpLinks, name);
    if (!v) out.push_back(unknown(name, "no count of active scale-up links", "check the exporter of this node"));
    else
      out.push_back(judged(name, v->last >= built, fmt::format("{:.0f} links", v->last),
                           Threshold{0, fmt::format("{} links", built), "site file (links differ by product; never assumed)"},
                           "an inactive scale-up link slows every collective of its domain: reset the card, then reseat or replace"));
  }
}

// Ports of links that carry `network`, spare links left out.
template <class Each>
void each_port(const Context& x, Network network, Each each) {
  for (std::uint32_t l = 0; l < x.snapshot.link_count(); ++l) {
    const fabric::Link& link = x.snapshot.link(fabric::LinkId{l});
    if (!(link.networks & fabric::bit(network)) || link.spare) continue;
    for (fabric::PortId p : {link.a, link.b}) each(p, link);
  }
}

void ber_of(const Context& x, Network network, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("pre_fec_ber_max");
  each_port(x, network, [&](fabric::PortId p, const fabric::Link&) {
    std::string name = x.snapshot.name(p);
    const Observation::Value* v = x.seen.value(metric::kPreFecBer, name);
    if (!v) out.push_back(unknown(name, "no pre-FEC error rate", "export FEC counters of this port (DOM, SONiC FEC, NVLink BER)"));
    else
      out.push_back(judged(name, v->last < t.value, fmt::format("{:.2g}", v->last), t,
                           "clean and reseat; if the rate stays, change module or cable"));
  });
}
void ber_up(const Context& x, std::vector<Cell>& out) { ber_of(x, Network::kScaleUp, out); }
void ber_out(const Context& x, std::vector<Cell>& out) { ber_of(x, Network::kScaleOut, out); }

void uncorrectable(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("fec_uncorrectable_growth_max");
  each_port(x, Network::kScaleOut, [&](fabric::PortId p, const fabric::Link&) {
    std::string name = x.snapshot.name(p);
    const Observation::Value* v = x.seen.value(metric::kFecUncorrectable, name);
    if (!v || v->count < 2)
      out.push_back(unknown(name, "fewer than two readings of uncorrectable code words", "observe longer, or export the counter"));
    else
      out.push_back(judged(name, v->last - v->first <= t.value, fmt::format("+{:.0f}", v->last - v->first), t,
                           "the link loses frames: change module or cable before starting work"));
  });
}

std::string nic_entity(const Context& x, fabric::DeviceId nic) { return x.snapshot.name(nic); }

// A NIC whose cabling the site does not describe is not expected to say anything.
bool cabled(const Context& x, fabric::DeviceId nic) {
  for (fabric::PortId p : x.snapshot.ports_of(nic))
    if (fabric::LinkId l = x.snapshot.port(p).link; l.ok() && !x.snapshot.link(l).spare) return true;
  return false;
}

void nic_up(const Context& x, std::vector<Cell>& out) {
  static const Threshold kActive{4, "4 (active)", "node exporter: node_infiniband_state_id"};
  for (fabric::DeviceId d : x.snapshot.of_kind(DeviceKind::kNic)) {
    std::string name = nic_entity(x, d);
    const Observation::Value* v = x.seen.value(metric::kIbState, name);
    if (!v && !cabled(x, d)) continue;
    if (!v)
      out.push_back(unknown(name, fmt::format("no {}", metric::kIbState), "check that the exporter of this node runs and is scraped"));
    else
      out.push_back(
          judged(name, v->last == 4, fmt::format("{:.6g}", v->last), kActive, "port is not active: look at cable, switch port and driver"));
  }
}

void nic_rate(const Context& x, std::vector<Cell>& out) {
  const Threshold& share = x.rules.get("nic_rate_share_min");
  for (fabric::DeviceId d : x.snapshot.of_kind(DeviceKind::kNic)) {
    double built = 0;
    for (fabric::PortId p : x.snapshot.ports_of(d))
      if (fabric::LinkId l = x.snapshot.port(p).link; l.ok() && !x.snapshot.link(l).spare)
        built = std::max(built, x.snapshot.link(l).rate.value() / 8);
    if (built == 0) continue;
    std::string name = nic_entity(x, d);
    const Observation::Value* v = x.seen.value(metric::kIbRate, name);
    if (!v) out.push_back(unknown(name, "no port rate", "check the node exporter's infiniband collector"));
    else
      out.push_back(judged(name, v->last >= share.value * built, human(BitsPerSecond(v->last * 8)),
                           Threshold{0, human(BitsPerSecond(built * 8)), share.source},
                           "negotiated below its rate: reseat, check module and FEC mode"));
  }
}

void link_downed(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("link_error_growth_max");
  for (fabric::DeviceId d : x.snapshot.of_kind(DeviceKind::kNic)) {
    std::string name = nic_entity(x, d);
    const Observation::Value* v = x.seen.value(metric::kIbDowned, name);
    if (!v && !cabled(x, d)) continue;
    if (!v || v->count < 2)
      out.push_back(unknown(name, "fewer than two readings of link_downed", "observe longer; the total since boot decides nothing"));
    else
      out.push_back(judged(name, v->last - v->first <= t.value, fmt::format("+{:.0f}", v->last - v->first), t,
                           "the link went down while inspected: change cable or module"));
  }
}

// Settings must agree at the two ends of every cable (a lossless network is a set of constraints).
void both_ends(const Context& x, std::vector<Cell>& out) {
  static const Threshold kSame{0, "same at both ends", "rule of this product: ECN, PFC and MTU act only when both ends agree"};
  for (std::uint32_t l = 0; l < x.snapshot.link_count(); ++l) {
    const fabric::Link& link = x.snapshot.link(fabric::LinkId{l});
    if (!(link.networks & fabric::bit(Network::kScaleOut)) || link.spare) continue;
    auto setting = [&](fabric::PortId p, std::string_view key) -> const std::string* {
      if (const std::string* v = x.seen.fact(x.snapshot.name(p), key)) return v;
      return x.seen.fact(x.snapshot.name(x.snapshot.port(p).device), key);
    };
    std::string name = x.snapshot.name(fabric::LinkId{l}), differ;
    int compared = 0;
    for (std::string_view key : {telemetry::fact::kMtu, telemetry::fact::kEcn, telemetry::fact::kPfc}) {
      const std::string *a = setting(link.a, key), *b = setting(link.b, key);
      if (!a || !b) continue;
      ++compared;
      // A switch may take larger frames than the end point (NIC, storage) sends, never smaller ones.
      bool end_a = x.snapshot.device(x.snapshot.port(link.a).device).kind != DeviceKind::kSwitch,
           end_b = x.snapshot.device(x.snapshot.port(link.b).device).kind != DeviceKind::kSwitch;
      if (key == telemetry::fact::kMtu && end_a != end_b) {
        double end = std::strtod((end_a ? a : b)->c_str(), nullptr), far = std::strtod((end_a ? b : a)->c_str(), nullptr);
        if (end > 0 && far >= end) continue;
      }
      if (*a != *b)
        differ += fmt::format("{}{}: {} at {}, {} at {}", differ.empty() ? "" : "; ", key, *a, x.snapshot.name(link.a), *b,
                              x.snapshot.name(link.b));
    }
    if (compared == 0)
      out.push_back(unknown(name, "no MTU, ECN or PFC setting of both ends", "collect the configuration of NIC and switch"));
    else
      out.push_back(judged(name, differ.empty(), differ.empty() ? fmt::format("{} settings agree", compared) : differ, kSame,
                           "set both ends alike, then repeat the inspection"));
  }
}

void cabling(const Context& x, std::vector<Cell>& out) {
  each_port(x, Network::kScaleOut, [&](fabric::PortId p, const fabric::Link&) {
    std::string name = x.snapshot.name(p), want = x.snapshot.name(x.snapshot.peer(p));
    const std::string* seen = x.seen.fact(name, telemetry::fact::kNeighbor);
    if (!seen) out.push_back(unknown(name, "no neighbour seen", "enable LLDP or run a fabric discovery"));
    else
      out.push_back(
          judged(name, *seen == want, *seen, Threshold{0, want, "site file"}, "cable in the wrong port, or the site file is wrong"));
  });
}

WEFT_REGISTER(checks(), {"scale_up_links", "all scale-up links of a card active", Item::kScaleUp, scale_up_active});
WEFT_REGISTER(checks(), {"scale_up_ber", "scale-up error rate below the FEC limit", Item::kScaleUp, ber_up});
WEFT_REGISTER(checks(), {"scale_out_ber", "scale-out error rate below the FEC limit", Item::kScaleOut, ber_out});
WEFT_REGISTER(checks(), {"scale_out_uncorrectable", "no uncorrectable code words while observed", Item::kScaleOut, uncorrectable});
WEFT_REGISTER(checks(), {"nic_active", "NIC ports active", Item::kScaleOut, nic_up});
WEFT_REGISTER(checks(), {"nic_rate", "NIC ports at their rate", Item::kScaleOut, nic_rate});
WEFT_REGISTER(checks(), {"nic_link_downed", "no link down while observed", Item::kScaleOut, link_downed});
WEFT_REGISTER(checks(), {"lossless_both_ends", "MTU, ECN and PFC agree at both ends of every cable", Item::kScaleOut, both_ends});
WEFT_REGISTER(checks(), {"cabling", "neighbours as the site file says", Item::kScaleOut, cabling});

}  // namespace
}  // namespace weft::inspect
