#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "diagnose/cause.h"
#include "diagnose/detector.h"
#include "telemetry/names.h"
#include "telemetry/windows.h"

namespace weft::diagnose {

using telemetry::Event;
using telemetry::Fact;
using telemetry::SeriesId;

namespace {

constexpr Duration kRearm = minutes(1);
constexpr double kActable = 0.5;  // confidence of the first cause from which an incident opens
constexpr std::size_t kMaxEvents = 4096;

std::string finding_name(const Finding& f) { return f.sign + "@" + f.entity; }

struct Incident {
  std::string key, fault, entity;
  Instant since;
  std::set<std::string> core;  // findings that named it
  Diagnosis diagnosis;
  Instant last_seen;
};

}  // namespace

struct Diagnoser::Impl {
  telemetry::SeriesTable& series;
  telemetry::Windows windows;
  Machine machine;
  Rules rules;
  Log log;
  Findings findings;
  std::vector<Finding> finding_list;
  std::vector<Diagnosis> open;
  std::vector<Incident> incidents;
  int next_key = 1;
  std::uint64_t ranked_changes = UINT64_MAX;
  Instant ranked_at;

  const std::vector<DetectorEntry>& entries = detectors().entries();
  std::unordered_map<std::string_view, std::vector<const DetectorEntry*>> by_metric, by_event;  // looked up, never walked
  std::vector<std::vector<const DetectorEntry*>> of_series;                                     // by series id
  std::vector<SeriesId> rearm;                                                                  // series whose wires follow history
  std::size_t rearm_next = 0;
  std::vector<Instant> swept;
  std::vector<Event> fresh_events;
  Instant last_evaluate;

  explicit Impl(telemetry::SeriesTable& table) : series(table), windows(table) {
    auto loaded = Rules::load();
    assert(loaded && "data/diagnose is built in");
    if (loaded) rules = std::move(*loaded);
    swept.resize(entries.size());
    for (const DetectorEntry& d : entries) {
      for (std::string_view m : d.metrics) by_metric[m].push_back(&d);
      for (std::string_view e : d.events) by_event[e].push_back(&d);
    }
  }

  Context context(Instant now) { return Context{series, windows, machine, rules, log, findings, now}; }

  void take_events(const std::vector<Event>& events) {
    if (events.empty()) return;
    auto order = [](const Event& e) { return std::tie(e.at, e.entity, e.kind, e.code, e.text); };
    std::vector<Event> sorted = events;
    std::stable_sort(sorted.begin(), sorted.end(), [&](const Event& a, const Event& b) { return order(a) < order(b); });
    for (Event& e : sorted) {
      auto at =
          std::upper_bound(log.events.begin(), log.events.end(), e, [&](const Event& a, const Event& b) { return order(a) < order(b); });
      if (at != log.events.begin() && order(*std::prev(at)) == order(e)) continue;  // duplicate
      fresh_events.push_back(e);
      log.events.insert(at, std::move(e));
    }
    if (log.events.size() > kMaxEvents) log.events.erase(log.events.begin(), log.events.end() - kMaxEvents);
  }

