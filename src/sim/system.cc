#include "sim/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "collective/predict.h"

namespace weft::sim {
namespace {

using workload::Collective;
using workload::Dag;
using workload::Dim;
using workload::Op;
using workload::OpKind;

constexpr std::uint32_t kNone = UINT32_MAX;

// Phases of an algorithm with the largest share taken out, so that e.g. the rings of all-gather and reduce-scatter are one pattern.
struct Patterns {
  struct Entry {
    collective::Phase phase;
    int n;
  };
  std::vector<Entry> entries{{{}, 0}};  // 0: a message
  std::map<std::tuple<std::string, Collective, int, int>, std::vector<std::pair<std::uint32_t, double>>> known;

  const std::vector<std::pair<std::uint32_t, double>>& of(const collective::Algorithm& a, Collective kind, int n, int d) {
    auto [at, fresh] = known.try_emplace({a.name, kind, n, d});
    if (!fresh) return at->second;
    for (collective::Phase& phase : a.phases(kind, n, d)) {
      double top = 0;
      for (const collective::Edge& e : phase) top = std::max(top, e.share);
      if (top <= 0) continue;
      for (collective::Edge& e : phase) e.share /= top;
      std::uint32_t id = kNone;
      for (std::uint32_t k = 1; id == kNone && k < entries.size(); ++k)
        if (entries[k].n == n && entries[k].phase == phase) id = k;
      if (id == kNone) id = static_cast<std::uint32_t>(entries.size()), entries.push_back({std::move(phase), n});
      at->second.emplace_back(id, top);
    }
    return at->second;
  }
};

CompiledProgram compile(const workload::Program& program, const std::array<bool, 5>& grouped) {
  CompiledProgram out;
  std::vector<std::int32_t> slot_of(program.ops.size(), -1);
  out.ops.reserve(program.ops.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Op& op = program.ops[i];
    CompiledOp c{op.kind, op.collective, op.async, op.label};
    c.bytes = op.bytes.value(), c.seconds = op.compute.value();
    if (op.wait >= 0) c.wait_slot = slot_of[static_cast<std::size_t>(op.wait)];
    bool talks = op.kind == OpKind::kCollective || op.kind == OpKind::kSend || op.kind == OpKind::kRecv;
    if (talks && grouped[static_cast<std::size_t>(op.dim)]) {
      Role role{op.kind, op.dim, op.kind == OpKind::kCollective ? std::int16_t{0} : op.peer};
      auto at = std::find(out.roles.begin(), out.roles.end(), role);
      c.role = static_cast<std::int16_t>(at - out.roles.begin());
      if (at == out.roles.end()) out.roles.push_back(role), out.uses.emplace_back();
      auto& uses = out.uses[static_cast<std::size_t>(c.role)];
      std::pair use(op.collective, c.bytes);
      if (op.kind == OpKind::kCollective && std::find(uses.begin(), uses.end(), use) == uses.end()) uses.push_back(use);
      if (op.async) slot_of[i] = c.slot = out.slots++;
    }
    out.ops.push_back(c);
  }
  return out;
}

// Outside mistakes a Dag made elsewhere may carry.
Status check(const JobInput& in) {
  const Dag& dag = *in.dag;
  auto bad = [&](std::string what) { return fail(ErrorKind::kInvalid, std::move(what), "job " + dag.job); };
  std::size_t n = dag.program_of.size();
  if (in.placement->cards.size() != n)
    return bad(fmt::format("{} ranks in the step, {} cards in the placement", n, in.placement->cards.size()));
  if (!in.slowdown.empty() && in.slowdown.size() != n) return bad(fmt::format("slowdown of {} ranks for {}", in.slowdown.size(), n));
  for (std::uint32_t p : dag.program_of)
    if (p >= dag.programs.size()) return bad("a rank runs a program that does not exist");
  for (const workload::Program& p : dag.programs)
    for (std::size_t i = 0; i < p.ops.size(); ++i)
      if (p.ops[i].wait >= static_cast<std::int32_t>(i))
        return bad(fmt::format("operation {} waits for the later operation {}", i, p.ops[i].wait));
  std::vector<std::uint8_t> seen(n, 0);
  for (const workload::Group& g : dag.groups)
    for (int r : g.ranks) {
      if (r < 0 || static_cast<std::size_t>(r) >= n) return bad(fmt::format("group {} names rank {} of {}", g.name(), r, n));
      auto bit = static_cast<std::uint8_t>(1u << static_cast<unsigned>(g.dim));
      if (seen[static_cast<std::size_t>(r)] & bit) return bad(fmt::format("rank {} is in two groups of {}", r, dim_name(g.dim)));
      seen[static_cast<std::size_t>(r)] |= bit;
    }
  return {};
}

}  // namespace

const Usage* Channel::usage(std::uint32_t pattern) const {
  for (const Usage& u : usages)
    if (u.pattern == pattern) return &u;
  return nullptr;
}

std::string System::channel_name(const Channel& c) const {
  if (c.kind == OpKind::kCollective) return group(c).name();
  return fmt::format("{} {} to {}", dim_name(c.dim), ranks[c.from].rank, ranks[c.to].rank);
}

Result<System> build_system(const fabric::Snapshot& snapshot, const std::vector<JobInput>& jobs, const RunOptions& options) {
  const collective::Algorithm* forced = nullptr;
  if (!options.algorithm.empty() && !(forced = collective::algorithms().find(options.algorithm)))
    return fail(ErrorKind::kInvalid,
                fmt::format("no collective algorithm '{}'; known: {}", options.algorithm, collective::algorithms().names()));
  System sys;
  fabric::Routes routes(snapshot);
  collective::UsageBuilder usages(routes);
  collective::Predictor predictor(usages);
  Patterns patterns;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    WEFT_TRY(check(jobs[j]));
    const Dag& dag = *jobs[j].dag;
    auto job = static_cast<std::uint32_t>(j);
    auto base = static_cast<std::uint32_t>(sys.ranks.size());
    std::string where = "job " + dag.job;
    sys.dags.push_back(&dag);
    sys.first_rank.push_back(base);
    std::size_t n = dag.program_of.size();
    // Group and position of each rank per dim.
    std::vector<std::array<std::pair<std::int32_t, std::int32_t>, 5>> at(n);
    for (auto& a : at) a.fill({-1, -1});
    std::array<bool, 5> grouped{};
    for (std::size_t g = 0; g < dag.groups.size(); ++g)
      for (std::size_t p = 0; p < dag.groups[g].ranks.size(); ++p) {
        at[static_cast<std::size_t>(dag.groups[g].ranks[p])][static_cast<std::size_t>(dag.groups[g].dim)] = {static_cast<std::int32_t>(g),
                                                                                                             static_cast<std::int32_t>(p)};
        grouped[static_cast<std::size_t>(dag.groups[g].dim)] = true;
      }
    auto first_program = static_cast<std::uint32_t>(sys.programs.size());
    for (const workload::Program& p : dag.programs) sys.programs.push_back(compile(p, grouped));
    for (std::size_t r = 0; r < n; ++r) {
      double slow = 1;
      if (!jobs[j].slowdown.empty()) slow = jobs[j].slowdown[r];
      else if (double speed = snapshot.health(jobs[j].placement->cards[r]).speed_factor; speed != 1) slow = speed > 0 ? 1 / speed : 0;
      if (!(slow > 0))
        return fail(ErrorKind::kInvalid,
                    fmt::format("rank {} on {} does not compute at all", r, snapshot.name(jobs[j].placement->cards[r])), where);
      sys.ranks.push_back({job, static_cast<std::uint32_t>(r), first_program + dag.program_of[r], slow, 0});
    }
    // Channels: one per group in use, one per sender's role.
    std::vector<std::uint32_t> channel_of_group(dag.groups.size(), kNone);
    for (std::size_t r = 0; r < n; ++r) {
      Rank& rank = sys.ranks[base + r];
      rank.first_role = static_cast<std::uint32_t>(sys.role_channel.size());
      for (const Role& role : sys.programs[rank.program].roles) {
        auto [g, p] = at[r][static_cast<std::size_t>(role.dim)];
        if (g < 0)
          return fail(ErrorKind::kInvalid, fmt::format("rank {} communicates over {} but is in no such group", r, dim_name(role.dim)),
                      where);
        const auto& members = dag.groups[static_cast<std::size_t>(g)].ranks;
        std::uint32_t channel = kNone;
        if (role.kind == OpKind::kCollective) {
          std::uint32_t& known = channel_of_group[static_cast<std::size_t>(g)];
          if (known == kNone) {
            known = static_cast<std::uint32_t>(sys.channels.size());
            sys.channels.push_back({job, OpKind::kCollective, role.dim, g});
          }
          channel = known;
        } else if (role.kind == OpKind::kSend) {
          int size = static_cast<int>(members.size()), to = ((p + role.peer) % size + size) % size;
          channel = static_cast<std::uint32_t>(sys.channels.size());
          sys.channels.push_back({job, OpKind::kSend, role.dim, g, base + static_cast<std::uint32_t>(r),
                                  base + static_cast<std::uint32_t>(members[static_cast<std::size_t>(to)])});
        }
        sys.role_channel.push_back(channel);  // receivers are joined below
      }
    }
    for (std::size_t r = 0; r < n; ++r) {
      const Rank& rank = sys.ranks[base + r];
      const auto& roles = sys.programs[rank.program].roles;
      for (std::size_t k = 0; k < roles.size(); ++k) {
        if (roles[k].kind != OpKind::kRecv) continue;
        auto [g, p] = at[r][static_cast<std::size_t>(roles[k].dim)];
        const auto& members = dag.groups[static_cast<std::size_t>(g)].ranks;
        int size = static_cast<int>(members.size());
        const Rank& sender =
            sys.ranks[base + static_cast<std::uint32_t>(members[static_cast<std::size_t>(((p + roles[k].peer) % size + size) % size)])];
        const auto& theirs = sys.programs[sender.program].roles;
        auto match = std::find(theirs.begin(), theirs.end(), Role{OpKind::kSend, roles[k].dim, static_cast<std::int16_t>(-roles[k].peer)});
        if (match == theirs.end())
          return fail(ErrorKind::kInvalid,
                      fmt::format("rank {} receives over {} from rank {}, which never sends there", r, dim_name(roles[k].dim), sender.rank),
                      where);
        sys.role_channel[rank.first_role + k] = sys.role_channel[sender.first_role + static_cast<std::size_t>(match - theirs.begin())];
      }
    }
  }
  sys.first_rank.push_back(static_cast<std::uint32_t>(sys.ranks.size()));

