#include "twin/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "telemetry/names.h"
#include "twin/physics.h"
#include "twin/world_impl.h"

namespace weft::twin {

using fabric::DeviceId;
using fabric::DeviceKind;
using fabric::LinkId;
using fabric::LinkState;
using telemetry::Severity;
namespace event = telemetry::event;

namespace {

Parameters must_load() {
  auto p = Parameters::load();
  if (!p) throw std::runtime_error(p.error().text());  // compiled in: only a broken WEFT_DATA gets here
  return std::move(*p);
}

}  // namespace

World::Impl::Impl(fabric::Snapshot snapshot, telemetry::SeriesTable& table, const WorldOptions& o, Parameters p)
    : options(o),
      parameters(std::move(p)),
      random(o.seed),
      state(std::move(snapshot), parameters, random, o.noise),
      series(table),
      noise(random.fork("world"), o.noise),
      emit(state, table),
      traffic(state),
      jobs(state, table, random, o.noise,
           [](const fabric::Snapshot& s, const std::vector<sim::JobInput>& inputs) {
             sim::RunOptions run;
             std::size_t ranks = 0;
             for (const sim::JobInput& i : inputs) ranks += i.placement->cards.size();
             run.fold = ranks > 512;  // unfolded, each link's own load is known
             return sim::run(s, inputs, run);
           }),
      real(state.built) {
  state.now = o.start;
  std::size_t links = state.links.size();
  down_since.resize(links), changed_at.resize(links), last_state.resize(links), changes.resize(links);
}

World::World(fabric::Snapshot snapshot, telemetry::SeriesTable& series, const WorldOptions& options)
    : impl_(std::make_unique<Impl>(std::move(snapshot), series, options, must_load())) {
  impl_->compose();
}
World::~World() = default;

Status World::add_job(const workload::Job& job) { return impl_->jobs.add(job); }
Result<std::string> World::inject(const FaultSpec& fault) { return impl_->inject(fault); }
Instant World::now() const { return impl_->state.now; }
void World::wait_until(Instant t) {
  while (impl_->state.now < t) impl_->tick();
}
Status World::poll(Instant until, telemetry::Batch& into) {
  impl_->drain_lines();
  telemetry::Batch& b = impl_->batch;
  auto move = [&](auto& from, auto& to, auto when) {
    auto split = std::stable_partition(from.begin(), from.end(), [&](const auto& x) { return when(x) <= until; });
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(split));
    from.erase(from.begin(), split);
  };
  if (until >= impl_->state.now) {
    auto all = [](auto& from, auto& to) {
      if (to.empty()) to.swap(from);
      else to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
      from.clear();
    };
    all(b.samples, into.samples), all(b.facts, into.facts), all(b.events, into.events), all(b.ops, into.ops);
    return {};
  }
  auto at = [](const auto& x) { return x.at; };
  move(b.samples, into.samples, at), move(b.facts, into.facts, at), move(b.events, into.events, at);
  move(b.ops, into.ops, [](const telemetry::OpRecord& o) { return o.end; });
  return {};
}
Status World::start(const heal::Action& action) { return impl_->start(action); }
Result<control::ActionStatus> World::query(const std::string& id) {
  auto at = impl_->runs.find(id);
  return at == impl_->runs.end() ? control::ActionStatus{} : at->second.status;
}
std::vector<JobTruth> World::job_truths() const {
  std::vector<JobTruth> out;
  for (const JobRun& j : impl_->jobs.all()) out.push_back({j.job.name, std::string(phase_name(j.phase)), j.step, j.stepped});
  return out;
}
std::vector<Truth> World::truths() const {
  std::vector<Truth> out;
  for (const Active& a : impl_->faults) {
    Truth t;
    t.fault = a.spec.fault, t.entity = a.target.name, t.from = a.from, t.visible = a.visible;
    t.cured = a.cured, t.cured_at = a.cured_at, t.magnitude = a.magnitude, t.groups = a.groups;
    out.push_back(std::move(t));
  }
  return out;
}
std::vector<Effect> World::effects() const { return impl_->effects; }
const fabric::Snapshot& World::real() const { return impl_->real; }
std::size_t World::series_count() const {
  std::size_t n = impl_->emit.count();
  for (const JobRun& j : impl_->jobs.all()) n += 8 + j.ids.group.size() + 3 * j.ids.rank_compute.size();
  return n;
}
std::size_t World::simulated() const { return impl_->jobs.simulated(); }
void World::on_effect(std::function<void(const Effect&)> listener) { impl_->listener = std::move(listener); }

