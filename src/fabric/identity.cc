#include "fabric/identity.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"

namespace weft::fabric {

std::string_view name_space_name(NameSpace space) {
  static constexpr std::string_view kNames[] = {"host name", "GUID", "PCI address", "UUID", "switch port", "rank", "network interface"};
  return kNames[static_cast<std::size_t>(space)];
}

namespace {

bool all_hex(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string padded(std::string_view s, std::size_t width) {
  return s.size() < width ? std::string(width - s.size(), '0') + std::string(s) : std::string(s);
}

// [domain:]bus:device.function; domains of 8 digits (as the driver prints them) lose their leading zeros down to four.
std::string normal_pci(const std::string& s) {
  auto parts = split(s, ':');
  if (parts.size() == 2) parts.insert(parts.begin(), "0000");
  if (parts.size() != 3) return s;
  std::string_view domain = parts[0];
  while (domain.size() > 4 && domain[0] == '0') domain.remove_prefix(1);
  auto device = split(parts[2], '.');
  if (device.size() > 2 || !all_hex(domain) || !all_hex(parts[1])) return s;
  return fmt::format("{}:{}:{}.{}", padded(domain, 4), padded(parts[1], 2), padded(device[0], 2), device.size() == 2 ? device[1] : "0");
}

}  // namespace

std::string normal_form(NameSpace space, std::string_view foreign) {
  std::string s = lower(trim(foreign));
  switch (space) {
    case NameSpace::kPci: return normal_pci(s);
    case NameSpace::kGuid: {
      std::string digits;
      for (char c : s.starts_with("0x") ? s.substr(2) : s)
        if (c != ':' && c != '-') digits += c;
      return all_hex(digits) ? "0x" + padded(digits, 16) : s;
    }
    case NameSpace::kHost:
      while (!s.empty() && s.back() == '.') s.pop_back();
      return s;
    default: return std::string(trim(foreign));
  }
}

void Identity::add(NameSpace space, std::string_view scope, std::string_view foreign, std::string_view canonical) {
  auto& list = names_[{space, std::string(scope), normal_form(space, foreign)}];
  auto at = std::lower_bound(list.begin(), list.end(), canonical);
  if (at == list.end() || *at != canonical) list.insert(at, std::string(canonical));
}

Result<std::string> Identity::canonical(NameSpace space, std::string_view scope, std::string_view foreign) const {
  auto at = names_.find({space, std::string(scope), normal_form(space, foreign)});
  if (at == names_.end()) return fail(ErrorKind::kNotFound, fmt::format("no entity has the {} '{}'", name_space_name(space), foreign));
  if (at->second.size() > 1)
    return fail(ErrorKind::kConflict, fmt::format("the {} '{}' stands for {}; use a canonical name", name_space_name(space), foreign,
                                                  fmt::join(at->second, " and for ")));
  return at->second[0];
}

std::vector<NameCollision> Identity::collisions() const {
  std::vector<NameCollision> out;
  for (const auto& [key, canonical] : names_)
    if (canonical.size() > 1) out.push_back({key.space, key.foreign, canonical});
  return out;
}

Identity identify(const Observed& o) {
  Identity out;
  for (std::uint32_t d = 0; d < o.devices.size(); ++d) {
    const ObservedDevice& device = o.devices[d];
    std::uint32_t node = o.node_of(d);
    std::string scope = node == kNoDevice ? "" : o.devices[node].name;
    auto each = [&](std::string_view fact, NameSpace space, const std::string& in) {
      auto at = device.facts.find(fact);
      if (at == device.facts.end()) return;
      for (const auto& [value, origin] : at->second.all) {
        if (space == NameSpace::kGuid && normal_form(space, value) < "0x0000000000010000") continue;  // NCCL numbers sockets 0x0, 0x1 …
        out.add(space, in, value, device.name);
      }
    };
    each("host", NameSpace::kHost, "");
    each("guid", NameSpace::kGuid, "");
    each("uuid", NameSpace::kUuid, "");
    each("pci", NameSpace::kPci, scope);
    each("rank", NameSpace::kRank, "");
    each("net", NameSpace::kNet, scope);
  }
  return out;
}

}  // namespace weft::fabric
