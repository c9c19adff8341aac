// Who has fallen silent: nodes, single cards, single NICs. A stopped series is stale, not zero; a failed scrape alone is not a dead node.
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;

void arm_up(Context& c, SeriesId id) { c.windows.set_wire(id, 0.5, kNone); }

// What others say of a node that does not answer.
struct Witnesses {
  int links = 0, down = 0, up = 0;  // by the far ends
  bool job = false, stepping = false, stopped = false;
};
Witnesses witnesses(const Context& c, std::string_view entity, Instant since) {
  Witnesses w;
  if (!c.machine.ready()) return w;
  const fabric::Snapshot& s = c.machine.snapshot();
  const Part& p = c.machine.part(entity);
  if (!p.device.ok()) return w;
  for (DeviceId d : s.children(p.device)) {
    if (s.device(d).kind != DeviceKind::kNic && s.device(d).kind != DeviceKind::kCard) continue;
    for (fabric::LinkId l : c.machine.links_at(d)) {
      ++w.links;
      bool is_down = false;
      each_alive(c, "link_down", [&](const Finding& f) { is_down |= c.machine.link_of(c.machine.part(f.entity)) == l; });
      w.down += is_down;
      const fabric::Link& link = s.link(l);
      SeriesId far = c.table.find(metric::kSwState, s.name(s.port(link.a).device == d ? link.b : link.a));
      w.up += !is_down && far.v != UINT32_MAX && c.windows.has(far) && !c.windows.stale(far, c.now) && c.windows.last(far) == 1;
    }
  }
  // A step needs every rank: one that ended well after the silence began proves the node alive, none for several proves little else.
  for (int j : c.machine.jobs_of(p)) {
    const RunningJob& job = c.machine.jobs()[static_cast<std::size_t>(j)];
    SeriesId id = c.table.find(metric::kStepSeconds, c.machine.name(Part{.job = j}));
    if (!job.running || id.v == UINT32_MAX || !c.windows.has(id)) continue;
    w.job = true;
    std::vector<double> v;
    for (const Point& q : c.windows.last_points(id, 40))
      if (q.at > job.since) v.push_back(q.value);
    Duration step = seconds(v.empty() ? 0 : telemetry::median(v)), interval = c.windows.interval(id);
    Instant last = c.windows.last_at(id);
    if (last > since + std::max(seconds(3), interval * 2)) w.stepping = true;
    else w.stopped |= c.now > std::max(last, since) + std::max(step * 3, seconds(8)) + interval;
  }
  return w;
}

// A failed scrape alone is not a dead node: its own links down, or a job on it that has stopped, or nobody who says otherwise.
void examine_up(Context& c, SeriesId id) {
  std::string_view entity = c.table.entity(id);
  Instant since;
  int n = count_last(
      c, id, 64, [](double v) { return v < 0.5; }, &since);
  if (c.windows.last(id) >= 0.5) {
    c.drop("node_down", entity);
    c.drop("exporter_silent", entity);
    return;
  }
  if (n < 2) return;
  Witnesses w = witnesses(c, entity, since);
  if (w.down == 0) {
    if (n < 3) return;
    if (w.stepping || (!w.job && w.up > 0)) {
      c.drop("node_down", entity);
      c.raise(
          "exporter_silent", entity, Layer::kHost, 0.2, hold_of(c, id), since,
          {c.evidence(id, 0, 1,
                      w.stepping ? "its exporters do not answer, yet its job steps on: look at the exporters"
                                 : fmt::format("its exporters do not answer, yet {} of its ports are up: look at the exporters, and at the "
                                               "BMC before placing work there",
                                               w.up),
                      since)});
      return;
    }
    if (w.job && !w.stopped) return;  // the job will tell within a few steps
  }
  c.drop("exporter_silent", entity);
  c.raise("node_down", entity, Layer::kHost, 1, hold_of(c, id), since,
          {c.evidence(id, 0, 1,
                      w.down      ? fmt::format("does not answer; {} of its {} links are down", w.down, w.links)
                      : w.stopped ? "does not answer, and its job makes no step"
                                  : "does not answer",
                      since)});
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