  void take_facts(const std::vector<Fact>& facts) {
    std::vector<const Fact*> sorted;
    for (const Fact& f : facts) sorted.push_back(&f);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Fact* a, const Fact* b) {
      return std::tie(a->at, a->entity, a->key, a->value) < std::tie(b->at, b->entity, b->key, b->value);
    });
    for (const Fact* f : sorted) {
      FactState& state = log.facts[{f->key, f->entity}];
      if (state.value == f->value) continue;
      if (state.since.ns() != 0) state.before = state.value, state.changed = true;
      state.value = f->value;
      state.since = f->at;
      log.facts_changed = std::max(log.facts_changed, f->at);
    }
  }

  // What these jobs felt belongs to a run that is over.
  void forget(const std::vector<RunningJob>& jobs) {
    static constexpr std::string_view kFelt[] = {"algorithm_changed", "cards_warmer",       "compute_slow", "imbalance_up",
                                                 "job_misplaced",     "node_late",          "rank_behind",  "rank_late",
                                                 "rank_offset",       "ranks_late_changing"};
    std::set<std::string> names;
    for (const RunningJob& j : jobs) {
      names.insert(j.job.name.starts_with("job/") ? j.job.name : "job/" + j.job.name);
      if (!machine.ready()) continue;
      for (fabric::DeviceId d : j.placement.cards) {
        names.insert(machine.snapshot().name(d));
        if (fabric::DeviceId n = machine.node_of(d); n.ok()) names.insert(machine.snapshot().name(n));
      }
    }
    std::vector<std::pair<std::string, std::string>> drop;
    for (const auto& [key, live] : findings.all()) {
      bool felt = is_job_symptom(key.first) || std::find(std::begin(kFelt), std::end(kFelt), key.first) != std::end(kFelt);
      if (felt && names.contains(key.second.substr(0, key.second.find(':')))) drop.push_back(key);
    }
    for (const auto& [sign, entity] : drop) findings.drop(sign, entity);
  }

  // A job that says where its ranks run ("… on CARD,CARD,…" in its start line) is believed, whatever was planned.
  std::map<std::string, std::pair<std::vector<fabric::DeviceId>, Instant>> told;  // by the scheduler: cards, since
  void hear_jobs(const std::vector<Event>& events) {
    if (!machine.ready()) return;
    bool changed = false;
    std::vector<RunningJob> jobs = machine.jobs();
    std::map<std::string, std::vector<fabric::DeviceId>> planned;
    for (RunningJob& j : jobs)
      if (const auto* p = machine.planned(j.job.name)) planned[j.job.name] = *p;
    std::vector<RunningJob> before;
    for (const Event& e : events) {
      if (e.kind != telemetry::event::kJobStarted && e.kind != telemetry::event::kJobResumed) continue;
      int index = machine.part(e.entity).job;
      if (index < 0) continue;
      RunningJob& j = jobs[static_cast<std::size_t>(index)];
      if (e.at <= j.since) continue;
      before.push_back(j);
      j.since = e.at;
      changed = true;
      std::size_t on = e.text.rfind(" on ");
      if (on == std::string::npos) continue;
      std::vector<fabric::DeviceId> cards;
      for (std::string_view name : split(std::string_view(e.text).substr(on + 4), ',')) {
        auto d = machine.snapshot().find_device(trim(name));
        if (d && machine.snapshot().device(*d).kind == fabric::DeviceKind::kCard) cards.push_back(*d);
      }
      if (cards.size() != j.placement.cards.size()) continue;
      auto plan = told.find(j.job.name);
      if (plan != told.end() && plan->second.first != cards) planned[j.job.name] = plan->second.first;
      else planned.erase(j.job.name);
      j.placement.cards = std::move(cards);
    }
    if (!changed) return;
    forget(before);
    machine.set_jobs(std::move(jobs));
    machine.set_planned(std::move(planned));
  }

  void new_normal(std::vector<RunningJob> jobs, Instant from) {
    forget(jobs);
    for (RunningJob& j : jobs) j.since = std::max(j.since, from);
    machine.set_jobs(std::move(jobs));
  }

  void run_detectors(Context& c) {
    for (SeriesId id : windows.take_new()) {
      if (of_series.size() <= id.v) of_series.resize(series.size());
      auto at = by_metric.find(series.metric(id));
      if (at == by_metric.end()) continue;
      of_series[id.v] = at->second;
      bool again = false;
      for (const DetectorEntry* d : at->second)
        if (d->arm) d->arm(c, id), again |= !d->fixed;
      if (again) rearm.push_back(id);
      // The first sample came before the wire: look at it once.
      for (const DetectorEntry* d : at->second)
        if (d->examine && d->fixed) d->examine(c, id);
    }
    hear_jobs(fresh_events);
    for (const Event& e : fresh_events)
      if (auto at = by_event.find(e.kind); at != by_event.end())
        for (const DetectorEntry* d : at->second) d->event(c, e);
    fresh_events.clear();
    for (SeriesId id : windows.take_tripped())
      if (id.v < of_series.size())
        for (const DetectorEntry* d : of_series[id.v])
          if (d->examine) d->examine(c, id);
    // Wires are set anew a few at a time, so that every series has its turn once per kRearm.
    if (!rearm.empty()) {
      double passed = last_evaluate.ns() ? std::min(1.0, to_seconds(c.now - last_evaluate) / to_seconds(kRearm)) : 0;
      auto n = static_cast<std::size_t>(std::ceil(passed * static_cast<double>(rearm.size())));
      for (std::size_t i = 0; i < n; ++i) {
        SeriesId id = rearm[rearm_next++ % rearm.size()];
        for (const DetectorEntry* d : of_series[id.v])
          if (d->arm && !d->fixed) d->arm(c, id);
      }
    }
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (entries[i].sweep && c.now - swept[i] >= entries[i].every) {
        swept[i] = c.now;
        entries[i].sweep(c);
      }
    last_evaluate = c.now;
  }

  Cause to_cause(const Context& c, const Scored& s, double confidence) {
    Cause out;
    out.fault = s.entry->name;
    out.entity = machine.name(s.part);
    out.layer = find_fault_class(s.entry->name)->layer;
    out.confidence = confidence;
    out.since = c.now;
    for (const Finding* f : s.explained) {
      out.explained.push_back(finding_name(*f));
      if (!is_job_symptom(f->sign)) out.since = std::min(out.since, f->since);
    }
    for (const Finding* f : s.contradicted) out.contradicted.push_back(finding_name(*f));
    out.impact = impacts(c, s);
    out.settling_test = s.entry->settling_test;
    return out;
  }

  // One incident: the best candidate and what it explains; the other candidates for the same findings are its rivals.
  Diagnosis make(const Context& c, const Scored& best, const std::vector<Scored>& all, std::set<const Finding*>& core) {
    core.clear();
    for (const Finding* f : best.explained)
      if (!is_job_symptom(f->sign)) core.insert(f);
    if (core.empty()) core.insert(best.explained.begin(), best.explained.end());
    struct Rival {
      const Scored* scored;
      double score;
    };
    std::vector<Rival> rivals;
    for (const Scored& s : all) {
      bool shares = std::any_of(s.explained.begin(), s.explained.end(), [&](const Finding* f) { return core.contains(f); });
      if (!shares) continue;
      double score = s.score;
      for (const Finding* f : core)  // what the best explains and this one leaves open
        if (std::find(s.explained.begin(), s.explained.end(), f) == s.explained.end()) score -= 1.5 * f->strength;
      rivals.push_back({&s, score});
    }
    std::sort(rivals.begin(), rivals.end(),
              [](const Rival& a, const Rival& b) { return a.score != b.score ? a.score > b.score : *a.scored < *b.scored; });
    if (rivals.size() > 8) rivals.resize(8);
    // "Unknown" has the odds of one symptom of medium weight, so that a weak story does not win for want of a rival.
    double unknown = 1.5, top = unknown;
    for (const Rival& r : rivals) top = std::max(top, r.score);
    double sum = std::exp(unknown - top);
    for (const Rival& r : rivals) sum += std::exp(r.score - top);
    Diagnosis d;
    d.at = c.now;
    d.unknown = std::exp(unknown - top) / sum;
    for (const Rival& r : rivals) {
      double confidence = std::exp(r.score - top) / sum;
      if (confidence < 0.005 && !d.causes.empty()) {
        d.unknown += confidence;
        continue;
      }
      d.causes.push_back(to_cause(c, *r.scored, confidence));
    }
    d.undecided = d.causes.size() > 1 && d.causes[0].confidence < 2 * d.causes[1].confidence;
    std::set<const Finding*> considered(core.begin(), core.end());
    considered.insert(best.explained.begin(), best.explained.end());
    considered.insert(best.contradicted.begin(), best.contradicted.end());
    for (const Finding* f : considered) d.findings.push_back(*f);
    std::sort(d.findings.begin(), d.findings.end(),
              [](const Finding& a, const Finding& b) { return std::tie(a.since, a.entity, a.sign) < std::tie(b.since, b.entity, b.sign); });
    d.since = c.now;
    for (const Finding* f : core) d.since = std::min(d.since, f->since);
    return d;
  }

  void rank(Context& c) {
    std::vector<const Finding*> left;
    for (const auto& [key, live] : findings.all()) left.push_back(&live.finding);
    std::vector<bool> seen(incidents.size(), false);
    std::set<std::string> told;  // findings that an incident of this pass explains
    for (int round = 0; round < 16 && !left.empty(); ++round) {
      std::vector<Scored> all = candidates(c, left);
      std::erase_if(all, [&](const Scored& s) { return s.score < 0.5; });
      if (all.empty()) break;
      const Scored& best = all.front();
      std::set<const Finding*> core;
      Diagnosis d = make(c, best, all, core);
      auto explained = [&](const Finding* f) { return core.contains(f); };
      std::size_t before = left.size();
      std::erase_if(left, explained);
      if (left.size() == before) {  // only what earlier incidents explain already
        std::erase_if(left,
                      [&](const Finding* f) { return std::find(best.explained.begin(), best.explained.end(), f) != best.explained.end(); });
        if (left.size() == before) break;
        continue;
      }
      if (d.causes.empty() || (d.causes[0].confidence < kActable && !d.undecided)) continue;
      if (d.causes[0].confidence + (d.causes.size() > 1 ? d.causes[1].confidence : 0) < kActable) continue;
      Duration wait = seconds(best.entry->settle_s);
      if (best.entry->ready && !best.entry->ready(Case(c, *best.entry, best.part))) wait = wait + seconds(20);
      keep(c, std::move(d), core, wait, seen);
      for (const Finding* f : best.explained) told.insert(finding_name(*f));
    }
    for (std::size_t i = 0; i < incidents.size(); ++i)
      if (i >= seen.size() || !seen[i]) gone(c, incidents[i], told);
  }

  // Same incident: same first cause, or findings in common.
  void keep(const Context& c, Diagnosis d, const std::set<const Finding*>& core, Duration settle, std::vector<bool>& seen) {
    std::set<std::string> names;
    for (const Finding* f : core) names.insert(finding_name(*f));
    std::size_t at = incidents.size();
    for (int pass = 0; pass < 2 && at == incidents.size(); ++pass)
      for (std::size_t i = 0; i < incidents.size() && at == incidents.size(); ++i) {
        if (i < seen.size() && seen[i]) continue;
        const Incident& old = incidents[i];
        bool same = old.fault == d.causes[0].fault && old.entity == d.causes[0].entity;
        bool common = std::any_of(names.begin(), names.end(), [&](const std::string& n) { return old.core.contains(n); });
        if (pass == 0 ? same : common) at = i;
      }
    if (at == incidents.size()) {
      incidents.push_back({.key = fmt::format("D{:04}", next_key++), .since = d.since});
      seen.resize(incidents.size(), false);
    }
    Incident& incident = incidents[at];
    if (seen.size() <= at) seen.resize(at + 1, false);
    seen[at] = true;
    incident.fault = d.causes[0].fault;
    incident.entity = d.causes[0].entity;
    incident.core.insert(names.begin(), names.end());
    incident.last_seen = c.now;
    incident.since = std::min(incident.since, d.since);
    d.key = incident.key;
    d.since = incident.since;
    bool hurts = false, loud = false;
    for (const Impact& i : d.causes[0].impact) hurts |= i.tail != Tail::kNone;
    for (const Finding& f : d.findings) loud |= f.strength >= 0.5 && !is_job_symptom(f.sign);
    d.severity = hurts ? telemetry::Severity::kError : loud ? telemetry::Severity::kWarning : telemetry::Severity::kInfo;
    d.settled = incident.diagnosis.settled || c.now - incident.since >= settle;
    // What was hit stays hit, also when the part is out of the way by now.
    for (Cause& cause : d.causes)
      for (const Cause& old : incident.diagnosis.causes)
        if (old.fault == cause.fault && old.entity == cause.entity)
          for (const Impact& was : old.impact) {
            auto now = std::find_if(cause.impact.begin(), cause.impact.end(), [&](const Impact& i) { return i.job == was.job; });
            if (now == cause.impact.end()) {
              cause.impact.push_back(was);
              continue;
            }
            std::set<std::string> groups(now->groups.begin(), now->groups.end());
            for (const std::string& g : was.groups)
              if (groups.insert(g).second) now->groups.push_back(g);
            if (now->primitive.empty()) now->primitive = was.primitive;
            now->tail = std::max(now->tail, was.tail);
            now->slowdown = std::max(now->slowdown, was.slowdown);
          }
    incident.diagnosis = std::move(d);
  }

  void gone(const Context& c, Incident& incident, const std::set<std::string>& told) {
    if (incident.diagnosis.over) return;
    // Another incident tells its story by now: one fault, one incident.
    bool told_elsewhere = false, untold = false;
    for (const std::string& name : incident.core) {
      std::size_t at = name.find('@');
      if (!findings.find(name.substr(0, at), name.substr(at + 1))) continue;
      (told.contains(name) ? told_elsewhere : untold) = true;
    }
    if (told_elsewhere && !untold) {
      incident.diagnosis.over = true;
      incident.diagnosis.at = c.now;
      return;
    }
    // Symptoms flicker: wait before calling it over.
    if (c.now - incident.last_seen < seconds(15)) return;
    incident.diagnosis.over = true;
    incident.diagnosis.at = c.now;
  }
};

