// The machine as it really is, in flat arrays: what is fixed (identity, spread of silicon, baselines), what faults turn (knobs, reset
// and set anew each tick, so that two faults compose and a cured one leaves nothing behind), and what moves (temperatures, counters).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "fabric/snapshot.h"
#include "telemetry/types.h"
#include "twin/parameters.h"

namespace weft::twin {

struct CardKnobs {
  double slow = 1;   // hidden: compute takes this much longer
  double heat = 1;   // thermal resistance, times
  double limit = 0;  // enforced power limit, W; 0 = the model's
  double clock = 1;  // highest clock share (cap, brake)
  bool brake = false, capped = false;
  bool gone = false;  // off the bus: its series stop
  bool dead = false;  // process on it dies
  bool hung = false;  // launches no further collective
  int lanes = 16;
  double host_path = 1;                                           // copies to and from the host take this much longer
  double sbe = 0, replay = 0, nvlink_crc = 0, nvlink_replay = 0;  // per second
  double stray = 0;                                               // share of compute taken by a foreign process
  int links_lost = 0;                                             // scale-up links not in use
};
struct Card {
  fabric::DeviceId id;
  int node = -1, rack = -1, cdu = -1;
  bool liquid = false;
  double silicon = 1;   // compute time against the mean card (N7)
  double offset_c = 0;  // position in the air path, paste
  double idle_w = 0, max_w = 0, clock_mhz = 0, resistance = 0;
  int scale_up_links = 0;
  CardKnobs knobs;
  double busy = 0, wait = 0;  // shares of time by the job on it
  bool used = false;
  double temp = 0, memory_temp = 0, power = 0, clock = 1, speed = 1;
  double told = 1, smooth = 1;  // speed as jobs feel it: without the ripple of the control loop, in steps
  unsigned throttle = 0;
  int xid = 0;
  double sbe = 0, dbe = 0, replay = 0, crc = 0, nvl_replay = 0;
  int remap_pending = 0;
  double fb_used = 0;  // MiB by a process that should not be there
};

struct NodeKnobs {
  bool down = false, exporter_dead = false;
  double inlet = 0, fan = 1, cpu_clock = 1, cpu_busy = 0, io_wait = 0, comm = 1, memory = 0;
  int supplies_lost = 0;
};
struct Node {
  fabric::DeviceId id;
  int rack = -1;
  std::vector<int> cards, nics;
  int supplies = 0;
  double inlet_base = 22, host_w = 0, memory = 0;
  Duration skew;  // of its clock and scrape
  int phase = 0;  // of its 10 s exporters
  NodeKnobs knobs;
  double power = 0, inlet = 22;
  double storage_share = 1;  // of its storage paths' rate
};

struct LinkKnobs {
  fabric::LinkState state = fabric::LinkState::kUp;
  double rate = 1;        // share of the built rate
  double negotiated = 1;  // what both ends report
  double latency_ns = 0;
  double foreign = 0;       // share taken by traffic that is nobody's here
  bool black_hole = false;  // large messages never arrive
  double probe_loss = 0;    // share of small packets lost on the way over it
};
struct PortKnobs {
  double ber = 1, uncorrectable = 0, crc = 0, retries = 0;  // factor; the rest per second
  double rx_db = 0, tx_db = 0, bias = 1, temp = 0;
  double pfc_rx = 0, pfc_tx = 0, discards = 0, queue = 0, ecn = 0;  // per second, bytes
  bool dark = false;                                                // its switch or NIC exports nothing
};
struct Port {
  fabric::PortId id;
  bool exports = false, optical = false, ethernet = false, at_switch = false;
  double log_ber = -10, rx_dbm = -1.5, tx_dbm = 0.5, bias_ma = 7, temp_c = 45;
  PortKnobs knobs;
  int node = -1;
  double uncorrectable = 0, retries = 0, tx = 0, rx = 0, crc = 0, discards = 0, pfc_rx = 0, pfc_tx = 0, ecn = 0;
};

struct NicKnobs {
  bool gone = false, no_cnp = false, prio0 = false;
  double tx_pause = 0, rx_pause = 0;                                                  // share of time
  double out_of_sequence = 0, ack_timeout = 0, cnp = 0, discards = 0, rx_errors = 0;  // per second
};
struct Nic {
  fabric::DeviceId id;
  int node = -1;
  std::vector<int> ports;  // into State::ports
  NicKnobs knobs;
  bool byte_ceiling = false;  // link_downed sticks at 255
  double downed = 0, tx = 0, rx = 0, rx_errors = 0, discards = 0, wait = 0, oos = 0, timeouts = 0, cnp_sent = 0, cnp_handled = 0,
         marked = 0, tx_pause = 0, rx_pause = 0, prio0 = 0, prio3 = 0;
};

struct Rack {
  fabric::DeviceId id;
  std::vector<int> nodes;
  double cap_w = 0;  // 0: none set
  double power = 0;
  struct Knobs {
    double cap_w = 0;
    bool leak = false;
  } knobs;
  bool liquid = false;
};
struct Cdu {
  fabric::DeviceId id;
  std::vector<int> cards;
  double flow_lpm = 0, supply_c = 30;
  struct Knobs {
    double flow = 1;
    bool pump_failed = false, leak = false;
    double supply = 0;
  } knobs;
  double flow = 1, return_c = 38;  // share; as it is now
  double heat_w = 0;
};
struct Storage {
  fabric::DeviceId id;
  struct Knobs {
    double read = 1, write = 1, latency = 1;
  } knobs;
  double read = 0, write = 0;  // counters
  double read_rate = 0, write_rate = 0;
};

// What jobs feel from faults that are theirs alone.
struct JobKnobs {
  double expert_imbalance = 1;  // busiest expert over mean, times the ordinary
  double pause_chance = 0, pause_seconds = 0;
  double comm = 1;         // every group
  double neighbour = 0;    // share of shared links taken by others
  bool scattered = false;  // launcher ignores the topology
  bool aligned_checkpoints = false;
};

struct LogLine {
  std::string entity, kind, code, text;
  telemetry::Severity severity = telemetry::Severity::kInfo;
};

struct State {
  State(fabric::Snapshot snapshot, const Parameters& parameters, const Random& random, bool noise);