// ---- one tick --------------------------------------------------------------------------------------------------------
void World::Impl::tick() {
  const double dt = to_seconds(options.sample_every);
  state.now = state.now + options.sample_every;
  ++ticks;
  for (std::size_t i = 0; i < pending.size();) {
    Run& run = runs.at(pending[i]);
    // A stop that saves first waits for the save, for ten minutes at most.
    if (run.due <= state.now && run.action.kind == heal::action::kJobStop)
      if (JobRun* job = jobs.find(run.action.target);
          job && job->stop_after_save && (job->phase == JobPhase::kRunning || job->phase == JobPhase::kSaving) && run.waited < 600)
        run.waited += dt, run.due = state.now + options.sample_every;
    if (run.due > state.now) {
      ++i;
      continue;
    }
    pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
    finish(run);
  }
  apply_faults(dt);
  compose();
  traffic.storage_shares(real);
  for (Card& c : state.cards) c.used = false, c.busy = c.wait = 0;
  for (const JobRun& job : jobs.all()) {
    if (!job.active() && job.phase != JobPhase::kStarting) continue;
    for (std::size_t r = 0; r < job.cards.size(); ++r) {
      Card& c = state.cards[static_cast<std::size_t>(job.cards[r])];
      c.used = true;
      if (job.phase == JobPhase::kRunning && job.step_seconds > 0 && r < job.rank_compute.size())
        c.busy = std::min(1.0, job.rank_compute[r] / job.step_seconds),
        c.wait = std::clamp(1 - c.busy - job.data / job.step_seconds, 0.0, 1.0);
      else if (job.phase == JobPhase::kStalled) c.wait = 1;
    }
  }
  for (const JobRun& job : jobs.all())
    if (job.phase == JobPhase::kStalled && job.hung_rank >= 0)
      state.cards[static_cast<std::size_t>(job.cards[static_cast<std::size_t>(job.hung_rank)])].wait = 0;
  double day = std::fmod(static_cast<double>(state.now.ns() / 1'000'000'000), 86400.0) / 86400;
  step_physics(state, noise, dt, day);
  jobs.tick(
      dt, real, network_key, [this](const JobRun& j) { return stall(j); }, batch);
  for (const JobRun& job : jobs.all())
    if (job.phase == JobPhase::kSaving)
      for (int c : job.cards) {
        Node& n = state.nodes[static_cast<std::size_t>(state.cards[static_cast<std::size_t>(c)].node)];
        n.knobs.io_wait = std::max(n.knobs.io_wait, 0.05 * (state.storages.empty() ? 1 : std::min(6.0, state.storages[0].knobs.write)));
        knobs_dirty = true;
      }
  traffic.step(jobs, real, noise, dt);
  std::uint64_t exporter = options.every_series ? 1 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(10 / dt)));
  emit.samples(state, traffic, real, noise, ticks, exporter, batch);
  if (ticks % exporter == 0) jobs.emit_counters(state.now, batch);
  for (Active& a : faults) see(a);
  drain_lines();
}

void World::Impl::drain_lines() {
  for (const auto& [entity, key] : state.changed_facts) batch.facts.push_back({state.now, entity, key, state.fact(entity, key), "twin"});
  state.changed_facts.clear();
  for (LogLine& l : state.lines)
    batch.events.push_back({state.now, std::move(l.entity), std::move(l.kind), std::move(l.code), l.severity, std::move(l.text), "twin"});
  state.lines.clear();
}

