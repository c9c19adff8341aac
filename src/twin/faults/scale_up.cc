// Scale-up links and switches.
#include <algorithm>

#include "telemetry/names.h"
#include "twin/fault.h"

namespace weft::twin {
namespace {

namespace event = telemetry::event;
using fabric::DeviceKind;
using fabric::LinkId;

bool scale_up(const State& s, const Target& t) { return s.scale_up(t.link); }
bool scale_up_switch(const State& s, const Target& t) {
  auto links = s.network_links(t.device);
  return !links.empty() && std::all_of(links.begin(), links.end(), [&](LinkId l) { return s.scale_up(l); });
}
template <class F>
void each_card_end(State& s, LinkId l, F f) {
  for (fabric::PortId q : {s.built.link(l).a, s.built.link(l).b})
    if (fabric::DeviceId d = s.built.port(q).device; s.built.device(d).kind == DeviceKind::kCard)
      f(s.cards[static_cast<std::size_t>(s.card_of(d))]);
}

// Replay and CRC counts of one link rise at both its ends; bandwidth falls when recovery is frequent; state stays up.
void degraded(State& s, Active& a) {
  double rate = s.parameters->get("scale_up_link_degraded.replays_per_s") * a.magnitude;
  LinkId l = a.target.link;
  s.links[l.v].rate = std::max(0.4, 1 - s.parameters->get("scale_up_link_degraded.rate_loss") * a.magnitude);
  for (fabric::PortId q : {s.built.link(l).a, s.built.link(l).b}) s.ports[q.v].knobs.retries = rate * 10, s.ports[q.v].knobs.ber = 50;
  each_card_end(s, l, [&](Card& c) { c.knobs.nvlink_replay += rate, c.knobs.nvlink_crc += rate * 1.5; });
  a.showing = true;
}
WEFT_REGISTER(faults(), {"scale_up_link_degraded",
                         "scale-up link replays",
                         Sits::kLink,
                         Shows::kExporter,
                         {"work_order"},
                         degraded,
                         nullptr,
                         nullptr,
                         scale_up});

// Active links below the expected count; sometimes Xid 74 at the card.
void down_begin(State& s, Active& a) {
  each_card_end(s, a.target.link, [&](Card& c) {
    c.xid = 74;
    s.log(s.built.name(c.id), event::kXid, "74", telemetry::Severity::kError, "NVRM: Xid 74, NVLINK: fatal error detected on link");
  });
}
void down(State& s, Active& a) {
  s.links[a.target.link.v].state = fabric::LinkState::kDown;
  each_card_end(s, a.target.link, [](Card& c) { ++c.knobs.links_lost; });
  a.showing = true;
}
WEFT_REGISTER(faults(), {"scale_up_link_down",
                         "scale-up link goes down",
                         Sits::kLink,
                         Shows::kAtOnce,
                         {"card_reset", "work_order"},
                         down,
                         down_begin,
                         nullptr,
                         scale_up});

// One second, all cards at it lose that plane together (contrast one card's link).
void switch_begin(State& s, Active& a) {
  fabric::DeviceId where = s.built.container(a.target.device, DeviceKind::kNode);
  s.log(a.target.name, event::kSxid, "20034", telemetry::Severity::kFatal,
        "SXid 20034, fatal, link faults on all ports" + (where.ok() ? " of " + s.built.name(where) : std::string()));
}
void failed(State& s, Active& a) {
  for (LinkId l : s.network_links(a.target.device)) {
    s.links[l.v].state = fabric::LinkState::kDown;
    each_card_end(s, l, [](Card& c) { ++c.knobs.links_lost; });
  }
  a.showing = true;
}
WEFT_REGISTER(faults(), {"scale_up_switch_failed",
                         "scale-up switch fails",
                         Sits::kSwitch,
                         Shows::kAtOnce,
                         {"node_reboot", "work_order"},
                         failed,
                         switch_begin,
                         nullptr,
                         scale_up_switch});

}  // namespace
}  // namespace weft::twin
