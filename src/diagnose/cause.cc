#include "diagnose/cause.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace weft::diagnose {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::LinkId;

Registry<CauseEntry>& causes() {
  static Registry<CauseEntry> registry("cause");
  return registry;
}

bool is_job_symptom(std::string_view sign) {
  static constexpr std::string_view kSigns[] = {"group_slow", "job_stalled", "step_aborted", "step_slow", "step_spikes",
                                                "tpot_slow",  "ttft_slow",   "wait_up",      "watchdog"};
  return std::find(std::begin(kSigns), std::end(kSigns), sign) != std::end(kSigns) || sign.starts_with("comm_");
}

bool sign_matches(std::string_view pattern, std::string_view sign) {
  if (pattern.ends_with('*')) return sign.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == sign;
}

bool Scored::operator<(const Scored& o) const {
  if (score != o.score) return score > o.score;
  return std::tie(entry->name, part) < std::tie(o.entry->name, o.part);
}

bool Case::job_touched(int job) const {
  std::set<int> jobs = context_.machine.jobs_of(part_);
  return jobs.contains(job);
}

bool Case::near(const Finding& f, Where where) const {
  const Machine& m = context_.machine;
  const Part& p = m.part(f.entity);
  if (where == Where::kAnywhere) return true;
  if (where == Where::kJob) {
    if (p.job >= 0) return job_touched(p.job);
    if (!m.ready() || !p.known()) return false;
    // Late ranks and watchdog lines sit on cards: they are a job's symptoms too; what a link or port suffers, its users share.
    if (p.device.ok() && m.snapshot().device(p.device).kind == DeviceKind::kCard && !p.link.ok()) {
      auto rank = m.rank_of(p.device);
      return rank && job_touched(rank->first);
    }
    for (int j : m.jobs_of(p))
      if (job_touched(j)) return true;
    return false;
  }
  if (!m.ready() || !p.known()) return f.entity == m.name(part_);
  const fabric::Snapshot& s = m.snapshot();
  auto is_end = [&](const Part& q, LinkId link) {
    if (q.link == link) return true;
    if (!q.port.ok() && q.device.ok() && s.device(q.device).kind == DeviceKind::kNic) return m.link_of(q) == link;
    return false;
  };
  switch (where) {
    case Where::kSame:
      if (part_.job >= 0) return p.job == part_.job;
      if (part_.link.ok() && !part_.device.ok()) return p.link == part_.link && !p.device.ok();
      if (part_.port.ok()) return p.port == part_.port;
      return p.device == part_.device && !p.port.ok() && p.device.ok();
    case Where::kEnd: {
      if (part_.link.ok()) return is_end(p, part_.link);
      if (!part_.device.ok()) return false;
      if (p.device == part_.device) return true;
      for (LinkId l : m.links_at(part_.device))
        if (is_end(p, l)) return true;
      return false;
    }
    case Where::kInside: {
      if (!part_.device.ok()) return false;
      if (p.device.ok() && m.within(p.device, part_.device)) return true;
      LinkId l = m.link_of(p);
      if (!l.ok()) return false;
      return m.within(s.port(s.link(l).a).device, part_.device) || m.within(s.port(s.link(l).b).device, part_.device);
    }
    case Where::kNode: {
      DeviceId n = part_.device.ok() ? m.node_of(part_.device) : DeviceId{};
      return n.ok() && p.device.ok() && m.within(p.device, n);
    }
    case Where::kFed: {
      if (!part_.device.ok() || !p.device.ok()) return false;
      if (m.within(p.device, part_.device)) return true;
      const std::vector<DeviceId>& cards = m.cards_of(part_.device);
      return std::any_of(cards.begin(), cards.end(), [&](DeviceId c) { return m.within(c, p.device) || m.within(p.device, c); });
    }
    case Where::kFeeds: {
      if (!part_.device.ok() || !p.device.ok() || p.device == part_.device) return false;
      DeviceKind k = s.device(p.device).kind;
      if (k != DeviceKind::kRack && k != DeviceKind::kCdu && k != DeviceKind::kPsu && k != DeviceKind::kPowerShelf &&
          k != DeviceKind::kPdu && k != DeviceKind::kPump)
        return false;
      const std::vector<DeviceId>& cards = m.cards_of(p.device);
      return std::any_of(cards.begin(), cards.end(), [&](DeviceId c) { return m.within(c, part_.device); });
    }
    default: return false;
  }
}