void World::Impl::apply_faults(double dt) {
  bool any = !rebooting.empty();
  for (const Active& a : faults) any = any || (!a.cured && a.from <= state.now);
  if (any || knobs_dirty) state.reset_knobs();
  knobs_dirty = any;
  for (auto at = rebooting.begin(); at != rebooting.end();) {
    Node& n = state.nodes[static_cast<std::size_t>(at->first)];
    if (at->second > state.now) {
      n.knobs.down = true;
      ++at;
      continue;
    }
    // Counters since boot start anew.
    for (int c : n.cards) {
      Card& card = state.cards[static_cast<std::size_t>(c)];
      card.sbe = card.dbe = card.replay = card.crc = card.nvl_replay = 0, card.xid = 0, card.remap_pending = 0, card.fb_used = 0;
    }
    for (int i : n.nics) {
      Nic& nic = state.nics[static_cast<std::size_t>(i)];
      nic.downed = 1, nic.tx = nic.rx = nic.rx_errors = nic.discards = nic.wait = nic.oos = nic.timeouts = nic.cnp_sent = nic.cnp_handled =
                          nic.marked = nic.tx_pause = nic.rx_pause = nic.prio0 = nic.prio3 = 0;
    }
    at = rebooting.erase(at);
  }
  for (std::size_t i = 0; i < faults.size(); ++i) {
    Active& a = faults[i];
    if (a.cured || a.from > state.now) continue;
    a.age = to_seconds(state.now - a.from), a.dt = dt;
    if (!a.begun) {
      a.begun = true;
      if (a.spec.target.empty()) {
        std::vector<Target> used;
        for (Target& t : candidates(a.entry->sits))
          if ((!a.entry->fits || a.entry->fits(state, t)) && in_use(a.entry->sits, t)) used.push_back(std::move(t));
        if (!used.empty()) a.target = used[static_cast<std::size_t>(a.random.integer(0, static_cast<std::int64_t>(used.size()) - 1))];
      }
      if (a.entry->begin) a.entry->begin(state, a);
    }
    if (a.spec.lasts > seconds(0) && state.now >= a.from + a.spec.lasts) {
      cure(a);
      continue;
    }
    a.entry->apply(state, a);
    // A hang lives in the process: it ends with the job that runs there.
    if (a.target.device.ok() && std::find(a.entry->cures.begin(), a.entry->cures.end(), heal::action::kJobStop) != a.entry->cures.end()) {
      int owner = jobs.owner_of(state.card_of(a.target.device));
      if (owner >= 0 && jobs.all()[static_cast<std::size_t>(owner)].active()) a.memory[0] = 1;
      else if (a.memory[0] > 0) a.cured = true;
      a.showing = a.memory[0] > 0;
    }
    if (a.cured) a.cured = false, cure(a);
  }
  for (std::size_t j = 0; j < jobs.all().size(); ++j) {
    JobRun& job = jobs.all()[j];
    const JobKnobs& k = state.jobs[j];
    if (!job.active()) continue;
    if (k.scattered && !job.scattered) jobs.relaunch(job, real);
    job.crossed.assign(job.placement.groups.size(), false);
    if (k.neighbour > 0) crowd(job, k.neighbour);
  }
  // What follows from parts that are gone, whoever said so.
  for (Node& n : state.nodes) {
    if (!n.knobs.down) continue;
    for (int i : n.nics) state.nics[static_cast<std::size_t>(i)].knobs.gone = true;
  }
  for (Nic& n : state.nics) {
    if (!n.knobs.gone) continue;
    for (int q : n.ports) {
      state.ports[static_cast<std::size_t>(q)].knobs.dark = true;
      state.links[state.built.port(state.ports[static_cast<std::size_t>(q)].id).link.v].state = LinkState::kDown;
    }
  }
  for (Card& c : state.cards) {
    bool off = c.knobs.gone || (c.node >= 0 && state.nodes[static_cast<std::size_t>(c.node)].knobs.down);
    if (!off) continue;
    for (LinkId l : state.network_links(c.id))
      if (state.scale_up(l)) {
        state.links[l.v].state = LinkState::kDown;
        for (fabric::PortId q : {state.built.link(l).a, state.built.link(l).b})
          if (state.built.port(q).device == c.id) state.ports[q.v].knobs.dark = true;
      }
  }
}

