#include "twin/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fabric/routes.h"
#include "telemetry/names.h"
#include "workload/memory.h"
#include "workload/step.h"

namespace weft::twin {

namespace event = telemetry::event;
namespace metric = telemetry::metric;
using fabric::DeviceId;
using fabric::LinkId;
using telemetry::Severity;
using workload::Dim;

namespace {

constexpr double kQuantum = 0.02;  // compute speeds are told to the simulator in steps of 2 %

int quantised(double slowdown) { return static_cast<int>(std::lround(std::log(std::max(slowdown, 1.0)) / kQuantum)); }

std::uint64_t key_of(const std::vector<DeviceId>& cards, std::uint64_t key) {
  for (DeviceId c : cards) key = mix(key ^ c.v);
  return key;
}

}  // namespace

std::string_view phase_name(JobPhase phase) {
  constexpr std::string_view kNames[] = {"queued", "starting", "running", "saving", "stalled", "dead", "stopped"};
  return kNames[static_cast<std::size_t>(phase)];
}

Jobs::Jobs(State& state, telemetry::SeriesTable& series, const Random& random, bool noise, Simulate simulate)
    : state_(state), series_(series), noise_(random.fork("jobs"), noise), simulate_(std::move(simulate)) {}

Status Jobs::add(const workload::Job& job) {
  if (find(job.name)) return fail(ErrorKind::kConflict, "job '" + job.name + "' is already known to the scheduler", "job/" + job.name);
  JobRun run;
  run.job = job;
  run.entity = "job/" + job.name;
  WEFT_ASSIGN(run.placement.groups, workload::make_groups(job.strategy));
  run.placement.job = job.name;
  const fabric::DeviceModel* model = state_.cards.empty() ? nullptr : state_.built.model_of(state_.cards[0].id);
  if (!model) return fail(ErrorKind::kInvalid, "the site's cards have no model: give one in the site file, step times need it", run.entity);
  bool inference = job.kind == workload::JobKind::kInference;
  WEFT_ASSIGN(run.dag, workload::build_step(job, *model, inference ? workload::Phase::kDecode : workload::Phase::kTrain));
  if (inference) {
    WEFT_ASSIGN(run.prefill, workload::build_step(job, *model, workload::Phase::kPrefill));
  }
  for (const workload::Program& program : run.dag.programs)
    for (const workload::Op& op : program.ops)
      if (op.kind == workload::OpKind::kCollective && op.bytes > run.bytes_of_dim[static_cast<int>(op.dim)])
        run.bytes_of_dim[static_cast<int>(op.dim)] = op.bytes, run.kind_of_dim[static_cast<int>(op.dim)] = static_cast<int>(op.collective);
  Random odd = noise_.random().fork(run.entity);
  if (noise_.on() && odd.chance(0.7)) run.bump_period = static_cast<int>(odd.integer(10, 11)), run.bump_size = odd.uniform(0.03, 0.13);
  auto id = [&](std::string_view name, std::string labels = {}, telemetry::MetricKind kind = telemetry::MetricKind::kGauge) {
    return series_.intern(name, run.entity, labels, kind);
  };
  JobRun::Ids& ids = run.ids;
  ids.step = id(metric::kStepSeconds), ids.number = id(metric::kStepNumber), ids.mfu = id(metric::kMfu),
  ids.compute = id(metric::kComputeSeconds);
  ids.wait = id(metric::kWaitSeconds), ids.data = id(metric::kDataSeconds), ids.save = id(metric::kCheckpointSeconds);
  if (job.model.moe()) ids.imbalance = id(metric::kExpertImbalance);
  if (inference) ids.ttft = id(metric::kTtft), ids.tpot = id(metric::kTpot);
  for (const workload::Group& g : run.placement.groups) {
    auto d = static_cast<std::size_t>(g.dim);
    std::string dim = fmt::format("dim={}", workload::dim_name(g.dim));
    ids.comm[d] = id(metric::kCommSeconds, dim), ids.p99[d] = id(metric::kCommP99Seconds, dim);
    ids.group.push_back(id(metric::kGroupSeconds, "group=" + g.name()));
  }
  for (int r = 0; r < job.strategy.world(); ++r) {
    std::string rank = fmt::format("rank={}", r);
    ids.rank_compute.push_back(id(metric::kRankCompute, rank)), ids.rank_wait.push_back(id(metric::kRankWait, rank));
    ids.launched.push_back(id(metric::kCollectivesLaunched, rank, telemetry::MetricKind::kCounter));
  }
  run.launched.assign(static_cast<std::size_t>(job.strategy.world()), 0);
  state_.jobs.emplace_back();
  state_.job_names.push_back(run.entity);
  state_.job_experts.push_back(job.model.moe());
  jobs_.push_back(std::move(run));
  return {};
}

JobRun* Jobs::find(std::string_view entity) {
  for (JobRun& j : jobs_)
    if (j.entity == entity || j.job.name == entity) return &j;
  return nullptr;
}

int Jobs::owner_of(int card) const {
  for (std::size_t j = 0; j < jobs_.size(); ++j)
    if ((jobs_[j].active() || jobs_[j].phase == JobPhase::kStarting) &&
        std::find(jobs_[j].cards.begin(), jobs_[j].cards.end(), card) != jobs_[j].cards.end())
      return static_cast<int>(j);
  return -1;
}

Status Jobs::start(JobRun& job, const std::vector<DeviceId>& cards, bool resume, const fabric::Snapshot& real) {
  if (job.active() || job.phase == JobPhase::kStarting) return fail(ErrorKind::kConflict, "already running; stop it first", job.entity);
  if (cards.size() != static_cast<std::size_t>(job.job.strategy.world()))
    return fail(ErrorKind::kInvalid, fmt::format("{} cards given, the strategy needs {}", cards.size(), job.job.strategy.world()),
                job.entity);
  std::vector<int> wanted;
  for (DeviceId d : cards) {
    int c = state_.built.device(d).kind == fabric::DeviceKind::kCard ? state_.card_of(d) : -1;
    if (c < 0) return fail(ErrorKind::kInvalid, state_.built.name(d) + " is not a card", job.entity);
    if (std::find(wanted.begin(), wanted.end(), c) != wanted.end())
      return fail(ErrorKind::kInvalid, state_.built.name(d) + " is named twice", job.entity);
    if (int o = owner_of(c); o >= 0)
      return fail(ErrorKind::kDenied, fmt::format("{} runs {}", state_.built.name(d), jobs_[static_cast<std::size_t>(o)].entity),
                  job.entity);
    for (DeviceId at = d; at.ok(); at = state_.built.device(at).parent)
      if (real.health(at).cordoned)
        return fail(ErrorKind::kDenied, fmt::format("{} is cordoned by {}", state_.built.name(at), real.health(at).owner), job.entity);
    wanted.push_back(c);
  }
  job.cards = std::move(wanted);
  const Parameters& p = *state_.parameters;
  bool began = job.step > 0 || job.saved_step > 0;
  std::int64_t lost = resume ? job.step - job.saved_step : 0;
  job.step = resume ? job.saved_step : 0;
  if (!resume) job.saved_step = 0;
  job.phase = JobPhase::kStarting;
  job.phase_left = noise_.random().uniform(p.get("job.start_low_s"), p.get("job.start_high_s"));
  job.warm_up = static_cast<int>(p.get("job.warm_up_steps"));
  job.since_save = job.since_start = 0, job.stalled_for = 0, job.dying_for = -1, job.barked = false, job.hung_rank = -1,
  job.step_seconds = job.left = 0;
  job.trouble.clear(), job.stalled_groups.clear(), job.profile.reset(), job.baseline = 0, job.stop_after_save = false;
  std::fill(job.launched.begin(), job.launched.end(), 0.0);
  place(job, real);
  std::string map;
  for (DeviceId d : job.placement.cards) map += (map.empty() ? "" : ",") + state_.built.name(d);
  if (resume && began)
    state_.log(job.entity, event::kJobResumed, std::to_string(job.step), Severity::kInfo,
               fmt::format("resuming from checkpoint of step {}, {} steps lost; ranks on {}", job.step, lost, map));
  else state_.log(job.entity, event::kJobStarted, "", Severity::kInfo, fmt::format("starting {} ranks on {}", cards.size(), map));
  return {};
}

// Ranks to cards, and which links each group uses (ring neighbours; every pair for expert groups).
void Jobs::place(JobRun& job, const fabric::Snapshot& real) {
  std::size_t index = static_cast<std::size_t>(&job - jobs_.data());
  job.scattered = state_.jobs[index].scattered;
  if (job.scattered) {
    // One card of each node in turn: neighbours in a group come to lie on different nodes.
    std::map<int, std::vector<int>> by_node;
    std::vector<int> sorted = job.cards;
    std::sort(sorted.begin(), sorted.end());
    for (int c : sorted) by_node[state_.cards[static_cast<std::size_t>(c)].node].push_back(c);
    job.cards.clear();
    for (std::size_t i = 0; job.cards.size() < sorted.size(); ++i)
      for (auto& [node, list] : by_node)
        if (i < list.size()) job.cards.push_back(list[i]);
  }
  job.placement.cards.clear();
  for (int c : job.cards) job.placement.cards.push_back(state_.cards[static_cast<std::size_t>(c)].id);
  job.placement.snapshot_version = real.version();
  job.uses.clear();
  fabric::Routes routes(state_.built);
  for (std::size_t g = 0; g < job.placement.groups.size(); ++g) {
    const std::vector<int>& ranks = job.placement.groups[g].ranks;
    bool all = job.placement.groups[g].dim == Dim::kEp;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      for (std::size_t k = 1; k < (all ? ranks.size() : std::min<std::size_t>(ranks.size(), 2)); ++k) {
        DeviceId a = job.placement.cards[static_cast<std::size_t>(ranks[i])],
                 b = job.placement.cards[static_cast<std::size_t>(ranks[(i + k) % ranks.size()])];
        for (const fabric::RouteHop& hop : routes.best(a, b).hops) job.uses.emplace_back(hop.link.link(), static_cast<int>(g));
      }
  }
  std::sort(job.uses.begin(), job.uses.end());
  job.uses.erase(std::unique(job.uses.begin(), job.uses.end()), job.uses.end());
}

void Jobs::relaunch(JobRun& job, const fabric::Snapshot& real) {
  std::vector<DeviceId> cards = job.placement.cards;
  job.phase = JobPhase::kStopped;
  if (!start(job, cards, true, real)) job.phase = JobPhase::kDead;
}

void Jobs::stop(JobRun& job) { job.stop_after_save = false, job.phase = JobPhase::kStopped, job.profile.reset(), job.stalled_for = 0; }

double Jobs::save_time(const JobRun& job) const {
  const Parameters& p = *state_.parameters;
  double bytes = static_cast<double>(job.job.model.parameters()) * p.get("job.checkpoint_bytes_per_parameter");
  int writers = 1;
  for (const JobRun& other : jobs_) writers += &other != &job && other.phase == JobPhase::kSaving;
  double slow = state_.storages.empty() ? 1 : state_.storages[0].knobs.write, share = 1;
  for (int c : job.cards)
    share = std::min(share, state_.nodes[static_cast<std::size_t>(state_.cards[static_cast<std::size_t>(c)].node)].storage_share);
  return (p.get("job.checkpoint_fixed_s") + bytes * writers / p.get("storage.write_bps")) * slow / std::max(share, 0.05);
}

void Jobs::save(JobRun& job, bool then_stop) { job.since_save = 1e18, job.stop_after_save = job.stop_after_save || then_stop; }

// The prefill of one prompt; with ranks of their own for it, keys and values then go to the ranks that decode, all pairs at once.
double Jobs::first_token(const JobRun& job, const sim::JobInput& decode, const fabric::Snapshot& real) {
  auto prefill = simulate_(real, {{&job.prefill, decode.placement, decode.slowdown, Seconds(0)}});
  double time = prefill ? to_seconds((*prefill)[0].step).value() : 0;
  int ranks = static_cast<int>(job.cards.size()), from = job.job.inference.prefill_ranks;
  if (from <= 0 || from >= ranks) return time;
  double bytes = 0;
  for (const auto& item : workload::memory_of(job.job, 0, workload::Phase::kPrefill).items)
    if (item.name == "key/value cache") bytes = static_cast<double>(item.bytes.value());
  fabric::Routes routes(real);
  std::map<std::uint32_t, double> load;  // copies per directed link
  double latency = 0, slowest = 0;
  for (int r = 0; r < from; ++r) {
    const fabric::Route& way = routes.best(job.placement.cards[static_cast<std::size_t>(r)],
                                           job.placement.cards[static_cast<std::size_t>(from + r % (ranks - from))]);
    latency = std::max(latency, way.latency.value());
    for (const fabric::RouteHop& h : way.hops) load[h.link.v] += static_cast<double>(h.share);
  }
  for (const auto& [link, copies] : load)
    if (double rate = real.payload_rate(fabric::DirectedLink{link}.link()).value(); rate > 0)
      slowest = std::max(slowest, bytes * copies / rate);
  return time + latency + slowest;
}

void Jobs::refresh(const fabric::Snapshot& real, std::uint64_t network_key) {
  std::uint64_t key = mix(network_key);
  std::vector<std::vector<double>> slow(jobs_.size());
  bool any = false;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    JobRun& job = jobs_[j];
    if (!job.active()) continue;
    any = true;
    key = key_of(job.placement.cards, mix(key + j + 1));
    key = mix(key ^ static_cast<std::uint64_t>(std::lround(state_.jobs[j].neighbour * 100)));
    for (int c : job.cards) {
      int q = quantised(1 / state_.cards[static_cast<std::size_t>(c)].told);
      key = mix(key ^ static_cast<std::uint64_t>(q));
      slow[j].push_back(std::exp(q * kQuantum));
    }
  }
  if (!any) return;
  if (key == key_) {
    bool have = true;
    for (const JobRun& job : jobs_) have = have && (!job.active() || job.profile);
    if (have) return;
  }
  key_ = key;
  auto cached = cache_.find(key);
  if (cached == cache_.end()) {
    std::vector<sim::JobInput> inputs;
    std::vector<std::size_t> which;
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      if (jobs_[j].active()) inputs.push_back({&jobs_[j].dag, &jobs_[j].placement, slow[j], Seconds(0)}), which.push_back(j);
    auto result = simulate_(real, inputs);
    ++simulated_;
    std::vector<std::shared_ptr<const StepProfile>> profiles(jobs_.size());
    for (std::size_t i = 0; i < which.size(); ++i) {
      auto profile = std::make_shared<StepProfile>();
      // Together they may fail because one has no route: the others then run alone.
      auto alone = result ? Result<std::vector<sim::Timeline>>(std::vector<sim::Timeline>{(*result)[i]}) : simulate_(real, {inputs[i]});
      if (!alone) {
        profile->why = alone.error().text();
      } else {
        const sim::Timeline& t = (*alone)[0];
        profile->runs = true;
        profile->step = to_seconds(t.step).value(), profile->mfu = t.mfu, profile->links = t.links;
        if (jobs_[which[i]].job.kind == workload::JobKind::kInference) profile->first_token = first_token(jobs_[which[i]], inputs[i], real);
        std::size_t ranks = jobs_[which[i]].cards.size();
        profile->compute.resize(ranks), profile->comm.resize(ranks), profile->wait.resize(ranks);
        for (std::size_t r = 0; r < ranks; ++r) {
          const sim::RankTime& of = t.ranks[static_cast<std::size_t>(t.class_of[r])];
          profile->compute[r] = of.compute.value();
          for (std::size_t d = 0; d < 5; ++d) profile->comm[r][d] = of.comm[d].value(), profile->wait[r][d] = of.wait[d].value();
        }
      }
      profiles[which[i]] = std::move(profile);
    }
    if (cache_.size() > 4096) cache_.clear();
    cached = cache_.emplace(key, std::move(profiles)).first;
  }
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    JobRun& job = jobs_[j];
    if (!job.active() || !cached->second[j] || job.profile == cached->second[j]) continue;
    bool under_way = job.step_seconds > 0 && job.left > 0;
    double done = under_way ? 1 - job.left / job.step_seconds : 0;
    job.profile = cached->second[j];
    if (under_way && job.profile->runs) draw(job), job.left = job.step_seconds * (1 - done);
  }
}

