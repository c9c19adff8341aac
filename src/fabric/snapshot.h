// The machine at one version: devices, ports, links, networks, domains and a health overlay, as flat arrays with dense ids.
// Immutable once built; copies share everything, and a health delta copies only the overlay it changes. Everyone reads it,
// only control publishes the next one (through fabric::apply).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "fabric/packets.h"

namespace weft::fabric {

// Dense ids, stable across health deltas. kNone means "no such thing".
template <class Tag>
struct Id {
  std::uint32_t v = UINT32_MAX;
  constexpr bool ok() const { return v != UINT32_MAX; }
  constexpr auto operator<=>(const Id&) const = default;
};
using DeviceId = Id<struct DeviceTag>;
using PortId = Id<struct PortTag>;
using LinkId = Id<struct LinkTag>;
using DomainId = Id<struct DomainTag>;

enum class DeviceKind : std::uint8_t {
  kSite,
  kSupernode,
  kRack,
  kNode,  // containers
  kCard,
  kCpu,
  kNic,
  kSwitch,
  kBmc,  // things with ports
  kPsu,
  kPowerShelf,
  kPdu,
  kCdu,
  kPump,
  kFan,
  kStorage,
  kOcs
};
std::string_view kind_name(DeviceKind kind);
std::optional<DeviceKind> parse_device_kind(std::string_view name);  // accepts gpu and npu for card

// A network is a role; one link may carry several (bit set).
enum class Network : std::uint8_t {
  kScaleUp = 0,
  kScaleOut = 1,
  kStorage = 2,
  kManagement = 3,
  kHost = 4
};  // host: PCIe, NUMA inside a node
using NetworkSet = std::uint8_t;
constexpr NetworkSet bit(Network n) { return static_cast<NetworkSet>(1u << static_cast<unsigned>(n)); }
std::string_view network_name(Network n);  // "scale-up" …
std::optional<Network> parse_network(std::string_view name);

enum class Medium : std::uint8_t { kUnknown, kBackplane, kBoard, kDac, kAcc, kAec, kAoc, kOptical };
std::string_view medium_name(Medium m);
std::optional<Medium> parse_medium(std::string_view name);

// A value that an importer may not know. Unknown is a value of its own, never a default.
template <class T>
using Known = std::optional<T>;

// What a card, switch … is, shared by all devices of that model. Empty = not known.
struct DeviceModel {
  std::string name;                 // "H100-SXM5"
  Known<FlopsPerSecond> bf16, fp8;  // dense peak
  Known<BytesPerSecond> memory_bandwidth;
  Known<Bytes> memory;
  Known<Watts> power;  // maximum
  Known<Watts> idle_power;
  Known<Seconds> port_latency;        // switches: port to port
  Known<Bytes> buffer;                // switches
  int ports = 0;                      // 0 = not limited / not known
  bool in_network_reduction = false;  // switches (NVLS, SHARP)
  std::string cooling;                // "air", "liquid", ""
  std::string source;                 // where the figures come from
};

struct Device {
  DeviceKind kind;
  DeviceId parent;          // containing device; the site has none
  std::uint32_t name;       // interned local name ("card5")
  std::uint32_t model;      // index into models(), UINT32_MAX unknown
  std::uint16_t index;      // position among siblings of its kind
  std::int16_t plane = -1;  // switches and NICs: plane or rail inside their network, -1 none
  std::int16_t tier = -1;   // switches: 0 node switch / leaf, 1 spine / core, 2 …
};

struct Port {
  DeviceId device;
  std::uint16_t number;  // "p2", or 17 in leaf2:17
  NetworkSet networks;
  LinkId link;  // none when free
};

struct Link {
  PortId a, b;
  BitsPerSecond rate;  // raw, one direction, as built (0 = not known)
  float latency_ns;    // propagation + PHY/FEC, one way
  float length_m;      // < 0 not known
  Medium medium;
  NetworkSet networks;
  std::int16_t plane;    // -1 none
  bool spare;            // installed but not used until a Delta takes it into service
  std::uint32_t cable;   // several links may share a physical cable; UINT32_MAX none
  Packets packets = {};  // what headers and the cost per packet take off the payload; nothing when its MTU is not known
};

enum class DomainKind : std::uint8_t { kHbd, kRack, kPower, kCooling, kFailure, kScheduling };
std::string_view domain_kind_name(DomainKind kind);

struct Domain {
  DomainKind kind;
  std::string name;
  std::vector<DeviceId> members;  // cards for kHbd and kScheduling, otherwise any device; sorted
};

// ---- health overlay ------------------------------------------------------------------------------------------------
enum class LinkState : std::uint8_t { kUp, kDegraded, kDown };
struct LinkHealth {
  LinkState state = LinkState::kUp;
  double rate_factor = 1;  // share of the built rate that carries payload (lane loss, retry, half rate)
  double extra_latency_ns = 0;
  bool in_service = true;  // false: isolated on purpose (or a spare not taken in)
  bool operator==(const LinkHealth&) const = default;
};
enum class DeviceState : std::uint8_t { kUp, kSuspect, kFailed };
struct DeviceHealth {
  DeviceState state = DeviceState::kUp;
  double speed_factor = 1;  // cards: share of normal compute speed
  bool cordoned = false;    // no new work
  std::string owner;        // who isolated it ("weft", "alice", another system); empty when nobody
  std::string reason;
  bool operator==(const DeviceHealth&) const = default;
};

class SnapshotBuilder;

class Snapshot {
 public:
  std::uint64_t version() const;
  std::uint64_t content_hash() const;  // equal content, equal hash; independent of version
  const std::string& site_name() const;