// Foreign traffic on the links this job shares with others: between switches if it crosses any, else into its NICs, else wherever it talks.
// Bursts of others cost more than their mean rate, so the groups concerned feel it even where the mean would fit.
void World::Impl::crowd(JobRun& job, double share) {
  auto shared = [&](LinkId l, int rank) {
    const fabric::Link& link = state.built.link(l);
    bool between = state.ports[link.a.v].at_switch && state.ports[link.b.v].at_switch;
    return rank == 0 ? between : rank == 1 ? state.ethernet(l) : true;
  };
  for (int rank = 0; rank < 3; ++rank) {
    bool any = false;
    for (const auto& [l, group] : job.uses) {
      if (!shared(l, rank)) continue;
      any = true;
      job.crossed[static_cast<std::size_t>(group)] = true;
      LinkKnobs& lk = state.links[l.v];
      if (lk.foreign > 0) continue;
      lk.foreign = share;
      const fabric::Link& link = state.built.link(l);
      for (fabric::PortId q : {link.a, link.b})
        state.ports[q.v].knobs.ecn += 2000 * share, state.ports[q.v].knobs.queue += 2e6 * share,
            state.ports[q.v].knobs.pfc_tx += 100 * share;
    }
    if (any) return;
  }
}

// Faults and administration become the machine's true health.
void World::Impl::compose() {
  std::vector<std::pair<LinkId, fabric::LinkHealth>> links;
  std::vector<std::pair<DeviceId, fabric::DeviceHealth>> devices;
  std::uint64_t key = 1;
  for (std::uint32_t l = 0; l < state.links.size(); ++l) {
    const LinkKnobs& k = state.links[l];
    if (k.state != last_state[l]) {
      bool down = k.state == LinkState::kDown;
      if (down || last_state[l] == LinkState::kDown) {
        ++changes[l], changed_at[l] = state.now;
        const fabric::Link& link = state.built.link(LinkId{l});
        for (fabric::PortId q : {link.a, link.b}) {
          const Port& port = state.ports[q.v];
          if (!port.exports || port.knobs.dark) continue;
          DeviceId d = state.built.port(q).device;
          if (port.node >= 0 && state.nodes[static_cast<std::size_t>(port.node)].knobs.down) continue;
          state.log(state.built.name(q), down ? event::kLinkDown : event::kLinkUp, "", down ? Severity::kError : Severity::kInfo,
                    down ? "port state changed: link down" : "port state changed: link up");
          if (down && state.built.device(d).kind == DeviceKind::kNic) state.nics[static_cast<std::size_t>(state.index_of(d))].downed += 1;
        }
        down_since[l] = down ? state.now : Instant();
      }
      last_state[l] = k.state;
    }
    fabric::LinkHealth h{k.state == LinkState::kDown ? LinkState::kDown
                         : k.rate < 0.999            ? LinkState::kDegraded
                                                     : LinkState::kUp,
                         k.state == LinkState::kDown ? 1.0 : k.rate, k.latency_ns, state.in_service[l]};
    // Ids are stable and the overlay holds what differs from the default of each link.
    fabric::LinkHealth usual{};
    usual.in_service = !state.built.link(LinkId{l}).spare;
    if (h != usual || state.built.health(LinkId{l}) != usual) links.emplace_back(LinkId{l}, h);
    if (h != usual)
      key = mix(key ^ mix(l * 8ULL + static_cast<std::uint64_t>(h.state) * 2 + h.in_service) ^
                static_cast<std::uint64_t>(std::lround(h.rate_factor * 200)) * 77777 ^
                static_cast<std::uint64_t>(std::lround(h.extra_latency_ns)) * 999);
  }
  auto health = [&](DeviceId d, fabric::DeviceHealth h) {
    if (auto at = cordons.find(d); at != cordons.end()) h.cordoned = true, h.owner = at->second.owner, h.reason = at->second.reason;
    if (h != fabric::DeviceHealth{}) devices.emplace_back(d, h);
    if (h.state == fabric::DeviceState::kFailed) key = mix(key ^ (0x100000000ULL + d.v));
  };
  for (const Card& c : state.cards) {
    fabric::DeviceHealth h;
    if (c.knobs.gone) h.state = fabric::DeviceState::kFailed;
    if (double q = std::round(c.speed * 50) / 50; q < 0.97) h.speed_factor = q;
    health(c.id, h);
  }
  for (const Node& n : state.nodes) health(n.id, {n.knobs.down ? fabric::DeviceState::kFailed : fabric::DeviceState::kUp});
  for (const auto& [d, hold] : cordons)
    if (DeviceKind k = state.built.device(d).kind; k != DeviceKind::kCard && k != DeviceKind::kNode) health(d, {});
  std::sort(devices.begin(), devices.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  bool same = key == network_key && devices.size() == real.device_overlay().size() &&
              std::equal(devices.begin(), devices.end(), real.device_overlay().begin());
  if (same && ticks > 0) return;
  network_key = key;
  real = state.built.with_health(links, devices);
}

// Does something hold this job's traffic up altogether?
Jobs::Stall World::Impl::stall(const JobRun& job) const {
  Jobs::Stall out;
  for (std::size_t r = 0; r < job.cards.size(); ++r) {
    if (!state.cards[static_cast<std::size_t>(job.cards[r])].knobs.hung) continue;
    out.held = true, out.hung_rank = static_cast<int>(r), out.why = "a rank launches no further collective";
    for (std::size_t g = 0; g < job.placement.groups.size(); ++g) {
      const auto& ranks = job.placement.groups[g].ranks;
      if (std::find(ranks.begin(), ranks.end(), static_cast<int>(r)) != ranks.end()) out.groups.push_back(static_cast<int>(g));
    }
    return out;
  }
  double reroute = parameters.get("job.reroute_s");
  for (const auto& [link, group] : job.uses) {
    const LinkKnobs& k = state.links[link.v];
    if (!state.in_service[link.v]) continue;
    bool held = k.black_hole;
    if (k.state == LinkState::kDown) {
      double age = to_seconds(state.now - down_since[link.v]);
      // Ethernet withdraws the port by itself; a scale-up fabric waits for its manager, which is what isolation is.
      held = state.scale_up(link) || age < reroute;
    }
    if (!held) continue;
    out.held = true, out.why = "traffic over " + state.built.name(link) + " does not arrive";
    if (out.groups.empty() || out.groups.back() != group) out.groups.push_back(group);
  }
  std::sort(out.groups.begin(), out.groups.end());
  out.groups.erase(std::unique(out.groups.begin(), out.groups.end()), out.groups.end());
  if (!out.held)
    for (int c : job.cards)
      if (int n = state.cards[static_cast<std::size_t>(c)].node; n >= 0 && state.nodes[static_cast<std::size_t>(n)].storage_share <= 0)
        return {true, {}, -1, "no path to storage"};
  return out;
}

// ---- truth -----------------------------------------------------------------------------------------------------------
Instant World::Impl::next_export(int node) const {
  double dt = to_seconds(options.sample_every);
  std::uint64_t every = options.every_series ? 1 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(10 / dt)));
  std::uint64_t phase = node >= 0 ? static_cast<std::uint64_t>(state.nodes[static_cast<std::size_t>(node)].phase) : 0, wait = 0;
  while ((ticks + wait + phase) % every != 0) ++wait;
  return state.now + seconds(static_cast<double>(wait) * dt);
}

