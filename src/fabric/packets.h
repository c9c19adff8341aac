// What packets leave of a link's rate for payload: headers, and what the end points spend on each packet (MTU matters through both).
// RoCE v2 over Ethernet. A link whose MTU is not known is taken to carry its full rate as payload, as before anybody looks closer.
#pragma once

#include "base/units.h"

namespace weft::fabric {

struct Packets {
  int mtu = 0;        // bytes of an IP packet, 0 = not known: nothing is taken off
  float cost_ns = 0;  // declared: time that an end point spends per packet beside the wire
  bool operator==(const Packets&) const = default;
};

// Payload of one packet: the largest RDMA path MTU (256 … 4096) that fits with the transport headers, as Linux chooses it
// (drivers/infiniband/core, iboe_get_mtu: 96 bytes for GRH or IP, UDP, BTH, extensions and ICRC). 1500 → 1024, 9000 → 4096. 0 below 352.
int roce_payload(int mtu);
// Beside the payload: Ethernet 14 + 4, preamble and gap 20, IP 20, UDP 8, BTH 12, ICRC 4.
constexpr int kRoceHeaders = 82;
// In (0, 1]: payload bytes per byte time of the link.
double payload_share(const Packets& packets, BitsPerSecond rate);

}  // namespace weft::fabric