  std::vector<std::uint32_t> dense(snapshot.link_count() * 2, kNone);
  auto card_of = [&](std::uint32_t global) { return jobs[sys.ranks[global].job].placement->cards[sys.ranks[global].rank]; };
  auto put = [&](Channel& c, std::uint32_t pattern, double scale, const std::vector<collective::LinkUse>& links) {
    Usage u{pattern, scale, {}};
    u.links.reserve(links.size());
    for (const collective::LinkUse& l : links) {
      if (dense[l.link] == kNone) dense[l.link] = static_cast<std::uint32_t>(sys.links.size()), sys.links.push_back(l.link);
      u.links.emplace_back(dense[l.link], l.weight);
    }
    c.usages.push_back(std::move(u));
  };
  std::vector<fabric::DeviceId> cards;
  std::vector<std::uint32_t> programs_here;
  for (Channel& c : sys.channels) {
    std::string where = "job " + sys.dags[c.job]->job + ": " + sys.channel_name(c);
    if (c.kind == OpKind::kSend) {
      if (c.from == c.to) continue;
      double scale = 0;
      auto links = usages.of(card_of(c.from), card_of(c.to), scale);
      if (!links) return std::unexpected(links.error().in(where));
      bool inside = routes.best_network(card_of(c.from), card_of(c.to)) == fabric::Network::kScaleUp;
      c.latency = to_picos(routes.best(card_of(c.from), card_of(c.to)).latency +
                           (inside ? collective::kInnerOverhead : collective::kOuterOverhead));
      put(c, kMessagePattern, scale, *links);
      continue;
    }
    // Members in domain order, as the algorithms assume.
    const auto& members = sys.group(c).ranks;
    cards.clear();
    programs_here.clear();
    for (int r : members) {
      const Rank& rank = sys.ranks[sys.first_rank[c.job] + static_cast<std::uint32_t>(r)];
      cards.push_back(jobs[c.job].placement->cards[static_cast<std::size_t>(r)]);
      if (std::find(programs_here.begin(), programs_here.end(), rank.program) == programs_here.end()) programs_here.push_back(rank.program);
    }
    for (std::size_t i = 0; members.size() > 1 && i < cards.size(); ++i)
      if (auto way = usages.route(cards[i], cards[(i + 1) % cards.size()]); !way) return std::unexpected(way.error().in(where));
    collective::GroupShape shape = collective::shape_of(cards, routes);
    for (BytesPerSecond* r : {&shape.inner, &shape.outer, &shape.inner_pair}) *r = BytesPerSecond(collective::rounded(r->value()));
    for (Seconds* t : {&shape.inner_latency, &shape.outer_latency}) *t = Seconds(collective::rounded(t->value()));
    if ((shape.max_per_domain > 1 && !(shape.inner_pair.value() > 0)) || (shape.domains > 1 && !(shape.outer.value() > 0)))
      return fail(ErrorKind::kUnavailable,
                  "members cannot all reach each other at a known rate: restore a link, give the links' rates, or place the job elsewhere",
                  where);
    auto known = std::find(sys.shapes.begin(), sys.shapes.end(), shape);
    c.shape = static_cast<std::uint32_t>(known - sys.shapes.begin());
    if (known == sys.shapes.end()) sys.shapes.push_back(shape);
    if (shape.domains > 1) {
      std::vector<fabric::DeviceId> ordered;
      for (const auto& domain : collective::domain_order(cards, routes))
        for (int i : domain) ordered.push_back(cards[static_cast<std::size_t>(i)]);
      cards.swap(ordered);
    }
    for (std::uint32_t p : programs_here)
      for (std::size_t k = 0; k < sys.programs[p].roles.size(); ++k) {
        const Role& role = sys.programs[p].roles[k];
        if (role.kind != OpKind::kCollective || role.dim != c.dim) continue;
        for (auto [kind, bytes] : sys.programs[p].uses[k]) {
          auto [plan, fresh] = sys.plans.try_emplace({kind, bytes, c.shape});
          if (fresh && shape.members > 1) {
            collective::Choice choice;
            if (forced && forced->supports(kind, shape)) choice = {forced, predictor.cost(*forced, kind, shape, cards, Bytes(bytes))};
            if (!choice.algorithm || !std::isfinite(choice.cost.time.value())) choice = predictor.choose(kind, shape, cards, Bytes(bytes));
            plan->second.algorithm = choice.algorithm->name;
            plan->second.latency = to_picos(choice.cost.latency_part);
            plan->second.phases = patterns.of(*choice.algorithm, kind, shape.members, collective::per_domain(shape));
          }
          for (auto [pattern, factor] : plan->second.phases) {
            if (c.usage(pattern)) continue;
            double scale = 0;
            auto links = usages.of(patterns.entries[pattern].phase, cards, shape.domains == 1, scale);
            if (!links) return std::unexpected(links.error().in(where));
            put(c, pattern, scale, *links);
          }
        }
      }
  }
  for (std::uint32_t l : sys.links) {
    fabric::LinkId link = fabric::DirectedLink{l}.link();
    sys.capacity.push_back(snapshot.payload_rate(link).value());
    if (!(sys.capacity.back() > 0))
      return fail(ErrorKind::kInvalid, fmt::format("the rate of {} is not known: give it in the site file", snapshot.name(link)),
                  snapshot.site_name());
  }
  return sys;
}

}  // namespace weft::sim