std::vector<std::string> World::Impl::groups_of(const Active& a) const {
  std::vector<std::string> out;
  if (!a.entry->touches) return out;
  auto suffers = [&](const Card& c) {
    const CardKnobs& k = c.knobs;
    if (k.gone || k.dead || k.hung || c.speed < 0.97 * std::min(1.0, 1 / c.silicon + 0.05)) return true;
    return c.node >= 0 &&
           (state.nodes[static_cast<std::size_t>(c.node)].knobs.down || state.nodes[static_cast<std::size_t>(c.node)].knobs.comm > 1.02);
  };
  for (std::size_t j = 0; j < jobs.all().size(); ++j) {
    const JobRun& job = jobs.all()[j];
    if (!job.active()) continue;
    std::vector<LinkId> links;
    if (a.entry->sits == Sits::kLink) links.push_back(a.target.link);
    if (a.entry->sits == Sits::kNic || a.entry->sits == Sits::kSwitch) links = state.network_links(a.target.device);
    for (std::size_t g = 0; g < job.placement.groups.size(); ++g) {
      const workload::Group& group = job.placement.groups[g];
      bool hit = false;
      for (LinkId l : links) {
        const LinkKnobs& k = state.links[l.v];
        bool bad = state.in_service[l.v] && (k.state == LinkState::kDown || k.rate < 0.97 || k.black_hole);
        hit = hit || (bad && std::binary_search(job.uses.begin(), job.uses.end(), std::pair(l, static_cast<int>(g))));
      }
      if (links.empty() && a.target.device.ok())
        for (int r : group.ranks) {
          const Card& c = state.cards[static_cast<std::size_t>(job.cards[static_cast<std::size_t>(r)])];
          if (!suffers(c)) continue;
          for (DeviceId d = c.id; d.ok(); d = state.built.device(d).parent) hit = hit || d == a.target.device;
          hit = hit || (c.rack >= 0 && state.racks[static_cast<std::size_t>(c.rack)].id == a.target.device) ||
                (c.cdu >= 0 && state.cdus[static_cast<std::size_t>(c.cdu)].id == a.target.device);
        }
      if (a.target.job == static_cast<int>(j) && a.spec.fault == "expert_imbalance") hit = group.dim == workload::Dim::kEp;
      if (hit) out.push_back(job.entity + ":" + group.name());
    }
  }
  return out;
}

