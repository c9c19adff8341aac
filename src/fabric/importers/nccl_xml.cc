// NCCL and RCCL topology XML (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE): <system> of <cpu>, nested <pci>, and inside them <gpu>, <nic>/<net>,
// <nvlink>, <xgmi>, <c2c>. Cloud images ship files with <pci class=…> only. Format: NVIDIA/nccl src/graph/xml.h, ROCm/rccl (version 2).
#include <fmt/format.h>
#include <algorithm>
#include <pugixml.hpp>
#include <set>
#include <tuple>

#include "base/text.h"
#include "fabric/identity.h"
#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

// PCI class codes (PCI-SIG Code and ID Assignment): base 03 display (0300 VGA, 0302 3D, 0380 other), 12 processing accelerator, 02 network,
// 0604 bridge, 0680 other bridge (NVSwitch; 068001 is how NCCL writes a CPU), 01 storage. Vendor 1a03 is the BMC's display chip.
enum class PciKind { kUnknown, kAccelerator, kNic, kBridge, kNvSwitch, kStorage, kOther };
PciKind pci_kind(std::string_view cls, std::string_view vendor) {
  if (cls.empty()) return PciKind::kUnknown;
  if (cls.starts_with("0x03")) return vendor == "0x1a03" || vendor == "0x102b" ? PciKind::kOther : PciKind::kAccelerator;
  if (cls.starts_with("0x12")) return PciKind::kAccelerator;
  if (cls.starts_with("0x02")) return PciKind::kNic;
  if (cls.starts_with("0x0604")) return PciKind::kBridge;
  if (cls.starts_with("0x0680")) return PciKind::kNvSwitch;
  if (cls.starts_with("0x01")) return PciKind::kStorage;
  return PciKind::kOther;
}

// One lane's payload after the line code, b/s per GT/s: 8b/10b to 5 GT/s, 128b/130b to 32, 242 of 256 bytes in a flit at 64 (PCIe base specification 6.0).
std::optional<BitsPerSecond> pcie_rate(std::string_view speed, std::string_view width) {
  std::string_view number = speed.substr(0, speed.find_first_not_of("0123456789."));
  auto gt = parse_double(number);
  auto lanes = parse_int(trim(width));
  if (!gt || *gt < 2 || *gt > 256 || speed.find("GT/s") == std::string_view::npos || !lanes || *lanes < 1 || *lanes > 32)
    return std::nullopt;
  double code = *gt <= 5 ? 0.8 : *gt < 64 ? 128.0 / 130 : 242.0 / 256;
  return BitsPerSecond(*gt * 1e9 * code * static_cast<double>(*lanes));
}

// A file describes one machine, or the hosts of one NVLink domain: hundreds of devices. The limit bounds memory on nonsense.
constexpr std::size_t kMaxXmlDevices = 65'536;

struct Reader {
  Observed o;
  std::vector<std::size_t> line_starts;
  std::map<std::string, std::uint32_t> nodes, cpus;                    // host_hash → node, name → CPU
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> pci;  // (node, address) → device
  std::map<std::string, std::vector<Origin>> missing;                  // what is not said → where
  struct Scale {
    std::uint32_t card;
    std::string target, target_class, technology;
    int count;
    Origin at;
  };
  std::vector<Scale> scale;
  std::size_t gpu_elements = 0, nets = 0, virtual_nets = 0;
  std::map<std::string, int> classes;
  std::set<std::string> strange;

