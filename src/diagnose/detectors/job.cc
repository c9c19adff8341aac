// What jobs feel: step time, transfer time per dimension and group, late ranks, data, checkpoints, experts, stalls. Levels are medians of
// several steps against the job's own steps before; warm-up, periodic bumps and constant offsets between workers are normal.
#include "base/text.h"
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

using fabric::DeviceId;

std::string entity_of(const RunningJob& j) { return j.job.name.starts_with("job/") ? j.job.name : "job/" + j.job.name; }

struct Shift {
  double before = NAN, now = NAN, sigma = 0;
  double relative = 0, z = 0;
  int samples = 0;
  Instant since;
  bool known() const { return samples >= 8 && std::isfinite(now) && before > 0; }
};

// Median of the last k steps against those before, since the job (re)started and warmed up. `frozen`: baseline of a finding that is alive.
struct Past {
  Baseline before;             // of everything but the last 24 steps (or 5, when young)
  std::vector<double> recent;  // last 24, oldest first
  std::vector<Instant> when;
};

// Levels before the last `k` steps. ~2 us.
Past past_of(const Context& c, SeriesId id, Instant since, std::size_t k) {
  Past out;
  if (id.v == UINT32_MAX || !c.windows.has(id)) return out;
  std::vector<Point> p = c.windows.last_points(id, 24);
  if (p.size() < k + 3) return out;
  for (const Point& q : p) out.recent.push_back(q.value), out.when.push_back(q.at);
  // Warm-up: the first steps after the start, if the window still reaches back to them.
  Duration step = c.windows.interval(id);
  Instant from = since + step * c.rules["warm_up_steps"];
  out.before = c.windows.baseline(id, std::max(from, c.now - hours(4)), p[p.size() - k].at - nanoseconds(1));
  return out;
}

Shift shift(const Context& c, SeriesId id, Instant since, std::size_t k, double frozen = NAN) {
  Shift s;
  Past past = past_of(c, id, since, k);
  if (past.before.samples < 3 && !std::isfinite(frozen)) return s;
  if (past.recent.size() < k) return s;
  s.samples = std::isfinite(frozen) ? 99 : past.before.samples;
  s.before = std::isfinite(frozen) ? frozen : past.before.median;
  s.now = telemetry::median({past.recent.end() - static_cast<std::ptrdiff_t>(k), past.recent.end()});
  s.sigma = std::max(past.before.mad, 0.003 * std::abs(s.before));
  s.relative = s.before > 0 ? s.now / s.before - 1 : 0;
  s.z = (s.now - s.before) / (1.2533 * s.sigma * std::sqrt(1.0 / static_cast<double>(k) + 1.0 / std::max(1, s.samples)));
  s.since = past.when[past.when.size() - k];
  return s;
}

double frozen_of(const Context& c, std::string_view sign, const std::string& entity) {
  const Finding* f = c.findings.find(sign, entity);
  return f && !f->evidence.empty() ? f->evidence[0].baseline : NAN;
}

// Raises sign@entity when a short look sees a large shift or a longer one a small.
bool judge_shift(Context& c, SeriesId id, const RunningJob& job, std::string_view sign, const std::string& entity, double limit,
                 double minimum, Layer layer, const char* text) {
  if (id.v == UINT32_MAX || !c.windows.has(id)) return false;
  double frozen = frozen_of(c, sign, entity);
  for (std::size_t k : {std::size_t{5}, std::size_t{10}, std::size_t{21}}) {
    Shift s = shift(c, id, job.since, k, frozen);
    if (k == 5 && !std::isfinite(frozen) && s.relative < 0.3 * limit) return false;  // no need to look longer
    if (!s.known()) continue;
    bool standing = std::isfinite(frozen);
    double need = standing ? 0.6 * limit : k == 5 ? std::max(2 * limit, 0.06) : limit;
    double z = standing ? 1.5 : c.rules["shift_sigmas"];
    if (s.relative < need || s.z < z || s.now - s.before < minimum) continue;
    const Finding* old = c.findings.find(sign, entity);
    Duration step = c.windows.interval(id);
    c.raise(sign, entity, layer, std::min(1.0, 0.4 + 2 * s.relative), std::max(step * 6, seconds(15)), old ? old->since : s.since,
            {c.evidence(id, s.now, s.before,
                        fmt::format("{} {:.4g} s, before {:.4g} s ({:+.1f} %)", text, s.now, s.before, 100 * s.relative), s.since)});
    return true;
  }
  return false;
}

