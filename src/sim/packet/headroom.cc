#include "sim/packet/headroom.h"

#include <algorithm>
#include <cmath>

namespace weft::sim::packet {

std::int64_t headroom_of(const Config& config, const Network& network, std::uint32_t port, int klass) {
  const ClassConfig& k = config.classes[static_cast<std::size_t>(klass)];
  if (k.headroom >= 0) return k.headroom;
  const Port& out = network.ports[port];  // what the pause frame crosses
  const Port& in = network.ports[out.peer];
  double bytes_per_pico_in = in.rate.value() / 8e12, bytes_per_pico_out = out.rate.value() / 8e12;
  double frame = static_cast<double>(config.data_wire());
  double silence = frame / bytes_per_pico_out + 84 / bytes_per_pico_out + static_cast<double>(out.delay.value()) +
                   static_cast<double>(config.pause_response.value()) + static_cast<double>(in.delay.value());
  return static_cast<std::int64_t>(std::ceil(silence * bytes_per_pico_in + 2 * frame));
}

std::int64_t physical_headroom(BitsPerSecond rate, Meters length, std::int64_t any_frame, std::int64_t lossless_frame) {
  double bytes_per_second = rate.value() / 8;
  double cable = 2 * bytes_per_second * length.value() * 5e-9;
  double response = response_quanta(rate).value_or(0) * 64.0;
  return any_frame + 20 + 84 + static_cast<std::int64_t>(std::llround(cable + response)) + lossless_frame + 20;
}

std::optional<int> response_quanta(BitsPerSecond rate) {
  switch (static_cast<int>(std::lround(rate.value() / 1e9))) {
    case 10: return 67;
    case 25: return 80;
    case 40: return 118;
    case 50: return 147;
    case 100: return 394;
    case 200: return 453;
    case 400:
    case 800: return 905;
    default: return std::nullopt;
  }
}

double static_pfc_threshold(double buffer, int ports, int classes, double in_flight) {
  return (buffer - classes * ports * in_flight) / (classes * ports);
}

double dynamic_ecn_bound(double buffer, int ports, int classes, double in_flight, double beta) {
  return beta * (buffer - classes * ports * in_flight) / (classes * ports * (1 + beta));
}

std::int64_t sonic_xoff(const SonicHeadroom& s, BitsPerSecond rate, Meters length) {
  constexpr double kKib = 1024;
  double gigabits = rate.value() / 1e9;
  double cable = 2 * length.value() * rate.value() / 1.98e8 / 8;
  double tile = s.tile_delay ? gigabits * 120 / 8 : 0;
  double worst = s.cell > 128 ? std::ceil(s.cell / 64.0) : std::ceil(2.0 * s.cell / (1 + s.cell));
  // Bytes of small and of full packets in proportion; all small: the worst factor.
  double small = s.small_share * 64, full = (1 - s.small_share) * static_cast<double>(s.lossless_mtu);
  double occupancy = s.small_share >= 1 ? worst : (small * worst + full) / (small + full);
  double response = s.response_kib ? *s.response_kib * kKib : response_quanta(rate).value_or(0) * 64.0;
  double delay = static_cast<double>(s.port_mtu) + cable + s.mac_phy_kib * kKib + response + tile;
  double xoff = static_cast<double>(s.lossless_mtu) + delay * occupancy;
  return static_cast<std::int64_t>(std::ceil(xoff / kKib) * kKib);
}

}  // namespace weft::sim::packet
