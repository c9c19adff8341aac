// What every importer owes for any bytes: an error that says where, or an observation that is sound and gives a readable site file.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "fabric/identity.h"
#include "fabric/importers/importer.h"
#include "fabric/observed_site.h"

namespace weft::fuzz {

inline void check(const fabric::Observed& o) {
  auto valid = [&](std::uint32_t d) { return d == fabric::kNoDevice || d < o.devices.size(); };
  for (const auto& d : o.devices)
    if (!valid(d.parent) || d.name.empty() || d.at.file >= o.files.size()) abort();
  for (const auto& l : o.links) {
    if (!valid(l.a) || !valid(l.b) || l.a == fabric::kNoDevice || l.a == l.b) abort();
    for (const auto& [rate, at] : l.rate.all)
      if (!(rate.value() > 0)) abort();
    for (const auto& [count, at] : l.count.all)
      if (count <= 0) abort();
  }
  for (const auto& d : o.domains)
    for (std::uint32_t m : d.members)
      if (m >= o.devices.size()) abort();
  (void)fabric::identify(o).collisions();
  (void)to_text(fabric::report(o));
  if (o.devices.size() < 2000) (void)dump_json(fabric::to_json(o));
  fabric::SiteAssumptions assume;
  if (o.devices.size() < 2000) {
    for (const char* scale_out : {"", "rail:400G"}) {
      assume.scale_out = scale_out;
      auto site = fabric::to_site(o, assume);
      if (!site && site.error().kind == ErrorKind::kInternal) abort();  // what we write must be readable
    }
  }
}

inline int import(const std::uint8_t* data, std::size_t size, const char* format) {
  auto o = fabric::import_text({reinterpret_cast<const char*>(data), size}, "fuzz.txt", format);
  if (!o) {
    if (o.error().kind == ErrorKind::kInternal || o.error().message.empty() || !o.error().place.starts_with("fuzz.txt")) abort();
    return 0;
  }
  check(*o);
  return 0;
}

}  // namespace weft::fuzz