const RunningJob* job_of(const Context& c, std::string_view entity) {
  const Part& p = c.machine.part(entity);
  if (p.job < 0) return nullptr;
  const RunningJob& j = c.machine.jobs()[static_cast<std::size_t>(p.job)];
  return j.running ? &j : nullptr;
}

void arm_always(Context& c, SeriesId id) { c.windows.set_wire(id, INFINITY, kNone); }

// Once per finished step.
void examine_step(Context& c, SeriesId id) {
  const RunningJob* job = job_of(c, c.table.entity(id));
  if (!job) return;
  std::string e = entity_of(*job);
  c.drop("job_stalled", e);
  judge_shift(c, id, *job, "step_slow", e, c.rules["step_shift"], 0, Layer::kJob, "step");
  double step = 0;
  if (auto p = c.windows.last_points(id, 8); !p.empty()) {
    std::vector<double> v;
    for (const Point& q : p) v.push_back(q.value);
    step = telemetry::median(v);
  }
  for (std::string_view dim : {"tp", "pp", "dp", "ep", "cp"}) {
    std::string label = fmt::format("dim={}", dim), sign = fmt::format("comm_{}_slow", dim);
    bool slow = judge_shift(c, c.table.find(metric::kCommSeconds, e, label), *job, sign, e, c.rules["comm_shift"], 0.004 * step,
                            Layer::kJob, "transfer");
    if (!slow)
      judge_shift(c, c.table.find(metric::kCommP99Seconds, e, label), *job, fmt::format("comm_{}_p99", dim), e, 2 * c.rules["comm_shift"],
                  0.004 * step, Layer::kJob, "p99 transfer");
  }
  judge_shift(c, c.table.find(metric::kDataSeconds, e), *job, "data_slow", e, 1.0, c.rules["data_share"] * step, Layer::kStorage,
              "exposed data loading");
  judge_shift(c, c.table.find(metric::kWaitSeconds, e), *job, "wait_up", e, 0.5, 0.01 * step, Layer::kJob, "waiting for late ranks");
  judge_shift(c, c.table.find(metric::kComputeSeconds, e), *job, "compute_slow", e, 0.02, 0, Layer::kJob, "mean busy time");
  SeriesId imbalance = c.table.find(metric::kExpertImbalance, e);
  if (judge_shift(c, imbalance, *job, "imbalance_up", e, c.rules["imbalance"] - 1, 0, Layer::kJob,
                  "tokens of the busiest expert over the mean"))
    return;
  Shift s = shift(c, imbalance, job->since, 10);
  if (s.known() && s.now > c.rules["imbalance_absolute"] && s.before > c.rules["imbalance_absolute"])
    c.raise("imbalance_up", e, Layer::kJob, 0.6, seconds(60), s.since,
            {c.evidence(imbalance, s.now, c.rules["imbalance_absolute"],
                        fmt::format("busiest expert has {:.2f} times the mean tokens since the start", s.now), s.since)});
}

void examine_latency(Context& c, SeriesId id) {
  const RunningJob* job = job_of(c, c.table.entity(id));
  if (!job) return;
  bool ttft = c.table.metric(id) == metric::kTtft;
  judge_shift(c, id, *job, ttft ? "ttft_slow" : "tpot_slow", entity_of(*job), 0.15, 0, Layer::kJob,
              ttft ? "time to first token" : "time per token");
}

