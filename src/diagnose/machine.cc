#include "diagnose/machine.h"

#include <algorithm>

namespace weft::diagnose {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::LinkId;
using fabric::Network;

namespace {

constexpr fabric::NetworkSet kWires = fabric::bit(Network::kScaleUp) | fabric::bit(Network::kScaleOut) | fabric::bit(Network::kStorage);

}  // namespace

void Machine::set_snapshot(const fabric::Snapshot& snapshot) {
  bool same = snapshot_ && snapshot_->site_name() == snapshot.site_name() && snapshot_->device_count() == snapshot.device_count() &&
              snapshot_->link_count() == snapshot.link_count();
  if (!same) parts_.clear(), cards_.clear();  // ids are stable across health deltas
  snapshot_ = snapshot;
  if (link_groups_) former_groups_ = std::move(*link_groups_);
  link_groups_.reset();
}

void Machine::set_jobs(std::vector<RunningJob> jobs) {
  jobs_ = std::move(jobs);
  rank_of_.clear();
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    for (std::size_t r = 0; r < jobs_[j].placement.cards.size(); ++r)
      if (jobs_[j].running) rank_of_.try_emplace(jobs_[j].placement.cards[r], static_cast<int>(j), static_cast<int>(r));
  std::erase_if(parts_, [](const auto& p) { return p.first.starts_with("job/"); });
  link_groups_.reset();
  former_groups_.clear();
}

const std::vector<DeviceId>* Machine::planned(const std::string& job) const {
  auto at = planned_.find(job);
  return at == planned_.end() ? nullptr : &at->second;
}

const Part& Machine::part(std::string_view entity) const {
  auto at = parts_.find(entity);
  if (at != parts_.end()) return at->second;
  Part p;
  if (entity.starts_with("job/")) {
    // "job/NAME", or a group or rank of it: "job/NAME:ep3", "job/NAME/ep3".
    std::string_view name = entity.substr(4);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      std::string_view own = jobs_[j].job.name;
      if (own.starts_with("job/")) own = own.substr(4);
      if (name.starts_with(own) && (name.size() == own.size() || name[own.size()] == ':' || name[own.size()] == '/'))
        p.job = static_cast<int>(j);
    }
  } else if (snapshot_) {
    if (auto d = snapshot_->find_device(entity)) p.device = *d;
    else if (auto port = snapshot_->find_port(entity))
      p.port = *port, p.device = snapshot_->port(*port).device, p.link = snapshot_->port(*port).link;
    else if (auto l = snapshot_->find_link(entity)) p.link = *l;
  }
  return parts_.emplace(std::string(entity), p).first->second;
}

std::string Machine::name(const Part& p) const {
  if (p.job >= 0) {
    const std::string& own = jobs_[static_cast<std::size_t>(p.job)].job.name;
    return own.starts_with("job/") ? own : "job/" + own;
  }
  if (!snapshot_) return "";
  if (p.port.ok()) return snapshot_->name(p.port);
  if (p.link.ok()) return snapshot_->name(p.link);
  return p.device.ok() ? snapshot_->name(p.device) : "";
}

bool Machine::handled(const Part& p) const {
  if (!snapshot_) return false;
  auto device = [&](DeviceId d) {
    for (; d.ok(); d = snapshot_->device(d).parent) {
      const fabric::DeviceHealth& h = snapshot_->health(d);
      if (h.cordoned || h.state == fabric::DeviceState::kFailed) return true;
    }
    return false;
  };
  if (p.device.ok() && device(p.device)) return true;
  if (!p.link.ok()) return false;
  if (!snapshot_->health(p.link).in_service) return true;
  // The healthy end of a link to a failed or cordoned device belongs to that device's story.
  const fabric::Link& l = snapshot_->link(p.link);
  return device(snapshot_->port(l.a).device) || device(snapshot_->port(l.b).device);
}

bool Machine::within(DeviceId inner, DeviceId outer) const {
  for (; inner.ok(); inner = snapshot_->device(inner).parent)
    if (inner == outer) return true;
  return false;
}

DeviceId Machine::node_of(DeviceId d) const { return d.ok() ? snapshot_->container(d, DeviceKind::kNode) : DeviceId{}; }