  Origin origin(const pugi::xml_node& n) const {
    auto at =
        std::upper_bound(line_starts.begin(), line_starts.end(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, n.offset_debug())));
    return {0, static_cast<int>(at - line_starts.begin())};
  }

  void facts(std::uint32_t d, const pugi::xml_node& n, std::initializer_list<std::pair<const char*, const char*>> names) {
    for (auto [attribute, fact] : names)
      if (auto a = n.attribute(attribute); a && *a.value()) o.devices[d].facts[fact].say(a.value(), origin(n));
  }

  // Nodes, CPUs and NICs are numbered in order of appearance; cards at the end (their own index, if they have one, is better).
  std::map<std::pair<std::uint32_t, std::string>, int> numbers;
  std::string numbered(std::uint32_t node, const std::string& what) {
    return fmt::format("{}/{}{}", o.devices[node].name, what, numbers[{node, what}]++);
  }

  std::uint32_t node_for(const std::string& hash, Origin at) {
    auto [it, fresh] = nodes.try_emplace(hash, 0);
    if (fresh) {
      it->second = o.add(DeviceKind::kNode, fmt::format("node{}", nodes.size() - 1), kNoDevice, at);
      if (!hash.empty()) o.devices[it->second].facts["host_hash"].say(hash, at);
    }
    return it->second;
  }

  std::uint32_t add_cpu(const pugi::xml_node& n) {
    Origin at = origin(n);
    std::uint32_t node = node_for(n.attribute("host_hash").value(), at);
    auto numa = parse_int(n.attribute("numaid").value());
    std::string name = numa && *numa >= 0 ? fmt::format("{}/cpu{}", o.devices[node].name, *numa) : numbered(node, "cpu-x");
    if (!numa || *numa < 0) missing["NUMA number of {} CPU(s)"].push_back(at);
    if (auto it = cpus.find(name); it != cpus.end()) {  // said twice: keep one CPU and say so
      o.contradictions.push_back({fmt::format("NUMA {} of one host stands twice (also {}); read as one CPU", n.attribute("numaid").value(),
                                              o.place(o.devices[it->second].at)),
                                  at});
      return it->second;
    }
    std::uint32_t cpu = o.add(DeviceKind::kCpu, name, node, at);
    cpus[name] = cpu;
    facts(cpu, n,
          {{"numaid", "numa"},
           {"affinity", "affinity"},
           {"arch", "arch"},
           {"vendor", "vendor"},
           {"familyid", "family"},
           {"modelid", "model_id"}});
    return cpu;
  }

  std::uint32_t add_pci(const pugi::xml_node& n, std::uint32_t parent) {
    Origin at = origin(n);
    std::uint32_t node = o.node_of(parent);
    std::string cls = lower(n.attribute("class").value()), vendor = lower(n.attribute("vendor").value());
    ++classes[cls.empty() ? "none" : cls];
    PciKind kind = pci_kind(cls, vendor);
    static constexpr const char* kWord[] = {"pci", "card", "nic", "pcie-switch", "nvswitch", "storage", "pci"};
    std::uint32_t d = o.add(numbered(node, kWord[static_cast<int>(kind)]), parent, at);
    switch (kind) {
      case PciKind::kAccelerator: o.devices[d].kind.say(DeviceKind::kCard, at); break;
      case PciKind::kNic: o.devices[d].kind.say(DeviceKind::kNic, at); break;
      case PciKind::kBridge:
      case PciKind::kNvSwitch: o.devices[d].kind.say(DeviceKind::kSwitch, at); break;
      case PciKind::kStorage: o.devices[d].kind.say(DeviceKind::kStorage, at); break;
      case PciKind::kUnknown: missing["class of {} PCI device(s)"].push_back(at); break;
      case PciKind::kOther: break;
    }
    facts(d, n,
          {{"class", "pci_class"},
           {"vendor", "vendor"},
           {"device", "device"},
           {"subsystem_vendor", "subsystem_vendor"},
           {"subsystem_device", "subsystem_device"},
           {"link_speed", "pci_link_speed"},
           {"link_width", "pci_link_width"}});
    std::string bus = normal_form(NameSpace::kPci, n.attribute("busid").value());
    if (bus.empty()) {
      missing["PCI address of {} device(s)"].push_back(at);
    } else {
      o.devices[d].facts["pci"].say(bus, at);
      if (auto [it, fresh] = pci.try_emplace({node, bus}, d); !fresh)
        o.contradictions.push_back({fmt::format("PCI address {} stands twice (also {})", bus, o.place(o.devices[it->second].at)), at});
    }
    ObservedLink link{parent, d, Network::kHost, "PCIe", {}, {}, at};
    link.count.say(1, at);
    std::string speed = n.attribute("link_speed").value(), width = n.attribute("link_width").value();
    if (auto rate = pcie_rate(speed, width)) link.rate.say(*rate, at);
    else
      missing[speed.empty() && width.empty() ? "PCIe speed and width of {} device(s)"
                                             : "PCIe rate of {} device(s) (speed or width not understood)"]
          .push_back(at);
    o.links.push_back(std::move(link));
    return d;
  }

  void add_gpu(const pugi::xml_node& n, std::uint32_t parent) {
    Origin at = origin(n);
    ++gpu_elements;
    std::uint32_t card = parent;
    if (o.is(parent, DeviceKind::kCpu)) card = o.add(DeviceKind::kCard, numbered(o.node_of(parent), "card"), parent, at);
    else o.devices[card].kind.say(DeviceKind::kCard, at);
    facts(card, n, {{"dev", "dev"}, {"rank", "rank"}, {"sm", "sm"}, {"gcn", "gcn"}, {"gdr", "gdr"}});
    for (pugi::xml_node l : n.children()) {
      std::string_view tag = l.name();
      if (tag != "nvlink" && tag != "xgmi" && tag != "c2c") {
        if (!tag.empty()) strange.insert(std::string(tag));
        continue;
      }
      auto count = parse_int(l.attribute("count").value());
      bool counted = count && *count > 0 && *count <= 1024;
      if (!counted) missing["count of {} scale-up link(s)"].push_back(origin(l));
      scale.push_back({card, normal_form(NameSpace::kPci, l.attribute("target").value()), lower(l.attribute("tclass").value()),
                       tag == "xgmi"  ? "xGMI"
                       : tag == "c2c" ? "C2C"
                                      : "NVLink",
                       counted ? static_cast<int>(*count) : 0, origin(l)});
    }
  }

  void add_nic(const pugi::xml_node& n, std::uint32_t parent) {
    bool bare = o.is(parent, DeviceKind::kCpu);
    if (!bare) o.devices[parent].kind.say(DeviceKind::kNic, origin(n));
    int number = 0;
    for (pugi::xml_node net : n.children("net")) {
      Origin at = origin(net);
      ++nets, ++number;
      std::uint32_t nic = parent;
      if (bare) {
        ++virtual_nets;
        nic = o.add(DeviceKind::kNic, numbered(o.node_of(parent), "net"), parent, at);
        o.devices[nic].facts["attachment"].say("no PCI device", at);
      }
      std::string suffix = bare || number == 1 ? "" : std::to_string(number);
      auto& f = o.devices[nic].facts;
      if (*net.attribute("name").value()) f["net" + suffix].say(net.attribute("name").value(), at);
      std::string guid = normal_form(NameSpace::kGuid, net.attribute("guid").value());
      if (!guid.empty() && (suffix.empty() || !f["guid"].one() || *f["guid"].one() != guid)) f["guid" + suffix].say(guid, at);
      ObservedLink link{nic, kNoDevice, Network::kScaleOut, "network", {}, {}, at};
      link.count.say(1, at);
      auto speed = parse_int(net.attribute("speed").value());  // Mb/s
      if (speed && *speed > 0 && *speed < 100'000'000) link.rate.say(BitsPerSecond(static_cast<double>(*speed) * 1e6), at);
      else missing["speed of {} network port(s)"].push_back(at);
      o.links.push_back(std::move(link));
    }
  }

  Status walk(const pugi::xml_node& n, std::uint32_t parent, int depth) {
    if (depth > kMaxImportDepth)
      return fail(ErrorKind::kInvalid,
                  fmt::format("elements are nested more than {} deep; no machine has such a PCI tree", kMaxImportDepth),
                  o.place(origin(n)));
    for (pugi::xml_node child : n.children()) {
      std::string_view tag = child.name();
      if (child.type() != pugi::node_element) continue;
      if (o.devices.size() + scale.size() >= kMaxXmlDevices)
        return fail(ErrorKind::kInvalid,
                    fmt::format("more than {} devices and links; a topology file describes one machine", kMaxXmlDevices),
                    o.place(origin(child)));
      if (tag == "cpu") {
        if (parent != kNoDevice)
          return fail(ErrorKind::kInvalid, "<cpu> inside another element; it belongs directly under <system>", o.place(origin(child)));
        WEFT_TRY(walk(child, add_cpu(child), depth + 1));
      } else if (parent == kNoDevice) {
        strange.insert(std::string(tag));
      } else if (tag == "pci") {
        WEFT_TRY(walk(child, add_pci(child, parent), depth + 1));
      } else if (tag == "gpu") {
        add_gpu(child, parent);
      } else if (tag == "nic") {
        add_nic(child, parent);
      } else {
        strange.insert(std::string(tag));
      }
    }
    return {};
  }

  void name_cards() {
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_node;
    for (std::uint32_t c : o.of_kind(DeviceKind::kCard)) by_node[o.node_of(c)].push_back(c);
    for (const auto& [node, cards] : by_node) {
      std::map<std::int64_t, std::uint32_t> by_dev;
      bool usable = true;
      for (std::uint32_t c : cards) {
        auto dev = parse_int(o.fact(c, "dev"));
        if (!dev || *dev < 0 || *dev > 65535) usable = false;
        else if (auto [it, fresh] = by_dev.try_emplace(*dev, c); !fresh) {
          usable = false;
          o.contradictions.push_back({fmt::format("two cards have dev=\"{}\" (also {}); numbered in order of the file instead", *dev,
                                                  o.place(o.devices[it->second].at)),
                                      o.devices[c].at});
        }
      }
      for (std::size_t i = 0; i < cards.size(); ++i)
        o.devices[cards[i]].name = fmt::format("{}/card{}", o.devices[node].name, usable ? o.fact(cards[i], "dev") : std::to_string(i));
    }
  }

  // NVLink and xGMI name their other end by PCI address and class. Both ends of a card-to-card bundle are said; they should agree.
  void join_scale_up() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::string>, std::size_t> index;  // (low, high, technology) → link
    std::set<std::pair<std::size_t, std::uint32_t>> ends;                                // (link, who lists it)
    std::map<std::pair<std::uint32_t, std::string>, int> summed;  // the same card and target may stand in several elements: they add up
    for (const Scale& s : scale) summed[{s.card, s.target}] += s.count;
    for (const Scale& s : scale) {
      int count = std::exchange(summed[{s.card, s.target}], 0);
      if (count == 0) continue;
      std::uint32_t node = o.node_of(s.card), other = kNoDevice;
      if (auto it = pci.find({node, s.target}); it != pci.end()) other = it->second;
      else if (s.target_class.starts_with("0x068000")) {
        other = o.add(DeviceKind::kSwitch, numbered(node, "nvswitch"), node, s.at);
        o.devices[other].facts["pci"].say(s.target, s.at);
        pci[{node, s.target}] = other;
      } else if (s.target_class.starts_with("0x068001") || s.technology == "C2C") {
        for (std::uint32_t up = s.card; up != kNoDevice; up = o.devices[up].parent)
          if (o.is(up, DeviceKind::kCpu)) other = up;
      } else {
        missing["far end of {} scale-up bundle(s): the target is not in the file"].push_back(s.at);
      }
      if (other == s.card) {
        o.contradictions.push_back({fmt::format("{} has a {} to itself", o.devices[s.card].name, s.technology), s.at});
        continue;
      }
      bool to_cpu = o.is(other, DeviceKind::kCpu);
      auto [it, fresh] = index.try_emplace({std::min(s.card, other), std::max(s.card, other), s.technology}, o.links.size());
      if (fresh || other == kNoDevice) {  // bundles to targets that are not described stay apart
        it->second = o.links.size();
        o.links.push_back({s.card, other, to_cpu ? Network::kHost : Network::kScaleUp, s.technology, {}, {}, s.at});
      }
      o.links[it->second].count.say(count, s.at);
      ends.insert({it->second, s.card});
    }
    for (std::size_t l = 0; l < o.links.size(); ++l) {
      const ObservedLink& link = o.links[l];
      if (link.network != Network::kScaleUp || !o.is(link.a, DeviceKind::kCard) || !o.is(link.b, DeviceKind::kCard)) continue;
      for (auto [from, to] : {std::pair(link.a, link.b), std::pair(link.b, link.a)})
        if (!ends.contains({l, from}))
          o.contradictions.push_back(
              {fmt::format("{} lists {} to {}, which does not list it back", o.devices[to].name, link.technology, o.devices[from].name),
               link.at});
    }
    if (scale.empty()) {
      if (gpu_elements) o.understood.push_back({"the <gpu> elements list no NVLink and no xGMI: cards reach each other over PCIe", {0, 0}});
      else
        o.unknown.push_back(
            {"scale-up links: the file has no <gpu> elements, so NVLink or xGMI is not described (which is not the same as absent); say it "
             "with --scale-up-form",
             {0, 0}});
    } else {
      o.unknown.push_back({"rate of the scale-up links: this format gives counts only", {0, 0}});
    }
    std::map<std::uint32_t, int> totals;
    for (std::uint32_t c : o.of_kind(DeviceKind::kCard)) totals[c] = 0;
    for (const ObservedLink& l : o.links)
      if (l.network == Network::kScaleUp)
        for (std::uint32_t end : {l.a, l.b})
          if (auto it = totals.find(end); it != totals.end())
            it->second = it->second < 0 || !l.count.one() ? -1 : it->second + *l.count.one();
    std::map<int, int> per_card;
    for (auto [card, total] : totals) ++per_card[total];
    std::vector<std::string> parts;
    for (auto [links, cards] : per_card)
      parts.push_back(fmt::format("{} card(s) with {}", cards, links < 0 ? "a contradictory number" : std::to_string(links)));
    if (!scale.empty()) o.understood.push_back({fmt::format("scale-up links per card: {}", fmt::join(parts, ", ")), {0, 0}});
  }

  void finish() {
    for (const auto& [what, where] : missing) o.unknown.push_back({fmt::format(fmt::runtime(what), where.size()), where[0]});
    for (const std::string& tag : strange)
      o.unknown.push_back({fmt::format("meaning of <{}>: not part of the format this reader knows", tag.substr(0, 40)), {0, 0}});
    std::map<std::uint32_t, std::set<std::int64_t>> numa;
    for (std::uint32_t c : o.of_kind(DeviceKind::kCpu))
      if (auto id = parse_int(o.fact(c, "numa")); id && *id >= 0 && *id < 4096) numa[o.node_of(c)].insert(*id);
    for (const auto& [node, ids] : numa) {
      std::vector<std::string> absent;
      for (std::int64_t i = 0; i < *ids.rbegin(); ++i)
        if (!ids.contains(i)) absent.push_back(std::to_string(i));
      if (!absent.empty() && absent.size() < 64)
        o.unknown.push_back(
            {fmt::format("NUMA {} of {}: not in the file (no device there, or left out)", fmt::join(absent, ", "), o.devices[node].name),
             o.devices[node].at});
    }
    if (nets)
      o.understood.push_back(
          {fmt::format(
               "{} network interface(s){}", nets,
               virtual_nets
                   ? fmt::format(", {} of them without a PCI device (bridges, virtual interfaces, or hidden by the virtual machine)",
                                 virtual_nets)
                   : ""),
           {0, 0}});
    else if (o.count(DeviceKind::kNic))
      o.unknown.push_back({"speed of the network ports: the file lists NICs by PCI class but no <net>", {0, 0}});
    o.unknown.push_back({"what the network ports are connected to", {0, 0}});
    find_hbds(o);
    std::size_t hbds = o.domains.size(), cards = o.count(DeviceKind::kCard);
    if (hbds > 1) o.understood.push_back({fmt::format("{} groups of cards are linked inside but not with each other", hbds), {0, 0}});
    else if (hbds == 1 && o.domains[0].members.size() < cards)
      o.understood.push_back({fmt::format("{} of {} cards are in the scale-up domain", o.domains[0].members.size(), cards), {0, 0}});
  }
};

