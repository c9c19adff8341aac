// `weft twin` as a child process and a controller that is killed with SIGKILL again and again, for the fast and the slow test.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/random.h"
#include "control/loop.h"
#include "fabric/site.h"
#include "scenario/scenario.h"
#include "store/store.h"
#include "tests/paths.h"
#include "twin/process.h"

namespace weft::lives {

namespace fs = std::filesystem;

inline constexpr const char* kScenario = R"(site: lab-32
for: 9m
jobs:
  - {name: alpha, model: llama-3-8b, strategy: {tp: 8, dp: 2, global_batch: 32}, policy: {checkpoint_every: 2m}}
faults:
  - {fault: card_off_bus, at: 100s}
)";

struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "weft-twin-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
    std::ofstream(path / "crash.yaml") << kScenario;
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return (path / name).string(); }
};

// `weft twin` as a child, until the end of the test.
struct Twin {
  pid_t pid = -1;
  explicit Twin(const Folder& f, const char* failure = "0") {
    std::string binary = testing_paths::binary(), socket = f / "s", effects = f / "effects", scenario = f / "crash.yaml";
    pid = ::fork();
    if (pid == 0) {
      if (!::freopen("/dev/null", "w", stderr)) ::_exit(126);
      ::execl(binary.c_str(), "weft", "twin", "--socket", socket.c_str(), "--effects", effects.c_str(), "--scenario", scenario.c_str(),
              "--seed", "4", "--actuator-failure", failure, nullptr);
      ::_exit(127);
    }
    for (int i = 0; i < 600 && !fs::exists(socket); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ~Twin() {
    ::kill(pid, SIGTERM);
    ::waitpid(pid, nullptr, 0);
  }
};

inline std::vector<Json> effects_of(const Folder& f) {
  std::vector<Json> out;
  std::ifstream in(f / "effects");
  for (std::string line; std::getline(in, line);) {
    auto parsed = parse_json(line, "effects");
    EXPECT_TRUE(parsed.has_value()) << line;
    if (parsed) out.push_back(*parsed);
  }
  return out;
}

// One life of the controller, in a process of its own that may die at any instruction.
inline int controller(const Folder& folder) {
  auto scenario = scenario::parse_scenario(kScenario, "crash.yaml");
  auto snapshot = fabric::load_site("lab-32");
  telemetry::SeriesTable table;
  auto remote = twin::Remote::connect(folder / "s", table);
  auto journal = store::backends().find("sqlite")->open(folder / "journal.db");
  if (!scenario || !snapshot || !remote || !journal) return 3;
  control::Loop loop(*snapshot, **remote, {remote->get()}, {remote->get()}, table, **journal, {});
  if (!loop.recover()) return 4;
  for (const auto& job : scenario->jobs)
    if (!loop.submit(job)) return 5;
  return loop.run(twin::WorldOptions{}.start + scenario->lasts) ? 0 : 6;
}

// How long an undisturbed life takes here, in milliseconds: kill instants are drawn over it, whatever the machine's speed.
inline int whole_life_ms() {
  Folder folder;
  Twin twin(folder);
  auto begin = std::chrono::steady_clock::now();
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(controller(folder));
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count());
}

// Kills it up to `kills` times at instants drawn over a part of its usual life, then lets it finish. Returns how often it died.
inline int killed_again_and_again(int kills, std::uint64_t seed, int longest_ms) {
  Folder folder;
  Twin twin(folder);
  Random draw(seed);
  int died = 0;
  for (int life = 0;; ++life) {
    pid_t pid = ::fork();
    if (pid == 0) ::_exit(controller(folder));
    int status = 0;
    if (life < kills) {
      std::this_thread::sleep_for(std::chrono::microseconds(draw.integer(1000, longest_ms * 1000)));
      if (::waitpid(pid, &status, WNOHANG) == 0) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, &status, 0);
        ++died;
        continue;
      }
    } else {
      ::waitpid(pid, &status, 0);
    }
    EXPECT_TRUE(WIFEXITED(status)) << "life " << life;
    EXPECT_EQ(WEXITSTATUS(status), 0) << "life " << life;
    if (life >= kills) break;
    break;  // it reached the end of the scenario: nothing left to kill
  }
  std::map<std::string, int> seen, changed;
  for (const Json& e : effects_of(folder)) {
    ++seen[e["id"].get<std::string>()];
    std::string kind = e["kind"];
    if (e["succeeded"].get<bool>() && !kind.starts_with("probe")) ++changed[kind + " " + e["target"].get<std::string>()];
  }
  for (const auto& [id, n] : seen) EXPECT_EQ(n, 1) << "action " << id << " had " << n << " effects";
  for (const char* once : {"cordon", "work_order"}) {
    int n = 0;
    for (const auto& [what, count] : changed)
      if (what.starts_with(once)) n += count;
    EXPECT_LE(n, 1) << once;
  }
  // Nothing lost: what the journal says was done, the world did.
  auto journal = store::backends().find("sqlite")->open(folder / "journal.db");
  EXPECT_TRUE(journal.has_value());
  if (!journal) return died;
  auto entries = (*journal)->read(0, 1'000'000);
  EXPECT_TRUE(entries.has_value());
  if (!entries) return died;
  int outcomes = 0;
  for (const auto& e : *entries)
    if (e.kind == "outcome" && e.after->value("state", "") == "done") {
      ++outcomes;
      EXPECT_TRUE(seen.contains(e.subject)) << "journalled as done, not in the world's log: " << e.subject;
    }
  EXPECT_GE(outcomes, 3);
  return died;
}

}  // namespace weft::lives
