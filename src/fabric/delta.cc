#include "fabric/delta.h"

#include <nlohmann/json.hpp>

namespace weft::fabric {
namespace {

constexpr const char* kLinkStates[] = {"up", "degraded", "down"};
constexpr const char* kDeviceStates[] = {"up", "suspect", "failed"};

template <std::size_t N>
int index_of(const std::string& text, const char* const (&names)[N]) {
  for (std::size_t i = 0; i < N; ++i)
    if (text == names[i]) return static_cast<int>(i);
  return -1;
}

}  // namespace

Result<Snapshot> apply(const Snapshot& snapshot, const Delta& delta) {
  std::vector<std::pair<LinkId, LinkHealth>> links;
  std::vector<std::pair<DeviceId, DeviceHealth>> devices;
  for (const LinkChange& c : delta.links) {
    if (c.link.v >= snapshot.link_count()) return fail(ErrorKind::kNotFound, "delta names a link that does not exist");
    if (!(c.to.rate_factor >= 0) || !(c.to.rate_factor <= 1))
      return fail(ErrorKind::kInvalid, "rate factor must lie between 0 and 1", snapshot.name(c.link));
    links.emplace_back(c.link, c.to);
  }
  for (const DeviceChange& c : delta.devices) {
    if (c.device.v >= snapshot.device_count()) return fail(ErrorKind::kNotFound, "delta names a device that does not exist");
    devices.emplace_back(c.device, c.to);
  }
  return snapshot.with_health(links, devices);
}

Delta inverse(const Delta& delta, const Snapshot& before) {
  Delta out;
  out.reason = "undo: " + delta.reason;
  for (const LinkChange& c : delta.links) out.links.push_back({c.link, before.health(c.link)});
  for (const DeviceChange& c : delta.devices) out.devices.push_back({c.device, before.health(c.device)});
  return out;
}

Json to_json(const Delta& delta, const Snapshot& names) {
  Json links = Json::array(), devices = Json::array();
  for (const LinkChange& c : delta.links) {
    const Link& l = names.link(c.link);
    links.push_back({{"link", names.name(c.link)},
                     {"end", names.name(l.a)},
                     {"state", kLinkStates[static_cast<int>(c.to.state)]},
                     {"rate_factor", c.to.rate_factor},
                     {"extra_latency_ns", c.to.extra_latency_ns},
                     {"in_service", c.to.in_service}});
  }
  for (const DeviceChange& c : delta.devices)
    devices.push_back({{"device", names.name(c.device)},
                       {"state", kDeviceStates[static_cast<int>(c.to.state)]},
                       {"speed_factor", c.to.speed_factor},
                       {"cordoned", c.to.cordoned},
                       {"owner", c.to.owner},
                       {"reason", c.to.reason}});
  return {{"links", links}, {"devices", devices}, {"reason", delta.reason}};
}

Result<Delta> delta_from_json(const Json& json, const Snapshot& names) {
  try {
    Delta out;
    for (const Json& j : json.at("links")) {
      auto link = names.find_link(j.at("end").get<std::string>());
      if (!link) return std::unexpected(link.error());
      int state = index_of(j.at("state").get<std::string>(), kLinkStates);
      if (state < 0) return fail(ErrorKind::kCorrupt, "unknown link state in a stored delta");
      out.links.push_back({*link,
                           {static_cast<LinkState>(state), j.at("rate_factor").get<double>(), j.at("extra_latency_ns").get<double>(),
                            j.at("in_service").get<bool>()}});
    }
    for (const Json& j : json.at("devices")) {
      auto device = names.find_device(j.at("device").get<std::string>());
      if (!device) return std::unexpected(device.error());
      int state = index_of(j.at("state").get<std::string>(), kDeviceStates);
      if (state < 0) return fail(ErrorKind::kCorrupt, "unknown device state in a stored delta");
      out.devices.push_back({*device,
                             {static_cast<DeviceState>(state), j.at("speed_factor").get<double>(), j.at("cordoned").get<bool>(),
                              j.at("owner").get<std::string>(), j.at("reason").get<std::string>()}});
    }
    out.reason = json.at("reason").get<std::string>();
    return out;
  } catch (const Json::exception& e) {
    return fail(ErrorKind::kCorrupt, std::string("stored delta is not readable: ") + e.what());
  }
}

}  // namespace weft::fabric
