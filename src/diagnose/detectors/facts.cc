// Settings and versions: who differs from most of its kind, what changed. A difference is a finding only for the odd one out.
#include "diagnose/detectors/support.h"

namespace weft::diagnose {
namespace {

struct Watched {
  std::string_view key, sign;
  Layer layer;
};
constexpr Watched kWatched[] = {
    {fact::kCommLibrary, "fact_comm_library", Layer::kSoftware},
    {fact::kDriver, "fact_driver", Layer::kSoftware},
    {fact::kEcn, "fact_ecn", Layer::kNetwork},
    {fact::kFirmware, "fact_firmware", Layer::kSoftware},
    {fact::kGovernor, "fact_governor", Layer::kHost},
    {fact::kKernel, "fact_kernel", Layer::kSoftware},
    {fact::kMtu, "fact_mtu", Layer::kNetwork},
    {fact::kPfc, "fact_pfc", Layer::kNetwork},
    {fact::kTrust, "fact_trust", Layer::kNetwork},
};

// Kind of part, so that a switch port's MTU is compared with switch ports of that tier.
std::string peers_of(const Context& c, const std::string& entity) {
  if (!c.machine.ready()) return "";
  const Part& p = c.machine.part(entity);
  if (!p.device.ok()) return "?";
  const fabric::Device& d = c.machine.snapshot().device(p.device);
  return fmt::format("{}{}/{}/{}", kind_name(d.kind), p.port.ok() ? " port" : "", d.tier, d.model);
}

void sweep_facts(Context& c) {
  // Nothing new and nothing standing: nothing to compare.
  bool standing = false;
  for (std::string_view sign : {"algorithm_changed", "neighbor_mismatch"}) each_alive(c, sign, [&](const Finding&) { standing = true; });
  for (const Watched& w : kWatched) each_alive(c, w.sign, [&](const Finding&) { standing = true; });
  if (!standing && c.now - c.log.facts_changed > seconds(30)) return;
  for (const Watched& w : kWatched) {
    std::map<std::string, std::map<std::string, std::vector<std::string>>> kinds;  // kind → value → entities
    for (auto at = c.log.facts.lower_bound(std::pair(std::string(w.key), std::string()));
         at != c.log.facts.end() && at->first.first == w.key; ++at)
      kinds[peers_of(c, at->first.second)][at->second.value].push_back(at->first.second);
    for (const auto& [kind, values] : kinds) {
      std::size_t total = 0, most = 0;
      std::string usual;
      for (const auto& [value, who] : values) {
        total += who.size();
        if (who.size() > most) most = who.size(), usual = value;
      }
      if (values.size() < 2) continue;
      bool clear = total >= 4 && most * 4 >= total * 3;
      for (const auto& [value, who] : values) {
        if (value == usual) continue;
        for (const std::string& entity : who) {
          const FactState* state = c.log.fact(w.key, entity);
          bool changed = state->changed && state->before == usual;
          if (!clear && !changed) continue;
          c.raise(w.sign, entity, w.layer, changed ? 1.0 : 0.8, seconds(25), state->since,
                  {{std::string(w.key), entity, 0, 0,
                    fmt::format("{} is '{}', {} of {} others have '{}'{}", w.key, value, most, total - 1, usual,
                                changed ? "; it was changed" : ""),
                    state->since, c.now}});
        }
      }
    }
  }
  // The library's own choice of algorithm, once the job runs.
  for (auto at = c.log.facts.lower_bound(std::pair(std::string(fact::kAlgorithm), std::string()));
       at != c.log.facts.end() && at->first.first == fact::kAlgorithm; ++at)
    if (at->second.changed && c.now - at->second.since < hours(1))
      c.raise("algorithm_changed", at->first.second, Layer::kSoftware, 0.9, seconds(25), at->second.since,
              {{std::string(fact::kAlgorithm), at->first.second, 0, 0, fmt::format("'{}' became '{}'", at->second.before, at->second.value),
                at->second.since, c.now}});
  // Cables as discovered.
  if (!c.machine.ready()) return;
  for (auto at = c.log.facts.lower_bound(std::pair(std::string(fact::kNeighbor), std::string()));
       at != c.log.facts.end() && at->first.first == fact::kNeighbor; ++at) {
    const Part& p = c.machine.part(at->first.second);
    const Part& seen = c.machine.part(at->second.value);
    if (!p.port.ok() || !seen.device.ok()) continue;
    fabric::PortId far = c.machine.snapshot().peer(p.port);
    if (!far.ok() || c.machine.snapshot().port(far).device == seen.device) continue;
    c.raise("neighbor_mismatch", at->first.second, Layer::kNetwork, 0.3, seconds(25), at->second.since,
            {{std::string(fact::kNeighbor), at->first.second, 0, 0,
              fmt::format("sees {}, the plan says {}", at->second.value, c.machine.snapshot().name(far)), at->second.since, c.now}});
  }
}

void on_config(Context& c, const telemetry::Event& e) {
  c.raise("config_changed", e.entity, Layer::kSoftware, 0.3, minutes(30), e.at, {{e.kind, e.entity, 0, 0, e.text, e.at, e.at}});
}

WEFT_REGISTER(detectors(), {"facts",
                            "settings and versions that differ from most of their kind",
                            {},
                            nullptr,
                            false,
                            nullptr,
                            {event::kConfigChanged},
                            on_config,
                            seconds(5),
                            sweep_facts});

}  // namespace
}  // namespace weft::diagnose
