// What the tests of the twin share: lab-32 with two small training jobs, started as the loop would start them, and a memory of all that
// was emitted.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fabric/site.h"
#include "telemetry/names.h"
#include "twin/world.h"
#include "workload/model.h"

namespace weft::twin {

inline const fabric::Snapshot& lab() {
  static const fabric::Snapshot snapshot = [] {
    auto s = fabric::load_site("lab-32");
    if (!s) ADD_FAILURE() << s.error().text();
    return *s;
  }();
  return snapshot;
}

inline workload::Job small_job(const std::string& name, bool experts = false) {
  workload::Job job;
  job.name = name;
  auto model = workload::load_model(experts ? "mixtral-8x7b" : "llama-3-8b");
  if (!model) ADD_FAILURE() << model.error().text();
  else job.model = *model;
  job.strategy.tp = 8, job.strategy.dp = 2, job.strategy.global_batch = 16;
  if (experts) job.strategy.tp = 4, job.strategy.dp = 4, job.strategy.ep = 4;
  job.policy.checkpoint_every = minutes(5);
  return job;
}

struct Series {
  std::vector<std::pair<double, double>> points;  // seconds since start, value
};

// Everything works at the first attempt.
inline WorldOptions quiet_options(std::uint64_t seed = 1) {
  WorldOptions o;
  o.seed = seed, o.actuator_failure = 0;
  return o;
}

struct Scene {
  telemetry::SeriesTable table;
  WorldOptions options;
  std::unique_ptr<World> world;
  std::map<std::uint32_t, Series> series;
  std::vector<telemetry::Event> events;
  std::vector<telemetry::Fact> facts;
  std::vector<telemetry::OpRecord> ops;
  int actions = 0;

  explicit Scene(WorldOptions o = quiet_options(), bool experts = false) : options(o) {
    world = std::make_unique<World>(lab(), table, options);
    for (const char* name : {"alpha", "beta"}) {
      auto added = world->add_job(small_job(name, experts));
      EXPECT_TRUE(added.has_value()) << (added ? "" : added.error().text());
    }
  }
  heal::Action action(std::string_view kind, std::string target, Json parameters = Json::object()) {
    heal::Action a;
    a.id = "A" + std::to_string(++actions), a.kind = kind, a.target = std::move(target), a.parameters = parameters;
    return a;
  }
  // Starts an action and lives until it has an outcome.
  control::ActionStatus act(std::string_view kind, std::string target, Json parameters = Json::object(), double patience_s = 20000) {
    heal::Action a = action(kind, std::move(target), std::move(parameters));
    auto started = world->start(a);
    if (!started) return {control::ActionState::kFailed, started.error().text(), {}};
    Instant end = world->now() + seconds(patience_s);
    while (world->now() < end && world->query(a.id)->state == control::ActionState::kRunning) run(1);
    return *world->query(a.id);
  }
  Json cards_of(int job) const {
    Json cards = Json::array();
    for (int i = 0; i < 16; ++i) cards.push_back(lab().name(lab().cards()[static_cast<std::size_t>(job * 16 + i)]));
    return cards;
  }
  void start_jobs() {
    for (int j = 0; j < 2; ++j)
      EXPECT_EQ(act(heal::action::kJobStart, j ? "job/beta" : "job/alpha", {{"cards", cards_of(j)}, {"resume", false}}).state,
                control::ActionState::kDone);
  }
  double at(Instant t) const { return to_seconds(t - options.start); }
  double clock() const { return at(world->now()); }
  void run(double for_s) {
    Instant end = world->now() + seconds(for_s);
    telemetry::Batch b;
    while (world->now() < end) {
      world->wait_until(world->now() + options.sample_every);
      b.clear();
      EXPECT_TRUE(world->poll(world->now(), b).has_value());
      for (const auto& s : b.samples) series[s.series.v].points.emplace_back(at(s.at), s.value);
      events.insert(events.end(), b.events.begin(), b.events.end());
      facts.insert(facts.end(), b.facts.begin(), b.facts.end());
      ops.insert(ops.end(), b.ops.begin(), b.ops.end());
    }
  }
  const Series* find(std::string_view metric, std::string_view entity, std::string_view labels = {}) const {
    auto at = series.find(table.find(metric, entity, labels).v);
    return at == series.end() ? nullptr : &at->second;
  }
  int count(std::string_view kind, double from = 0) const {
    int n = 0;
    for (const auto& e : events) n += e.kind == kind && at(e.at) >= from;
    return n;
  }
};

inline double median(std::vector<double> v) {
  if (v.empty()) return std::nan("");
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
inline std::vector<double> between(const Series& s, double from, double to) {
  std::vector<double> out;
  for (const auto& [t, v] : s.points)
    if (t > from && t <= to) out.push_back(v);
  return out;
}
inline double growth(const Series& s, double from, double to) {
  auto v = between(s, from, to);
  return v.size() < 2 ? 0 : v.back() - v.front();
}

}  // namespace weft::twin