  const Parameters* parameters;
  fabric::Snapshot built;  // as built, health of the start
  std::vector<Card> cards;
  std::vector<Node> nodes;
  std::vector<Nic> nics;
  std::vector<Port> ports;       // by PortId
  std::vector<LinkKnobs> links;  // by LinkId
  std::vector<bool> in_service;  // by LinkId: administratively up
  std::vector<Rack> racks;
  std::vector<Cdu> cdus;
  std::vector<Storage> storages;
  std::vector<JobKnobs> jobs;          // by job index
  std::vector<std::string> job_names;  // "job/NAME"
  std::vector<bool> job_experts;       // mixture of experts
  Instant now;

  // Lookups by device; -1 when it is none of that kind.
  int card_of(fabric::DeviceId d) const { return index_[d.v]; }
  int node_of(fabric::DeviceId d) const;                          // the node it lies in
  int index_of(fabric::DeviceId d) const { return index_[d.v]; }  // into the array of its own kind

  void reset_knobs();
  bool ethernet(fabric::LinkId link) const;  // scale-out or storage
  bool scale_up(fabric::LinkId link) const;
  std::vector<fabric::LinkId> network_links(fabric::DeviceId d) const;  // of a NIC, card or switch, without PCIe and management

  // Settings and versions. A change is told once.
  const std::string& fact(std::string_view entity, std::string_view key) const;  // "" when none
  void set_fact(std::string_view entity, std::string_view key, std::string value);
  // The value a healthy fleet has.
  const std::string& baseline(std::string_view entity, std::string_view key) const;
  void log(std::string entity, std::string_view kind, std::string code, telemetry::Severity severity, std::string text);

  std::map<std::pair<std::string, std::string>, std::string> facts, baselines;  // (entity, key)
  std::vector<std::pair<std::string, std::string>> changed_facts;
  std::vector<LogLine> lines;  // not yet told

 private:
  std::vector<int> index_;  // by device
};

}  // namespace weft::twin
