#include "fabric/snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <unordered_map>

#include "base/random.h"
#include "base/text.h"

namespace weft::fabric {
namespace {

constexpr std::string_view kKindNames[] = {"site", "supernode",   "rack", "node", "card", "cpu", "nic",     "switch", "bmc",
                                           "psu",  "power-shelf", "pdu",  "cdu",  "pump", "fan", "storage", "ocs"};
constexpr std::string_view kNetworkNames[] = {"scale-up", "scale-out", "storage", "management", "host"};
constexpr std::string_view kMediumNames[] = {"unknown", "backplane", "board", "dac", "acc", "aec", "aoc", "optical"};
constexpr std::string_view kDomainNames[] = {"hbd", "rack", "power", "cooling", "failure", "scheduling"};

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return stable_hash(s); }
};
using NameMap = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

const LinkHealth kHealthyLink{};
const LinkHealth kSpareLink{LinkState::kUp, 1, 0, false};
const DeviceHealth kHealthyDevice{};

template <class T, std::size_t N>
std::optional<T> parse_name(std::string_view text, const std::string_view (&names)[N]) {
  for (std::size_t i = 0; i < N; ++i)
    if (text == names[i]) return static_cast<T>(i);
  return std::nullopt;
}

std::uint64_t hash_of(const LinkHealth& h, std::uint32_t id) {
  return mix(mix(id * 4ULL + 1) ^ mix((static_cast<std::uint64_t>(h.state) << 1 | h.in_service)) ^
             mix(std::bit_cast<std::uint64_t>(h.rate_factor)) * 3 ^ mix(std::bit_cast<std::uint64_t>(h.extra_latency_ns)) * 5);
}
std::uint64_t hash_of(const DeviceHealth& h, std::uint32_t id) {
  return mix(mix(id * 4ULL + 2) ^ mix((static_cast<std::uint64_t>(h.state) << 1 | h.cordoned)) ^
             mix(std::bit_cast<std::uint64_t>(h.speed_factor)) * 3 ^ stable_hash(h.owner) * 5 ^ stable_hash(h.reason) * 7);
}

}  // namespace