Diagnoser::Diagnoser(telemetry::SeriesTable& series) : impl_(std::make_unique<Impl>(series)) {}
Diagnoser::~Diagnoser() = default;
Diagnoser::Diagnoser(Diagnoser&&) noexcept = default;
Diagnoser& Diagnoser::operator=(Diagnoser&&) noexcept = default;

void Diagnoser::set_snapshot(const fabric::Snapshot& snapshot) {
  Impl& d = *impl_;
  bool known = d.machine.ready();
  bool changed = known && (d.machine.snapshot().link_overlay().size() != snapshot.link_overlay().size() ||
                           d.machine.snapshot().content_hash() != snapshot.content_hash());
  d.machine.set_snapshot(snapshot);
  if (changed) d.new_normal(d.machine.jobs(), d.last_evaluate);
  d.ranked_changes = UINT64_MAX;
}

void Diagnoser::set_jobs(std::vector<RunningJob> jobs) {
  Impl& d = *impl_;
  std::vector<RunningJob> before = d.machine.jobs();
  std::map<std::string, std::vector<fabric::DeviceId>> planned;
  for (RunningJob& j : jobs) {
    auto [at, fresh] = d.told.try_emplace(j.job.name, j.placement.cards, j.since);
    bool same_plan = !fresh && at->second.first == j.placement.cards && at->second.second == j.since;
    at->second = {j.placement.cards, j.since};
    // Nothing new from the scheduler: what the job said about itself stands.
    if (same_plan)
      for (const RunningJob& old : before)
        if (old.job.name == j.job.name && old.since >= j.since) {
          if (const auto* p = d.machine.planned(j.job.name)) planned[j.job.name] = *p;
          j.placement.cards = old.placement.cards;
        }
  }
  d.machine.set_planned(std::move(planned));
  for (RunningJob& j : jobs)
    for (const RunningJob& old : before)
      if (old.job.name == j.job.name && old.running == j.running && old.placement.cards == j.placement.cards && old.since > j.since)
        j.since = old.since;  // a later new normal stands
  std::vector<RunningJob> changed;
  for (const RunningJob& old : before) {
    auto same = std::find_if(jobs.begin(), jobs.end(), [&](const RunningJob& j) { return j.job.name == old.job.name; });
    if (same == jobs.end() || same->since != old.since || same->running != old.running || same->placement.cards != old.placement.cards)
      changed.push_back(old);
  }
  d.machine.set_jobs(std::move(jobs));
  d.forget(changed);
  d.ranked_changes = UINT64_MAX;
}