void World::Impl::see(Active& a) {
  if (!a.begun || !a.showing || a.cured) return;
  // Who feels it may grow with time (heat) and with what is placed on it.
  if (a.visible.ns()) {
    if (ticks % 5 == 0)
      for (std::string& g : groups_of(a))
        if (std::find(a.groups.begin(), a.groups.end(), g) == a.groups.end()) a.groups.push_back(std::move(g));
    return;
  }
  int node = a.target.device.ok() ? state.node_of(a.target.device)
             : a.target.link.ok() ? state.ports[state.built.link(a.target.link).a.v].node
                                  : -1;
  switch (a.entry->shows) {
    case Shows::kAtOnce:
    case Shows::kHost: a.visible = state.now; break;
    case Shows::kExporter: a.visible = next_export(node); break;
    case Shows::kStep: {
      double wait = 0;
      if (a.target.job >= 0) {
        const JobRun& j = jobs.all()[static_cast<std::size_t>(a.target.job)];
        if (!j.active() || j.step_seconds <= 0 || j.warm_up > 0) return;  // no step to see it in yet
      }
      for (const JobRun& j : jobs.all())
        if (j.active() && (a.target.job < 0 || &j == &jobs.all()[static_cast<std::size_t>(a.target.job)])) wait = std::max(wait, j.left);
      a.visible = state.now + seconds(wait);
    }
  }
  a.groups = groups_of(a);
}

void World::Impl::cure(Active& a) {
  if (a.cured) return;
  a.cured = true, a.cured_at = state.now;
  knobs_dirty = true;
  if (a.entry->end) a.entry->end(state, a);
}

// ---- injecting -------------------------------------------------------------------------------------------------------
std::vector<Target> World::Impl::candidates(Sits sits) const {
  std::vector<Target> out;
  const fabric::Snapshot& s = state.built;
  auto devices = [&](DeviceKind kind) {
    for (DeviceId d : s.of_kind(kind)) out.push_back({s.name(d), d, {}, -1});
  };
  switch (sits) {
    case Sits::kLink:
      for (std::uint32_t l = 0; l < s.link_count(); ++l)
        if (state.ports[s.link(LinkId{l}).a.v].exports && !s.link(LinkId{l}).spare) out.push_back({s.name(LinkId{l}), {}, LinkId{l}, -1});
      break;
    case Sits::kCard: devices(DeviceKind::kCard); break;
    case Sits::kNode: devices(DeviceKind::kNode); break;
    case Sits::kNic:
      for (const Nic& n : state.nics)
        if (!n.ports.empty() && state.ports[static_cast<std::size_t>(n.ports[0])].ethernet) out.push_back({s.name(n.id), n.id, {}, -1});
      break;
    case Sits::kSwitch:
      for (DeviceId d : s.of_kind(DeviceKind::kSwitch))
        if (!state.network_links(d).empty()) out.push_back({s.name(d), d, {}, -1});
      break;
    case Sits::kRack: devices(DeviceKind::kRack); break;
    case Sits::kCdu: devices(DeviceKind::kCdu); break;
    case Sits::kStorage: devices(DeviceKind::kStorage); break;
    case Sits::kJob:
      for (std::size_t j = 0; j < jobs.all().size(); ++j) out.push_back({jobs.all()[j].entity, {}, {}, static_cast<int>(j)});
  }
  return out;
}

