#include "fabric/site_values.h"

#include <algorithm>

namespace weft::fabric {

Result<int> count(const Yaml& from, std::string_view key, int fallback, int low, int high) {
  if (!from.has(key)) return fallback;
  WEFT_ASSIGN(auto v, from.get(key).integer(low, high));
  return static_cast<int>(v);
}
Result<std::string> text(const Yaml& from, std::string_view key, std::string fallback) {
  if (!from.has(key)) return fallback;
  return from.get(key).text();
}
Result<double> quantity(const Yaml& from, std::string_view key, std::string_view unit, double fallback) {
  if (!from.has(key)) return fallback;
  return from.get(key).quantity(unit);
}

Result<Packets> packets(const Yaml& from) {
  Packets p;
  WEFT_ASSIGN(p.mtu, count(from, "mtu", 0, 0, 65535));
  if (p.mtu && roce_payload(p.mtu) == 0)
    return from.get("mtu").error("an MTU is the bytes of an IP packet, at least 352 for RDMA; usual are 1500, 4200 and 9000");
  WEFT_ASSIGN(double cost, quantity(from, "packet_cost", "s", 0));
  if (!(cost >= 0) || cost > 1e-3) return from.get("packet_cost").error("a time per packet between 0 and 1 ms is expected, e.g. 1 ns");
  if (cost > 0 && !p.mtu) return from.get("packet_cost").error("a cost per packet needs the MTU: add 'mtu: 9000'");
  p.cost_ns = static_cast<float>(cost * 1e9);
  return p;
}
Result<double> link_rate(const Yaml& value) {
  WEFT_ASSIGN(double v, value.quantity("b/s"));
  if (v == 0) return value.error("a link of rate 0 carries nothing; leave the rate out when it is not known");
  return v;
}
Result<double> rate_of(const Yaml& from, std::string_view key, double fallback) {
  if (!from.has(key)) return fallback;
  return link_rate(from.get(key));
}
Result<std::string> part_name(const Yaml& from, std::string_view key, std::string fallback) {
  if (!from.has(key)) return fallback;
  WEFT_ASSIGN(auto v, from.get(key).text());
  auto bad = [](char c) { return c == '/' || c == ':' || c == ',' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
  if (v.empty() || v.size() > 200 || v == "." || v == ".." || std::any_of(v.begin(), v.end(), bad))
    return from.get(key).error("'" + v.substr(0, 60) + "' cannot be a name: 1 to 200 characters without space, '/', ':' and ','");
  return v;
}

}  // namespace weft::fabric