std::string_view kind_name(DeviceKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
std::optional<DeviceKind> parse_device_kind(std::string_view name) {
  if (name == "gpu" || name == "npu") return DeviceKind::kCard;
  return parse_name<DeviceKind>(name, kKindNames);
}
std::string_view network_name(Network n) { return kNetworkNames[static_cast<std::size_t>(n)]; }
std::optional<Network> parse_network(std::string_view name) { return parse_name<Network>(name, kNetworkNames); }
std::string_view medium_name(Medium m) { return kMediumNames[static_cast<std::size_t>(m)]; }
std::optional<Medium> parse_medium(std::string_view name) { return parse_name<Medium>(name, kMediumNames); }
std::string_view domain_kind_name(DomainKind kind) { return kDomainNames[static_cast<std::size_t>(kind)]; }

// Everything that health does not change. `first_*` arrays are CSR offsets.
struct Snapshot::Core {
  std::string site_name;
  std::vector<DeviceModel> models;
  std::vector<Device> devices;
  std::vector<Port> ports;
  std::vector<Link> links;
  std::vector<Domain> domains;
  std::vector<std::string> names;  // interned local names
  std::vector<std::string> cables;
  NameMap name_ids, cable_ids, aliases;  // aliases: foreign name → device
  std::vector<std::string> alias_of;     // parallel to alias_devices
  std::vector<DeviceId> alias_devices;   // sorted

  std::vector<std::uint32_t> first_child, first_port;
  std::vector<DeviceId> children;
  std::vector<PortId> device_ports;
  std::vector<DeviceId> by_kind;  // grouped by kind
  std::uint32_t first_of_kind[32] = {};
  std::vector<std::pair<std::uint64_t, DeviceId>> lookup;  // (parent, name) → device, sorted
  std::vector<DomainId> hbd;                               // by device
  std::vector<LinkId> cable_first;                         // first link of a cable
  std::uint64_t hash = 0;
  std::vector<std::uint16_t> next_number;  // builder only
  std::unordered_map<std::uint64_t, std::uint32_t>
      find_index;  // builder only: (parent, name) → first such device, for the first find_indexed devices
  std::uint32_t find_indexed = 0;
  DeviceId overfull;  // builder only: a device that was given more ports than can be numbered

  std::uint32_t intern(std::string_view text) {
    if (auto at = name_ids.find(text); at != name_ids.end()) return at->second;
    auto id = static_cast<std::uint32_t>(names.size());
    names.emplace_back(text);
    name_ids.emplace(std::string(text), id);
    return id;
  }
  std::string path(DeviceId id) const {
    const Device& d = devices[id.v];
    if (!d.parent.ok()) return names[d.name];
    if (!devices[d.parent.v].parent.ok()) return names[d.name];
    return path(d.parent) + "/" + names[d.name];
  }
};

struct Snapshot::Overlay {
  std::vector<std::pair<LinkId, LinkHealth>> links;
  std::vector<std::pair<DeviceId, DeviceHealth>> devices;
  std::uint64_t hash = 0;  // order-independent sum over entries
};

std::uint64_t Snapshot::version() const { return version_; }
std::uint64_t Snapshot::content_hash() const { return core_->hash ^ mix(overlay_->hash); }
const std::string& Snapshot::site_name() const { return core_->site_name; }
std::size_t Snapshot::device_count() const { return core_->devices.size(); }
std::size_t Snapshot::port_count() const { return core_->ports.size(); }
std::size_t Snapshot::link_count() const { return core_->links.size(); }
const Device& Snapshot::device(DeviceId id) const { return core_->devices[id.v]; }
const Port& Snapshot::port(PortId id) const { return core_->ports[id.v]; }
const Link& Snapshot::link(LinkId id) const { return core_->links[id.v]; }
std::span<const Device> Snapshot::devices() const { return core_->devices; }
std::span<const Port> Snapshot::ports() const { return core_->ports; }
std::span<const Link> Snapshot::links() const { return core_->links; }
std::span<const Domain> Snapshot::domains() const { return core_->domains; }
std::span<const DeviceModel> Snapshot::models() const { return core_->models; }
const DeviceModel* Snapshot::model_of(DeviceId id) const {
  std::uint32_t m = core_->devices[id.v].model;
  return m < core_->models.size() ? &core_->models[m] : nullptr;
}
std::span<const DeviceId> Snapshot::of_kind(DeviceKind kind) const {
  auto k = static_cast<std::size_t>(kind);
  return std::span(core_->by_kind).subspan(core_->first_of_kind[k], core_->first_of_kind[k + 1] - core_->first_of_kind[k]);
}
std::span<const DeviceId> Snapshot::cards() const { return of_kind(DeviceKind::kCard); }
std::span<const DeviceId> Snapshot::children(DeviceId id) const {
  return std::span(core_->children).subspan(core_->first_child[id.v], core_->first_child[id.v + 1] - core_->first_child[id.v]);
}
std::span<const PortId> Snapshot::ports_of(DeviceId id) const {
  return std::span(core_->device_ports).subspan(core_->first_port[id.v], core_->first_port[id.v + 1] - core_->first_port[id.v]);
}
PortId Snapshot::peer(PortId port) const {
  LinkId l = core_->ports[port.v].link;
  if (!l.ok()) return {};
  const Link& link = core_->links[l.v];
  return link.a == port ? link.b : link.a;
}
PortId Snapshot::other_end(LinkId id, DeviceId of) const {
  const Link& link = core_->links[id.v];
  return core_->ports[link.a.v].device == of ? link.b : link.a;
}
DeviceId Snapshot::container(DeviceId id, DeviceKind kind) const {
  while (id.ok() && core_->devices[id.v].kind != kind) id = core_->devices[id.v].parent;
  return id;
}
DomainId Snapshot::hbd_of(DeviceId card) const { return core_->hbd[card.v]; }
const Domain& Snapshot::domain(DomainId id) const { return core_->domains[id.v]; }
std::vector<DomainId> Snapshot::domains_of(DeviceId id) const {
  std::vector<DomainId> out;
  for (std::uint32_t d = 0; d < core_->domains.size(); ++d)
    for (DeviceId at = id; at.ok(); at = core_->devices[at.v].parent)
      if (std::binary_search(core_->domains[d].members.begin(), core_->domains[d].members.end(), at)) {
        out.push_back(DomainId{d});
        break;
      }
  return out;
}

std::string Snapshot::name(DeviceId id) const { return id.ok() ? core_->path(id) : "-"; }
std::string Snapshot::name(PortId id) const {
  if (!id.ok()) return "-";
  const Port& p = core_->ports[id.v];
  bool plain = core_->devices[p.device.v].kind == DeviceKind::kSwitch;
  return fmt::format("{}:{}{}", name(p.device), plain ? "" : "p", p.number);
}
std::string Snapshot::name(LinkId id) const {
  if (!id.ok()) return "-";
  const Link& l = core_->links[id.v];
  if (l.cable < core_->cables.size()) return "cable/" + core_->cables[l.cable];
  return name(l.a) + " ↔ " + name(l.b);
}
std::string_view Snapshot::cable_name(LinkId id) const {
  const Link& l = core_->links[id.v];
  return l.cable < core_->cables.size() ? std::string_view(core_->cables[l.cable]) : std::string_view();
}
std::string Snapshot::alias(DeviceId id) const {
  auto at = std::lower_bound(core_->alias_devices.begin(), core_->alias_devices.end(), id);
  return at != core_->alias_devices.end() && *at == id ? core_->alias_of[static_cast<std::size_t>(at - core_->alias_devices.begin())]
                                                       : std::string();
}

Result<DeviceId> Snapshot::find_device(std::string_view text) const {
  if (auto at = core_->aliases.find(text); at != core_->aliases.end()) return DeviceId{at->second};
  if (text == core_->site_name) return DeviceId{0};
  DeviceId here{0};
  for (std::string_view part : split(text, '/')) {
    auto step = [&](std::string_view word) -> DeviceId {
      auto name = core_->name_ids.find(word);
      if (name == core_->name_ids.end()) return {};
      std::uint64_t key = std::uint64_t{here.v} << 32 | name->second;
      auto at = std::lower_bound(core_->lookup.begin(), core_->lookup.end(), std::pair(key, DeviceId{0}));
      return at != core_->lookup.end() && at->first == key ? at->second : DeviceId{};
    };
    DeviceId next = step(part);
    if (!next.ok() && (part.starts_with("gpu") || part.starts_with("npu"))) next = step("card" + std::string(part.substr(3)));
    // A host name or GUID may stand for the first part: "dgx07/card3".
    if (!next.ok() && here.v == 0)
      if (auto at = core_->aliases.find(part); at != core_->aliases.end()) next = DeviceId{at->second};
    if (!next.ok()) {
      std::string known;
      auto list = children(here);
      for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 4); ++i)
        known += (i ? ", " : "") + core_->names[core_->devices[list[i].v].name];
      std::string where = here.v == 0 ? "site " + core_->site_name : name(here);
      return fail(ErrorKind::kNotFound, fmt::format("no device '{}': {} has no '{}'{}", text.substr(0, 120), where, part.substr(0, 60),
                                                    known.empty() ? "" : fmt::format("; it has {}{}", known, list.size() > 4 ? " …" : "")));
    }
    here = next;
  }
  return here;
}