bool recognises(std::string_view text) {
  std::string_view head = text.substr(0, 16384);
  std::size_t at = head.find_first_not_of(" \t\r\n");
  if (at == std::string_view::npos || head[at] != '<') return false;
  return head.find("<system") != std::string_view::npos || head.find("<graphs") != std::string_view::npos || head.starts_with("<?xml") ||
         head.find("<cpu") != std::string_view::npos;
}

Result<Observed> read(std::string_view text, const std::string& file) {
  Reader r;
  r.o.files = {file};
  r.line_starts.push_back(0);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') r.line_starts.push_back(i + 1);
  auto line_at = [&](std::size_t offset) {
    return std::upper_bound(r.line_starts.begin(), r.line_starts.end(), offset) - r.line_starts.begin();
  };
  pugi::xml_document document;
  auto parsed = document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  pugi::xml_node root = document.document_element();
  if (std::string_view name = root.name(); name == "graphs" || name == "graph")
    return fail(ErrorKind::kInvalid,
                "<graphs> is a graph file (NCCL_GRAPH_DUMP_FILE: the rings and trees NCCL chose), not a topology; give the file that "
                "NCCL_TOPO_DUMP_FILE writes",
                fmt::format("{}:{}", file, r.origin(root).line));
  if (!parsed) {
    std::size_t offset = std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, parsed.offset)), text.size());
    return fail(ErrorKind::kCorrupt,
                fmt::format("the XML is cut off or damaged ({}); write it again with NCCL_TOPO_DUMP_FILE and copy the whole file",
                            lower(parsed.description())),
                fmt::format("{}:{}", file, line_at(offset)));
  }
  if (std::string_view(root.name()) != "system")
    return fail(ErrorKind::kInvalid,
                fmt::format("the root element is <{}>; a topology file of NCCL or RCCL begins with <system>",
                            std::string_view(root.name()).substr(0, 40)),
                fmt::format("{}:{}", file, r.origin(root).line));
  for (pugi::xml_node next = root.next_sibling(); next; next = next.next_sibling())
    if (next.type() == pugi::node_element)
      return fail(ErrorKind::kInvalid,
                  fmt::format("a second root element <{}>; two files were joined, give them one by one",
                              std::string_view(next.name()).substr(0, 40)),
                  fmt::format("{}:{}", file, r.origin(next).line));
  std::string version = root.attribute("version").value();
  if (version == "1" || version == "2")
    r.o.understood.push_back({fmt::format("topology version {} ({})", version, version == "1" ? "NCCL" : "RCCL"), r.origin(root)});
  else
    r.o.unknown.push_back(
        {fmt::format("version of the format: '{}' is neither 1 (NCCL) nor 2 (RCCL); read like them", version.substr(0, 40)),
         r.origin(root)});
  WEFT_TRY(r.walk(root, kNoDevice, 0));
  r.name_cards();
  if (r.o.count(DeviceKind::kCard) == 0 && !r.classes.contains("none")) {
    std::vector<std::string> seen;
    for (const auto& [cls, n] : r.classes)
      if (seen.size() < 12) seen.push_back(fmt::format("{} x {}", n, cls));
    return fail(
        ErrorKind::kInvalid,
        fmt::format(
            "no accelerator: there is no <gpu>, and {}; missing is a <pci> of class 0x0300xx, 0x0302xx, 0x0380xx or 0x1200xx for each card",
            seen.empty() ? "no <pci>" : fmt::format("the PCI classes are {}", fmt::join(seen, ", "))),
        fmt::format("{}:{}", file, r.origin(root).line));
  }
  if (r.classes.contains("none") && r.o.count(DeviceKind::kCard) == 0)
    r.o.unknown.push_back(
        {"which devices are accelerators: no <pci> has a class and there is no <gpu>; add class=\"0x030200\" to the cards", {0, 0}});
  r.join_scale_up();
  r.finish();
  return std::move(r.o);
}

WEFT_REGISTER(importers(), {"nccl-xml", "NCCL and RCCL topology XML (NCCL_TOPO_DUMP_FILE), by <gpu> and by PCI class", recognises, read});

}  // namespace
}  // namespace weft::fabric
