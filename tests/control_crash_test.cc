// The controller dies at every journal entry, before or after writing it, and comes back on the same journal against the same world. The world's
// own log of effects must show every action once: nothing lost, nothing doubled.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "control/loop.h"
#include "fabric/site.h"
#include "scenario/scenario.h"
#include "store/store.h"
#include "twin/world.h"

namespace weft {
namespace {

struct Crash {};

// Throws at the n-th append, before or after it is written.
class DyingStore : public store::Store {
 public:
  DyingStore(store::Store& inner, int at, bool after) : inner_(inner), left_(at), after_(after) {}
  Result<std::int64_t> append(const store::JournalEntry& e) override {
    bool now = left_-- == 0;
    if (now && !after_) throw Crash();
    auto done = inner_.append(e);
    if (now) throw Crash();
    return done;
  }
  Result<std::vector<store::JournalEntry>> read(std::int64_t after, std::size_t limit) override { return inner_.read(after, limit); }
  Result<std::vector<store::JournalEntry>> audit(const std::string& e, const std::string& w, Instant f, Instant t, std::size_t l) override {
    return inner_.audit(e, w, f, t, l);
  }
  Status put_samples(const std::vector<store::StoredSample>& s) override { return inner_.put_samples(s); }
  Result<std::vector<store::StoredSample>> samples(const std::string& m, const std::string& e, Instant f, Instant t) override {
    return inner_.samples(m, e, f, t);
  }
  Status put(const std::string& k, const Json& v) override { return inner_.put(k, v); }
  Result<Json> get(const std::string& k) override { return inner_.get(k); }

 private:
  store::Store& inner_;
  int left_;
  bool after_;
};

constexpr const char* kScenario = R"(site: lab-32
for: 9m
jobs:
  - {name: alpha, model: llama-3-8b, strategy: {tp: 8, dp: 2, global_batch: 32}, policy: {checkpoint_every: 2m}}
faults:
  - {fault: card_off_bus, at: 100s}
)";

struct Played {
  std::map<std::string, int> effects;  // "kind target" → how often it succeeded
  std::set<std::string> ids;
  bool doubled = false;  // an id had two effects
  int appends = 0;
  std::uint64_t snapshot = 0;
  bool isolated = false, running = false;
};

Played play(int crash_at, bool after) {
  Played out;
  auto scenario = scenario::parse_scenario(kScenario, "crash.yaml");
  EXPECT_TRUE(scenario.has_value()) << scenario.error().text();
  auto snapshot = fabric::load_site(scenario->site);
  telemetry::SeriesTable series;
  twin::WorldOptions options;
  options.actuator_failure = 0;
  twin::World world(*snapshot, series, options);
  for (const auto& job : scenario->jobs) EXPECT_TRUE(world.add_job(job).has_value());
  for (const auto& fault : scenario->faults) EXPECT_TRUE(world.inject(fault).has_value());
  auto memory = *store::backends().find("memory")->open("");
  Instant end = world.now() + scenario->lasts;
  for (bool again = false;; again = true) {
    DyingStore dying(*memory, again ? -1 : crash_at, after);
    control::Loop loop(*snapshot, world, {&world}, {&world}, series, dying, {});
    try {
      EXPECT_TRUE(loop.recover().has_value());
      for (const auto& job : scenario->jobs) EXPECT_TRUE(loop.submit(job).has_value());
      Status ran = loop.run(end);
      EXPECT_TRUE(ran.has_value()) << ran.error().text();
    } catch (const Crash&) {
      continue;
    }
    out.snapshot = loop.snapshot()->content_hash();
    for (const auto& v : loop.jobs()) out.running = v.running;
    break;
  }
  for (const twin::Effect& e : world.effects()) {
    if (!e.succeeded) continue;
    if (!out.ids.insert(e.action_id).second) out.doubled = true;
    if (e.kind.starts_with("probe")) continue;  // measuring again changes nothing
    ++out.effects[e.kind + " " + e.target];
    if (e.kind == "cordon") out.isolated = true;
  }
  out.appends = static_cast<int>(memory->read(0, 1'000'000)->size());
  return out;
}

TEST(ControlCrash, AtEveryJournalEntryNothingIsLostOrDoubled) {
  Played whole = play(-1, false);
  EXPECT_TRUE(whole.isolated) << "the fault must lead to an isolation, else this test proves nothing";
  EXPECT_TRUE(whole.running);
  ASSERT_GT(whole.appends, 12);
  int step = std::max(1, whole.appends / 20);  // a sample in the fast suite; the slow one takes every entry
  for (int n = 0; n < whole.appends; n += step)
    for (bool after : {false, true}) {
      Played broken = play(n, after);
      EXPECT_FALSE(broken.doubled) << "crash at entry " << n << (after ? " after" : " before") << " writing";
      EXPECT_EQ(broken.effects, whole.effects) << "crash at entry " << n << (after ? " after" : " before") << " writing";
      EXPECT_TRUE(broken.running) << n;
    }
}

}  // namespace
}  // namespace weft