Result<PortId> Snapshot::find_port(std::string_view text) const {
  std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    // A device with one port stands for it.
    auto device = find_device(text);
    if (!device) return std::unexpected(device.error());
    if (ports_of(*device).size() == 1) return ports_of(*device)[0];
    return fail(ErrorKind::kNotFound, fmt::format("'{}' has {} ports; name one as {}:pN", text, ports_of(*device).size(), text));
  }
  auto device = find_device(text.substr(0, colon));
  if (!device) return std::unexpected(device.error());
  std::string_view digits = text.substr(colon + 1);
  if (digits.starts_with('p')) digits.remove_prefix(1);
  auto number = parse_int(digits);
  if (number)
    for (PortId p : ports_of(*device))
      if (core_->ports[p.v].number == *number) return p;
  return fail(ErrorKind::kNotFound,
              fmt::format("no port '{}': {} has {} ports", text.substr(0, 120), name(*device), ports_of(*device).size()));
}

Result<LinkId> Snapshot::find_link(std::string_view text) const {
  if (text.starts_with("cable/")) {
    auto at = core_->cable_ids.find(text.substr(6));
    if (at != core_->cable_ids.end() && core_->cable_first[at->second].ok()) return core_->cable_first[at->second];
    return fail(ErrorKind::kNotFound, fmt::format("no cable '{}'", text.substr(6, 80)));
  }
  std::size_t arrow = text.find(" ↔ ");
  auto port = find_port(text.substr(0, arrow));
  if (!port) {
    if (auto at = core_->cable_ids.find(text); at != core_->cable_ids.end() && core_->cable_first[at->second].ok())
      return core_->cable_first[at->second];
    return std::unexpected(port.error());
  }
  LinkId link = core_->ports[port->v].link;
  if (!link.ok()) return fail(ErrorKind::kNotFound, fmt::format("no cable in port '{}'", text.substr(0, 120)));
  if (arrow != std::string_view::npos) {
    auto far = find_port(text.substr(arrow + std::string_view(" ↔ ").size()));
    if (!far) return std::unexpected(far.error());
    if (peer(*port) != *far)
      return fail(ErrorKind::kNotFound, fmt::format("'{}' and '{}' are not joined by a cable", name(*port), name(*far)));
  }
  return link;
}

