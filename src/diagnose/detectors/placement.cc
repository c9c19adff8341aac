// Groups that lie across more switch tiers or domains than their size needs: tensor parallel (hard) and expert parallel (preferably).
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::Network;

// Cards behind the same first scale-up switches; without switches, the domain.
std::vector<DeviceId> first_tier(const Context& c, DeviceId card) {
  const fabric::Snapshot& s = c.machine.snapshot();
  std::vector<DeviceId> out;
  for (fabric::PortId p : s.ports_of(card)) {
    fabric::LinkId l = s.port(p).link;
    if (!l.ok() || !(s.link(l).networks & fabric::bit(Network::kScaleUp))) continue;
    DeviceId far = s.port(s.peer(p)).device;
    if (s.device(far).kind == DeviceKind::kSwitch) out.push_back(far);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void sweep_placement(Context& c) {
  if (!c.machine.ready()) return;
  const fabric::Snapshot& s = c.machine.snapshot();
  std::map<std::vector<DeviceId>, std::size_t> unit_size;
  std::map<DeviceId, std::vector<DeviceId>> unit;
  for (const RunningJob& job : c.machine.jobs()) {
    if (!job.running) continue;
    if (unit.empty())
      for (DeviceId d : s.cards()) ++unit_size[unit[d] = first_tier(c, d)];
    // Where the job says it runs against where it was meant to: more domains, switches or nodes per group than planned.
    const std::vector<DeviceId>* planned = c.machine.planned(job.job.name);
    auto spread = [&](const workload::Group& g, const std::vector<DeviceId>& cards) {
      std::set<std::vector<DeviceId>> units;
      std::set<fabric::DomainId> domains;
      std::set<DeviceId> nodes;
      for (int r : g.ranks) {
        DeviceId d = cards[static_cast<std::size_t>(r)];
        units.insert(unit[d]), domains.insert(s.hbd_of(d)), nodes.insert(c.machine.node_of(d));
      }
      return std::tuple(domains.size(), units.size(), nodes.size());
    };
    int bad = 0, groups = 0;
    bool moved = false;
    std::string example;
    for (const workload::Group& g : job.placement.groups) {
      if (g.dim != workload::Dim::kTp && g.dim != workload::Dim::kEp) continue;
      ++groups;
      auto now = spread(g, job.placement.cards);
      if (planned && planned->size() == job.placement.cards.size()) {
        auto meant = spread(g, *planned);
        if (now <= meant) continue;
        ++bad, moved = true;
        if (example.empty())
          example = fmt::format("{} lies on {} nodes, {} switches, {} domains; planned were {}, {}, {}", g.name(), std::get<2>(now),
                                std::get<1>(now), std::get<0>(now), std::get<2>(meant), std::get<1>(meant), std::get<0>(meant));
        continue;
      }
      std::size_t largest = 0, domain_size = 0;
      for (int r : g.ranks) {
        DeviceId d = job.placement.cards[static_cast<std::size_t>(r)];
        largest = std::max(largest, unit[d].empty() ? 0 : unit_size[unit[d]]);
        fabric::DomainId h = s.hbd_of(d);
        if (h.ok()) domain_size = std::max(domain_size, s.domain(h).members.size());
      }
      bool tiers = g.dim == workload::Dim::kTp && std::get<1>(now) > 1 && g.ranks.size() <= largest;
      bool hbds = std::get<0>(now) > 1 && g.ranks.size() <= domain_size;
      if (!tiers && !hbds) continue;
      ++bad;
      if (example.empty())
        example = fmt::format("{} of {} members lies across {} {}", g.name(), g.ranks.size(), hbds ? std::get<0>(now) : std::get<1>(now),
                              hbds ? "high-bandwidth domains" : "switches");
    }
    if (!bad) continue;
    std::string e = c.machine.name(c.machine.part("job/" + job.job.name));
    // As planned, the scheduler knows and had its reasons (a repair): worth a remark, no incident.
    c.raise("job_misplaced", e, Layer::kPlacement, moved ? 1.0 : 0.3, seconds(70), job.since,
            {{"placement", e, static_cast<double>(bad), 0, fmt::format("{}; {} of {} groups", example, bad, groups), job.since, c.now}});
  }
}

WEFT_REGISTER(
    detectors(),
    {"placement", "groups across more tiers than their size needs", {}, nullptr, false, nullptr, {}, nullptr, seconds(5), sweep_placement});

}  // namespace
}  // namespace weft::diagnose