// One sample per checkpoint.
void examine_checkpoint(Context& c, SeriesId id) {
  const RunningJob* job = job_of(c, c.table.entity(id));
  if (!job) return;
  std::vector<Point> p = c.windows.last_points(id, 200);
  // A gauge may repeat its last value between checkpoints: count changes only.
  std::vector<Point> changes;
  for (const Point& q : p)
    if (q.value > 0 && (changes.empty() || q.value != changes.back().value)) changes.push_back(q);
  if (changes.empty()) return;
  std::string own = entity_of(*job);
  double last = changes.back().value;
  // No past to compare with: long against the step, and another job saved during the same time.
  double step = NAN;
  if (SeriesId steps = c.table.find(metric::kStepSeconds, own); steps.v != UINT32_MAX)
    step = c.windows.baseline(steps, job->since, c.now).median;
  if (changes.size() < 3 && last > c.rules["checkpoint_steps"] * step) {
    for (SeriesId other : c.table.of_metric(metric::kCheckpointSeconds)) {
      if (other == id || !c.windows.has(other) || c.now - c.windows.last_at(other) > minutes(3)) continue;
      const RunningJob* second = job_of(c, c.table.entity(other));
      if (!second) continue;
      SeriesId their_steps = c.table.find(metric::kStepSeconds, entity_of(*second));
      double their_step = their_steps.v == UINT32_MAX ? NAN : c.windows.baseline(their_steps, second->since, c.now).median;
      std::vector<Point> q = c.windows.last_points(other, 1);
      if (q.empty() || !(q[0].value > c.rules["checkpoint_steps"] * their_step)) continue;
      Instant a0 = changes.back().at - seconds(last), b0 = q[0].at - seconds(q[0].value);
      if (a0 > q[0].at || b0 > changes.back().at) continue;
      for (auto [series, who, took, unit] :
           {std::tuple(id, own, last, step), std::tuple(other, entity_of(*second), q[0].value, their_step)})
        c.raise("checkpoint_slow", who, Layer::kStorage, 0.9, minutes(12), std::min(a0, b0),
                {c.evidence(series, took, unit,
                            fmt::format("checkpoint took {:.1f} s ({:.0f} steps) while the other job saved too", took, took / unit),
                            std::min(a0, b0))});
    }
  }
  if (changes.size() < 2) return;
  std::vector<double> before;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) before.push_back(changes[i].value);
  std::string e = entity_of(*job);
  double frozen = frozen_of(c, "checkpoint_slow", e), base = std::isfinite(frozen) ? frozen : telemetry::median(before),
         now = changes.back().value;
  double factor = c.rules["checkpoint_factor"] * (changes.size() == 2 ? 1.4 : 1);
  if (now < base * factor || now - base < 1) return;
  c.raise("checkpoint_slow", e, Layer::kStorage, std::min(1.0, 0.4 + 0.15 * now / base), minutes(12), changes.back().at,
          {c.evidence(id, now, base, fmt::format("checkpoint took {:.1f} s, before {:.1f} s", now, base), changes.back().at)});
}

// ---- ranks: each against its own past, less what all ranks have in common ---------------------------------------------------------
struct Rank {
  int rank;
  SeriesId id;
  DeviceId card, node;
  Shift s;
  double excess = 0, z = 0;
};

// The run before the present one, from the job's own start lines ("… on CARD,CARD,…"). A part that went bad while the job was moved off
// another has no past in this run, but has one in that.
struct FormerRun {
  Instant since;
  std::vector<std::string> cards;  // by rank; empty when there is none, or the present run is past its youth
};
FormerRun former_run(const Context& c, const RunningJob& job) {
  FormerRun out;
  if (c.now - job.since > minutes(10)) return out;
  std::string e = entity_of(job);
  bool restarted = false;
  for (auto at = c.log.events.rbegin(); at != c.log.events.rend(); ++at) {
    if (at->entity != e || (at->kind != event::kJobStarted && at->kind != event::kJobResumed) || at->at > job.since + seconds(2)) continue;
    if (at->at > job.since - seconds(5)) {
      restarted = true;  // not merely a new normal: what changed around a run that goes on is no reason to look back
      continue;
    }
    std::size_t on = at->text.rfind(" on ");
    if (!restarted || on == std::string::npos) return out;
    out.since = at->at;
    for (std::string_view name : split(std::string_view(at->text).substr(on + 4), ',')) out.cards.emplace_back(trim(name));
    if (out.cards.size() != job.placement.cards.size()) out.cards.clear();
    return out;
  }
  return out;
}

// The last k steps of this run against the same rank on the same card in the run before.
Shift across_restart(const Context& c, SeriesId id, const FormerRun& former, Instant since, std::size_t k) {
  Shift s;
  Duration warm = c.windows.interval(id) * c.rules["warm_up_steps"];
  std::vector<Point> p = c.windows.last_points(id, k);
  Baseline before = c.windows.baseline(id, former.since + warm, since - nanoseconds(1));
  if (p.size() < k || p.front().at <= since + warm || before.samples < 12) return s;
  std::vector<double> v;
  for (const Point& q : p) v.push_back(q.value);
  s.samples = before.samples, s.before = before.median, s.now = telemetry::median(v);
  s.sigma = std::max(before.mad, 0.003 * s.before), s.relative = s.now / s.before - 1, s.since = p.front().at;
  return s;
}

