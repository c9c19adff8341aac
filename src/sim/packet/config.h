// What the packet model is told about hosts, switches and traffic classes. A plain struct, checked once: nonsense (a threshold above the
// buffer, kmin above kmax, no headroom in a lossless class) is refused with the reason before anything runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace weft::sim::packet {

struct Network;

// One traffic class (IEEE 802.1Q priority) on every port.
struct ClassConfig {
  std::string name = "data";
  bool lossless = true;  // PFC (802.1Qbb); otherwise tail drop
  bool strict = false;   // served before all weighted classes
  int weight = 1;        // DWRR share among weighted classes
  // Ingress threshold of one (port, class): alpha × free shared buffer, or `xoff` bytes when alpha is 0.
  double alpha = 0.125;
  std::int64_t xoff = 0;
  std::int64_t xon_gap = 2 * 4178;  // resume when the use has fallen this far below the threshold
  std::int64_t headroom = -1;       // per (port, class), bytes; -1 = computed from rate, length and frame sizes (headroom.h)
  double drop_alpha = 1;            // lossy classes: egress queue limit as a share of the free buffer
  // RED/ECN on the egress queue: 0 below kmin, rising to pmax at kmax, 1 above. kmax 0 = no marking.
  std::int64_t kmin = 0, kmax = 0;
  double pmax = 1;
};

// Chance of a mark at this queue.
double red_probability(const ClassConfig& k, std::int64_t queue_bytes);

enum class Balance : std::uint8_t {
  kFlow,      // ECMP: hash of the flow's addresses and ports, salted per switch
  kSpray,     // a new entropy per packet
  kAdaptive,  // the shortest egress queue of the equal-cost set, ties by hash
};

enum class Control : std::uint8_t { kNone, kDcqcn, kSwift, kNscc, kDctcp };
enum class Recovery : std::uint8_t { kGoBackN, kSelective, kGoBackZero };

// Zhu et al., SIGCOMM 2015; defaults are the paper's.
struct Dcqcn {
  double g = 1.0 / 256;
  Picos alpha_timer{55'000'000}, rate_timer{55'000'000}, cnp_interval{50'000'000};
  std::int64_t byte_counter = 10'000'000;
  int fast_recovery = 5;
  BitsPerSecond additive{40e6}, hyper{0}, minimum{10e6};
};

// Kumar et al., SIGCOMM 2020, as htsim parametrises it.
struct Swift {
  Picos base_target{20'000'000};
  double additive = 1, beta = 0.8, max_decrease = 0.5;
  double fs_min = 0.1, fs_max = 100, fs_range = 5;  // packets; range in base targets
  double min_window = 0.01;                         // packets
};

// Li et al., SIGCOMM 2019.
struct Hpcc {
  double eta = 0.95;
  int max_stage = 5;
  double additive_bytes = 80;
  Picos base_rtt{13'000'000};
};

// Ultra Ethernet's sender-side control as its public simulator has it; base RTT 0 = computed per flow from its path.
struct Nscc {
  double window_bdp = 1.5;
  double target_rtt = 1.0;  // target queueing delay in base RTTs
};

struct Dctcp {
  double g = 1.0 / 16;
  double first_window = 10;  // packets
};

struct Config {
  std::int64_t mtu = 4096;          // payload bytes of a full packet
  std::int64_t header = 62;         // Ethernet + IPv4 + UDP + BTH + ICRC + FCS of RoCEv2
  std::int64_t line_overhead = 20;  // preamble and gap: on the wire, not in buffers
  std::int64_t ack_frame = 66;      // header + AETH
  int hop_limit = 64;               // switches a data packet may pass
  bool pad_last = false;            // htsim framing: the last packet of a flow is sent full
  std::vector<ClassConfig> classes{ClassConfig{}, control_class()};
  int ack_class = 1;

  std::int64_t buffer = 64'000'000;    // per switch whose model does not say
  Picos pause_response{0};             // from a pause frame's arrival to the stop
  std::uint32_t pause_quanta = 65535;  // asked for by every XOFF; refreshed at half time
  bool refresh_pause = true;
  bool mark_at_dequeue = false;
  Picos watchdog{0}, watchdog_restore{200'000'000'000};  // 0 = off; storm length before a queue is drained

  Balance balance = Balance::kFlow;
  bool one_hash_seed = false;  // every switch hashes alike (polarisation)
  Control control = Control::kNone;
  Recovery recovery = Recovery::kGoBackN;
  std::int64_t window = 0;           // most packets in flight per flow, 0 = no limit (selective repeat: 1,024)
  int reorder = 0;                   // selective repeat: packets that may overtake before a gap counts as loss
  Picos retransmit{67'108'864'000};  // local ACK timeout 14: 4.096 us × 2^14
  int ack_every = 1;
  Dcqcn dcqcn;
  Swift swift;
  Hpcc hpcc;
  Nscc nscc;
  Dctcp dctcp;

  Picos horizon{10'000'000'000'000};  // simulated time after which the run is cut (and says so)
  std::uint64_t seed = 1;

  static ClassConfig control_class();
  // 4.096 us × 2^t: the local ACK timeout of an InfiniBand or RoCE queue pair.
  static Picos ack_timeout(int t) { return Picos(std::int64_t{4'096'000} << t); }
  // As htsim's RoCE frames packets: no headers, last packet padded, 64-byte ACKs in one class with the data.
  Config& htsim_framing();
  // That and htsim's RoCE arguments for switches of so many ports: queues that pause at 100 packets and resume at 80.
  Config& htsim_roce(int ports);
  std::int64_t data_frame() const { return mtu + header; }
  std::int64_t data_wire() const { return mtu + header + line_overhead; }
};

// Everything that can be known to be wrong before the run.
Status check(const Config& config, const Network& network);

}  // namespace weft::sim::packet
