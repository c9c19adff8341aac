// A scenario is text: a site, jobs, faults at times, and what must come of it. The runner drives the loop over the twin; the judge
// compares the loop's incidents with the twin's truth afterwards, and never during.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/yaml.h"
#include "control/loop.h"
#include "telemetry/types.h"
#include "twin/world.h"
#include "workload/types.h"

namespace weft::scenario {

// What must come of one injected fault. Defaults follow the fault class's remedy.
struct Expectation {
  std::string fault;                     // class id; matches faults of the scenario in order
  std::string outcome;                   // "recovered", "reported", "watched"; "" = from the class
  Duration recover_within = seconds(0);  // from the first exported sample beyond its threshold; 0 = the class's limit
  Duration detect_within = seconds(0);
  std::vector<std::string> look_alikes;  // classes the facts call indistinguishable here: "undecided" is then legal
};

struct Scenario {
  std::string name, file, title;
  std::string site;
  Duration lasts = minutes(20);
  Duration sample_every = seconds(1);
  std::vector<workload::Job> jobs;
  std::vector<twin::FaultSpec> faults;  // decoys included
  std::vector<Expectation> expect;
  bool quiet = false;  // nothing may be isolated and no incident above info
};

Result<Scenario> parse_scenario(std::string_view text, std::string file);
// A name ("link_down": scenarios/link_down.yaml, built in) or a path.
Result<Scenario> read_scenario(const std::string& name_or_path);
// Every scenario of a folder (path ending in "/" or a directory), sorted by name; or the single one.
Result<std::vector<Scenario>> read_scenarios(const std::string& path);
// One job of a scenario or of `weft place --file`: {name, model, strategy: {tp, pp, …}, policy: {…}}.
Result<workload::Job> parse_job(const Yaml& yaml);

}  // namespace weft::scenario
