// `lspci -nn` (with -D or not): one PCI function a line, "0001:00:00.0 3D controller [0302]: NVIDIA Corporation … [10de:20b2] (rev a1)".
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "fabric/identity.h"
#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

struct Function {
  std::string address, cls, vendor, device, words;
};

bool hex(std::string_view s, std::size_t digits) {
  return s.size() == digits && s.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// [domain:]bus:device.function
bool address_like(std::string_view s) {
  std::size_t dot = s.rfind('.');
  if (dot == std::string_view::npos || s.size() - dot != 2) return false;
  auto parts = split(s.substr(0, dot), ':');
  if (parts.size() == 3 && (parts[0].size() < 4 || parts[0].size() > 8 || !hex(parts[0], parts[0].size()))) return false;
  return (parts.size() == 2 || parts.size() == 3) && hex(parts[parts.size() - 2], 2) && hex(parts.back(), 2);
}

bool parse(std::string_view line, Function& out) {
  line = trim(line);
  std::size_t space = line.find(' ');
  if (space == std::string_view::npos || !address_like(line.substr(0, space))) return false;
  std::size_t cls = line.find(" [", space);
  if (cls == std::string_view::npos || cls + 7 >= line.size() || !hex(line.substr(cls + 2, 4), 4) || line.substr(cls + 6, 2) != "]:")
    return false;
  out.address = normal_form(NameSpace::kPci, line.substr(0, space));
  out.cls = lower(line.substr(cls + 2, 4));
  std::string_view rest = trim(line.substr(cls + 8));
  for (std::size_t at = rest.rfind('['); at != std::string_view::npos && at > 0; at = rest.rfind('[', at - 1))  // the last [vvvv:dddd]
    if (at + 10 < rest.size() && hex(rest.substr(at + 1, 4), 4) && rest[at + 5] == ':' && hex(rest.substr(at + 6, 4), 4) &&
        rest[at + 10] == ']') {
      out.vendor = lower(rest.substr(at + 1, 4)), out.device = lower(rest.substr(at + 6, 4));
      out.words = trim(rest.substr(0, at));
      break;
    }
  if (out.words.empty()) out.words = rest;
  return true;
}

// Lines that begin with a PCI address, with class numbers or not; `lspci -k` and `-v` put a few lines under each.
bool recognises(std::string_view text) {
  std::size_t lines = 0, good = 0;
  for (std::string_view line : split(text.substr(0, 1 << 20), '\n')) {
    if (trim(line).empty()) continue;
    ++lines, good += address_like(line.substr(0, line.find(' ')));
  }
  return good >= 1 && good * 4 >= lines;
}

Result<Observed> read(std::string_view text, const std::string& file) {
  Observed o;
  o.files = {file};
  std::uint32_t node = o.add(DeviceKind::kNode, "node0", kNoDevice, {0, 1});
  std::map<std::string, int> numbers;
  std::map<std::string, std::uint32_t> seen;
  int number = 0;
  std::size_t other = 0, skipped = 0;
  for (std::string_view line : split(text, '\n')) {
    Origin at{0, ++number};
    Function f;
    if (trim(line).empty()) continue;
    if (!parse(line, f)) {
      ++skipped;
      continue;
    }
    // Classes as in PCI-SIG's Code and ID Assignment. A display chip of class 0300 or 0380 counts only from a maker of accelerators (NVIDIA 10de, AMD 1002).
    bool maker = f.vendor == "10de" || f.vendor == "1002";
    std::optional<DeviceKind> kind;
    std::string word;
    if (f.cls == "0302" || f.cls == "1200" || ((f.cls == "0300" || f.cls == "0380") && maker)) kind = DeviceKind::kCard, word = "card";
    else if (f.cls == "0207" || f.cls == "0200" || f.cls == "0280") kind = DeviceKind::kNic, word = "nic";
    else if (f.cls == "0680" && f.vendor == "10de") kind = DeviceKind::kSwitch, word = "nvswitch";
    else if (f.cls == "0108") kind = DeviceKind::kStorage, word = "nvme";
    if (!kind) {
      ++other;
      continue;
    }
    if (o.devices.size() >= 65'536)
      return fail(ErrorKind::kInvalid, "more than 65536 devices; lspci lists one machine", fmt::format("{}:{}", file, number));
    if (auto [it, fresh] = seen.try_emplace(f.address, static_cast<std::uint32_t>(o.devices.size())); !fresh)
      o.contradictions.push_back(
          {fmt::format("PCI address {} stands twice (also {}); two machines in one file?", f.address, o.place(o.devices[it->second].at)),
           at});
    std::uint32_t d = o.add(*kind, fmt::format("node0/{}{}", word, numbers[word]++), node, at);
    auto& facts = o.devices[d].facts;
    facts["pci"].say(f.address, at);
    facts["pci_class"].say("0x" + f.cls, at);
    if (!f.vendor.empty()) facts["vendor"].say("0x" + f.vendor, at), facts["device"].say("0x" + f.device, at);
    if (!f.words.empty()) facts["model"].say(f.words, at);
    if (f.cls == "0207") facts["link_layer"].say("InfiniBand", at);
    if (f.cls == "0200") facts["link_layer"].say("Ethernet", at);
  }
  if (o.devices.size() == 1 && !other)
    return fail(ErrorKind::kInvalid,
                "no line with class and vendor numbers ('ADDRESS class [cccc]: name [vvvv:dddd]'); run lspci -nn instead of lspci", file);
  if (o.count(DeviceKind::kCard) == 0)
    return fail(ErrorKind::kInvalid,
                fmt::format("no accelerator: none of the {} PCI functions has class 0302 or 1200, or 0300/0380 from NVIDIA or AMD; was "
                            "lspci -nn run inside a container or without the cards?",
                            o.devices.size() - 1 + other),
                file);
  o.understood.push_back({fmt::format("{} further PCI functions (bridges, controllers) left out", other), {0, 0}});
  if (skipped) o.unknown.push_back({fmt::format("meaning of {} line(s) that are no PCI function", skipped), {0, 0}});
  if (o.count(DeviceKind::kSwitch))
    o.unknown.push_back({"NVLinks: the NVSwitches are there, lspci does not say how they are wired", {0, 0}});
  else o.unknown.push_back({"scale-up links: lspci does not list them (which is not the same as absent)", {0, 0}});
  o.unknown.push_back({"PCIe tree, speeds and NUMA (lspci -tv and -vv say more), speed and peers of the network ports", {0, 0}});
  return o;
}

WEFT_REGISTER(importers(), {"lspci", "lspci -nn: cards, NICs, NVSwitches and NVMe by PCI class", recognises, read});

}  // namespace
}  // namespace weft::fabric