DeviceId Machine::rack_of(DeviceId d) const {
  if (!d.ok()) return {};
  if (DeviceId r = snapshot_->container(d, DeviceKind::kRack); r.ok()) return r;
  for (fabric::DomainId id : snapshot_->domains_of(d)) {
    const fabric::Domain& domain = snapshot_->domain(id);
    if (domain.kind != fabric::DomainKind::kRack) continue;
    if (auto r = snapshot_->find_device(domain.name)) return *r;
    for (DeviceId m : domain.members)
      if (snapshot_->device(m).kind == DeviceKind::kRack) return m;
  }
  return {};
}

std::vector<LinkId> Machine::links_at(DeviceId d) const {
  std::vector<LinkId> out;
  for (fabric::PortId p : snapshot_->ports_of(d)) {
    LinkId l = snapshot_->port(p).link;
    if (l.ok() && snapshot_->link(l).networks & kWires) out.push_back(l);
  }
  return out;
}

LinkId Machine::link_of(const Part& p) const {
  if (p.link.ok() || !p.device.ok()) return p.link;
  if (snapshot_->device(p.device).kind != DeviceKind::kNic) return {};
  std::vector<LinkId> links = links_at(p.device);
  for (LinkId l : links)
    if (snapshot_->health(l).in_service && !snapshot_->link(l).spare) return l;
  return links.empty() ? LinkId{} : links.front();
}

const std::vector<DeviceId>& Machine::cards_of(DeviceId d) const {
  auto at = cards_.find(d);
  if (at != cards_.end()) return at->second;
  std::vector<DeviceId> out;
  if (snapshot_->device(d).kind == DeviceKind::kCard) {
    out.push_back(d);
  } else {
    for (DeviceId c : snapshot_->cards())
      if (within(c, d)) out.push_back(c);
  }
  if (out.empty()) {  // fed by it
    std::set<DeviceId> found;
    std::string local = snapshot_->name(d);
    for (const fabric::Domain& domain : snapshot_->domains()) {
      bool power = domain.kind == fabric::DomainKind::kPower, cool = domain.kind == fabric::DomainKind::kCooling,
           rack = domain.kind == fabric::DomainKind::kRack;
      if (!power && !cool && !rack) continue;
      bool member = std::binary_search(domain.members.begin(), domain.members.end(), d);
      // A CDU in a power domain is fed by it, it does not feed: only its own kind of domain counts.
      DeviceKind k = snapshot_->device(d).kind;
      if (member && (k == DeviceKind::kCdu || k == DeviceKind::kPump || k == DeviceKind::kFan) && !cool) member = false;
      if (member && (k == DeviceKind::kPsu || k == DeviceKind::kPowerShelf || k == DeviceKind::kPdu) && !power) member = false;
      if (member && k == DeviceKind::kRack && !rack) member = false;  // a rack on a loop does not feed the loop
      if (member && (k == DeviceKind::kSwitch || k == DeviceKind::kNic || k == DeviceKind::kStorage)) member = false;
      if (!member && domain.name != local) continue;
      for (DeviceId m : domain.members)
        if (m != d)
          for (DeviceId c : snapshot_->cards())
            if (within(c, m)) found.insert(c);
    }
    out.assign(found.begin(), found.end());
  }
  return cards_.emplace(d, std::move(out)).first->second;
}

DeviceId Machine::nic_of(const Part& p) const {
  if (!snapshot_) return {};
  auto is_nic = [&](DeviceId d) { return d.ok() && snapshot_->device(d).kind == DeviceKind::kNic; };
  if (is_nic(p.device)) return p.device;
  if (!p.link.ok()) return {};
  const fabric::Link& l = snapshot_->link(p.link);
  DeviceId a = snapshot_->port(l.a).device, b = snapshot_->port(l.b).device;
  return is_nic(a) ? a : is_nic(b) ? b : DeviceId{};
}

DeviceId Machine::switch_of(const Part& p) const {
  if (!snapshot_) return {};
  auto is_switch = [&](DeviceId d) { return d.ok() && snapshot_->device(d).kind == DeviceKind::kSwitch; };
  if (is_switch(p.device)) return p.device;
  LinkId link = link_of(p);
  if (!link.ok()) return {};
  const fabric::Link& l = snapshot_->link(link);
  DeviceId a = snapshot_->port(l.a).device, b = snapshot_->port(l.b).device;
  return is_switch(a) ? a : is_switch(b) ? b : DeviceId{};
}

std::vector<DeviceId> Machine::feeds_of(DeviceId d, DeviceKind kind) const {
  std::vector<DeviceId> out;
  if (!d.ok()) return out;
  for (DeviceId f : snapshot_->of_kind(kind)) {
    const std::vector<DeviceId>& cards = cards_of(f);
    bool feeds = std::any_of(cards.begin(), cards.end(), [&](DeviceId c) { return within(c, d) || c == d; });
    if (feeds || within(d, f)) out.push_back(f);
  }
  return out;
}

