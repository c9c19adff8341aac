// PFC headroom: what still arrives after a switch has decided to say XOFF (IEEE 802.1Qbb, annex O; IEEE 802.3 31B.3.7 for the response).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/packet/config.h"
#include "sim/packet/network.h"

namespace weft::sim::packet {

// Bytes that may still come in by `port` for `klass`: the frame that crossed the threshold, one frame of any class before the pause frame,
// the pause frame, the cable both ways, the peer's response and the frame it has begun.
std::int64_t headroom_of(const Config& config, const Network& network, std::uint32_t port, int klass);

// The physical bound of networks: L_any + 84 + 2·R·d·τ + R·t_response + L_lossless, τ = 5 ns/m; frames with preamble and gap.
std::int64_t physical_headroom(BitsPerSecond rate, Meters length, std::int64_t any_frame, std::int64_t lossless_frame);

// Peer response limit of 802.3 31B.3.7 as SONiC's headroom script lists it, in quanta of 512 bit times; none for other rates.
std::optional<int> response_quanta(BitsPerSecond rate);

// Zhu et al., SIGCOMM 2015, section 4: the largest static PFC threshold that leaves room for what is in flight on every port and class, and the
// ECN threshold below which marks come before pauses when the threshold is dynamic with factor beta.
double static_pfc_threshold(double buffer, int ports, int classes, double in_flight);
double dynamic_ecn_bound(double buffer, int ports, int classes, double in_flight, double beta);

// SONiC's dynamic headroom (cfgmgr/buffer_headroom_mellanox.lua).
struct SonicHeadroom {
  int cell = 192;  // bytes
  std::int64_t lossless_mtu = 1024, port_mtu = 9100;
  double small_share = 1;  // share of 64-byte packets
  double mac_phy_kib = 0.8;
  std::optional<double> response_kib;  // fixed peer response; else by quanta
  bool tile_delay = true;              // 120 ns of Spectrum-4 and later
};
// The xoff column in bytes.
std::int64_t sonic_xoff(const SonicHeadroom& s, BitsPerSecond rate, Meters length);

}  // namespace weft::sim::packet
