#include "diagnose/detector.h"

#include <algorithm>
#include <cmath>

namespace weft::diagnose {

Registry<DetectorEntry>& detectors() {
  static Registry<DetectorEntry> registry("detector");
  return registry;
}

const FactState* Log::fact(std::string_view key, std::string_view entity) const {
  auto at = facts.find(std::pair(std::string(key), std::string(entity)));
  return at == facts.end() ? nullptr : &at->second;
}

std::vector<const telemetry::Event*> Log::of(std::string_view entity, std::string_view kind, Instant from) const {
  std::vector<const telemetry::Event*> out;
  auto at = std::lower_bound(events.begin(), events.end(), from, [](const telemetry::Event& e, Instant t) { return e.at < t; });
  for (; at != events.end(); ++at)
    if (at->entity == entity && at->kind == kind) out.push_back(&*at);
  return out;
}

void Findings::raise(Instant now, std::string_view sign, std::string_view entity, Layer layer, double strength, Duration hold,
                     Instant since, std::vector<Evidence> evidence) {
  std::pair<std::string, std::string> key(sign, entity);
  auto [at, fresh] = live_.try_emplace(key);
  Live& live = at->second;
  Finding& f = live.finding;
  strength = std::clamp(strength, 0.0, 1.0);
  if (fresh) {
    f.sign = sign, f.entity = entity, f.layer = layer, f.since = since;
    ++changes_;
  } else if (std::abs(f.strength - strength) > 0.2) {
    ++changes_;
  }
  f.since = std::min(f.since, since);
  f.last = now;
  f.strength = strength;
  live.expires = std::max(live.expires, now + hold);
  for (Evidence& e : evidence) {
    auto same =
        std::find_if(f.evidence.begin(), f.evidence.end(), [&](const Evidence& o) { return o.metric == e.metric && o.entity == e.entity; });
    if (same != f.evidence.end()) *same = std::move(e);
    else if (f.evidence.size() < 8) f.evidence.push_back(std::move(e));
  }
}

void Findings::drop(std::string_view sign, std::string_view entity) {
  auto at = live_.find(std::pair(std::string(sign), std::string(entity)));
  if (at != live_.end()) live_.erase(at), ++changes_;
}

void Findings::expire(Instant now) {
  for (auto at = live_.begin(); at != live_.end();) {
    if (at->second.expires < now) at = live_.erase(at), ++changes_;
    else ++at;
  }
}

const Finding* Findings::find(std::string_view sign, std::string_view entity) const {
  auto at = live_.find(std::pair(std::string(sign), std::string(entity)));
  return at == live_.end() ? nullptr : &at->second.finding;
}

bool Context::raise(std::string_view sign, std::string_view entity, Layer layer, double strength, Duration hold, Instant since,
                    std::vector<Evidence> evidence) {
  if (machine.handled(machine.part(entity))) return false;
  findings.raise(now, sign, entity, layer, strength, hold, since, std::move(evidence));
  return true;
}

Evidence Context::evidence(telemetry::SeriesId id, double value, double baseline, std::string text, Instant from) const {
  return {std::string(table.metric(id)), std::string(table.entity(id)), value, baseline, std::move(text), from, now};
}

double Context::last(std::string_view metric, std::string_view entity, std::string_view labels) const {
  telemetry::SeriesId id = table.find(metric, entity, labels);
  return id.v == UINT32_MAX || !windows.has(id) || windows.stale(id, now, seconds(30)) ? NAN : windows.last(id);
}

}  // namespace weft::diagnose
