#include "sim/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/share.h"

namespace weft::sim {
namespace {

using workload::OpKind;

constexpr std::uint32_t kNone = UINT32_MAX;

struct Event {
  std::int64_t time;
  std::uint64_t sequence;
  enum Kind : std::uint32_t { kRank, kLatency, kFlow } kind;
  std::uint32_t id;       // rank class, channel class, flow
  std::uint32_t version;  // of the flow's rate
};
struct Later {
  bool operator()(const Event& a, const Event& b) const { return a.time != b.time ? a.time > b.time : a.sequence > b.sequence; }
};

// One operation on a channel.
struct Instance {
  std::int64_t bytes = 0;
  std::int64_t first = 0, ready = 0, start = 0, end = 0;
  std::uint32_t arrived = 0;
  std::uint32_t last = kNone;  // rank class that came last (point to point: the sender)
  workload::Collective kind{};
  std::uint16_t label = 0;
  bool is_ready = false, done = false;
};

struct RankRun {
  std::uint32_t pc = 0;
  std::uint32_t blocked_channel = kNone, blocked_sequence = 0;
  std::int64_t blocked_since = 0;
  std::vector<std::uint32_t> sequence;                         // by role: operations issued
  std::vector<std::pair<std::uint32_t, std::uint32_t>> slots;  // async: channel class, sequence
  bool done = false;
};

struct ChannelRun {
  std::vector<Instance> instances;  // by sequence
  std::uint32_t next = 0;           // the one running, or to run
  bool busy = false;
  const OpPlan* plan = nullptr;  // of the running one
  std::uint32_t phase = 0;
};

struct FlowRun {
  double left = 0;  // bytes on the busiest link
  std::int64_t since = 0;
  std::uint32_t version = 0;
};

class Engine {
 public:
  Engine(const System& sys, const Folded& f, const std::vector<JobInput>& jobs, const RunOptions& options)
      : sys_(sys),
        f_(f),
        jobs_(jobs),
        options_(options),
        ranks_(f.ranks.size()),
        channels_(f.channels.size()),
        flows_(f.flows.size()),
        sharing_(capacities(f), specs(f)) {
    out_.ranks.resize(ranks_.size());
    out_.flow_bytes.assign(flows_.size(), 0);
    message_.phases = {{kMessagePattern, 1.0}};
    parties_.resize(channels_.size());
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].sequence.assign(f.ranks[r].channel.size(), 0);
      ranks_[r].slots.resize(static_cast<std::size_t>(program(r).slots));
      for (std::uint32_t c : f.ranks[r].channel)
        if (std::find(parties_[c].begin(), parties_[c].end(), r) == parties_[c].end()) parties_[c].push_back(r);
    }
  }

