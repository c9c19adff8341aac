#include "plan/validate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/estimate.h"

namespace weft::plan {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double median(std::vector<double> v) {
  if (v.empty()) return kNone;
  std::sort(v.begin(), v.end());
  std::size_t n = v.size();
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

}  // namespace

Prediction predict(const MeasuredRow& row, const Knowledge& k) {
  Prediction out;
  if (!row.refused.empty()) {
    out.failed = row.refused;
    return out;
  }
  auto fail_with = [&](const Error& e) {
    out.failed = e.text();
    return out;
  };
  if (auto ok = workload::validate(row.model, row.strategy); !ok) return fail_with(ok.error());
  // Reading files costs more than predicting: a row of a calibration finds everything in `knowledge`.
  Software sw;
  if (auto at = k.software.find(row.software); at != k.software.end()) {
    sw = at->second;
  } else {
    auto read = software(row.software);
    if (!read) return fail_with(read.error());
    sw = *read;
  }
  static thread_local std::map<std::string, Machine> machines;
  auto known = machines.find(row.card);
  if (known == machines.end()) {
    auto m = machine_of_card(row.card);
    if (!m) return fail_with(m.error());
    known = machines.emplace(row.card, *m).first;
  }
  Machine machine = known->second;
  if (auto at = k.cards.find(row.card); at != k.cards.end()) machine.efficiency = at->second;
  if (auto at = k.inner_share.find(row.card); at != k.inner_share.end()) machine.inner_share = at->second;
  if (row.outer > 0) machine.outer = BytesPerSecond(row.outer);
  auto estimator = Estimator::make(row.model, machine, sw, row.strategy.precision);
  if (!estimator) return fail_with(estimator.error());
  workload::Strategy s = row.strategy;
  Estimate e = estimator->estimate(s);
  // A source that does not say its sharding ran what fits: parameters sharded where the optimizer's alone would not do.
  if (s.zero == 1 && s.pp * s.tp == 1 && e.memory.total > estimator->memory_limit() && !row.memory) {
    s.zero = 3;
    e = estimator->estimate(s);
  }
  out.value = row.memory ? e.memory.total : e.time.step;
  out.error = out.value / row.value - 1;
  return out;
}

Validation validate(std::vector<MeasuredRow> rows, const Knowledge& k) {
  Validation v;
  v.rows = std::move(rows);
  for (const MeasuredRow& r : v.rows) v.predictions.push_back(predict(r, k));
  auto rate = [](const MeasuredRow& r) { return r.flops / (r.value * r.strategy.world()); };
  auto usable = [&](std::size_t i) { return v.predictions[i].failed.empty() && !v.rows[i].memory; };
  auto alike = [](const MeasuredRow& a, const MeasuredRow& b) { return a.card == b.card && a.strategy.precision == b.strategy.precision; };
  std::vector<double> unseen(v.rows.size(), kNone);
  v.dumb.assign(v.rows.size(), kNone);
  for (std::size_t i = 0; i < v.rows.size(); ++i) {
    if (!usable(i)) continue;
    std::vector<double> own, other;
    for (std::size_t j = 0; j < v.rows.size(); ++j)
      if (usable(j) && alike(v.rows[i], v.rows[j])) (v.rows[i].source == v.rows[j].source ? own : other).push_back(rate(v.rows[j]));
    double mine = rate(v.rows[i]);
    v.dumb[i] = mine / median(own) - 1, unseen[i] = mine / median(other) - 1;
  }
  auto summarise = [&](SourceErrors& s, auto belongs) {
    double dumb = 0, blind = 0;
    int dumb_n = 0, blind_n = 0;
    for (std::size_t i = 0; i < v.rows.size(); ++i) {
      if (!belongs(v.rows[i])) continue;
      ++s.rows;
      const Prediction& p = v.predictions[i];
      if (!p.failed.empty()) {
        ++s.refused, ++s.reasons[p.failed];
        continue;
      }
      ++s.predicted;
      s.mean_abs_error += std::abs(p.error), s.bias += p.error, s.worst = std::max(s.worst, std::abs(p.error));
      if (std::isfinite(v.dumb[i])) dumb += std::abs(v.dumb[i]), ++dumb_n;
      if (std::isfinite(unseen[i])) blind += std::abs(unseen[i]), ++blind_n;
    }
    if (s.predicted) s.mean_abs_error /= s.predicted, s.bias /= s.predicted;
    s.dumb_error = dumb_n ? dumb / dumb_n : kNone, s.dumb_unseen_error = blind_n ? blind / blind_n : kNone;
  };
  for (const MeasuredRow& r : v.rows)
    if (std::none_of(v.sources.begin(), v.sources.end(), [&](const SourceErrors& s) { return s.name == r.source; }))
      v.sources.push_back({r.source});
  for (SourceErrors& s : v.sources) summarise(s, [&](const MeasuredRow& r) { return r.source == s.name; });
  v.overall.name = "overall";
  summarise(v.overall, [](const MeasuredRow& r) { return !r.memory; });
  return v;
}

}  // namespace weft::plan