std::vector<Rank> ranks_of(const Context& c, const RunningJob& job, std::size_t k) {
  std::vector<Rank> out;
  std::string e = entity_of(job);
  FormerRun former = former_run(c, job);
  for (std::size_t r = 0; r < job.placement.cards.size(); ++r) {
    SeriesId id = c.table.find(metric::kRankCompute, e, fmt::format("rank={}", r));
    if (id.v == UINT32_MAX || !c.windows.has(id)) continue;
    DeviceId card = job.placement.cards[r];
    std::string name = c.machine.ready() ? c.machine.snapshot().name(card) : "";
    double frozen = frozen_of(c, "rank_late", name);
    Shift s;
    if (!former.cards.empty() && !std::isfinite(frozen)) {
      if (former.cards[r] != name) continue;  // another card: nothing to compare with
      s = across_restart(c, id, former, job.since, k);
    } else {
      s = shift(c, id, job.since, k, frozen);
    }
    if (s.known()) out.push_back({static_cast<int>(r), id, card, c.machine.node_of(card), s});
  }
  std::vector<double> relative;
  for (const Rank& r : out) relative.push_back(r.s.relative);
  double common = relative.empty() ? 0 : telemetry::quantile(relative, 0.3);
  for (Rank& r : out) {
    r.excess = (1 + r.s.relative) / (1 + common) - 1;
    r.z = r.excess * r.s.before / (1.2533 * r.s.sigma * std::sqrt(1.0 / static_cast<double>(k) + 1.0 / std::max(1, r.s.samples)));
  }
  return out;
}

void judge_ranks(Context& c, const RunningJob& job) {
  std::string e = entity_of(job);
  SeriesId steps = c.table.find(metric::kStepSeconds, e);
  Duration hold = std::max(steps.v == UINT32_MAX ? seconds(20) : c.windows.interval(steps) * 6, seconds(20));
  std::set<int> late;
  for (std::size_t k : {std::size_t{5}, std::size_t{10}, std::size_t{21}}) {
    std::vector<Rank> ranks = ranks_of(c, job, k);
    if (ranks.size() < 4) continue;
    for (const Rank& r : ranks) {
      std::string name = c.machine.snapshot().name(r.card);
      bool standing = alive(c, "rank_late", name);
      double limit = standing ? 0.6 * c.rules["rank_shift"] : k == 5 ? 0.08 : k == 10 ? 0.03 : c.rules["rank_shift"];
      if (r.excess < limit || r.z < (standing ? 2 : c.rules["shift_sigmas"] + (k == 5 ? 2 : 0))) continue;
      if (!late.insert(r.rank).second) continue;
      const Finding* old = c.findings.find("rank_late", name);
      c.raise("rank_late", name, Layer::kCard, std::min(1.0, 0.5 + 3 * r.excess), hold, old ? old->since : r.s.since,
              {c.evidence(r.id, r.s.now, r.s.before,
                          fmt::format("rank {} of {} is busy {:.3f} s a step, before {:.3f} s; {:+.1f} % beyond the other ranks", r.rank,
                                      job.job.name, r.s.now, r.s.before, 100 * r.excess),
                          r.s.since)});
    }
    // A whole node, by little: its ranks pooled.
    std::map<DeviceId, std::vector<const Rank*>> nodes;
    for (const Rank& r : ranks) nodes[r.node].push_back(&r);
    if (nodes.size() < 2 || k == 5) continue;
    for (const auto& [node, members] : nodes) {
      if (!node.ok() || members.size() < 3) continue;
      std::vector<double> excess;
      double z = 0;
      std::size_t over = 0;
      for (const Rank* r : members) excess.push_back(r->excess), z += r->z, over += r->excess > 0.5 * c.rules["rank_shift"];
      double level = telemetry::median(excess);
      z /= std::sqrt(static_cast<double>(members.size()));
      std::string name = c.machine.snapshot().name(node);
      bool standing = alive(c, "node_late", name);
      if (level < (standing ? 0.4 : 0.6) * c.rules["rank_shift"] || z < (standing ? 3 : c.rules["shift_sigmas"] + 1) ||
          over * 4 < members.size() * 3)
        continue;
      const Finding* old = c.findings.find("node_late", name);
      c.raise("node_late", name, Layer::kHost, std::min(1.0, 0.5 + 3 * level), hold, old ? old->since : members[0]->s.since,
              {c.evidence(members[0]->id, 1 + level, 1,
                          fmt::format("all {} ranks of {} on this node are busy {:+.1f} % longer beyond the other nodes'", members.size(),
                                      job.job.name, 100 * level),
                          members[0]->s.since)});
    }
  }
}

