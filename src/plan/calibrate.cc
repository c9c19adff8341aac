#include "plan/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/embedded.h"
#include "base/yaml.h"

namespace weft::plan {
namespace {

double* field_of(workload::Efficiency& e, const std::string& field) {
  if (field == "matmul") return &e.matmul;
  if (field == "matmul_fp8") return &e.matmul_fp8;
  if (field == "matmul_fp4") return &e.matmul_fp4;
  if (field == "grouped") return &e.grouped;
  if (field == "attention") return &e.attention;
  if (field == "memory") return &e.memory;
  return nullptr;
}
bool card_field(const std::string& f) {
  workload::Efficiency e;
  return field_of(e, f) || f == "launch" || f == "ramp" || f == "inner_share";
}

double get(const Knowledge& k, const Parameter& p) {
  if (!p.software.empty()) {
    Software s = k.software.at(p.software);
    return *knob(s, p.field);
  }
  const std::string& card = p.cards[0];
  if (p.field == "inner_share") return k.inner_share.at(card);
  workload::Efficiency e = k.cards.at(card);
  if (p.field == "launch") return e.launch.value();
  if (p.field == "ramp") return e.ramp.value();
  return *field_of(e, p.field);
}
void set(Knowledge& k, const Parameter& p, double v) {
  if (!p.software.empty()) {
    *knob(k.software.at(p.software), p.field) = v;
    return;
  }
  for (const std::string& card : p.cards) {
    if (p.field == "inner_share") k.inner_share[card] = v;
    else if (p.field == "launch") k.cards[card].launch = Seconds(v);
    else if (p.field == "ramp") k.cards[card].ramp = Seconds(v);
    else *field_of(k.cards[card], p.field) = v;
  }
}

}  // namespace

Result<Knowledge> stated_knowledge(const std::vector<MeasuredRow>& rows) {
  Knowledge k;
  k.software = all_software();
  for (const MeasuredRow& r : rows)
    if (r.refused.empty() && !k.cards.contains(r.card)) {
      WEFT_ASSIGN(Machine m, machine_of_card(r.card));
      k.cards[r.card] = m.efficiency, k.inner_share[r.card] = m.inner_share;
    }
  return k;
}

Result<std::vector<Parameter>> calibration_parameters() {
  const std::string path = "data/plan/calibration.yaml";
  WEFT_ASSIGN(auto text, embedded_file(path));
  WEFT_ASSIGN(auto yaml, Yaml::parse(text, path));
  WEFT_TRY(yaml.only({"cards", "software"}));
  std::vector<Parameter> out;
  auto read = [&](Parameter p, const std::string& group, const std::string& field, const Yaml& y) -> Status {
    p.name = group + "." + field, p.field = field;
    Software probe;
    if (p.software.empty() ? !card_field(field) : !knob(probe, field)) return y.error("no parameter '" + field + "'");
    if (y.size() != 2) return y.error("expected [low, high]");
    WEFT_ASSIGN(p.low, y.at(0).number(0, 1e12));
    WEFT_ASSIGN(p.high, y.at(1).number(p.low, 1e12));
    out.push_back(std::move(p));
    return {};
  };
  for (auto& [group, y] : yaml.get("cards").entries()) {
    Parameter p;
    for (const Yaml& c : y.get("cards").items()) {
      WEFT_ASSIGN(auto card, c.text());
      p.cards.push_back(card);
    }
    if (p.cards.empty()) return y.error("name the cards");
    for (auto& [field, range] : y.entries())
      if (field != "cards") WEFT_TRY(read(p, group, field, range));
  }
  for (auto& [name, y] : yaml.get("software").entries()) {
    Parameter p;
    p.software = name;
    WEFT_TRY(software(name));
    for (auto& [field, range] : y.entries()) WEFT_TRY(read(p, name, field, range));
  }
  return out;
}

Knowledge neutral(const Knowledge& stated, const std::vector<Parameter>& parameters) {
  Knowledge k = stated;
  for (const Parameter& p : parameters)
    if (!p.software.empty() || k.cards.contains(p.cards[0])) set(k, p, p.low > 0 ? std::sqrt(p.low * p.high) : (p.low + p.high) / 2);
  return k;
}

Fitted calibrate(const std::vector<MeasuredRow>& rows, const Knowledge& start, const std::vector<Parameter>& parameters,
                 const std::function<bool(const MeasuredRow&)>& use, int rounds) {
  Fitted out;
  out.knowledge = start;
  Knowledge& k = out.knowledge;
  std::vector<const MeasuredRow*> used;
  std::map<std::string, double> weight;  // 1 / rows of the source
  for (const MeasuredRow& r : rows)
    if (!r.memory && use(r) && predict(r, k).failed.empty()) used.push_back(&r), weight[r.source] += 1;
  for (auto& [name, w] : weight) w = 1 / w;
  std::vector<double> score(used.size());
  auto loss = [&](const MeasuredRow& r) { return weight[r.source] * std::abs(std::log(predict(r, k).value / r.value)); };
  double total = 0;
  for (std::size_t i = 0; i < used.size(); ++i) total += score[i] = loss(*used[i]);
  double sources = std::max<std::size_t>(1, weight.size());
  out.before = total / sources;
  struct State {
    std::vector<std::size_t> rows;
    double step = 0.16;
  };
  std::vector<State> states;
  for (const Parameter& p : parameters) {
    State s;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (p.software.empty() ? std::find(p.cards.begin(), p.cards.end(), used[i]->card) != p.cards.end() : used[i]->software == p.software)
        s.rows.push_back(i);
    states.push_back(std::move(s));
    set(k, p, std::clamp(get(k, p), p.low, p.high));
  }
  for (std::size_t i = 0; i < used.size(); ++i) score[i] = loss(*used[i]);
  int looks = 0;
  for (int round = 0; round < rounds; ++round) {
    bool fine = true;
    for (std::size_t n = 0; n < parameters.size(); ++n) {
      const Parameter& p = parameters[n];
      State& s = states[n];
      if (s.rows.empty() || s.step < 0.01) continue;
      fine = false;
      double now = get(k, p), here = 0, best = 0, best_value = now;
      for (std::size_t i : s.rows) here += score[i];
      best = here - 1e-9;
      std::vector<double> best_scores, trial(s.rows.size());
      for (int sign : {1, -1}) {
        double v = std::clamp(p.low > 0 ? now * (1 + sign * s.step) : now + sign * s.step * (p.high - p.low) / 2, p.low, p.high);
        if (v == now) continue;
        set(k, p, v);
        double sum = 0;
        for (std::size_t j = 0; j < s.rows.size(); ++j) sum += trial[j] = loss(*used[s.rows[j]]);
        if (sum < best) best = sum, best_value = v, best_scores = trial;
      }
      set(k, p, best_value);
      if (best_scores.empty()) {
        s.step /= 2;
        continue;
      }
      for (std::size_t j = 0; j < s.rows.size(); ++j) score[s.rows[j]] = best_scores[j];
    }
    if (!fine) continue;
    // Settled. Parameters trade against each other: look again with larger steps, a few times.
    if (++looks > 6) break;
    for (State& s : states) s.step = looks % 2 ? 0.08 : 0.3;
  }
  total = 0;
  for (double v : score) total += v;
  out.after = total / sources;
  for (const Parameter& p : parameters) out.values.push_back(get(k, p));
  return out;
}

}  // namespace weft::plan