// The step to come: who takes how long.
void Jobs::draw(JobRun& job) {
  const StepProfile& p = *job.profile;
  const Parameters& q = *state_.parameters;
  const JobKnobs& knobs = state_.jobs[static_cast<std::size_t>(&job - jobs_.data())];
  std::size_t ranks = job.cards.size();
  job.rank_compute.resize(ranks), job.rank_wait.resize(ranks), job.group_seconds.resize(job.placement.groups.size());
  double slowest = 0, slowest_sim = 0, jitter = q.get("job.rank_jitter");
  for (std::size_t r = 0; r < ranks; ++r) {
    const Card& card = state_.cards[static_cast<std::size_t>(job.cards[r])];
    job.rank_compute[r] = noise_.around(p.compute[r] * card.silicon, jitter);
    slowest_sim = std::max(slowest_sim, p.compute[r]);
  }
  job.imbalance = 1;
  double dispatch = 1;
  if (job.job.model.moe()) {
    double usual = std::max(1.02, noise_.around(q.get("job.expert_imbalance"), 0.06));
    job.imbalance = usual * knobs.expert_imbalance;
    // The hot rank changes with layer and data; combine grows with 1.37 × (max/mean) (tenstorrent/tt-metal#56304).
    double extra = knobs.expert_imbalance - 1;
    dispatch = 1 + extra;
    if (extra > 0)
      for (std::size_t r = 0; r < ranks; ++r)
        job.rank_compute[r] *= 1 + q.get("job.expert_compute_share") * extra * noise_.random().uniform(0.3, 1.0);
  }
  if (knobs.pause_chance > 0 && noise_.random().chance(knobs.pause_chance)) {
    auto r = static_cast<std::size_t>(noise_.random().integer(0, static_cast<std::int64_t>(ranks) - 1));
    job.rank_compute[r] += knobs.pause_seconds * noise_.random().uniform(0.5, 1.5);
  }
  for (double c : job.rank_compute) slowest = std::max(slowest, c);
  double base = p.step + std::max(0.0, slowest - slowest_sim), slow_comm = 0;
  double dim_extra[5] = {};
  for (std::size_t g = 0; g < job.placement.groups.size(); ++g) {
    const workload::Group& group = job.placement.groups[g];
    auto d = static_cast<std::size_t>(group.dim);
    double mean = 0, factor = knobs.comm;
    for (int r : group.ranks) {
      mean += p.comm[static_cast<std::size_t>(r)][d];
      factor = std::max(
          factor,
          knobs.comm *
              state_.nodes[static_cast<std::size_t>(state_.cards[static_cast<std::size_t>(job.cards[static_cast<std::size_t>(r)])].node)]
                  .knobs.comm);
    }
    if (g < job.crossed.size() && job.crossed[g]) factor *= 1 / (1 - 0.7 * knobs.neighbour);
    if (group.dim == Dim::kEp) factor *= dispatch;
    mean /= static_cast<double>(group.ranks.size());
    dim_extra[d] = std::max(dim_extra[d], mean * (factor - 1));
    job.group_seconds[g] = noise_.around(mean * factor, q.get("job.comm_jitter"));
  }
  for (double e : dim_extra) slow_comm += e;
  base += slow_comm;
  // Data is prefetched during the step: only what does not fit behind it shows.
  double load = q.get("job.data_share") * p.step, share = 1, read = state_.storages.empty() ? 1 : state_.storages[0].knobs.read;
  for (int c : job.cards)
    share = std::min(share, state_.nodes[static_cast<std::size_t>(state_.cards[static_cast<std::size_t>(c)].node)].storage_share);
  if (job.job.dataset_per_step > Bytes(0))
    load = std::max(load, static_cast<double>(job.job.dataset_per_step.value()) / q.get("storage.read_bps"));
  load *= read / std::max(share, 0.02);
  job.data = noise_.around(q.get("job.data_exposed") * p.step, 0.1) + std::max(0.0, load - 0.9 * p.step);
  if (job.job.kind == workload::JobKind::kInference) job.data = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    double own = job.rank_compute[r] + job.data;
    for (double c : p.comm[r]) own += c;
    job.rank_wait[r] = std::max(0.0, base + job.data - own);
  }
  // Slow loss of pace over days (N24), single late steps (N2), logging bump (N4), first steps (N3).
  double drift = 1 + q.get("job.drift_per_day") * job.since_start / 86400;
  job.bump = 0;
  if (job.bump_period && job.step % job.bump_period == job.bump_period - 1) job.bump = base * job.bump_size;
  if (noise_.on() && noise_.random().chance(q.get("job.late_step_chance"))) job.bump += base * noise_.random().uniform(0.05, 0.15);
  if (job.warm_up > 0)
    job.bump += base * (job.warm_up == static_cast<int>(q.get("job.warm_up_steps")) ? noise_.random().uniform(0.6, 2.0) : 0.03);
  job.step_seconds = noise_.around(base * drift, q.get("job.step_jitter")) + job.data + job.bump;
  job.left = job.step_seconds;
}