std::vector<const Finding*> Case::found(std::string_view sign, Where where) const {
  std::vector<const Finding*> out;
  const auto& all = context_.findings.all();
  std::string_view stem = sign.ends_with('*') ? sign.substr(0, sign.size() - 1) : sign;
  for (auto at = all.lower_bound(std::pair(std::string(stem), std::string()));
       at != all.end() && std::string_view(at->first.first).starts_with(stem); ++at)
    if (sign_matches(sign, at->first.first) && near(at->second.finding, where)) out.push_back(&at->second.finding);
  return out;
}

double Case::strongest(std::string_view sign, Where where) const {
  double best = 0;
  for (const Finding* f : found(sign, where)) best = std::max(best, f->strength);
  return best;
}

namespace {

void lift(const Context& c, const Finding& f, Lift how, std::vector<Part>& out) {
  const Machine& m = c.machine;
  const Part& p = m.part(f.entity);
  auto device = [&](DeviceId d) {
    if (d.ok()) out.push_back(Part{.device = d});
  };
  if (how == Lift::kJob) {
    if (p.job >= 0) out.push_back(Part{.job = p.job});
    else
      for (int j : m.jobs_of(p)) out.push_back(Part{.job = j});
    return;
  }
  if (!m.ready()) return;
  const fabric::Snapshot& s = m.snapshot();
  switch (how) {
    case Lift::kSame:
      if (p.job >= 0) out.push_back(Part{.job = p.job});
      else if (p.known()) out.push_back(p.link.ok() && !p.device.ok() ? p : Part{.device = p.device});
      break;
    case Lift::kLink:
      if (LinkId l = m.link_of(p); l.ok()) out.push_back(Part{.link = l});
      break;
    case Lift::kNic: device(m.nic_of(p)); break;
    case Lift::kSwitch: device(m.switch_of(p)); break;
    case Lift::kNode: device(m.node_of(p.device)); break;
    case Lift::kRack: device(m.rack_of(p.device)); break;
    case Lift::kCdu:
      for (DeviceId d : m.feeds_of(p.device, DeviceKind::kCdu)) device(d);
      break;
    case Lift::kNodeCards:
      if (DeviceId n = m.node_of(p.device); n.ok())
        for (DeviceId d : m.cards_of(n)) device(d);
      break;
    case Lift::kStorage:
      for (DeviceId d : s.of_kind(DeviceKind::kStorage)) device(d);
      break;
    case Lift::kRailCard: {
      DeviceId nic = m.nic_of(p);
      if (!nic.ok()) break;
      DeviceId node = m.node_of(nic);
      if (!node.ok()) break;
      std::vector<DeviceId> cards = m.cards_of(node), nics;
      for (DeviceId d : s.children(node))
        if (s.device(d).kind == DeviceKind::kNic) nics.push_back(d);
      auto at = std::find(nics.begin(), nics.end(), nic);
      if (cards.size() == nics.size() && at != nics.end()) device(cards[static_cast<std::size_t>(at - nics.begin())]);
      break;
    }
    default: break;
  }
}

Scored score(const Context& c, const CauseEntry& entry, const Part& part) {
  Scored out{&entry, part, std::log(c.rules.prior(entry.name)), {}, {}};
  Case one(c, entry, part);
  for (const Expect& e : entry.expects) {
    std::vector<const Finding*> found = one.found(e.sign, e.where);
    double best = 0;
    for (const Finding* f : found) best = std::max(best, f->strength);
    if (e.weight >= 0) {
      out.score += found.empty() ? -e.absent : e.weight * best;
      out.explained.insert(out.explained.end(), found.begin(), found.end());
    } else if (!found.empty()) {
      out.score += e.weight * best;
      out.contradicted.insert(out.contradicted.end(), found.begin(), found.end());
    }
  }
  if (entry.judge) out.score += entry.judge(one);
  // What a job suffers follows from what its parts suffer.
  double felt = 0;
  for (const auto& [key, live] : c.findings.all())
    if (is_job_symptom(key.first) && one.near(live.finding, Where::kJob))
      out.explained.push_back(&live.finding), felt = std::max(felt, live.finding.strength);
  out.score += 0.5 * felt;
  auto by_name = [](const Finding* a, const Finding* b) { return std::tie(a->sign, a->entity) < std::tie(b->sign, b->entity); };
  for (auto* list : {&out.explained, &out.contradicted}) {
    std::sort(list->begin(), list->end(), by_name);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  std::erase_if(out.contradicted,
                [&](const Finding* f) { return std::find(out.explained.begin(), out.explained.end(), f) != out.explained.end(); });
  return out;
}

}  // namespace

std::vector<Scored> candidates(const Context& c, const std::vector<const Finding*>& findings) {
  std::vector<Scored> out;
  for (const CauseEntry& entry : causes().entries()) {
    std::vector<Part> parts;
    for (const Finding* f : findings)
      for (const Trigger& t : entry.triggers)
        if (sign_matches(t.sign, f->sign)) lift(c, *f, t.lift, parts);
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    for (const Part& p : parts) {
      if (p.job < 0 && c.machine.handled(p)) continue;
      Scored s = score(c, entry, p);
      if (s.score > -50) out.push_back(std::move(s));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Impact impact_on(const Context& c, const Scored& scored, int job) {
  const RunningJob& j = c.machine.jobs()[static_cast<std::size_t>(job)];
  Impact out;
  out.job = j.job.name;
  std::set<workload::Dim> dims;
  for (const GroupRef& g : c.machine.groups_of(scored.part)) {
    if (g.job != job) continue;
    const workload::Group& group = j.placement.groups[static_cast<std::size_t>(g.group)];
    out.groups.push_back(group.name());
    dims.insert(group.dim);
  }
  std::string entity = "job/" + j.job.name;
  auto alive = [&](std::string_view sign) { return c.findings.find(sign, entity); };
  const Finding* slow = alive("step_slow");
  bool stopped = alive("job_stalled") || alive("step_aborted");
  // The primitive that suffers most, if any: the dimension whose transfer time rose by the largest share.
  static constexpr std::pair<workload::Dim, std::string_view> kPrimitive[] = {{workload::Dim::kTp, "all-reduce"},
                                                                              {workload::Dim::kPp, "send-recv"},
                                                                              {workload::Dim::kDp, "reduce-scatter"},
                                                                              {workload::Dim::kEp, "all-to-all"},
                                                                              {workload::Dim::kCp, "send-recv"}};
  double worst = 0;
  bool tail_only = false;
  for (auto [dim, primitive] : kPrimitive) {
    std::string stem = "comm_" + std::string(workload::dim_name(dim));
    if (const Finding* f = alive(stem + "_slow"); f && f->strength > worst) worst = f->strength, out.primitive = primitive;
    if (alive(stem + "_p99") && !alive(stem + "_slow")) tail_only = true;
  }
  if (out.primitive.empty() && dims.size() == 1)
    for (auto [dim, primitive] : kPrimitive)
      if (dims.contains(dim) && scored.entry && !c.machine.part(c.machine.name(scored.part)).device.ok()) out.primitive = primitive;
  if (slow && !slow->evidence.empty() && slow->evidence[0].baseline > 0)
    out.slowdown = slow->evidence[0].value / slow->evidence[0].baseline - 1;
  out.tail = stopped ? Tail::kStop : slow ? Tail::kMean : tail_only || alive("step_spikes") ? Tail::kTail : Tail::kNone;
  return out;
}

std::vector<Impact> impacts(const Context& c, const Scored& scored) {
  std::vector<Impact> out;
  for (int job : c.machine.jobs_of(scored.part)) out.push_back(impact_on(c, scored, job));
  return out;
}

}  // namespace weft::diagnose
