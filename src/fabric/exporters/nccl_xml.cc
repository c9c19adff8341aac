// NCCL topology XML of one node (NCCL_TOPO_FILE): cards, their NVLinks or xGMI, NICs with their ports. PCI addresses that the site does not know
// (aliases) are made up and said to be; NUMA and PCIe speeds are written only when known.
#include <fmt/format.h>
#include <algorithm>
#include <map>

#include "fabric/exporters/exporter.h"
#include "fabric/identity.h"

namespace weft::fabric {
namespace {

// "0000:0f:00.0" and nothing else.
bool pci_address(const std::string& s) {
  return s.size() == 12 && s[4] == ':' && s[7] == ':' && s[10] == '.' && normal_form(NameSpace::kPci, s) == s;
}

std::string xml(const std::string& s) {
  std::string out;
  for (char c : s) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

struct Writer {
  const Snapshot& s;
  std::map<DeviceId, std::string> bus;
  int made_up = 0;

  // NCCL tells devices apart by address only; made-up ones start at domain f000, which no machine uses for cards.
  const std::string& address(DeviceId d) {
    auto [it, fresh] = bus.try_emplace(d);
    if (fresh) {
      it->second = normal_form(NameSpace::kPci, s.alias(d));
      if (!pci_address(it->second)) it->second = fmt::format("f{:03x}:{:02x}:00.0", made_up / 256, made_up % 256), ++made_up;
    }
    return it->second;
  }
};

Result<std::string> write(const Snapshot& s, const ExportOptions& options) {
  DeviceId node = options.node;
  if (!node.ok() && !s.of_kind(DeviceKind::kNode).empty()) node = s.of_kind(DeviceKind::kNode)[0];
  if (!node.ok()) return fail(ErrorKind::kInvalid, "the site has no node to describe");
  std::vector<DeviceId> cards, nics;
  for (DeviceId d : s.children(node)) {
    if (s.device(d).kind == DeviceKind::kCard) cards.push_back(d);
    if (s.device(d).kind == DeviceKind::kNic) nics.push_back(d);
  }
  if (cards.empty()) return fail(ErrorKind::kInvalid, fmt::format("{} has no cards; NCCL needs at least one GPU", s.name(node)));
  if (cards.size() > 4096)
    return fail(ErrorKind::kInvalid, fmt::format("{} has {} cards; more than a node can have", s.name(node), cards.size()));
  Writer w{s, {}, 0};
  std::string body;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    std::map<DeviceId, int> targets;
    for (PortId p : s.ports_of(cards[i])) {
      LinkId l = s.port(p).link;
      if (!l.ok() || !(s.link(l).networks & bit(Network::kScaleUp)) || s.link(l).spare) continue;
      ++targets[s.port(s.other_end(l, cards[i])).device];
    }
    const DeviceModel* model = s.model_of(cards[i]);
    bool amd = model && model->name.starts_with("MI");
    body += fmt::format("    <pci busid=\"{}\" class=\"{}\">\n      <gpu dev=\"{}\" rank=\"{}\"", w.address(cards[i]),
                        amd ? "0x120000" : "0x030200", i, i);
    body += targets.empty() ? "/>\n" : ">\n";
    for (auto [target, count] : targets) {
      bool card = s.device(target).kind == DeviceKind::kCard;
      body += fmt::format("        <{} target=\"{}\" count=\"{}\" tclass=\"{}\"/>\n", amd ? "xgmi" : "nvlink", w.address(target), count,
                          card ? (amd ? "0x120000" : "0x030200") : "0x068000");
    }
    if (!targets.empty()) body += "      </gpu>\n";
    body += "    </pci>\n";
  }
  int net = 0;
  for (DeviceId nic : nics) {
    body += fmt::format("    <pci busid=\"{}\" class=\"0x020000\">\n      <nic>\n", w.address(nic));
    int port = 0;
    for (PortId p : s.ports_of(nic)) {
      LinkId l = s.port(p).link;
      if (l.ok() && s.link(l).spare) continue;
      double rate = l.ok() ? s.link(l).rate.value() : 0;
      body +=
          fmt::format("        <net name=\"{}{}\" dev=\"{}\" port=\"{}\"{}/>\n", xml(s.name(nic).substr(s.name(nic).rfind('/') + 1)),
                      port ? fmt::format("_p{}", port) : "", net, port + 1, rate > 0 ? fmt::format(" speed=\"{:.0f}\"", rate / 1e6) : "");
      ++port, ++net;
    }
    body += "      </nic>\n    </pci>\n";
  }
  std::string out = fmt::format(
      "<!-- {} of site {}, written by weft. NUMA placement and PCIe speeds are not known and left out{} -->\n", xml(s.name(node)),
      xml(s.site_name()),
      w.made_up ? fmt::format(".\n     {} PCI addresses (f000:...) are made up: replace them by the real ones before use", w.made_up) : "");
  std::string host = s.alias(node).empty() ? "" : fmt::format(" host_hash=\"0x{:x}\"", [&] {
    std::uint64_t h = 14695981039346656037ull;  // FNV-1a, as a stable stand-in for NCCL's own hash of the host name
    for (unsigned char c : s.alias(node)) h = (h ^ c) * 1099511628211ull;
    return h;
  }());
  bool amd = std::any_of(cards.begin(), cards.end(), [&](DeviceId c) { return s.model_of(c) && s.model_of(c)->name.starts_with("MI"); });
  return out +
         fmt::format("<system version=\"{}\">\n  <cpu{} numaid=\"-1\" affinity=\"\">\n{}  </cpu>\n</system>\n", amd ? 2 : 1, host, body);
}

WEFT_REGISTER(exporters(), {"nccl-xml", "NCCL/RCCL topology XML of one node (NCCL_TOPO_FILE)", true, write});

}  // namespace
}  // namespace weft::fabric