void Jobs::report(JobRun& job, Instant at, double extra, telemetry::Batch& out) {
  auto push = [&](telemetry::SeriesId id, double v) { out.samples.push_back({id, at, v}); };
  const JobRun::Ids& ids = job.ids;
  double compute = 0, wait = 0;
  for (double c : job.rank_compute) compute += c;
  for (double w : job.rank_wait) wait += w;
  double n = static_cast<double>(job.cards.size());
  bool inference = job.job.kind == workload::JobKind::kInference;
  push(ids.step, job.step_seconds + extra), push(ids.number, static_cast<double>(job.step));
  push(ids.mfu, job.profile->mfu * job.profile->step / (job.step_seconds + extra));
  push(ids.compute, compute / n), push(ids.wait, wait / n), push(ids.data, job.data);
  if (job.job.model.moe()) push(ids.imbalance, job.imbalance);
  if (inference)
    push(ids.tpot, job.step_seconds), push(ids.ttft, noise_.around(job.profile->first_token * job.step_seconds / job.profile->step, 0.05));
  for (std::size_t d = 0; d < 5; ++d) {
    double sum = 0, worst = 0;
    int count = 0;
    for (std::size_t g = 0; g < job.group_seconds.size(); ++g)
      if (static_cast<std::size_t>(job.placement.groups[g].dim) == d)
        sum += job.group_seconds[g], worst = std::max(worst, job.group_seconds[g]), ++count;
    if (count) push(ids.comm[d], sum / count), push(ids.p99[d], worst);
  }
  for (std::size_t g = 0; g < job.group_seconds.size(); ++g) push(ids.group[g], job.group_seconds[g]);
  for (std::size_t r = 0; r < job.cards.size(); ++r)
    push(ids.rank_compute[r], job.rank_compute[r]), push(ids.rank_wait[r], job.rank_wait[r]);
}