const LinkHealth& Snapshot::health(LinkId id) const {
  const auto& v = overlay_->links;
  if (!v.empty()) {
    auto at = std::lower_bound(v.begin(), v.end(), id, [](const auto& e, LinkId i) { return e.first < i; });
    if (at != v.end() && at->first == id) return at->second;
  }
  return core_->links[id.v].spare ? kSpareLink : kHealthyLink;
}
const DeviceHealth& Snapshot::health(DeviceId id) const {
  const auto& v = overlay_->devices;
  if (v.empty()) return kHealthyDevice;
  auto at = std::lower_bound(v.begin(), v.end(), id, [](const auto& e, DeviceId i) { return e.first < i; });
  return at != v.end() && at->first == id ? at->second : kHealthyDevice;
}
bool Snapshot::carries(LinkId id) const {
  const LinkHealth& h = health(id);
  if (h.state == LinkState::kDown || !h.in_service || h.rate_factor <= 0) return false;
  if (overlay_->devices.empty()) return true;
  const Link& l = core_->links[id.v];
  for (PortId end : {l.a, l.b})
    for (DeviceId at = core_->ports[end.v].device; at.ok(); at = core_->devices[at.v].parent)
      if (health(at).state == DeviceState::kFailed) return false;
  return true;
}
BitsPerSecond Snapshot::effective_rate(LinkId id) const {
  return carries(id) ? core_->links[id.v].rate * health(id).rate_factor : BitsPerSecond(0);
}
BytesPerSecond Snapshot::payload_rate(LinkId id) const {
  BitsPerSecond rate = effective_rate(id);
  const Packets& packets = core_->links[id.v].packets;
  return BytesPerSecond(rate.value() / 8 * (packets.mtu ? payload_share(packets, core_->links[id.v].rate) : 1));
}
bool Snapshot::usable(DeviceId card) const {
  if (overlay_->devices.empty()) return true;
  for (DeviceId at = card; at.ok(); at = core_->devices[at.v].parent) {
    const DeviceHealth& h = health(at);
    if (h.state == DeviceState::kFailed || h.cordoned) return false;
  }
  return true;
}
std::span<const std::pair<LinkId, LinkHealth>> Snapshot::link_overlay() const { return overlay_->links; }
std::span<const std::pair<DeviceId, DeviceHealth>> Snapshot::device_overlay() const { return overlay_->devices; }