  Result<Played> run() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r)
      push(to_picos(jobs_[sys_.ranks[f_.ranks[r].first].job].start).value(), Event::kRank, r);
    while (!heap_.empty()) {
      now_ = heap_.front().time;
      while (!heap_.empty() && heap_.front().time == now_) {
        std::pop_heap(heap_.begin(), heap_.end(), Later{});
        Event e = heap_.back();
        heap_.pop_back();
        if (e.kind == Event::kFlow && flows_[e.id].version != e.version) continue;
        handle(e);
        if (!error_.message.empty()) return std::unexpected(error_);
        if (out_.events > options_.max_events)
          return fail(ErrorKind::kInvalid,
                      fmt::format("gave up after {} events at {:.6g} s: raise the limit or simulate fewer micro-batches", out_.events,
                                  static_cast<double>(now_) * 1e-12),
                      where());
      }
      if (stirred_) share();
    }
    for (std::uint32_t r = 0; r < ranks_.size(); ++r)
      if (!ranks_[r].done) return deadlock(r);
    return std::move(out_);
  }

 private:
  static std::vector<double> capacities(const Folded& f) {
    std::vector<double> out;
    for (const LinkClass& l : f.links) out.push_back(l.capacity);
    return out;
  }
  static std::vector<Sharing::FlowSpec> specs(const Folded& f) {
    std::vector<Sharing::FlowSpec> out;
    for (const Flow& x : f.flows) out.push_back({x.solo, &x.shared});
    return out;
  }
  const Rank& first(std::uint32_t r) const { return sys_.ranks[f_.ranks[r].first]; }
  const CompiledProgram& program(std::uint32_t r) const { return sys_.programs[first(r).program]; }
  const Channel& channel(std::uint32_t c) const { return sys_.channels[f_.channels[c].first]; }
  std::string where() const { return jobs_.size() == 1 ? "job " + sys_.dags[0]->job : "jobs"; }

  void push(std::int64_t time, Event::Kind kind, std::uint32_t id, std::uint32_t version = 0) {
    heap_.push_back({time, sequence_++, kind, id, version});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }

  void handle(const Event& e) {
    ++out_.events;
    switch (e.kind) {
      case Event::kRank: advance(e.id); break;
      case Event::kLatency: phase_begins(e.id); break;
      case Event::kFlow: flow_ends(e.id); break;
    }
  }

  void advance(std::uint32_t r) {
    RankRun& run = ranks_[r];
    const CompiledProgram& p = program(r);
    const Rank& rank = first(r);
    RankTally& tally = out_.ranks[r];
    while (run.pc < p.ops.size() && error_.message.empty()) {
      const CompiledOp& op = p.ops[run.pc];
      if (op.wait_slot >= 0) {
        auto [c, s] = run.slots[static_cast<std::size_t>(op.wait_slot)];
        if (!channels_[c].instances[s].done) return block(run, c, s);
      }
      if (op.kind == OpKind::kCompute || op.kind == OpKind::kDelay) {
        ++run.pc;
        std::int64_t lasts = to_picos(Seconds(op.seconds * (op.kind == OpKind::kCompute ? rank.slowdown : 1))).value();
        if (lasts <= 0) continue;
        tally.compute += op.kind == OpKind::kCompute ? lasts : 0;
        return push(now_ + lasts, Event::kRank, r);
      }
      ++run.pc;
      ++out_.events;
      if (op.role < 0) continue;  // alone in its group
      auto role = static_cast<std::size_t>(op.role);
      std::uint32_t c = f_.ranks[r].channel[role], s = run.sequence[role]++;
      arrive(r, op, c, s);
      if (op.slot >= 0) run.slots[static_cast<std::size_t>(op.slot)] = {c, s};
      else if (!channels_[c].instances[s].done) return block(run, c, s);
    }
    if (run.pc >= p.ops.size() && !run.done) {
      run.done = true;
      tally.end = now_;
    }
  }

  void block(RankRun& run, std::uint32_t c, std::uint32_t s) {
    run.blocked_channel = c, run.blocked_sequence = s, run.blocked_since = now_;
  }

  void arrive(std::uint32_t r, const CompiledOp& op, std::uint32_t c, std::uint32_t s) {
    ChannelRun& ch = channels_[c];
    bool fresh = s >= ch.instances.size();
    if (fresh) ch.instances.resize(s + 1);
    Instance& in = ch.instances[s];
    bool message = channel(c).kind == OpKind::kSend;
    if (in.arrived == 0) in.bytes = op.bytes, in.kind = op.collective, in.label = op.label, in.first = now_;
    else if (in.bytes != op.bytes || (!message && in.kind != op.collective)) return mismatch(r, op, c, in);
    ++in.arrived;
    if (message) {
      if (op.kind != OpKind::kSend) return;  // the data come when they come
    } else if (in.arrived < f_.channels[c].parties) {
      return;
    }
    in.last = r;
    in.ready = now_;
    in.is_ready = true;
    if (!ch.busy && ch.next == s) start(c);
  }

  void start(std::uint32_t c) {
    ChannelRun& ch = channels_[c];
    Instance& in = ch.instances[ch.next];
    ch.busy = true;
    ch.phase = 0;
    in.start = now_;
    const Channel& channel_ = channel(c);
    Picos latency = channel_.latency;
    if (channel_.kind == OpKind::kSend) {
      ch.plan = &message_;
    } else {
      ch.plan = &sys_.plans.find({in.kind, in.bytes, channel_.shape})->second;
      latency = ch.plan->latency;
    }
    push(now_ + latency.value(), Event::kLatency, c);
  }

  // The latency has passed, or the phase before has ended.
  void phase_begins(std::uint32_t c) {
    ChannelRun& ch = channels_[c];
    Instance& in = ch.instances[ch.next];
    std::int64_t at = now_;
    for (; ch.phase < ch.plan->phases.size(); ++ch.phase) {
      auto [pattern, factor] = ch.plan->phases[ch.phase];
      std::uint32_t f = f_.channels[c].first_flow, end = f + f_.channels[c].flows;
      while (f < end && f_.flows[f].pattern != pattern) ++f;
      if (f == end) continue;  // a message to itself
      const Flow& flow = f_.flows[f];
      double amount = static_cast<double>(in.bytes) * factor * flow.scale;
      if (amount <= 0 || flow.links.empty()) continue;
      if (!flow.shared.empty() && at > now_) break;  // private phases before it take their time first
      out_.flow_bytes[f] += amount;
      if (flow.shared.empty()) {
        at += lasting(amount, flow.solo);
        continue;
      }
      flows_[f].left = amount;
      flows_[f].since = now_;
      sharing_.begin(f);
      stirred_ = true;
      return;
    }
    if (at > now_) return push(at, Event::kLatency, c);
    complete(c);
  }

  static std::int64_t lasting(double bytes, double rate) { return static_cast<std::int64_t>(std::ceil(bytes / rate * 1e12 * (1 - 1e-14))); }

  void flow_ends(std::uint32_t f) {
    sharing_.end(f);
    stirred_ = true;
    ++flows_[f].version;
    std::uint32_t c = f_.flows[f].channel;
    ++channels_[c].phase;
    phase_begins(c);
  }

  void share() {
    stirred_ = false;
    for (std::uint32_t f : sharing_.update()) {
      FlowRun& run = flows_[f];
      if (run.since != now_) run.left = std::max(0.0, run.left - rate_before(f) * static_cast<double>(now_ - run.since) * 1e-12);
      run.since = now_;
      set_rate(f, sharing_.rate(f));
      push(now_ + lasting(run.left, sharing_.rate(f)), Event::kFlow, f, ++run.version);
    }
  }
  double rate_before(std::uint32_t f) const { return f < rates_.size() ? rates_[f] : 0; }
  void set_rate(std::uint32_t f, double rate) {
    if (rates_.empty()) rates_.assign(flows_.size(), 0);
    rates_[f] = rate;
  }

  void complete(std::uint32_t c) {
    ChannelRun& ch = channels_[c];
    std::uint32_t s = ch.next;
    {
      Instance& in = ch.instances[s];
      in.done = true;
      in.end = now_;
      if (options_.record_ops && channel(c).kind == OpKind::kCollective)
        out_.records.push_back({c, in.kind, in.label, in.bytes, in.first, in.ready, now_, in.last, ch.plan});
    }
    ch.busy = false;
    ++ch.next;
    if (ch.next < ch.instances.size() && ch.instances[ch.next].is_ready) start(c);
    for (std::uint32_t r : parties_[c]) {
      RankRun& run = ranks_[r];
      if (run.blocked_channel != c || run.blocked_sequence != s) continue;
      run.blocked_channel = kNone;
      const Instance& in = channels_[c].instances[s];
      auto dim = static_cast<std::size_t>(channel(c).dim);
      RankTally& tally = out_.ranks[r];
      std::int64_t late = std::clamp<std::int64_t>(in.ready - run.blocked_since, 0, now_ - run.blocked_since);
      tally.wait[dim] += late;
      tally.comm[dim] += now_ - run.blocked_since - late;
      if (late > 0 && in.last != r) note_late(tally, c, in.last, late);
      advance(r);
    }
  }

  static void note_late(RankTally& tally, std::uint32_t c, std::uint32_t last, std::int64_t late) {
    for (RankTally::Late& l : tally.late)
      if (l.channel == c && l.last == last) {
        l.sum += late;
        return;
      }
    tally.late.push_back({c, last, late});
  }

  std::string describe(std::uint32_t r, const CompiledOp& op) const {
    const workload::Dag& dag = *sys_.dags[first(r).job];
    std::string what = op.kind == OpKind::kCollective ? std::string(workload::collective_name(op.collective))
                       : op.kind == OpKind::kSend     ? "send"
                       : op.kind == OpKind::kRecv     ? "receive"
                                                      : "compute";
    std::string label = op.label < dag.labels.size() ? " '" + dag.labels[op.label] + "'" : "";
    return fmt::format("{}{} ({} bytes)", what, label, op.bytes);
  }

  // The channel that this rank itself uses, of a class of channels.
  const Channel& own_channel(std::uint32_t r, std::uint32_t c) const {
    const Rank& rank = first(r);
    for (std::size_t k = 0; k < f_.ranks[r].channel.size(); ++k)
      if (f_.ranks[r].channel[k] == c) return sys_.channels[sys_.role_channel[rank.first_role + k]];
    return channel(c);
  }

  void mismatch(std::uint32_t r, const CompiledOp& op, std::uint32_t c, const Instance& in) {
    std::string theirs = channel(c).kind == OpKind::kSend ? "the other end" : std::string(workload::collective_name(in.kind));
    error_ = {ErrorKind::kInvalid,
              fmt::format("rank {} enters {} on {} where others are in {} of {} bytes", first(r).rank, describe(r, op),
                          sys_.channel_name(own_channel(r, c)), theirs, in.bytes),
              "job " + sys_.dags[first(r).job]->job};
  }

  std::unexpected<Error> deadlock(std::uint32_t r) const {
    const RankRun& run = ranks_[r];
    const Rank& rank = first(r);
    std::string place = "job " + sys_.dags[rank.job]->job;
    if (run.blocked_channel == kNone)
      return fail(ErrorKind::kInternal, fmt::format("rank {} stopped at operation {}", rank.rank, run.pc), place);
    std::uint32_t c = run.blocked_channel;
    const Channel& mine = own_channel(r, c);
    // A blocking operation has been passed by the counter already; a wait names the operation it is attached to.
    std::size_t at = run.pc > 0 ? run.pc - 1 : 0;
    const CompiledOp& before = program(r).ops[at];
    bool waits = run.pc < program(r).ops.size() && program(r).ops[run.pc].wait_slot >= 0 &&
                 (before.role < 0 || before.slot >= 0 || f_.ranks[r].channel[static_cast<std::size_t>(before.role)] != c);
    if (waits) ++at;
    std::string missing;
    if (mine.kind == OpKind::kCollective)
      for (int m : sys_.group(mine).ranks) {
        std::uint32_t other = f_.rank_class[sys_.first_rank[mine.job] + static_cast<std::uint32_t>(m)];
        std::uint32_t issued = 0;
        for (std::size_t k = 0; k < f_.ranks[other].channel.size(); ++k)
          if (f_.ranks[other].channel[k] == c) issued = std::max(issued, ranks_[other].sequence[k]);
        if (issued <= run.blocked_sequence) {
          missing = fmt::format(" for rank {}", m);
          break;
        }
      }
    else missing = fmt::format(" for rank {}", sys_.ranks[mine.from].rank);
    return fail(ErrorKind::kInvalid,
                fmt::format("deadlock: rank {} at operation {}, {}, waits on {}{}", rank.rank, at, describe(r, program(r).ops[at]),
                            sys_.channel_name(mine), missing),
                place);
  }

  const System& sys_;
  const Folded& f_;
  const std::vector<JobInput>& jobs_;
  const RunOptions& options_;
  std::vector<RankRun> ranks_;
  std::vector<ChannelRun> channels_;
  std::vector<FlowRun> flows_;
  std::vector<double> rates_;
  std::vector<std::vector<std::uint32_t>> parties_;  // channel class → rank classes that use it
  Sharing sharing_;
  OpPlan message_;
  std::vector<Event> heap_;
  std::uint64_t sequence_ = 0;
  std::int64_t now_ = 0;
  bool stirred_ = false;
  Played out_;
  Error error_;
};

}  // namespace

Result<Played> play(const System& system, const Folded& folded, const std::vector<JobInput>& jobs, const RunOptions& options) {
  return Engine(system, folded, jobs, options).run();
}

}  // namespace weft::sim
