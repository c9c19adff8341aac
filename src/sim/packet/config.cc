#include "sim/packet/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/packet/headroom.h"
#include "sim/packet/network.h"

namespace weft::sim::packet {

ClassConfig Config::control_class() {
  ClassConfig c;
  c.name = "control", c.lossless = false, c.strict = true;
  return c;
}

Config& Config::htsim_framing() {
  header = 0, line_overhead = 0, ack_frame = 64, pad_last = true;
  classes.resize(1), ack_class = 0;
  return *this;
}

Config& Config::htsim_roce(int ports) {
  htsim_framing();
  classes[0].alpha = 0, classes[0].xoff = 100 * 4096, classes[0].xon_gap = 20 * 4096;
  buffer = std::int64_t{ports} * 1000 * 4096;
  return *this;
}

double red_probability(const ClassConfig& k, std::int64_t q) {
  if (k.kmax == 0 || q < k.kmin) return 0;
  if (q >= k.kmax) return 1;
  return k.pmax * static_cast<double>(q - k.kmin) / static_cast<double>(k.kmax - k.kmin);
}

Status check(const Config& c, const Network& network) {
  auto bad = [](const std::string& why) { return fail(ErrorKind::kInvalid, "packet model: " + why); };
  if (c.mtu < 64 || c.mtu > 16384) return bad(fmt::format("mtu {} bytes; 64 to 16384 of payload", c.mtu));
  if (c.header < 0 || c.line_overhead < 0 || c.header + c.line_overhead > 1000)
    return bad(fmt::format("header {} + {} bytes; 0 to 1000 together", c.header, c.line_overhead));
  if (c.ack_frame < 1 || c.ack_frame > c.data_frame()) return bad(fmt::format("an ACK of {} bytes; 1 to a full data frame", c.ack_frame));
  if (c.classes.empty() || c.classes.size() > 8) return bad(fmt::format("{} classes; 1 to 8", c.classes.size()));
  if (c.ack_class < 0 || static_cast<std::size_t>(c.ack_class) >= c.classes.size())
    return bad(fmt::format("unknown priority {} for ACKs; there are classes 0 to {}", c.ack_class, c.classes.size() - 1));
  if (c.horizon.value() <= 0) return bad("the horizon must be after time 0");
  if (c.horizon.value() > 3'600'000'000'000'000)
    return bad(fmt::format("a horizon of {:.1f} h of simulated time; at most 1 h (packets are simulated one by one)",
                           to_seconds(c.horizon).value() / 3600));
  if (c.pause_quanta == 0 || c.pause_quanta > 65535) return bad(fmt::format("{} pause quanta; 1 to 65535", c.pause_quanta));
  if (c.pause_response.value() < 0) return bad("a negative pause response time");
  if (c.retransmit.value() <= 0) return bad("the retransmission timeout must be positive");
  if (c.ack_every < 1) return bad(fmt::format("one ACK for every {} packets; at least 1", c.ack_every));
  if (c.window < 0 || c.window > 32768) return bad(fmt::format("a window of {} packets; 0 (none) to 32768", c.window));
  if (c.hop_limit < 1 || c.hop_limit > 255) return bad(fmt::format("a hop limit of {}; 1 to 255", c.hop_limit));
  if (c.balance != Balance::kFlow && c.recovery != Recovery::kSelective)
    return bad("packets of one flow on several paths arrive out of order, which go-back-N takes for loss; use selective repeat");
  if (c.recovery == Recovery::kSelective && c.balance != Balance::kFlow && c.reorder == 0)
    return bad("spraying reorders; say how many packets may overtake before a gap is loss (reorder)");
  for (const ClassConfig& k : c.classes) {
    auto wrong = [&](const std::string& why) { return bad(fmt::format("class {}: {}", k.name, why)); };
    if (k.kmax < 0 || k.kmin < 0 || k.kmin > k.kmax)
      return wrong(fmt::format("kmin {} is above kmax {}; marking rises from kmin to kmax", k.kmin, k.kmax));
    if (k.pmax < 0 || k.pmax > 1) return wrong(fmt::format("pmax {}; 0 to 1", k.pmax));
    if (!k.strict && k.weight < 1) return wrong(fmt::format("weight {}; at least 1", k.weight));
    if (k.alpha < 0 || k.alpha > 128) return wrong(fmt::format("alpha {}; 0 (static threshold) to 128", k.alpha));
    if (k.lossless && k.alpha == 0 && k.xoff < c.data_frame())
      return wrong(
          fmt::format("static XOFF threshold {} bytes is below one frame of {}; it would stop for every packet", k.xoff, c.data_frame()));
    if (k.lossless && k.headroom == 0) return wrong("no headroom: a lossless class without it drops; leave it out to have it computed");
    if (!k.lossless && k.drop_alpha <= 0) return wrong("drop_alpha must be positive");
    if (k.xon_gap < 0) return wrong("a negative XON gap");
  }
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Node& n = network.nodes[i];
    if (n.host != kNone) continue;
    std::int64_t buffer = n.buffer > 0 ? n.buffer : c.buffer, headroom = 0;
    for (std::uint32_t p = n.first_port; p < n.first_port + n.ports; ++p)
      for (std::size_t k = 0; k < c.classes.size(); ++k)
        if (c.classes[k].lossless) headroom += headroom_of(c, network, p, static_cast<int>(k));
    if (headroom + c.data_frame() > buffer)
      return bad(
          fmt::format("{}: headroom of {} for {} ports and its lossless classes leaves nothing of a buffer of {}; fewer lossless "
                      "classes, shorter cables or a bigger buffer",
                      n.name, human(Bytes(headroom)), n.ports, human(Bytes(buffer))));
    for (const ClassConfig& k : c.classes) {
      if (k.lossless && k.alpha == 0 && k.xoff > buffer - headroom)
        return bad(fmt::format("class {}: XOFF threshold {} is above the {} that {} has left beside the headroom", k.name,
                               human(Bytes(k.xoff)), human(Bytes(buffer - headroom)), n.name));
      if (k.kmin > buffer) return bad(fmt::format("class {}: kmin {} is above the buffer of {} ({})", k.name, k.kmin, n.name, buffer));
    }
  }
  for (const LinkEvent& e : network.events)
    if (e.port >= network.ports.size() || e.rate_factor < 0 || e.rate_factor > 1 || e.at.value() < 0)
      return bad("a link event for a port that does not exist, or a rate factor outside 0 to 1");
  return {};
}

}  // namespace weft::sim::packet