std::optional<std::pair<int, int>> Machine::rank_of(DeviceId card) const {
  auto at = rank_of_.find(card);
  return at == rank_of_.end() ? std::nullopt : std::optional(at->second);
}

const std::map<std::uint32_t, std::vector<GroupRef>>& Machine::link_groups() const {
  if (link_groups_) return *link_groups_;
  link_groups_.emplace();
  fabric::Routes routes(*snapshot_);
  auto use = [&](DeviceId a, DeviceId b, GroupRef ref) {
    for (const fabric::RouteHop& hop : routes.best(a, b).hops) {
      auto& list = (*link_groups_)[hop.link.link().v];
      if (list.empty() || list.back() != ref) list.push_back(ref);
    }
  };
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    if (!jobs_[j].running) continue;
    const workload::Placement& p = jobs_[j].placement;
    for (std::size_t g = 0; g < p.groups.size(); ++g) {
      const std::vector<int>& ranks = p.groups[g].ranks;
      GroupRef ref{static_cast<int>(j), static_cast<int>(g)};
      auto card = [&](std::size_t i) { return p.cards[static_cast<std::size_t>(ranks[i])]; };
      // All-to-all touches every pair; rings their neighbours. Beyond 64 members the pairs at power-of-two distance stand for all.
      bool all = p.groups[g].dim == workload::Dim::kEp;
      for (std::size_t i = 0; i < ranks.size(); ++i)
        for (std::size_t step = 1; step < ranks.size(); step = all ? (ranks.size() <= 64 ? step + 1 : step * 2) : ranks.size()) {
          std::size_t k = (i + step) % ranks.size();
          use(card(i), card(k), ref);
          if (p.groups[g].dim == workload::Dim::kPp) use(card(k), card(i), ref);
        }
    }
  }
  // A link taken out is on no route any more, yet its groups suffered from it: what used it before stands.
  for (const auto& [link, health] : snapshot_->link_overlay())
    if (auto before = former_groups_.find(link.v); before != former_groups_.end() && !link_groups_->contains(link.v))
      (*link_groups_)[link.v] = before->second;
  return *link_groups_;
}

std::vector<GroupRef> Machine::groups_of(const Part& p) const {
  std::set<GroupRef> out;
  if (!snapshot_) return {};
  if (p.job >= 0) {
    for (std::size_t g = 0; g < jobs_[static_cast<std::size_t>(p.job)].placement.groups.size(); ++g)
      out.insert({p.job, static_cast<int>(g)});
  } else if (p.link.ok() || (p.device.ok() && snapshot_->device(p.device).kind == DeviceKind::kSwitch) ||
             (p.device.ok() && snapshot_->device(p.device).kind == DeviceKind::kNic)) {
    std::vector<LinkId> links = p.link.ok() ? std::vector{p.link} : links_at(p.device);
    for (LinkId l : links) {
      const auto& map = link_groups();
      if (auto at = map.find(l.v); at != map.end()) out.insert(at->second.begin(), at->second.end());
    }
  } else if (p.device.ok()) {
    for (DeviceId c : cards_of(p.device)) {
      auto rank = rank_of(c);
      if (!rank) continue;
      const auto& groups = jobs_[static_cast<std::size_t>(rank->first)].placement.groups;
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (std::find(groups[g].ranks.begin(), groups[g].ranks.end(), rank->second) != groups[g].ranks.end())
          out.insert({rank->first, static_cast<int>(g)});
    }
  }
  return {out.begin(), out.end()};
}

std::set<int> Machine::jobs_of(const Part& p) const {
  std::set<int> out;
  if (!snapshot_) return out;
  if (p.job >= 0) out.insert(p.job);
  else if (p.device.ok() && !p.link.ok() && snapshot_->device(p.device).kind == DeviceKind::kStorage) {
    for (std::size_t j = 0; j < jobs_.size(); ++j) out.insert(static_cast<int>(j));
  } else {
    for (const GroupRef& g : groups_of(p)) out.insert(g.job);
    if (p.device.ok() && !p.link.ok())
      for (DeviceId c : cards_of(p.device))
        if (auto r = rank_of(c)) out.insert(r->first);
  }
  return out;
}

}  // namespace weft::diagnose