// Constant from the start: no own past to compare with; ranks at the same pipeline stage must be alike.
void judge_offsets(Context& c, const RunningJob& job) {
  int per_stage = std::max(1, job.job.strategy.world() / std::max(1, job.job.strategy.pp));
  std::vector<Rank> ranks = ranks_of(c, job, 10);
  std::map<int, std::vector<const Rank*>> stages;
  for (const Rank& r : ranks) stages[r.rank / per_stage].push_back(&r);
  for (const auto& [stage, members] : stages) {
    if (members.size() < 4) continue;
    std::vector<double> v;
    for (const Rank* r : members) v.push_back(r->s.now);
    double usual = telemetry::median(v);
    for (const Rank* r : members)
      if (r->s.now > usual * (1 + c.rules["rank_offset"]) && !alive(c, "rank_late", c.machine.snapshot().name(r->card)))
        c.raise("rank_offset", c.machine.snapshot().name(r->card), Layer::kCard, 0.6, seconds(70), r->s.since,
                {c.evidence(r->id, r->s.now, usual,
                            fmt::format("rank {} is busy {:.3f} s a step since the start, its peers {:.3f} s", r->rank, r->s.now, usual),
                            r->s.since)});
  }
}

// A random rank late at random steps, a different one each time.
void judge_spikes(Context& c, const RunningJob& job) {
  std::string e = entity_of(job);
  std::map<Instant, std::vector<std::pair<double, int>>> late;  // step end → (excess, rank)
  std::map<Instant, int> seen;
  std::size_t ranks = 0;
  double step = 0;
  for (std::size_t r = 0; r < job.placement.cards.size(); ++r) {
    SeriesId id = c.table.find(metric::kRankCompute, e, fmt::format("rank={}", r));
    if (id.v == UINT32_MAX || !c.windows.has(id)) continue;
    std::vector<Point> p = c.windows.last_points(id, 80);
    std::erase_if(p, [&](const Point& q) { return q.at <= job.since; });
    if (p.size() < 80 && p.size() > static_cast<std::size_t>(c.rules["warm_up_steps"]))
      p.erase(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(c.rules["warm_up_steps"]));
    if (p.size() < 24) return;
    std::vector<double> v;
    for (const Point& q : p) v.push_back(q.value);
    Baseline b = telemetry::robust(v);
    step = b.median;
    ++ranks;
    for (const Point& q : p) {
      ++seen[q.at];
      double excess = q.value / b.median - 1;
      if (excess > std::max(c.rules["pause_spike"], 8 * b.mad / b.median)) late[q.at].push_back({excess, static_cast<int>(r)});
    }
  }
  if (ranks < 4) return;
  std::map<int, int> who;
  int events = 0;
  double size = 0;
  for (const auto& [at, list] : late) {
    if (list.size() > std::max<std::size_t>(1, ranks / 8)) continue;  // everybody: a bump, not a pause
    ++events;
    for (auto [excess, r] : list) ++who[r], size = std::max(size, excess);
  }
  int most = 0;
  for (auto [r, n] : who) most = std::max(most, n);
  bool standing = alive(c, "ranks_late_changing", e);
  if (events < (standing ? 4 : 6) || who.size() < 4 || most * 2 > events) return;
  const Finding* old = c.findings.find("ranks_late_changing", e);
  c.raise("ranks_late_changing", e, Layer::kSoftware, std::min(1.0, 0.6 + 0.02 * events), minutes(2),
          old ? old->since : late.begin()->first,
          {{std::string(metric::kRankCompute), e, static_cast<double>(events), 0,
            fmt::format("{} steps of the last 80 with one rank late, {} different ranks, up to {:+.0f} % ({:.2f} s)", events, who.size(),
                        100 * size, size * step),
            late.begin()->first, c.now}});
}

