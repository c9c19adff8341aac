#include "plan/size.h"

#include <fmt/format.h>

#include <algorithm>

#include "workload/account.h"

namespace weft::plan {

using workload::Dim;

std::vector<DimensionMap> communication_map(const workload::Model& model, const workload::Strategy& s, int domain) {
  std::vector<DimensionMap> out;
  for (const workload::Traffic& t : workload::account(model, s, s.pp / 2)) {
    auto at = std::find_if(out.begin(), out.end(), [&](const DimensionMap& d) { return d.dim == t.dim; });
    if (at == out.end()) {
      DimensionMap d;
      d.dim = t.dim, d.members = t.members;
      switch (t.dim) {
        case Dim::kTp: d.reach = s.tp; break;
        case Dim::kCp: d.reach = s.tp * s.cp; break;
        case Dim::kEp: d.reach = s.ep; break;
        case Dim::kDp: d.reach = s.tp * s.cp * s.dp; break;
        case Dim::kPp: d.reach = s.world(); break;
      }
      d.inside = d.reach <= domain;
      out.push_back(d), at = out.end() - 1;
    }
    at->sent += t.sent, at->exposed = at->exposed || t.exposed, at->members = std::max(at->members, t.members);
  }
  return out;
}

Result<SizeAnswer> size(const workload::Model& model, const Machine& machine, const Software& software, SearchSpace space,
                        const Economy& economy, double tokens) {
  SizeAnswer out;
  std::vector<int> sizes = {1, 2, 4, 8, 16, 32, 64, 72, 128, 256, 384, 512, 1024};
  space.keep = 1;
  double step_tokens = static_cast<double>(space.global_batch) * space.sequence, parameters = static_cast<double>(model.parameters());
  for (int domain : sizes) {
    if (domain > space.cards) break;
    Machine m = machine;
    m.domain = domain;
    WEFT_ASSIGN(Estimator e, Estimator::make(model, m, software, space.precision));
    SearchResult r = search(e, space);
    SizePoint p;
    p.domain = domain;
    if (r.best.empty()) {
      p.why_not = r.first_constraint;
    } else {
      p.fits = true, p.best = r.best[0];
      p.run = run_of(economy, m, parameters, space.cards, p.best.estimate.time.step, step_tokens, tokens);
      double all = 0, in = 0;
      for (const DimensionMap& d : communication_map(model, p.best.strategy, domain)) all += d.sent, in += d.inside ? d.sent : 0;
      p.inside = all > 0 ? in / all : 1;
    }
    out.curve.push_back(std::move(p));
  }
  auto best = [&](auto value) {
    int at = -1;
    for (int i = 0; i < static_cast<int>(out.curve.size()); ++i)
      if (out.curve[i].fits && (at < 0 || value(out.curve[i]) < value(out.curve[at]))) at = i;
    return at;
  };
  auto first_within = [&](auto value, int of, double share) {
    for (int i = 0; i < static_cast<int>(out.curve.size()); ++i)
      if (out.curve[i].fits && value(out.curve[i]) <= value(out.curve[of]) * (1 + share)) return i;
    return of;
  };
  auto time = [](const SizePoint& p) { return p.best.estimate.time.step; };
  auto cost = [](const SizePoint& p) { return p.run.usd; };
  out.fastest = best(time), out.cheapest = best(cost);
  if (out.fastest < 0) {
    out.reasons.push_back("nothing fits at any domain size: " + (out.curve.empty() ? std::string("no cards") : out.curve.back().why_not));
    return out;
  }
  out.knee = first_within(time, out.fastest, 0.05), out.needed = first_within(cost, out.cheapest, 0.02);
  const SizePoint &needed = out.curve[out.needed], &fastest = out.curve[out.fastest], &knee = out.curve[out.knee];
  out.supernode = needed.domain > 8;
  const SizePoint* server = nullptr;
  for (const SizePoint& p : out.curve)
    if (p.fits && p.domain <= 8) server = &p;
  if (out.supernode) {
    out.with_margin_low = std::min(space.cards, (needed.domain * 3 + 1) / 2),
    out.with_margin_high = std::min(space.cards, needed.domain * 2);
    if (server)
      out.reasons.push_back(
          fmt::format("a server of eight takes {:.0f} % longer a step and costs {:.0f} % more for the run than a domain of {}",
                      100 * (time(*server) / time(needed) - 1), 100 * (cost(*server) / cost(needed) - 1), needed.domain));
    else out.reasons.push_back("in servers of eight nothing fits");
  } else {
    out.with_margin_low = out.with_margin_high = needed.domain;
    out.reasons.push_back(fmt::format(
        "you do not need a supernode: in domains of {} the run costs least; the fastest size, {}, shortens the step by {:.1f} % only{}",
        needed.domain, fastest.domain, 100 * (1 - time(fastest) / time(needed)),
        cost(fastest) > cost(needed) ? fmt::format(" and costs {:.1f} % more", 100 * (cost(fastest) / cost(needed) - 1)) : std::string()));
  }
  const Time& t = needed.best.estimate.time;
  double waits = t.tp + t.cp + t.ep;
  out.reasons.push_back(
      fmt::format("at {} cards a domain the step waits {:.1f} % of its time for tensor, context and expert exchange, {:.1f} % for pipeline "
                  "(bubble included), {:.1f} % for data parallelism",
                  needed.domain, 100 * waits / t.step, 100 * (t.bubble + t.pp) / t.step, 100 * (t.dp + t.zero3) / t.step));
  out.reasons.push_back(
      fmt::format("the knee, the smallest domain within 5 % of the fastest step, is {}; beyond it the step gains {:.1f} % in all",
                  knee.domain, 100 * (1 - time(fastest) / time(knee))));
  if (space.schedules) {
    // The answer depends on whether the framework hides the exchange: say how.
    SearchSpace plain = space;
    plain.schedules = false;
    WEFT_ASSIGN(SizeAnswer other, size(model, machine, software, plain, economy, tokens));
    if (other.needed >= 0) {
      const SizePoint& p = other.curve[other.needed];
      out.plain_needed = p.domain;
      if (p.domain != needed.domain)
        out.reasons.push_back(
            fmt::format("with 1F1B schedules only (no zero-bubble, no dual-pipe, which hide the exchange) the needed domain is {}, the "
                        "step {:.3g} s instead of {:.3g} s",
                        p.domain, time(p), time(needed)));
      else out.reasons.push_back(fmt::format("the same with 1F1B schedules only: {}", p.domain));
    }
  }
  out.spares = spares(economy, needed.domain, 24, 1e-3);
  out.reasons.push_back(
      fmt::format("{} spare card{} a domain keep{} it whole through 999 of 1000 repairs of 24 h at the published failure rate", out.spares,
                  out.spares == 1 ? "" : "s", out.spares == 1 ? "s" : ""));
  return out;
}

}  // namespace weft::plan
