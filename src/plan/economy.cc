#include "plan/economy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/embedded.h"
#include "base/yaml.h"

namespace weft::plan {

Result<Economy> economy() {
  const std::string path = "data/plan/economy.yaml";
  WEFT_ASSIGN(auto text, embedded_file(path));
  WEFT_ASSIGN(auto yaml, Yaml::parse(text, path));
  Economy e;
  for (auto [key, into] : {std::pair{"failures_per_card_hour", &e.failures_per_card_hour},
                           {"restart", &e.restart_s},
                           {"checkpoint_pause_share", &e.checkpoint_pause_share},
                           {"checkpoint_rate", &e.checkpoint_rate},
                           {"system_power", &e.system_power},
                           {"pue", &e.pue},
                           {"card_power_share", &e.card_power_share},
                           {"usd_per_kwh", &e.usd_per_kwh},
                           {"system_price", &e.system_price},
                           {"years", &e.years},
                           {"default_card_usd", &e.default_card_usd},
                           {"scale_out_usd", &e.scale_out_usd}}) {
    WEFT_ASSIGN(*into, yaml.get(key).get("value").number(0, 1e12));
    WEFT_ASSIGN(auto source, yaml.get(key).get("source").text());
    e.assumed.push_back(fmt::format("{} {:g}: {}", key, *into, source));
  }
  for (const Yaml& y : yaml.get("scale_up").items()) {
    Economy::Tier t;
    WEFT_ASSIGN(auto domain, y.get("domain").integer(1, 1 << 20));
    WEFT_ASSIGN(t.usd, y.get("usd").number(0, 1e9));
    WEFT_ASSIGN(t.about, y.get("about").text());
    t.domain = static_cast<int>(domain);
    e.scale_up.push_back(t);
    e.assumed.push_back(fmt::format("scale-up network up to {} cards: {:g} USD a card ({})", t.domain, t.usd, t.about));
  }
  return e;
}

double best_interval(double pause, double failures) { return failures > 0 ? std::sqrt(2 * pause / failures) : INFINITY; }

double scale_up_usd(const Economy& e, int domain) {
  for (const Economy::Tier& t : e.scale_up)
    if (domain <= t.domain) return t.usd;
  return e.scale_up.empty() ? 0 : e.scale_up.back().usd;
}

int spares(const Economy& e, int domain, double repair_hours, double risk) {
  double mean = e.failures_per_card_hour * domain * repair_hours, term = std::exp(-mean), sum = term;
  int k = 0;
  while (1 - sum > risk && k < domain) sum += term *= mean / ++k;
  return k;
}

Run run_of(const Economy& e, const Machine& m, double parameters, int cards, double step, double tokens_per_step, double tokens) {
  Run r;
  double seconds = tokens / tokens_per_step * step;
  double failures = e.failures_per_card_hour * cards / 3600;
  r.days = seconds / 86400, r.failures_per_day = failures * 86400;
  r.checkpoint_write_s = parameters * e.checkpoint_bytes / (e.checkpoint_rate * cards);
  double pause = r.checkpoint_write_s * e.checkpoint_pause_share;
  // Not more often than one is written.
  r.checkpoint_every_s = std::max(best_interval(pause, failures), r.checkpoint_write_s);
  double lost = pause / r.checkpoint_every_s + failures * (r.checkpoint_every_s / 2 + e.restart_s);
  r.goodput = 1 / (1 + lost);
  r.days_with_failures = r.days / r.goodput;
  double power = m.card.power ? m.card.power->value() : 700;
  r.megawatt_hours = power * e.card_power_share * e.system_power * e.pue * cards * r.days_with_failures * 24 / 1e6;
  double capital = m.price_usd > 0 ? m.price_usd : e.default_card_usd;
  capital = capital * e.system_price + scale_up_usd(e, m.domain) + e.scale_out_usd;
  double usd_per_card_hour = capital / (e.years * 365.25 * 24);
  r.usd_energy = r.megawatt_hours * 1000 * e.usd_per_kwh;
  r.usd = usd_per_card_hour * cards * r.days_with_failures * 24 + r.usd_energy;
  return r;
}

}  // namespace weft::plan