void Jobs::finish_step(JobRun& job, Instant at, telemetry::Batch& out) {
  ++job.step;
  job.stepped = at;
  if (job.warm_up > 0) --job.warm_up;
  for (double& l : job.launched) l += 2.0 * job.job.model.layers;
  double extra = job.save_seconds;
  report(job, at, extra, out);
  job.save_seconds = 0;
  if (job.baseline == 0 && job.warm_up == 0) job.baseline = job.step_seconds;
  double now = static_cast<double>(at.ns()) * 1e-9, since = now - job.last_ops;
  bool slow = job.baseline > 0 && job.step_seconds > 1.1 * job.baseline;
  if (since > (slow ? 5 : 60)) tell_ops(job, at, true, out);
}

// What a flight recorder keeps: per group the last collective, who came when. `complete` false: the one everybody hangs in.
void Jobs::tell_ops(JobRun& job, Instant end, bool complete, telemetry::Batch& out) {
  job.last_ops = static_cast<double>(end.ns()) * 1e-9;
  for (std::size_t g = 0; g < job.placement.groups.size(); ++g) {
    const workload::Group& group = job.placement.groups[g];
    auto d = static_cast<std::size_t>(group.dim);
    if (job.kind_of_dim[d] < 0 || job.rank_compute.empty()) continue;
    double last = 0;
    for (int r : group.ranks) last = std::max(last, job.rank_compute[static_cast<std::size_t>(r)]);
    bool holds = std::find(job.stalled_groups.begin(), job.stalled_groups.end(), static_cast<int>(g)) != job.stalled_groups.end();
    bool has_hung = job.hung_rank >= 0 && std::find(group.ranks.begin(), group.ranks.end(), job.hung_rank) != group.ranks.end();
    for (int r : group.ranks) {
      telemetry::OpRecord op;
      op.job = job.job.name, op.group = group.name(),
      op.kind = workload::collective_name(static_cast<workload::Collective>(job.kind_of_dim[d]));
      op.sequence = job.step * 2 * job.job.model.layers + (complete ? 0 : 1), op.rank = r, op.bytes = job.bytes_of_dim[d];
      double one = job.group_seconds[g] / std::max(1, 2 * job.job.model.layers);
      double lead = (last - job.rank_compute[static_cast<std::size_t>(r)]) / std::max(1, 2 * job.job.model.layers);
      op.start = end - seconds(one + lead), op.end = end, op.state = telemetry::OpState::kCompleted;
      if (!complete) {
        op.start = end - seconds(job.stalled_for + lead), op.end = op.start;
        // Groups that have no part in it finished this one and wait at the next (R7).
        bool waits = holds || has_hung;
        op.state = r == job.hung_rank ? telemetry::OpState::kScheduled
                   : waits            ? telemetry::OpState::kStarted
                                      : telemetry::OpState::kCompleted;
        if (!waits) op.end = op.start + seconds(one);
      }
      out.ops.push_back(std::move(op));
    }
  }
}