// Groups of one dimension, each against its own past, less what all have in common.
void judge_groups(Context& c, const RunningJob& job) {
  std::string e = entity_of(job);
  std::map<workload::Dim, std::vector<std::pair<std::string, Shift>>> dims;
  for (const workload::Group& g : job.placement.groups) {
    std::string name = g.name();
    SeriesId id = c.table.find(metric::kGroupSeconds, e, "group=" + name);
    if (id.v == UINT32_MAX || !c.windows.has(id)) continue;
    Shift s = shift(c, id, job.since, 8, frozen_of(c, "group_slow", e + ":" + name));
    if (s.known()) dims[g.dim].push_back({name, s});
  }
  for (const auto& [dim, groups] : dims) {
    std::vector<double> relative;
    for (const auto& [name, s] : groups) relative.push_back(s.relative);
    double common = groups.size() >= 3 ? telemetry::quantile(relative, 0.3) : 0;
    for (const auto& [name, s] : groups) {
      double excess = (1 + s.relative) / (1 + common) - 1;
      bool standing = alive(c, "group_slow", e + ":" + name);
      if (excess < c.rules["comm_shift"] * (standing ? 0.6 : 1) || s.z < (standing ? 2 : c.rules["shift_sigmas"])) continue;
      const Finding* old = c.findings.find("group_slow", e + ":" + name);
      SeriesId id = c.table.find(metric::kGroupSeconds, e, "group=" + name);
      c.raise("group_slow", e + ":" + name, Layer::kJob, std::min(1.0, 0.4 + excess), seconds(30), old ? old->since : s.since,
              {c.evidence(id, s.now, s.before, fmt::format("{} takes {:.4g} s a step, before {:.4g} s", name, s.now, s.before), s.since)});
    }
  }
}

// One rank beyond its own usual: reason enough to compare all ranks. A weak finding, so that nothing is kept aside.
void arm_rank(Context& c, SeriesId id) {
  const RunningJob* job = job_of(c, c.table.entity(id));
  if (!job) return;
  Baseline b = c.windows.baseline(id, job->since + c.windows.interval(id) * c.rules["warm_up_steps"], c.now);
  if (b.samples < 8) return;
  c.windows.set_wire(id, kNone, b.median + std::max(0.012 * b.median, 2 * b.mad));
}
void examine_rank(Context& c, SeriesId id) {
  const RunningJob* job = job_of(c, c.table.entity(id));
  if (!job) return;
  Shift s = shift(c, id, job->since, 5);
  if (!s.known()) return;
  std::string e = entity_of(*job);
  if (s.z > 2.5 && s.relative > 0.3 * c.rules["rank_shift"])
    c.raise("rank_suspect", e, Layer::kJob, 0.05, std::max(seconds(20), c.windows.interval(id) * 8), c.now, {});
  if (c.windows.last(id) > s.before * (1 + c.rules["pause_spike"])) c.raise("rank_spike", e, Layer::kJob, 0.05, seconds(60), c.now, {});
}

void sweep_jobs(Context& c) {
  if (!c.machine.ready()) return;
  for (const RunningJob& job : c.machine.jobs()) {
    if (!job.running) continue;
    std::string e = entity_of(job);
    bool late = alive(c, "rank_suspect", e) || !former_run(c, job).cards.empty();
    for (DeviceId d : job.placement.cards) late = late || alive(c, "rank_late", c.machine.snapshot().name(d));
    if (late) judge_ranks(c, job);
    if (alive(c, "rank_spike", e)) judge_spikes(c, job);
    judge_groups(c, job);
  }
}

void sweep_offsets(Context& c) {
  if (!c.machine.ready()) return;
  for (const RunningJob& job : c.machine.jobs())
    if (job.running) judge_offsets(c, job);
}

