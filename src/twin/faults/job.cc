// What lies in the job or its place, not in the machine (published studies find these more often than broken parts: OSDI'25 straggler study).
#include <algorithm>

#include "twin/fault.h"

namespace weft::twin {
namespace {

bool has_experts(const State& s, const Target& t) { return s.job_experts[static_cast<std::size_t>(t.job)]; }

// Busiest rank 1.8 to 2.9 times the mean; all-to-all grows with it; hot rank changes with layer and data (tenstorrent/tt-metal#56304).
void experts(State& s, Active& a) {
  s.jobs[static_cast<std::size_t>(a.target.job)].expert_imbalance = 1 + s.parameters->get("expert_imbalance.extra") * a.magnitude;
  a.showing = true;
}
WEFT_REGISTER(
    faults(),
    {"expert_imbalance", "mixture-of-experts load unbalanced", Sits::kJob, Shows::kStep, {}, experts, nullptr, nullptr, has_experts});

// A random rank late by 0.1 to 2 s at random steps; the rank changes each time (pytorch/torchtitan#148).
void pauses(State& s, Active& a) {
  JobKnobs& j = s.jobs[static_cast<std::size_t>(a.target.job)];
  j.pause_chance = std::min(0.8, s.parameters->get("gc_pauses.chance") * a.magnitude),
  j.pause_seconds = s.parameters->get("gc_pauses.seconds") * a.magnitude;
  a.showing = true;
}
WEFT_REGISTER(faults(),
              {"gc_pauses", "unsynchronised garbage collection", Sits::kJob, Shows::kStep, {}, pauses, nullptr, nullptr, nullptr, false});

// The launcher orders ranks without regard to the topology from the next start on: traffic that belongs inside a node crosses tiers.
void scattered(State& s, Active& a) {
  s.jobs[static_cast<std::size_t>(a.target.job)].scattered = true;
  a.showing = true;
}
WEFT_REGISTER(faults(), {"placement_across_tiers",
                         "a group is placed across the wrong tier",
                         Sits::kJob,
                         Shows::kStep,
                         {},
                         scattered,
                         nullptr,
                         nullptr,
                         nullptr,
                         false});

// Another job's traffic on shared links: starts and stops with it, no error anywhere (GREYHOUND: 24 min on average).
void neighbour(State& s, Active& a) {
  s.jobs[static_cast<std::size_t>(a.target.job)].neighbour = std::min(0.8, s.parameters->get("neighbour_interference.share") * a.magnitude);
  a.showing = true;
}
WEFT_REGISTER(faults(), {"neighbour_interference",
                         "another job's traffic on shared links",
                         Sits::kJob,
                         Shows::kStep,
                         {},
                         neighbour,
                         nullptr,
                         nullptr,
                         nullptr,
                         false});

}  // namespace
}  // namespace weft::twin