bool World::Impl::in_use(Sits sits, const Target& t) const {
  if (sits == Sits::kJob) return jobs.all()[static_cast<std::size_t>(t.job)].active();
  std::vector<LinkId> links;
  if (sits == Sits::kLink) links.push_back(t.link);
  if (sits == Sits::kNic || sits == Sits::kSwitch) links = state.network_links(t.device);
  for (const JobRun& job : jobs.all()) {
    if (!job.active()) continue;
    if (sits == Sits::kStorage) return true;
    for (LinkId l : links) {
      auto at = std::lower_bound(job.uses.begin(), job.uses.end(), std::pair(l, -1));
      if (at != job.uses.end() && at->first == l) return true;
      if (traffic.storage_path(l, job, state)) return true;
    }
    if (!links.empty()) continue;
    for (int i : job.cards) {
      const Card& c = state.cards[static_cast<std::size_t>(i)];
      for (DeviceId d = c.id; d.ok(); d = state.built.device(d).parent)
        if (d == t.device) return true;
      if (c.rack >= 0 && state.racks[static_cast<std::size_t>(c.rack)].id == t.device) return true;
      if (c.cdu >= 0 && state.cdus[static_cast<std::size_t>(c.cdu)].id == t.device) return true;
    }
  }
  return false;
}

Result<Target> World::Impl::resolve(const FaultEntry& entry, const FaultSpec& spec, Random& draw) const {
  std::vector<Target> all = candidates(entry.sits);
  if (spec.target.empty()) {
    std::vector<Target> fit;
    for (Target& t : all)
      if (!entry.fits || entry.fits(state, t)) fit.push_back(std::move(t));
    if (fit.empty())
      return fail(ErrorKind::kNotFound,
                  fmt::format("the site has no part that '{}' fits; name a target or choose another site", entry.name));
    return fit[static_cast<std::size_t>(draw.integer(0, static_cast<std::int64_t>(fit.size()) - 1))];
  }
  std::string wanted = spec.target;
  DeviceId device;
  LinkId link;
  if (entry.sits == Sits::kLink) {
    WEFT_ASSIGN(link, state.built.find_link(wanted));
  } else if (entry.sits != Sits::kJob) {
    auto found = state.built.find_device(wanted);
    if (!found) {  // a port or cable may stand for the NIC or switch at its end
      auto port = state.built.find_port(wanted);
      if (!port) return std::unexpected(found.error());
      found = state.built.port(*port).device;
    }
    device = *found;
  }
  for (Target& t : all)
    if (entry.sits == Sits::kLink  ? t.link == link
        : entry.sits == Sits::kJob ? (t.name == wanted || t.name == "job/" + wanted)
                                   : t.device == device)
      return std::move(t);
  return fail(ErrorKind::kInvalid, fmt::format("'{}' does not sit on '{}'", entry.name, wanted));
}

Result<std::string> World::Impl::inject(const FaultSpec& spec) {
  const FaultEntry* entry = twin::faults().find(spec.fault);
  if (!entry) return fail(ErrorKind::kNotFound, fmt::format("unknown fault '{}'; known: {}", spec.fault, twin::faults().names()));
  Active a;
  a.spec = spec, a.entry = entry;
  a.random = random.fork("fault/" + spec.fault, faults.size());
  WEFT_ASSIGN(a.target, resolve(*entry, spec, a.random));
  a.magnitude = spec.magnitude > 0 ? spec.magnitude : a.random.log_uniform(0.5, 2.0);
  a.from = options.start + spec.at;
  if (a.from < state.now) a.from = state.now;
  faults.push_back(std::move(a));
  return faults.back().target.name;
}

}  // namespace weft::twin
