// ibnetdiscover, topology format (infiniband-diags): a block per switch and channel adapter, every cable printed from both its ends.
// Nodes and adapters have no names but their description, "HOST HCA", which nobody is forced to keep: a default description names no
// host, and one host name may stand for many machines.
#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

bool recognises(std::string_view text) {
  bool block = false, guid = false;
  for (std::string_view line : split(text, '\n')) {
    if (line.starts_with("switchguid=") || line.starts_with("caguid=") || line.starts_with("rtguid=")) guid = true;
    if (starts_with_word(line, "Switch") || starts_with_word(line, "Ca") || starts_with_word(line, "Rt")) block = true;
    if (guid && block) return true;
  }
  return false;
}

// InfiniBand Architecture Specification vol. 1, PortInfo LinkSpeedActive: nominal data rate of one lane.
std::optional<double> lane_rate(std::string_view name) {
  static constexpr std::pair<std::string_view, double> kLanes[] = {{"SDR", 2.5e9},  {"DDR", 5e9},   {"QDR", 10e9},
                                                                   {"FDR10", 10e9}, {"FDR", 14e9},  {"EDR", 25e9},
                                                                   {"HDR", 50e9},   {"NDR", 100e9}, {"XDR", 200e9}};
  for (auto [n, r] : kLanes)
    if (n == name) return r;
  return std::nullopt;
}
std::optional<BitsPerSecond> rate_of(std::string_view word) {  // "4xNDR"
  std::size_t x = word.find('x');
  if (x == std::string_view::npos) return std::nullopt;
  auto lanes = parse_int(word.substr(0, x));
  auto rate = lane_rate(word.substr(x + 1));
  if (!lanes || !rate || (*lanes != 1 && *lanes != 2 && *lanes != 4 && *lanes != 8 && *lanes != 12)) return std::nullopt;
  return BitsPerSecond(static_cast<double>(*lanes) * *rate);
}