// ---- no step at all ------------------------------------------------------------------------------------------------------------
void sweep_stalls(Context& c) {
  for (const RunningJob& job : c.machine.jobs()) {
    if (!job.running || job.job.kind != workload::JobKind::kTraining) continue;
    std::string e = entity_of(job);
    SeriesId id = c.table.find(metric::kStepSeconds, e);
    if (id.v == UINT32_MAX || !c.windows.has(id)) continue;
    std::vector<double> v;
    std::vector<Point> p = c.windows.last_points(id, 40);
    std::erase_if(p, [&](const Point& q) { return q.at <= job.since; });
    if (p.size() < 4) continue;
    for (std::size_t i = p.size() > 40 ? p.size() - 40 : 0; i < p.size(); ++i) v.push_back(p[i].value);
    double usual = telemetry::median(v);
    Duration limit = std::max(seconds(c.rules["stall_steps"] * usual), seconds(c.rules["stall_minimum"]));
    // A checkpoint may stand in between: allow for twice the last one.
    if (double ck = c.last(metric::kCheckpointSeconds, e); std::isfinite(ck)) limit = limit + seconds(2 * ck);
    Instant last = c.windows.last_at(id);
    if (c.now - last < limit) continue;
    c.raise("job_stalled", e, Layer::kJob, 1, seconds(8), last,
            {c.evidence(id, to_seconds(c.now - last), usual,
                        fmt::format("no step for {:.0f} s, usually every {:.1f} s", to_seconds(c.now - last), usual), last)});
    // The hung rank has launched fewer collectives than its group; a transport fault leaves all equal.
    std::map<double, std::vector<std::size_t>> counts;
    for (std::size_t r = 0; r < job.placement.cards.size(); ++r) {
      SeriesId n = c.table.find(metric::kCollectivesLaunched, e, fmt::format("rank={}", r));
      if (n.v != UINT32_MAX && c.windows.has(n)) counts[c.windows.last(n)].push_back(r);
    }
    if (counts.size() < 2) continue;
    std::size_t most = 0, total = 0;
    double usual_count = 0;
    for (const auto& [n, who] : counts) {
      total += who.size();
      if (who.size() >= most) most = who.size(), usual_count = n;
    }
    for (const auto& [n, who] : counts) {
      if (n >= usual_count || who.size() * 4 > total) break;  // lowest first; a minority only
      for (std::size_t r : who) {
        std::string card = c.machine.ready() ? c.machine.snapshot().name(job.placement.cards[r]) : fmt::format("{}/rank{}", e, r);
        c.raise("rank_behind", card, Layer::kSoftware, 1, seconds(8), last,
                {{std::string(metric::kCollectivesLaunched), e, n, usual_count,
                  fmt::format("rank {} launched {:.0f} collectives, most ranks {:.0f}", r, n, usual_count), last, c.now}});
      }
      break;
    }
  }
}

void on_event(Context& c, const telemetry::Event& e) {
  if (e.kind == event::kWatchdog)
    c.raise("watchdog", e.entity, Layer::kJob, 0.5, minutes(2), e.at, {{e.kind, e.entity, 1, 0, e.text, e.at, e.at}});
  if (e.kind == event::kStepAborted)
    c.raise("step_aborted", e.entity, Layer::kJob, 0.8, minutes(2), e.at, {{e.kind, e.entity, 1, 0, e.text, e.at, e.at}});
}

WEFT_REGISTER(detectors(), {"job_steps",
                            "step time, transfer time per dimension, data, waiting, experts: a lasting shift",
                            {metric::kStepSeconds},
                            arm_always,
                            true,
                            examine_step});
WEFT_REGISTER(detectors(),
              {"job_latency", "time to first token and per token", {metric::kTtft, metric::kTpot}, arm_always, true, examine_latency});
WEFT_REGISTER(
    detectors(),
    {"job_checkpoints", "checkpoints that take longer than before", {metric::kCheckpointSeconds}, arm_always, true, examine_checkpoint});
WEFT_REGISTER(detectors(), {"job_ranks",
                            "late ranks and nodes, pauses that wander, slow groups",
                            {metric::kRankCompute},
                            arm_rank,
                            false,
                            examine_rank,
                            {},
                            nullptr,
                            seconds(5),
                            sweep_jobs});
WEFT_REGISTER(detectors(), {"job_offsets",
                            "ranks far slower than their peers since the start",
                            {},
                            nullptr,
                            false,
                            nullptr,
                            {},
                            nullptr,
                            seconds(60),
                            sweep_offsets});
WEFT_REGISTER(detectors(), {"job_stalls",
                            "no step at all; ranks that launched fewer collectives",
                            {},
                            nullptr,
                            false,
                            nullptr,
                            {event::kWatchdog, event::kStepAborted},
                            on_event,
                            seconds(2),
                            sweep_stalls});

}  // namespace
}  // namespace weft::diagnose
