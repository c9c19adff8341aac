// What a site is made of, in numbers a buyer and a builder ask for: devices, links, cables by medium and length, optics, power per rack,
// oversubscription and bisection per network, single points of failure.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/report.h"
#include "fabric/snapshot.h"
#include "fabric/structure.h"

namespace weft::fabric {

struct NetworkCount {
  std::string name;  // "scale-up", or "scale-up of sn1" where domains are alike: the first stands for all
  Network network;
  std::size_t same = 1;  // domains alike
  std::size_t end_points = 0, switches = 0, links = 0, spare_links = 0;
  BitsPerSecond injection{0};   // of all end points, one direction; 0 = not known
  BitsPerSecond bisection{0};   // one direction, between halves; 0 = not known or not connected
  double oversubscription = 0;  // bandwidth down over up, worst tier; 1 = non-blocking; 0 = no tiers or not known
  int oversubscribed_tier = -1;
};
struct CableCount {
  Medium medium;
  double length_m;     // < 0 not known
  BitsPerSecond rate;  // of one link in it
  std::size_t cables = 0, links = 0;
};
struct RackPower {
  DeviceId rack;
  std::size_t nodes = 0, cards = 0;
  Known<Watts> rated;             // as the site file says
  Watts parts{0};                 // sum over parts whose power is known
  std::size_t unknown_parts = 0;  // cards, hosts and switches without a figure
  std::string cooling;            // "" not known
  Watts least() const { return rated ? std::max(*rated, parts) : parts; }
};
struct Count {
  std::vector<std::pair<DeviceKind, std::size_t>> devices;  // kinds that occur
  std::size_t ports = 0, free_ports = 0, links = 0, spare_links = 0, cables = 0;
  std::size_t optical_modules = 0;  // two per optical cable
  Watts optics_power{0};            // of modules whose power the media catalogue knows
  std::vector<CableCount> by_cable;
  std::vector<NetworkCount> networks;
  std::vector<RackPower> racks;
  std::vector<CutPoint> cut_points;
  Known<BytesPerSecond> aggregate;  // scale-up, both directions, all cards
};

Result<Count> count(const Snapshot& site);
std::vector<RackPower> rack_power(const Snapshot& site);
// A full mesh of n end points: n(n-1)/2 links, n-1 ports each.
constexpr std::uint64_t mesh_links(std::uint64_t n) { return n * (n - 1) / 2; }
Report to_report(const Count& count, const Snapshot& site);
Json to_json(const Count& count, const Snapshot& site);

}  // namespace weft::fabric
