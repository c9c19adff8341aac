// The contract of an injected fault: one file per fault or tight family under faults/. A fault turns knobs of the State and nothing
// else; physics, traffic and jobs make the rest follow. It must never touch what the facts call flat, and never speak to the loop.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/registry.h"
#include "twin/state.h"
#include "twin/world.h"

namespace weft::twin {

struct Target {      // by kind: a device, a link (and its port a), or a job
  std::string name;  // canonical
  fabric::DeviceId device;
  fabric::LinkId link;
  int job = -1;
};

struct FaultEntry;
struct Active {
  FaultSpec spec;
  const FaultEntry* entry = nullptr;
  Target target;
  Random random{1};
  double magnitude = 1;                 // 1 = the catalogue's middle
  double age = 0, dt = 0;               // seconds since it began; of this tick
  bool begun = false, showing = false;  // showing: an exported value is beyond its threshold
  bool cured = false;                   // apply() may set it (a setting put back to baseline)
  Instant from, visible, cured_at;
  std::vector<std::string> groups;
  double memory[4] = {};  // the fault's own, across ticks
  double drawn(std::string_view name, const State& s) const { return s.parameters->get(name); }
};

enum class Sits : std::uint8_t { kLink, kCard, kNode, kNic, kSwitch, kRack, kCdu, kStorage, kJob };
enum class Shows : std::uint8_t { kAtOnce, kHost, kExporter, kStep };  // which export first carries it: log line, 1 s, 10 s, job step

struct FaultEntry {
  std::string name, help;
  Sits sits;
  Shows shows;
  // Actions on the part, or on what it lies in, that end the fault: "card_reset", "work_order" … Settings heal through their fact.
  std::vector<std::string_view> cures;
  void (*apply)(State&, Active&);                       // every tick while it lasts
  void (*begin)(State&, Active&) = nullptr;             // once: log lines, settings
  void (*end)(State&, Active&) = nullptr;               // once, when cured
  bool (*fits)(const State&, const Target&) = nullptr;  // null: any of its kind
  bool touches = true;                                  // the groups through the part feel it
  bool decoy = false;                                   // benign: nothing may be isolated for it
};
Registry<FaultEntry>& faults();

}  // namespace weft::twin