// The text between the first pair of quotes from `from`; moves `from` behind it.
std::optional<std::string_view> quoted(std::string_view line, std::size_t& from) {
  std::size_t open = line.find('"', from);
  if (open == std::string_view::npos) return std::nullopt;
  std::size_t close = line.find('"', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  from = close + 1;
  return line.substr(open + 1, close - open - 1);
}
std::optional<int> bracketed(std::string_view line, std::size_t& from) {  // "[17]"
  if (from >= line.size() || line[from] != '[') return std::nullopt;
  std::size_t close = line.find(']', from);
  if (close == std::string_view::npos) return std::nullopt;
  auto v = parse_int(line.substr(from + 1, close - from - 1));
  if (!v || *v < 0 || *v > 255) return std::nullopt;  // port numbers are 8 bits
  from = close + 1;
  return static_cast<int>(*v);
}

constexpr std::string_view kAggregation = "Aggregation Node";  // SHARP: sits inside a switch, is no host

// "MF0;A09-P1-LEAF-04:MQM9701/U1" → A09-P1-LEAF-04, the system's name inside the manufacturer's form.
std::string switch_name(std::string_view description) {
  std::string_view s = description;
  if (std::size_t semi = s.find(';'); semi != std::string_view::npos) {
    s = s.substr(semi + 1);
    if (std::size_t colon = s.find(':'); colon != std::string_view::npos) s = s.substr(0, colon);
  }
  std::string out(trim(s));
  for (char& c : out)
    if (c == '/' || c == ' ' || c == ':' || c == ',') c = '_';
  return out;
}

// The adapter's own default description: it says nothing about which machine it is.
bool names_no_host(std::string_view host, std::string_view description) {
  return host.empty() || host.find(' ') != std::string_view::npos || description.find("Mellanox Technologies") != std::string_view::npos;
}
// A name that installers give and many machines may keep.
bool default_name(std::string_view host) {
  std::string l = lower(host);
  return l == "localhost" || l.starts_with("localhost.") || l == "ubuntu" || l == "debian" || l == "rocky" || l == "(none)";
}

struct Block {
  bool is_switch = false;
  std::string_view guid, description;
  int ports = 0, line = 0;
  struct End {
    int port, far_port, line;
    std::string_view far;  // "S-…" or "H-…"
    std::string_view rate;
  };
  std::vector<End> ends;
};

Result<std::vector<Block>> blocks_of(std::string_view text, const std::string& file) {
  std::vector<Block> blocks;
  int number = 0;
  bool open = false;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    auto bad = [&](const std::string& why) { return fail(ErrorKind::kInvalid, why, fmt::format("{}:{}", file, number)); };
    std::string_view t = trim(line);
    if (t.empty() || t[0] == '#' || t.starts_with("vendid=") || t.starts_with("devid=") || t.starts_with("sysimgguid=") ||
        t.starts_with("switchguid=") || t.starts_with("caguid=") || t.starts_with("rtguid=") || t.starts_with("DR path") ||
        t.starts_with("Chassis") || t.starts_with("Non-Chassis")) {
      open = open && !t.empty();
      continue;
    }
    bool sw = starts_with_word(t, "Switch"), ca = starts_with_word(t, "Ca"), rt = starts_with_word(t, "Rt");
    if (sw || ca || rt) {
      auto words = split_space(t);
      auto ports = words.size() > 1 ? parse_int(words[1]) : Result<std::int64_t>(fail(ErrorKind::kInvalid, ""));
      std::size_t at = 0;
      auto guid = quoted(t, at);
      std::size_t hash = t.find('#', at);
      if (!ports || *ports < 0 || *ports > 255 || !guid || guid->size() < 3)
        return bad("expected 'Switch PORTS \"S-GUID\"   # \"DESCRIPTION\" …', is the file cut?");
      Block b;
      b.is_switch = sw, b.guid = *guid, b.ports = static_cast<int>(*ports), b.line = number;
      if (hash != std::string_view::npos) {
        at = hash;
        if (auto d = quoted(t, at)) b.description = *d;
      }
      if (blocks.size() >= kMaxImportDevices) return bad(fmt::format("more than {} switches and adapters", kMaxImportDevices));
      blocks.push_back(std::move(b));
      open = true;
      continue;
    }
    if (t[0] == '[' && open) {
      Block& b = blocks.back();
      Block::End e{};
      std::size_t at = 0;
      auto port = bracketed(t, at);
      auto far = port ? quoted(t, at) : std::nullopt;
      auto far_port = far ? bracketed(t, at) : std::nullopt;
      if (!far_port) return bad("expected '[PORT] \"GUID\"[PORT] # …', is the file cut?");
      e.port = *port, e.far_port = *far_port, e.far = *far, e.line = number;
      auto words = split_space(t.substr(at));
      if (!words.empty() && rate_of(words.back())) e.rate = words.back();
      if (b.ends.size() >= 256) return bad("more than 256 port lines in one block");
      b.ends.push_back(e);
      continue;
    }
    return bad(fmt::format("'{}' is no line of ibnetdiscover", t.substr(0, 40)));
  }
  return blocks;
}