  std::size_t device_count() const;
  std::size_t port_count() const;
  std::size_t link_count() const;
  const Device& device(DeviceId id) const;
  const Port& port(PortId id) const;
  const Link& link(LinkId id) const;
  std::span<const Device> devices() const;
  std::span<const Port> ports() const;
  std::span<const Link> links() const;
  std::span<const Domain> domains() const;
  std::span<const DeviceModel> models() const;
  const DeviceModel* model_of(DeviceId id) const;  // nullptr when not known

  std::span<const DeviceId> cards() const;  // all cards, in id order
  std::span<const DeviceId> of_kind(DeviceKind kind) const;
  std::span<const DeviceId> children(DeviceId id) const;  // direct
  std::span<const PortId> ports_of(DeviceId id) const;    // in port order
  PortId peer(PortId port) const;                         // other end of its link, or none
  PortId other_end(LinkId link, DeviceId of) const;       // the port of `link` that is not on `of`

  DeviceId container(DeviceId id, DeviceKind kind) const;  // nearest ancestor of that kind (or itself), none if absent
  DomainId hbd_of(DeviceId card) const;                    // O(1); none when the card is in no HBD
  const Domain& domain(DomainId id) const;
  std::vector<DomainId> domains_of(DeviceId id) const;  // every domain it is in, itself or by a container

  // Canonical names: "sn1/node3/card5", "sn1/node3/card5:p2", "leaf2:17"; links by their lower end's name unless a cable names them.
  std::string name(DeviceId id) const;
  std::string name(PortId id) const;
  std::string name(LinkId id) const;             // "cable/C0417" or "A ↔ B"
  std::string_view cable_name(LinkId id) const;  // "" when none
  // Accepts canonical names, aliases added by the builder (host names, GUIDs, PCI addresses) and "gpu"/"npu" for card.
  Result<DeviceId> find_device(std::string_view name) const;
  Result<PortId> find_port(std::string_view name) const;
  Result<LinkId> find_link(std::string_view name) const;  // cable name, or either port's name
  std::string alias(DeviceId id) const;                   // foreign host name if any, else ""

  // Health. Defaults for everything not in the overlay.
  const LinkHealth& health(LinkId id) const;
  const DeviceHealth& health(DeviceId id) const;
  bool carries(LinkId id) const;                  // not down, in service, no end failed; its rate may still be unknown
  BitsPerSecond effective_rate(LinkId id) const;  // 0 when down, out of service, or an end is failed
  BytesPerSecond payload_rate(LinkId id) const;   // the same in bytes, without headers and cost per packet: what data can have
  bool usable(DeviceId card) const;               // up, not cordoned, and so its containers
  // Only what differs from the default, in id order.
  std::span<const std::pair<LinkId, LinkHealth>> link_overlay() const;
  std::span<const std::pair<DeviceId, DeviceHealth>> device_overlay() const;

  // Next version with these overlay entries replaced (an entry equal to the default removes it). O(overlay). Used by apply().
  Snapshot with_health(std::span<const std::pair<LinkId, LinkHealth>> links,
                       std::span<const std::pair<DeviceId, DeviceHealth>> devices) const;

 private:
  friend class SnapshotBuilder;
  struct Core;
  struct Overlay;
  std::shared_ptr<const Core> core_;
  std::shared_ptr<const Overlay> overlay_;
  std::uint64_t version_ = 1;
};

// Adds parts in any order, then build() checks the laws and freezes. Ids are given in order of addition.
class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(std::string site_name);
  ~SnapshotBuilder();

  DeviceId site() const;  // device 0
  std::uint32_t add_model(DeviceModel model);
  DeviceId add_device(DeviceKind kind, DeviceId parent, std::string_view local_name, std::uint32_t model = UINT32_MAX, int plane = -1,
                      int tier = -1);
  PortId add_port(DeviceId device, NetworkSet networks);  // numbers count from 0 per device
  PortId add_port(DeviceId device, NetworkSet networks, int number);
  // Takes free ports only; an occupied port is an error that names the cable already there.
  Result<LinkId> add_link(PortId a, PortId b, const Link& properties);
  DomainId add_domain(DomainKind kind, std::string name, std::vector<DeviceId> members);
  std::uint32_t add_cable(std::string name);
  void add_alias(std::string foreign, DeviceId device);
  void set_health(LinkId link, LinkHealth health);
  void set_health(DeviceId device, DeviceHealth health);
  std::size_t device_count() const;
  std::size_t link_count() const;
  std::string name(DeviceId id) const;
  // By canonical name among what was added so far; none when absent. O(devices) in the worst case: for explicit cables only.
  DeviceId find(std::string_view name) const;
  bool has_port(DeviceId device, int number) const;
  bool has_cable(std::string_view name) const;
  PortId port_of(DeviceId device, int number) const;

  // Errors: two devices of one name under one parent, an alias for two devices, a domain member that does not exist.
  Result<Snapshot> build() &&;

 private:
  std::unique_ptr<Snapshot::Core> core_;
  std::vector<std::pair<LinkId, LinkHealth>> link_health_;
  std::vector<std::pair<DeviceId, DeviceHealth>> device_health_;
};

}  // namespace weft::fabric
