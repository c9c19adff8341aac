// Days, failures, energy and money of a run. Closed forms; every price, rate and duration that is not the user's is declared in
// data/plan/economy.yaml with its source and shown as assumed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plan/machine.h"

namespace weft::plan {

struct Economy {
  double failures_per_card_hour = 0;
  double restart_s = 0, checkpoint_pause_share = 0;  // of writing; 1: synchronous
  double checkpoint_rate = 0;                        // bytes/s one card writes
  double checkpoint_bytes = 14;                      // per parameter
  double card_power_share = 0, system_power = 0, pue = 0, usd_per_kwh = 0;
  double system_price = 0, years = 0, default_card_usd = 0;
  struct Tier {
    int domain;  // up to this many cards
    double usd;  // of the scale-up network, per card
    std::string about;
  };
  std::vector<Tier> scale_up;
  double scale_out_usd = 0;
  std::vector<std::string> assumed;
};
Result<Economy> economy();

struct Run {
  double days = 0, days_with_failures = 0, goodput = 1;
  double failures_per_day = 0, checkpoint_every_s = 0, checkpoint_write_s = 0;
  double megawatt_hours = 0, usd = 0, usd_energy = 0;
};
// `step` seconds for `tokens_per_step`; tokens of the whole run.
Run run_of(const Economy& economy, const Machine& machine, double parameters, int cards, double step, double tokens_per_step,
           double tokens);
// Young 1974, Daly 2006: sqrt(2 · pause · mean time between failures), with the pause a checkpoint costs.
double best_interval(double pause, double failures_per_second);
double scale_up_usd(const Economy& economy, int domain);
// Spares that a domain needs so that it is short of cards less than once in `risk` repairs (Poisson of what fails while one is repaired).
int spares(const Economy& economy, int domain, double repair_hours, double risk);

}  // namespace weft::plan
