#include "sim/flow.h"

#include <algorithm>

#include "sim/engine.h"

namespace weft::sim {
namespace {

// The rank of `rank`'s own group that belongs to the late class: whom it was waiting for.
int late_rank(const System& sys, const Folded& f, std::uint32_t rank_class, const RankTally::Late& late) {
  const RankClass& rc = f.ranks[rank_class];
  const Rank& rank = sys.ranks[rc.first];
  for (std::size_t k = 0; k < rc.channel.size(); ++k) {
    if (rc.channel[k] != late.channel) continue;
    const Channel& c = sys.channels[sys.role_channel[rank.first_role + k]];
    if (c.kind == workload::OpKind::kSend) {
      std::uint32_t other = c.from == rc.first ? c.to : c.from;
      if (f.rank_class[other] == late.last) return static_cast<int>(sys.ranks[other].rank);
      continue;
    }
    for (int r : sys.group(c).ranks)
      if (f.rank_class[sys.first_rank[c.job] + static_cast<std::uint32_t>(r)] == late.last) return r;
  }
  return -1;
}

Timeline timeline(const fabric::Snapshot& snapshot, const System& sys, const Folded& f, const Played& played, const JobInput& in,
                  std::uint32_t job) {
  Timeline t;
  t.events = played.events;
  std::int64_t start = to_picos(in.start).value(), end = start;
  std::vector<int> at(f.ranks.size(), -1);
  for (std::uint32_t g = sys.first_rank[job]; g < sys.first_rank[job + 1]; ++g) {
    std::uint32_t c = f.rank_class[g];
    if (at[c] < 0) {
      at[c] = static_cast<int>(t.ranks.size());
      const RankTally& tally = played.ranks[c];
      RankTime r;
      r.rank = static_cast<int>(sys.ranks[g].rank);
      r.members = static_cast<int>(f.ranks[c].members);
      r.end = to_seconds(Picos(tally.end - start));
      r.compute = to_seconds(Picos(tally.compute));
      for (int d = 0; d < 5; ++d) r.comm[d] = to_seconds(Picos(tally.comm[d])), r.wait[d] = to_seconds(Picos(tally.wait[d]));
      const RankTally::Late* most = nullptr;
      for (const RankTally::Late& l : tally.late)
        if (!most || l.sum > most->sum) most = &l;
      if (most) r.waits_for = late_rank(sys, f, c, *most);
      end = std::max(end, tally.end);
      t.ranks.push_back(r);
    }
    t.class_of.push_back(at[c]);
  }
  t.step = Picos(end - start);
  double step = to_seconds(t.step).value();

  std::vector<double> bytes(f.links.size(), 0);
  for (std::size_t k = 0; k < f.flows.size(); ++k) {
    if (sys.channels[f.channels[f.flows[k].channel].first].job != job) continue;
    for (auto [link, weight] : f.flows[k].links) bytes[link] += weight * played.flow_bytes[k];
  }
  for (std::size_t l = 0; l < f.links.size(); ++l)
    if (bytes[l] > 0)
      t.links.push_back({fabric::DirectedLink{f.links[l].first}, static_cast<int>(f.links[l].members), bytes[l],
                         step > 0 ? bytes[l] / (f.links[l].capacity * step) : 0});
  std::sort(t.links.begin(), t.links.end(), [](const LinkLoad& a, const LinkLoad& b) { return a.link < b.link; });

  for (const Played::Record& r : played.records) {
    const Channel& c = sys.channels[f.channels[r.channel].first];
    if (c.job != job) continue;
    GroupOp op;
    op.group = f.channels[r.channel].lowest_group;
    op.members = static_cast<int>(f.channels[r.channel].members);
    op.kind = r.kind, op.label = r.label, op.bytes = Bytes(r.bytes);
    op.first_arrival = Picos(r.first - start), op.last_arrival = Picos(r.ready - start), op.end = Picos(r.end - start);
    op.algorithm = r.plan->algorithm;
    for (int m : in.dag->groups[static_cast<std::size_t>(op.group)].ranks)
      if (op.last_rank < 0 && f.rank_class[sys.first_rank[job] + static_cast<std::uint32_t>(m)] == r.last) op.last_rank = m;
    t.ops.push_back(std::move(op));
  }

  double peak = 0;
  for (fabric::DeviceId card : in.placement->cards) {
    const fabric::DeviceModel* m = snapshot.model_of(card);
    if (!m || !m->bf16) {
      peak = 0;
      break;
    }
    peak += m->bf16->value();
  }
  if (peak > 0 && step > 0) t.mfu = in.dag->flops_per_step.value() / (peak * step);
  return t;
}

}  // namespace

Result<std::vector<Timeline>> run(const fabric::Snapshot& snapshot, const std::vector<JobInput>& jobs, const RunOptions& options) {
  WEFT_ASSIGN(System sys, build_system(snapshot, jobs, options));
  Folded folded = fold(sys, options.fold);
  WEFT_ASSIGN(Played played, play(sys, folded, jobs, options));
  std::vector<Timeline> out;
  for (std::size_t j = 0; j < jobs.size(); ++j)
    out.push_back(timeline(snapshot, sys, folded, played, jobs[j], static_cast<std::uint32_t>(j)));
  return out;
}

Result<CollectiveRun> run_collective(const fabric::Snapshot& snapshot, const std::vector<fabric::DeviceId>& cards,
                                     workload::Collective kind, Bytes bytes, const RunOptions& options) {
  workload::Dag dag;
  dag.job = "collective";
  workload::Op op{workload::OpKind::kCollective, kind, workload::Dim::kDp};
  op.bytes = bytes;
  dag.programs = {{{op}}};
  dag.program_of.assign(cards.size(), 0);
  workload::Placement placement;
  placement.job = dag.job;
  placement.cards = cards;
  if (cards.size() > 1) {
    workload::Group all{workload::Dim::kDp, 0, {}};
    for (std::size_t r = 0; r < cards.size(); ++r) all.ranks.push_back(static_cast<int>(r));
    dag.groups = placement.groups = {all};
  }
  JobInput in;
  in.dag = &dag, in.placement = &placement;
  in.slowdown.assign(cards.size(), 1);
  RunOptions plain = options;
  plain.fold = false;       // one operation: nothing to gain
  plain.record_ops = true;  // names the algorithm
  auto played = run(snapshot, {in}, plain);
  if (!played) return std::unexpected(played.error());
  CollectiveRun out;
  out.time = to_seconds((*played)[0].step);
  if (!(*played)[0].ops.empty()) out.algorithm = (*played)[0].ops[0].algorithm;
  out.links = std::move((*played)[0].links);
  return out;
}

}  // namespace weft::sim