void Diagnoser::ingest(const telemetry::Batch& batch) {
  bool in_order = std::is_sorted(batch.samples.begin(), batch.samples.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  if (in_order) {
    impl_->windows.append(batch.samples);
  } else {
    std::vector<telemetry::Sample> sorted = batch.samples;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return std::tie(a.at, a.series, a.value) < std::tie(b.at, b.series, b.value); });
    impl_->windows.append(sorted);
  }
  impl_->take_facts(batch.facts);
  impl_->take_events(batch.events);
}

const std::vector<Diagnosis>& Diagnoser::evaluate(Instant now) {
  Impl& d = *impl_;
  std::erase_if(d.incidents, [](const Incident& i) { return i.diagnosis.over; });
  Context c = d.context(now);
  d.run_detectors(c);
  d.findings.expire(now);
  // Ranking is needed when findings changed, and now and then while an incident is open (strengths, settling, recovery).
  bool busy = !d.incidents.empty();
  if (d.findings.changes() != d.ranked_changes || (busy && now - d.ranked_at >= seconds(1)) || now - d.ranked_at >= seconds(30)) {
    d.rank(c);
    d.ranked_changes = d.findings.changes();
    d.ranked_at = now;
  }
  d.open.clear();
  for (const Incident& i : d.incidents) d.open.push_back(i.diagnosis);
  return d.open;
}

const std::vector<Finding>& Diagnoser::findings() const {
  impl_->finding_list.clear();
  for (const auto& [key, live] : impl_->findings.all()) impl_->finding_list.push_back(live.finding);
  return impl_->finding_list;
}

const telemetry::Windows& Diagnoser::windows() const { return impl_->windows; }

}  // namespace weft::diagnose
