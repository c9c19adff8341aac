// Observed: what was discovered about a machine, each fact with the place that said it. Made by importers, compared with the
// intended Snapshot by drift. Never filled with defaults: what nobody said is unknown, and what two places say differently
// stays side by side.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/report.h"
#include "fabric/snapshot.h"

namespace weft::fabric {

struct Origin {
  std::uint32_t file = 0;  // index into Observed::files
  int line = 0;            // 1-based; 0 = the file as a whole
  bool operator==(const Origin&) const = default;
};

// All different things said about one attribute, each with the first place that said it, in order of reading.
// None = unknown; more than one = contradiction.
template <class T>
struct Said {
  std::vector<std::pair<T, Origin>> all;
  bool known() const { return all.size() == 1; }
  bool unknown() const { return all.empty(); }
  bool contradicted() const { return all.size() > 1; }
  const T* one() const { return known() ? &all[0].first : nullptr; }
  void say(T value, Origin at) {
    for (const auto& [v, where] : all)
      if (v == value) return;
    all.emplace_back(std::move(value), at);
  }
};

constexpr std::uint32_t kNoDevice = UINT32_MAX;

struct ObservedDevice {
  Said<DeviceKind> kind;  // unknown for a bare PCI address
  std::string name;       // path inside the observation: "node0/card3", "circe-n001", "leaf7"
  std::uint32_t parent = kNoDevice;
  Origin at;
  // Further facts as the source spells them, under the field's names: "pci_class", "pci_link_speed", "numa", "uuid", "model" …
  std::map<std::string, Said<std::string>, std::less<>> facts;
};

// Physical links of one kind between two devices, or between a device and an unnamed fabric (b = kNoDevice).
struct ObservedLink {
  std::uint32_t a = kNoDevice, b = kNoDevice;
  Network network = Network::kHost;
  std::string technology;    // "NVLink", "xGMI", "PCIe", "network"
  Said<int> count;           // parallel links
  Said<BitsPerSecond> rate;  // one link, one direction
  Origin at;
  std::string port_a, port_b;  // as the source numbers them; "" = not said
};

// How far apart two devices are when no link between them is named ("PIX", "NODE", "SYS").
struct ObservedPath {
  std::uint32_t a = kNoDevice, b = kNoDevice;
  Said<std::string> relation;
};

struct ObservedDomain {
  DomainKind kind;
  std::string name;
  std::vector<std::uint32_t> members;  // sorted
  Origin at;
};

struct Remark {
  std::string text;
  Origin at;
};

struct Observed {
  std::string format;  // name of the importer
  std::vector<std::string> files;
  std::vector<ObservedDevice> devices;
  std::vector<ObservedLink> links;
  std::vector<ObservedPath> paths;
  std::vector<ObservedDomain> domains;
  std::vector<Remark> understood, unknown, contradictions;
  std::vector<Remark> irregular;  // what breaks a pattern that the rest of the machine keeps (find_irregular)

  std::uint32_t add(DeviceKind kind, std::string name, std::uint32_t parent, Origin at);
  std::uint32_t add(std::string name, std::uint32_t parent, Origin at);  // kind not known
  std::size_t count(DeviceKind kind) const;
  std::vector<std::uint32_t> of_kind(DeviceKind kind) const;  // in order of reading
  std::uint32_t node_of(std::uint32_t device) const;          // nearest node above, or kNoDevice
  bool is(std::uint32_t device, DeviceKind kind) const;       // said to be that and nothing else
  // The one value of a fact; "" when nobody said it or several differ.
  std::string fact(std::uint32_t device, std::string_view name) const;
  std::string place(Origin at) const;  // "file:line"
  // Links of one device on a network: sum of counts over peers. -1 when a count is unknown or contradicted; 0 = none listed.
  int link_total(std::uint32_t device, Network network) const;
};

// Adds one HBD per connected component of two or more cards over scale-up links (through switches where there are some).
void find_hbds(Observed& observed);
// Remarks on what breaks the pattern that most of the switched network keeps: pairs of switches with fewer cables than the others of their
// group, hosts with fewer adapters, links slower than their kind. Says nothing where no pattern is clear (under two thirds alike).
// Switches need the fact "tier" (0 = with hosts).
void find_irregular(Observed& observed);
// Turns facts with several values (and counts that differ between a link's two ends) into remarks. Call once, at the end of reading.
void collect_contradictions(Observed& observed);

Json to_json(const Observed& observed);
// What was understood, what is not known, what contradicts itself; at most `limit` lines of each (the rest counted).
Report report(const Observed& observed, std::size_t limit = 20);

}  // namespace weft::fabric
