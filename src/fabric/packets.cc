#include "fabric/packets.h"

namespace weft::fabric {

int roce_payload(int mtu) {
  for (int payload = 4096; payload >= 256; payload /= 2)
    if (payload + 96 <= mtu) return payload;
  return 0;
}

double payload_share(const Packets& packets, BitsPerSecond rate) {
  int payload = roce_payload(packets.mtu);
  if (payload == 0) return 1;
  double on_wire = payload + kRoceHeaders, beside = packets.cost_ns * 1e-9 * rate.value() / 8;
  return payload / (on_wire + beside);
}

}  // namespace weft::fabric