Result<Observed> read(std::string_view text, const std::string& file) {
  WEFT_ASSIGN(auto blocks, blocks_of(text, file));
  Observed o;
  o.files = {file};
  auto shown = [](std::size_t n, std::string_view one, std::string_view many) { return fmt::format("{} {}", n, n == 1 ? one : many); };

  // SHARP aggregation nodes are seen as adapters with one port in a switch.
  std::size_t switches = 0, adapters = 0, aggregation = 0;
  std::unordered_map<std::string_view, std::size_t> by_guid;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    auto [at, fresh] = by_guid.try_emplace(blocks[i].guid, i);
    if (!fresh)
      return fail(
          ErrorKind::kInvalid,
          fmt::format("{} is described twice, also at line {}; are these two runs in one file?", blocks[i].guid, blocks[at->second].line),
          fmt::format("{}:{}", file, blocks[i].line));
    if (blocks[i].is_switch) ++switches;
    else if (blocks[i].description.find(kAggregation) != std::string_view::npos) ++aggregation;
    else ++adapters;
  }
  if (std::all_of(blocks.begin(), blocks.end(), [](const Block& b) { return b.ends.empty(); }))
    return fail(
        ErrorKind::kInvalid,
        "no fabric is seen: the adapter lists no cable, so its port is down or there is no subnet manager; look at ibstat on that host",
        fmt::format("{}:{}", file, blocks[0].line));

  // Names. A description that several adapters share names none of them.
  std::map<std::string, std::vector<std::size_t>> adapters_named, switches_named;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    if (b.is_switch) switches_named[switch_name(b.description)].push_back(i);
    else if (b.description.find(kAggregation) == std::string_view::npos) adapters_named[std::string(b.description)].push_back(i);
  }
  std::vector<std::uint32_t> device(blocks.size(), kNoDevice);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    if (!b.is_switch) continue;
    std::string name = switch_name(b.description);
    bool unique = !name.empty() && switches_named[name].size() == 1;
    Origin at{0, b.line};
    device[i] = o.add(DeviceKind::kSwitch, unique ? name : "switch-" + std::string(b.guid.substr(2)), kNoDevice, at);
    auto& facts = o.devices.back().facts;
    facts["guid"].say("0x" + std::string(b.guid.substr(2)), at);
    facts["description"].say(std::string(b.description), at);
    facts["ports"].say(std::to_string(b.ports), at);
    if (unique) facts["host"].say(name, at);
  }
  for (const auto& [name, all] : switches_named)
    if (all.size() > 1)
      o.contradictions.push_back(
          {fmt::format("{} switches share the name '{}': it identifies none of them, their GUIDs are used", all.size(), name),
           {0, blocks[all[1]].line}});
  std::unordered_map<std::string, std::uint32_t> hosts;
  std::map<std::string, std::size_t> nameless;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    if (b.is_switch || b.description.find(kAggregation) != std::string_view::npos) continue;
    Origin at{0, b.line};
    std::string_view description = trim(b.description);
    std::size_t blank = description.find_last_of(" \t");
    std::string_view host = blank == std::string_view::npos ? description : trim(description.substr(0, blank));
    std::string_view local = blank == std::string_view::npos ? std::string_view{} : description.substr(blank + 1);
    std::uint32_t parent = kNoDevice;
    std::string guid(b.guid.substr(2)), nic = local.empty() ? "hca0" : std::string(local);
    // One description on several adapters is no identity either, whatever it says.
    bool no_host = names_no_host(host, description) || host.find(' ') != std::string_view::npos ||
                   adapters_named[std::string(b.description)].size() > 1;
    if (no_host) {
      ++nameless[std::string(description)];
      parent = o.add(DeviceKind::kNode, "host-of-" + guid, kNoDevice, at);
      nic = "hca0";
    } else {
      auto [it, fresh] = hosts.try_emplace(std::string(host), 0);
      if (fresh) {
        it->second = o.add(DeviceKind::kNode, std::string(host), kNoDevice, at);
        o.devices.back().facts["host"].say(std::string(host), at);
        if (default_name(host))
          o.contradictions.push_back({fmt::format("'{}' is a name that installers give: several machines may hide behind it", host), at});
      }
      parent = it->second;
    }
    for (char& c : nic)
      if (c == '/' || c == ':' || c == ',') c = '_';
    std::string parent_name = o.devices[parent].name;
    device[i] = o.add(DeviceKind::kNic, parent_name + "/" + nic, parent, at);
    o.devices.back().facts["guid"].say("0x" + guid, at);
    o.devices.back().facts["description"].say(std::string(b.description), at);
  }
  for (const auto& [description, n] : nameless)
    o.contradictions.push_back(
        {fmt::format("{} with the description '{}', which names no machine: each is kept apart under its GUID; set the node description "
                     "(rdma-ndd, or /sys/class/infiniband/*/node_desc)",
                     shown(n, "adapter", "adapters"), description),
         {0, blocks[adapters_named.count(description) ? adapters_named[description][0] : 0].line}});

  // Cables: each should be printed from both ends, and both must agree.
  std::map<std::pair<std::pair<std::size_t, int>, std::pair<std::size_t, int>>, std::size_t> seen;  // both ends → link
  std::size_t one_sided = 0, dangling = 0, no_rate = 0;
  std::vector<int> printed;
  std::map<std::pair<std::size_t, int>, std::pair<std::size_t, int>> far_of;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (device[i] == kNoDevice) continue;
    for (const Block::End& e : blocks[i].ends) {
      Origin at{0, e.line};
      auto far = by_guid.find(e.far);
      if (far == by_guid.end()) {
        ++dangling;
        o.contradictions.push_back(
            {fmt::format("{} port {} leads to {}, which the file does not describe", o.devices[device[i]].name, e.port, e.far), at});
        continue;
      }
      if (device[far->second] == kNoDevice) continue;  // aggregation node
      if (far->second == i) {
        if (e.port <= e.far_port)
          o.contradictions.push_back(
              {fmt::format("a cable joins {} with itself: ports {} and {}", o.devices[device[i]].name, e.port, e.far_port), at});
        continue;
      }
      std::pair<std::size_t, int> here{i, e.port}, there{far->second, e.far_port};
      if (auto [it, fresh] = far_of.try_emplace(here, there); !fresh)
        return fail(ErrorKind::kInvalid, fmt::format("port {} of {} is listed twice", e.port, o.devices[device[i]].name),
                    fmt::format("{}:{}", file, e.line));
      auto key = std::minmax(here, there);
      auto [it, fresh] = seen.try_emplace({key.first, key.second}, o.links.size());
      if (fresh) {
        ObservedLink l;
        bool flip = !blocks[i].is_switch && blocks[far->second].is_switch;  // switch first
        l.a = device[flip ? far->second : i], l.b = device[flip ? i : far->second];
        l.network = Network::kScaleOut, l.technology = "InfiniBand", l.at = at;
        l.port_a = std::to_string(flip ? e.far_port : e.port), l.port_b = std::to_string(flip ? e.port : e.far_port);
        l.count.say(1, at);
        o.links.push_back(std::move(l));
        printed.push_back(0);
      }
      ++printed[it->second];
      if (e.rate.empty()) ++no_rate;
      else o.links[it->second].rate.say(*rate_of(e.rate), at);
    }
  }
  for (std::size_t l = 0; l < o.links.size(); ++l)
    if (printed[l] == 1) {
      ++one_sided;
      const ObservedLink& link = o.links[l];
      o.contradictions.push_back({fmt::format("the cable {}:{} to {}:{} is printed from one end only", o.devices[link.a].name, link.port_a,
                                              o.devices[link.b].name, link.port_b),
                                  link.at});
    }

  // A leaf is a switch with adapters of hosts (the aggregation nodes inside every switch do not count); tiers are counted from the leaves.
  std::vector<std::vector<std::uint32_t>> beside(o.devices.size());
  std::map<std::string, std::size_t> rates;
  std::vector<int> tier(o.devices.size(), -1);
  std::vector<std::uint32_t> order;
  std::size_t trunks = 0;
  for (const ObservedLink& l : o.links) {
    if (o.is(l.b, DeviceKind::kSwitch)) ++trunks, beside[l.a].push_back(l.b), beside[l.b].push_back(l.a);
    else if (o.is(l.a, DeviceKind::kSwitch) && tier[l.a] < 0) tier[l.a] = 0, order.push_back(l.a);
    if (const BitsPerSecond* r = l.rate.one()) ++rates[human(*r)];
  }
  std::size_t leaves = order.size();
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::uint32_t next : beside[order[i]])
      if (tier[next] < 0) tier[next] = tier[order[i]] + 1, order.push_back(next);
  for (std::uint32_t s : order) o.devices[s].facts["tier"].say(std::to_string(tier[s]), o.devices[s].at);
  std::string by_rate;
  for (const auto& [rate, n] : rates) by_rate += fmt::format("{}{} at {}", by_rate.empty() ? "" : ", ", n, rate);
  o.understood.push_back(
      {fmt::format("{} switches ({} with hosts, {} above them), {} adapters of {} hosts, {} cables ({} between switches): {}", switches,
                   leaves, switches - leaves, adapters, o.count(DeviceKind::kNode), o.links.size(), trunks,
                   by_rate.empty() ? "no rate said" : by_rate),
       {0, 0}});
  if (aggregation) o.understood.push_back({fmt::format("{} SHARP aggregation nodes inside switches (no hosts)", aggregation), {0, 0}});
  if (no_rate) o.unknown.push_back({fmt::format("rate of {}", shown(no_rate, "cable end", "cable ends")), {0, 0}});
  o.unknown.push_back({"length and medium of every cable (iblinkinfo and mlxlink say more)", {0, 0}});
  o.unknown.push_back({"cards of the hosts; say them with --scale-up-form", {0, 0}});
  find_irregular(o);
  return o;
}

WEFT_REGISTER(importers(), {"ibnetdiscover", "InfiniBand fabric as ibnetdiscover prints it", recognises, read});

}  // namespace
}  // namespace weft::fabric
