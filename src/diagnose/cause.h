// The contract of causes: one file per family under causes/. A cause is a fault class with the findings it would bring: where to look
// for them from the part at fault, how much each weighs (natural logarithm of the odds), how much its absence weighs, and what speaks
// against. Together they are the causal graph over water, power, network, card, host, software, storage, placement and job.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/registry.h"
#include "diagnose/detector.h"

namespace weft::diagnose {

// From a finding to the part that may be at fault.
enum class Lift : std::uint8_t {
  kSame,    // the entity of the finding
  kLink,    // its link: of a port, or the one link of a NIC
  kNic,     // the NIC, or the NIC at the far end
  kSwitch,  // the switch at this port, or at the far end
  kNode,
  kRack,
  kNodeCards,  // every card of the node (few)
  kCdu,        // what cools it
  kJob,        // the job itself, or the jobs on it
  kStorage,    // the storage systems of the site
  kRailCard,   // the card that this NIC serves
};

// Where an expected finding lies, seen from the part at fault.
enum class Where : std::uint8_t {
  kSame,    // on the part itself
  kEnd,     // at either end of the link: its ports and the NIC; for a NIC: itself, its link and the far port
  kInside,  // on something inside the part (cards, NICs, links of a node; ports of a switch and what is plugged into them)
  kNode,    // anywhere in the node that holds the part
  kFed,     // on cards or nodes that the part cools or powers (or contains)
  kFeeds,   // on what cools or powers the part: its rack, CDU, supplies
  kJob,     // on a job (or group) that uses the part
  kAnywhere,
};

struct Trigger {
  std::string_view sign;
  Lift lift = Lift::kSame;
};

struct Expect {
  std::string_view sign;
  Where where = Where::kSame;
  double weight = 0;  // added when found, × strength; negative: speaks against (contradiction)
  double absent = 0;  // taken off when not found
};

class Case;  // one candidate: the part, and what was found around it

struct CauseEntry {
  std::string name;  // fault class id
  std::string help;
  std::vector<Trigger> triggers;
  std::vector<Expect> expects;
  std::string settling_test;               // what would decide between this and its look-alikes
  double settle_s = 3;                     // wait this long after the first symptom for what else belongs to it
  bool (*ready)(const Case&) = nullptr;    // after settle_s: has the splitter been sampled since the onset? false waits (at most 20 s more)
  double (*judge)(const Case&) = nullptr;  // what a table cannot say: added to the score; -1000 vetoes
};
Registry<CauseEntry>& causes();

class Case {
 public:
  Case(const Context& context, const CauseEntry& entry, Part part) : context_(context), entry_(entry), part_(part) {}
  const Context& context() const { return context_; }
  const Part& part() const { return part_; }
  const CauseEntry& entry() const { return entry_; }
  bool near(const Finding& finding, Where where) const;
  // Findings of that sign there. Sign may end in '*'.
  std::vector<const Finding*> found(std::string_view sign, Where where) const;
  double strongest(std::string_view sign, Where where) const;  // 0 when none
  bool job_touched(int job) const;

 private:
  const Context& context_;
  const CauseEntry& entry_;
  Part part_;
};

// Symptoms of jobs: explained by whatever hits the job, and never the start of an incident by themselves.
bool is_job_symptom(std::string_view sign);
bool sign_matches(std::string_view pattern, std::string_view sign);

struct Scored {
  const CauseEntry* entry = nullptr;
  Part part;
  double score = 0;  // log odds against "unknown"
  std::vector<const Finding*> explained, contradicted;
  bool operator<(const Scored& o) const;  // better first; ties by class and part
};

// All candidates that the findings suggest, best first.
std::vector<Scored> candidates(const Context& context, const std::vector<const Finding*>& findings);
Impact impact_on(const Context& context, const Scored& scored, int job);
std::vector<Impact> impacts(const Context& context, const Scored& scored);

}  // namespace weft::diagnose