void Jobs::die(JobRun& job, const std::string& why) {
  state_.log(job.entity, event::kStepAborted, std::to_string(job.step), Severity::kFatal,
             fmt::format("step {} aborted: {}; last checkpoint is of step {}", job.step, why, job.saved_step));
  job.phase = JobPhase::kDead;
  job.profile.reset();
}

void Jobs::tick(double dt, const fabric::Snapshot& real, std::uint64_t network_key, const std::function<Stall(const JobRun&)>& stall,
                telemetry::Batch& out) {
  const Parameters& p = *state_.parameters;
  for (JobRun& job : jobs_)
    if (job.phase == JobPhase::kStarting && (job.phase_left -= dt) <= 0) {
      job.phase = JobPhase::kRunning;
      state_.set_fact(job.entity, telemetry::fact::kAlgorithm, "auto");
    }
  refresh(real, network_key);
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    JobRun& job = jobs_[j];
    if (!job.active()) continue;
    job.since_start += dt;
    // A process that is gone: peers report a closed connection, the launcher ends the job seconds later.
    int dead = -1;
    for (std::size_t r = 0; r < job.cards.size() && dead < 0; ++r) {
      const Card& c = state_.cards[static_cast<std::size_t>(job.cards[r])];
      if (c.knobs.dead || c.knobs.gone || (c.node >= 0 && state_.nodes[static_cast<std::size_t>(c.node)].knobs.down))
        dead = static_cast<int>(r);
    }
    if (dead >= 0 || job.dying_for >= 0) {
      if (job.dying_for < 0)
        job.dying_for = 0, job.phase_left = noise_.random().uniform(p.get("job.launcher_low_s"), p.get("job.launcher_high_s"));
      job.dying_for += dt;
      if (!job.barked && job.dying_for >= 2) {
        job.barked = true;
        for (std::size_t r = 0; r < job.cards.size(); ++r) {
          const Card& c = state_.cards[static_cast<std::size_t>(job.cards[r])];
          bool same_node = dead >= 0 && c.node == state_.cards[static_cast<std::size_t>(job.cards[static_cast<std::size_t>(dead)])].node &&
                           state_.nodes[static_cast<std::size_t>(c.node)].knobs.down;
          if (static_cast<int>(r) == dead || same_node || noise_.random().chance(0.3)) continue;  // some ranks print nothing
          state_.log(
              state_.built.name(c.id), event::kWatchdog, std::to_string(r), Severity::kError,
              fmt::format("rank {}: NCCL WARN connection closed by remote peer, remote process exited or there was a network error", r));
        }
      }
      if (job.dying_for >= job.phase_left) die(job, "a process of the job ended");
      continue;
    }
    if (job.profile && !job.profile->runs) {
      if (job.trouble.empty()) job.trouble = job.profile->why;
    }
    Stall held = job.profile && !job.profile->runs ? Stall{true, {}, -1, job.profile->why} : stall(job);
    if (held.held) {
      if (job.stalled_for == 0)
        job.phase = JobPhase::kStalled, job.trouble = held.why, job.stalled_groups = held.groups, job.hung_rank = held.hung_rank;
      double before = job.stalled_for;
      job.stalled_for += dt;
      if (before < 3 && job.stalled_for >= 3) {
        for (std::size_t r = 0; r < job.launched.size(); ++r) job.launched[r] += static_cast<int>(r) != held.hung_rank;
      }
      if ((before < 5 && job.stalled_for >= 5) || std::floor(before / 30) != std::floor(job.stalled_for / 30))
        tell_ops(job, state_.now, false, out);
      double timeout = p.get("job.watchdog_s");
      if (!job.barked && job.stalled_for >= timeout) {
        job.barked = true;
        for (std::size_t r = 0; r < job.cards.size(); ++r) {
          if (static_cast<int>(r) == held.hung_rank || noise_.random().chance(0.2)) continue;
          state_.log(state_.built.name(state_.cards[static_cast<std::size_t>(job.cards[r])].id), event::kWatchdog, std::to_string(r),
                     Severity::kError,
                     fmt::format("[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, Timeout(ms)={:.0f})", r,
                                 job.step * 2 * job.job.model.layers + 1, timeout * 1000));
        }
      }
      if (job.stalled_for >= timeout + 5) die(job, "collective timed out");
      continue;
    }
    if (job.phase == JobPhase::kStalled)
      job.phase = JobPhase::kRunning, job.stalled_for = 0, job.stalled_groups.clear(), job.hung_rank = -1, job.trouble.clear(),
      job.barked = false;
    if (!job.profile || !job.profile->runs) continue;
    double budget = dt, every = to_seconds(job.job.policy.checkpoint_every);
    job.since_save += dt;
    if (job.job.kind == workload::JobKind::kInference) {  // many short steps: told once a tick, as an engine's metrics endpoint does
      draw(job);
      job.step += std::max<std::int64_t>(1, static_cast<std::int64_t>(dt / job.step_seconds)), job.warm_up = 0;
      job.stepped = state_.now;
      report(job, state_.now, 0, out);
      continue;
    }
    int guard = 0;
    while (budget > 0 && guard++ < 1000) {
      if (job.phase == JobPhase::kSaving) {
        double used = std::min(budget, job.phase_left);
        budget -= used, job.phase_left -= used;
        if (job.phase_left > 1e-9) break;
        Instant at = state_.now - seconds(budget);
        job.phase = JobPhase::kRunning;
        job.since_save = 0;
        double took = job.save_seconds;
        out.samples.push_back({job.ids.save, at, took});
        finish_step(job, at, out);
        job.saved_step = job.step;
        state_.log(job.entity, event::kCheckpoint, std::to_string(job.step), Severity::kInfo,
                   fmt::format("saved checkpoint of step {} in {:.1f} s", job.step, took));
        job.left = 0;
        if (job.stop_after_save) {
          stop(job);
          break;
        }
        continue;
      }
      if (job.left <= 0) draw(job);
      double used = std::min(budget, job.left);
      budget -= used, job.left -= used;
      if (job.left > 1e-9) break;
      job.left = 0;
      if (job.since_save >= every) {
        job.phase = JobPhase::kSaving;
        if (state_.jobs[j].aligned_checkpoints)
          for (JobRun& other : jobs_)
            if (&other != &job && other.phase == JobPhase::kRunning) save(other);
        job.save_seconds = job.phase_left = noise_.around(save_time(job), 0.05);
        continue;
      }
      finish_step(job, state_.now - seconds(budget), out);
    }
  }
}

void Jobs::add_traffic(std::vector<double>& directed) const {
  for (const JobRun& job : jobs_) {
    if (job.phase != JobPhase::kRunning || !job.profile || !job.profile->runs || job.step_seconds <= 0) continue;
    for (const sim::LinkLoad& load : job.profile->links)
      if (load.link.v < directed.size()) directed[load.link.v] += load.bytes / job.step_seconds;
  }
}

void Jobs::emit_counters(Instant at, telemetry::Batch& out) {
  for (const JobRun& job : jobs_)
    if (job.active())
      for (std::size_t r = 0; r < job.launched.size(); ++r) out.samples.push_back({job.ids.launched[r], at, job.launched[r]});
}

}  // namespace weft::twin