namespace {
// Merges sorted `changes` into sorted `base`; an entry equal to its default vanishes.
template <class Id, class Health, class Default>
std::vector<std::pair<Id, Health>> merged(std::span<const std::pair<Id, Health>> base, std::vector<std::pair<Id, Health>> changes,
                                          Default is_default) {
  std::stable_sort(changes.begin(), changes.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<std::pair<Id, Health>> out;
  out.reserve(base.size() + changes.size());
  std::size_t i = 0;
  for (std::size_t j = 0; j < changes.size(); ++j) {
    if (j + 1 < changes.size() && changes[j + 1].first == changes[j].first) continue;  // the last word counts
    while (i < base.size() && base[i].first < changes[j].first) out.push_back(base[i++]);
    if (i < base.size() && base[i].first == changes[j].first) ++i;
    if (!is_default(changes[j])) out.push_back(changes[j]);
  }
  out.insert(out.end(), base.begin() + static_cast<std::ptrdiff_t>(i), base.end());
  return out;
}
}  // namespace

Snapshot Snapshot::with_health(std::span<const std::pair<LinkId, LinkHealth>> links,
                               std::span<const std::pair<DeviceId, DeviceHealth>> devices) const {
  auto next = std::make_shared<Overlay>();
  next->links = merged<LinkId, LinkHealth>(overlay_->links, {links.begin(), links.end()}, [&](const auto& e) {
    return e.second == (core_->links[e.first.v].spare ? kSpareLink : kHealthyLink);
  });
  next->devices = merged<DeviceId, DeviceHealth>(overlay_->devices, {devices.begin(), devices.end()},
                                                 [](const auto& e) { return e.second == kHealthyDevice; });
  for (const auto& [id, h] : next->links) next->hash += hash_of(h, id.v);
  for (const auto& [id, h] : next->devices) next->hash += hash_of(h, id.v);
  Snapshot out = *this;
  out.overlay_ = std::move(next);
  ++out.version_;
  return out;
}

// ---- builder ---------------------------------------------------------------------------------------------------------

SnapshotBuilder::SnapshotBuilder(std::string site_name) : core_(std::make_unique<Snapshot::Core>()) {
  core_->site_name = std::move(site_name);
  core_->devices.push_back({DeviceKind::kSite, {}, core_->intern(core_->site_name), UINT32_MAX, 0, -1, -1});
  core_->next_number.push_back(0);
}
SnapshotBuilder::~SnapshotBuilder() = default;

DeviceId SnapshotBuilder::site() const { return DeviceId{0}; }
std::uint32_t SnapshotBuilder::add_model(DeviceModel model) {
  for (std::uint32_t i = 0; i < core_->models.size(); ++i)
    if (core_->models[i].name == model.name) return i;
  core_->models.push_back(std::move(model));
  return static_cast<std::uint32_t>(core_->models.size() - 1);
}
DeviceId SnapshotBuilder::add_device(DeviceKind kind, DeviceId parent, std::string_view local_name, std::uint32_t model, int plane,
                                     int tier) {
  assert(parent.v < core_->devices.size());
  core_->devices.push_back(
      {kind, parent, core_->intern(local_name), model, 0, static_cast<std::int16_t>(plane), static_cast<std::int16_t>(tier)});
  core_->next_number.push_back(0);
  return DeviceId{static_cast<std::uint32_t>(core_->devices.size() - 1)};
}
PortId SnapshotBuilder::add_port(DeviceId device, NetworkSet networks) {
  int number = core_->next_number[device.v];
  if (number >= 65535) core_->overfull = device, number = 65534;  // input can ask for this; build() refuses it
  return add_port(device, networks, number);
}
PortId SnapshotBuilder::add_port(DeviceId device, NetworkSet networks, int number) {
  assert(number >= 0 && number < 65535);
  core_->ports.push_back({device, static_cast<std::uint16_t>(number), networks, {}});
  core_->next_number[device.v] = static_cast<std::uint16_t>(std::max<int>(core_->next_number[device.v], number + 1));
  return PortId{static_cast<std::uint32_t>(core_->ports.size() - 1)};
}
Result<LinkId> SnapshotBuilder::add_link(PortId a, PortId b, const Link& properties) {
  auto port_name = [&](PortId p) {
    const Port& port = core_->ports[p.v];
    return fmt::format("{}:{}{}", name(port.device), core_->devices[port.device.v].kind == DeviceKind::kSwitch ? "" : "p", port.number);
  };
  if (a == b) return fail(ErrorKind::kInvalid, "a cable has both ends in " + port_name(a));
  for (PortId p : {a, b})
    if (LinkId there = core_->ports[p.v].link; there.ok()) {
      const Link& l = core_->links[there.v];
      std::string what =
          l.cable < core_->cables.size() ? "cable " + core_->cables[l.cable] : "the cable to " + port_name(l.a == p ? l.b : l.a);
      return fail(ErrorKind::kInvalid, fmt::format("two cables in port {}: {} is already there", port_name(p), what));
    }
  LinkId id{static_cast<std::uint32_t>(core_->links.size())};
  core_->links.push_back(properties);
  core_->links.back().a = a;
  core_->links.back().b = b;
  core_->ports[a.v].link = core_->ports[b.v].link = id;
  return id;
}
DomainId SnapshotBuilder::add_domain(DomainKind kind, std::string name, std::vector<DeviceId> members) {
  std::sort(members.begin(), members.end());
  core_->domains.push_back({kind, std::move(name), std::move(members)});
  return DomainId{static_cast<std::uint32_t>(core_->domains.size() - 1)};
}
std::uint32_t SnapshotBuilder::add_cable(std::string name) {
  auto id = static_cast<std::uint32_t>(core_->cables.size());
  auto [at, fresh] = core_->cable_ids.emplace(name, id);
  if (!fresh) return at->second;
  core_->cables.push_back(std::move(name));
  return id;
}
void SnapshotBuilder::add_alias(std::string foreign, DeviceId device) {
  core_->alias_of.push_back(foreign);
  core_->alias_devices.push_back(device);
}
void SnapshotBuilder::set_health(LinkId link, LinkHealth health) { link_health_.emplace_back(link, std::move(health)); }
void SnapshotBuilder::set_health(DeviceId device, DeviceHealth health) { device_health_.emplace_back(device, std::move(health)); }
std::size_t SnapshotBuilder::device_count() const { return core_->devices.size(); }
std::size_t SnapshotBuilder::link_count() const { return core_->links.size(); }
std::string SnapshotBuilder::name(DeviceId id) const { return core_->path(id); }

DeviceId SnapshotBuilder::find(std::string_view text) const {
  auto key = [](DeviceId parent, std::uint32_t name) { return (std::uint64_t{parent.v} << 32) | name; };
  for (std::uint32_t& i = core_->find_indexed; i < core_->devices.size(); ++i)
    core_->find_index.try_emplace(key(core_->devices[i].parent, core_->devices[i].name), i);
  DeviceId here{0};
  for (std::string_view part : split(text, '/')) {
    auto name = core_->name_ids.find(part);
    if (name == core_->name_ids.end() && (part.starts_with("gpu") || part.starts_with("npu")))
      name = core_->name_ids.find("card" + std::string(part.substr(3)));
    if (name == core_->name_ids.end()) return {};
    auto next = core_->find_index.find(key(here, name->second));
    if (next == core_->find_index.end()) return {};
    here = DeviceId{next->second};
  }
  return here;
}
PortId SnapshotBuilder::port_of(DeviceId device, int number) const {
  for (std::uint32_t i = 0; i < core_->ports.size(); ++i)
    if (core_->ports[i].device == device && core_->ports[i].number == number) return PortId{i};
  return {};
}
bool SnapshotBuilder::has_cable(std::string_view name) const { return core_->cable_ids.find(name) != core_->cable_ids.end(); }
bool SnapshotBuilder::has_port(DeviceId device, int number) const { return port_of(device, number).ok(); }

Result<Snapshot> SnapshotBuilder::build() && {
  Snapshot::Core& c = *core_;
  std::size_t n = c.devices.size();
  if (c.overfull.ok())
    return fail(ErrorKind::kInvalid, fmt::format("{} has more than 65535 ports; spread its cables over more devices", name(c.overfull)));
  c.next_number = {};

  // Children by parent, in id order; index among siblings of one kind.
  c.first_child.assign(n + 1, 0);
  for (const Device& d : c.devices)
    if (d.parent.ok()) ++c.first_child[d.parent.v + 1];
  for (std::size_t i = 0; i < n; ++i) c.first_child[i + 1] += c.first_child[i];
  c.children.resize(n - 1);
  std::vector<std::uint32_t> next(c.first_child.begin(), c.first_child.end() - 1);
  for (std::uint32_t i = 0; i < n; ++i)
    if (c.devices[i].parent.ok()) c.children[next[c.devices[i].parent.v]++] = DeviceId{i};
  for (std::uint32_t i = 0; i < n; ++i) {
    std::uint16_t count[32] = {};
    for (std::uint32_t k = c.first_child[i]; k < c.first_child[i + 1]; ++k) {
      Device& d = c.devices[c.children[k].v];
      d.index = count[static_cast<std::size_t>(d.kind)]++;
    }
  }
  std::uint32_t kinds[32] = {};
  for (const Device& d : c.devices) ++kinds[static_cast<std::size_t>(d.kind)];
  for (std::size_t k = 0; k + 1 < 32; ++k) c.first_of_kind[k + 1] = c.first_of_kind[k] + kinds[k];
  c.by_kind.resize(n);
  std::uint32_t at_kind[32];
  std::copy(std::begin(c.first_of_kind), std::end(c.first_of_kind), at_kind);
  for (std::uint32_t i = 0; i < n; ++i) c.by_kind[at_kind[static_cast<std::size_t>(c.devices[i].kind)]++] = DeviceId{i};

  // Names.
  c.lookup.reserve(n - 1);
  for (std::uint32_t i = 1; i < n; ++i) c.lookup.emplace_back(std::uint64_t{c.devices[i].parent.v} << 32 | c.devices[i].name, DeviceId{i});
  std::sort(c.lookup.begin(), c.lookup.end());
  for (std::size_t i = 1; i < c.lookup.size(); ++i)
    if (c.lookup[i].first == c.lookup[i - 1].first)
      return fail(ErrorKind::kInvalid, "two devices are named '" + c.path(c.lookup[i].second) + "'");

  // Ports by device, in number order.
  c.first_port.assign(n + 1, 0);
  for (const Port& p : c.ports) ++c.first_port[p.device.v + 1];
  for (std::size_t i = 0; i < n; ++i) c.first_port[i + 1] += c.first_port[i];
  c.device_ports.resize(c.ports.size());
  next.assign(c.first_port.begin(), c.first_port.end() - 1);
  for (std::uint32_t i = 0; i < c.ports.size(); ++i) c.device_ports[next[c.ports[i].device.v]++] = PortId{i};
  for (std::size_t i = 0; i < n; ++i) {
    auto from = c.device_ports.begin() + c.first_port[i], to = c.device_ports.begin() + c.first_port[i + 1];
    auto less = [&](PortId x, PortId y) { return c.ports[x.v].number < c.ports[y.v].number; };
    if (!std::is_sorted(from, to, less)) std::sort(from, to, less);
    for (auto p = from; p != to && p + 1 != to; ++p)
      if (c.ports[p->v].number == c.ports[(p + 1)->v].number)
        return fail(ErrorKind::kInvalid,
                    fmt::format("{} has two ports numbered {}", c.path(DeviceId{static_cast<std::uint32_t>(i)}), c.ports[p->v].number));
  }

  c.cable_first.assign(c.cables.size(), LinkId{});
  for (std::uint32_t i = 0; i < c.links.size(); ++i)
    if (std::uint32_t cable = c.links[i].cable; cable < c.cables.size() && !c.cable_first[cable].ok()) c.cable_first[cable] = LinkId{i};

  // Domains.
  c.hbd.assign(n, DomainId{});
  for (std::uint32_t d = 0; d < c.domains.size(); ++d)
    for (DeviceId m : c.domains[d].members) {
      if (m.v >= n) return fail(ErrorKind::kInvalid, "domain '" + c.domains[d].name + "' has a member that does not exist");
      if (c.domains[d].kind != DomainKind::kHbd) continue;
      if (c.hbd[m.v].ok())
        return fail(ErrorKind::kInvalid, fmt::format("{} is in two high-bandwidth domains: '{}' and '{}'", c.path(m),
                                                     c.domains[c.hbd[m.v].v].name, c.domains[d].name));
      c.hbd[m.v] = DomainId{d};
    }

  // Aliases: one device each; sorted by device for alias().
  std::vector<std::pair<DeviceId, std::string>> aliases;
  for (std::size_t i = 0; i < c.alias_of.size(); ++i) {
    auto [at, fresh] = c.aliases.emplace(c.alias_of[i], c.alias_devices[i].v);
    if (!fresh && at->second != c.alias_devices[i].v)
      return fail(ErrorKind::kInvalid,
                  fmt::format("'{}' names both {} and {}", c.alias_of[i], c.path(DeviceId{at->second}), c.path(c.alias_devices[i])));
    if (fresh) aliases.emplace_back(c.alias_devices[i], c.alias_of[i]);
  }
  std::stable_sort(aliases.begin(), aliases.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  c.alias_of.clear(), c.alias_devices.clear();
  for (auto& [device, text] : aliases) c.alias_devices.push_back(device), c.alias_of.push_back(std::move(text));

  std::uint64_t h = stable_hash(c.site_name);
  auto add = [&h](std::uint64_t x) { h = (h ^ x) * 0x9fb21c651e98df25ULL, h ^= h >> 29; };
  for (const std::string& s : c.names) add(stable_hash(s));
  for (const std::string& s : c.cables) add(stable_hash(s));
  for (const DeviceModel& m : c.models) {
    add(stable_hash(m.name + "|" + m.cooling));
    for (double v :
         {m.bf16 ? m.bf16->value() : -1, m.fp8 ? m.fp8->value() : -1, m.memory_bandwidth ? m.memory_bandwidth->value() : -1,
          m.memory ? static_cast<double>(m.memory->value()) : -1, m.power ? m.power->value() : -1,
          m.idle_power ? m.idle_power->value() : -1, m.port_latency ? m.port_latency->value() : -1,
          m.buffer ? static_cast<double>(m.buffer->value()) : -1, static_cast<double>(m.ports), m.in_network_reduction ? 1.0 : 0.0})
      add(std::bit_cast<std::uint64_t>(v));
  }
  for (const Device& d : c.devices) {
    add(std::uint64_t{d.parent.v} << 32 | d.name);
    add(std::uint64_t{d.model} << 8 | static_cast<std::uint64_t>(d.kind));
    add(static_cast<std::uint64_t>(static_cast<std::uint16_t>(d.plane)) << 16 | static_cast<std::uint16_t>(d.tier));
  }
  for (const Port& p : c.ports) add(std::uint64_t{p.device.v} << 32 | std::uint64_t{p.number} << 8 | p.networks);
  for (const Link& l : c.links) {
    add(std::uint64_t{l.a.v} << 32 | l.b.v);
    add(std::bit_cast<std::uint64_t>(l.rate.value()));
    add(std::uint64_t{std::bit_cast<std::uint32_t>(l.latency_ns)} << 32 | std::bit_cast<std::uint32_t>(l.length_m));
    add(std::uint64_t{l.cable} << 32 | static_cast<std::uint64_t>(l.medium) << 24 | std::uint64_t{l.networks} << 16 |
        std::uint64_t{l.spare} << 15);
    add(static_cast<std::uint16_t>(l.plane));
    if (l.packets != Packets{})
      add(std::uint64_t{std::bit_cast<std::uint32_t>(l.packets.cost_ns)} << 32 | static_cast<std::uint32_t>(l.packets.mtu));
  }
  for (const Domain& d : c.domains) {
    add(stable_hash(d.name, static_cast<std::uint64_t>(d.kind)));
    for (DeviceId m : d.members) add(m.v);
  }
  c.hash = h;

  Snapshot out;
  out.core_ = std::shared_ptr<const Snapshot::Core>(std::move(core_));
  out.overlay_ = std::make_shared<Snapshot::Overlay>();
  if (!link_health_.empty() || !device_health_.empty()) out = out.with_health(link_health_, device_health_);
  out.version_ = 1;
  return out;
}

}  // namespace weft::fabric
