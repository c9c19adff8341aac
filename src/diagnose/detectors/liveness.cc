// Who has fallen silent: nodes, single cards, single NICs. A stopped series is stale, not zero; a failed scrape alone is not a dead node.
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;

void arm_up(Context& c, SeriesId id) { c.windows.set_wire(id, 0.5, kNone); }

// Three failed scrapes in a row, or two with the node's own links down.
void examine_up(Context& c, SeriesId id) {
  std::string_view entity = c.table.entity(id);
  Instant since;
  int n = count_last(
      c, id, 64, [](double v) { return v < 0.5; }, &since);
  if (c.windows.last(id) >= 0.5) {
    c.drop("node_down", entity);
    return;
  }
  int down = 0, links = 0;
  if (c.machine.ready()) {
    const fabric::Snapshot& s = c.machine.snapshot();
    const Part& p = c.machine.part(entity);
    if (p.device.ok())
      for (DeviceId d : s.children(p.device)) {
        if (s.device(d).kind != DeviceKind::kNic && s.device(d).kind != DeviceKind::kCard) continue;
        for (fabric::LinkId l : c.machine.links_at(d)) {
          ++links;
          bool is_down = false;
          each_alive(c, "link_down", [&](const Finding& f) { is_down |= c.machine.link_of(c.machine.part(f.entity)) == l; });
          down += is_down;
        }
      }
  }
  if (n < 2 || (n < 3 && down == 0)) return;
  c.raise(
      "node_down", entity, Layer::kHost, 1, hold_of(c, id), since,
      {c.evidence(id, 0, 1, links ? fmt::format("does not answer; {} of its {} links are down", down, links) : "does not answer", since)});
}

void on_reboot(Context& c, const telemetry::Event& e) {
  c.raise("node_rebooted", e.entity, Layer::kHost, 0.4, minutes(10), e.at, {{e.kind, e.entity, 1, 0, e.text, e.at, e.at}});
}

// Of a device's series, those that had samples: how many are overdue?
std::pair<int, int> overdue(const Context& c, std::string_view entity, std::initializer_list<std::string_view> metrics, Instant& last) {
  int n = 0, stale = 0;
  for (std::string_view m : metrics) {
    SeriesId id = c.table.find(m, entity);
    if (id.v == UINT32_MAX || !c.windows.has(id)) continue;
    ++n;
    stale += c.windows.stale(id, c.now);
    last = std::max(last, c.windows.last_at(id));
  }
  return {n, stale};
}

// One card or NIC silent while its node answers.
void sweep_silent(Context& c) {
  if (!c.machine.ready()) return;
  const fabric::Snapshot& s = c.machine.snapshot();
  for (DeviceId node : s.of_kind(DeviceKind::kNode)) {
    std::string node_name = s.name(node);
    SeriesId up = c.table.find(metric::kNodeUp, node_name);
    bool answers = up.v == UINT32_MAX || !c.windows.has(up) || (c.windows.last(up) > 0.5 && !c.windows.stale(up, c.now));
    if (!answers) continue;
    // By kind: when every card of a node falls silent at once, their exporter has stopped, not the cards.
    int speaking[2] = {0, 0};
    std::vector<std::tuple<std::string, bool, Instant>> silent;
    for (DeviceId d : s.children(node)) {
      bool card = s.device(d).kind == DeviceKind::kCard, nic = s.device(d).kind == DeviceKind::kNic;
      if (!card && !nic) continue;
      std::string name = s.name(d);
      Instant last;
      auto [n, stale] = card ? overdue(c, name, {metric::kGpuTemp, metric::kPower, metric::kSmClock}, last)
                             : overdue(c, name, {metric::kIbState, metric::kIbRate, metric::kIbTx}, last);
      if (n == 0) continue;
      if (stale == n) silent.emplace_back(name, card, last);
      else ++speaking[card];
    }
    for (const auto& [name, card, last] : silent) {
      if (speaking[card] == 0) continue;
      c.raise(
          card ? "card_silent" : "nic_gone", name, card ? Layer::kCard : Layer::kHost, 1, seconds(8), last,
          {{card ? "DCGM_FI_DEV_*" : "node_infiniband_*", name, 0, 0,
            fmt::format("all its series stopped, {} other {} of the node go on", speaking[card], card ? "cards" : "NICs"), last, c.now}});
    }
  }
}

WEFT_REGISTER(detectors(), {"node_up",
                            "nodes that do not answer, confirmed by repetition or by their links",
                            {metric::kNodeUp},
                            arm_up,
                            true,
                            examine_up,
                            {event::kNodeReboot},
                            on_reboot});
WEFT_REGISTER(detectors(), {"silent_device",
                            "cards and NICs whose series stop while the node goes on",
                            {},
                            nullptr,
                            false,
                            nullptr,
                            {},
                            nullptr,
                            seconds(2),
                            sweep_silent});

}  // namespace
}  // namespace weft::diagnose
