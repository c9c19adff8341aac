#include "fabric/observed.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace weft::fabric {

std::uint32_t Observed::add(std::string name, std::uint32_t parent, Origin at) {
  devices.push_back({{}, std::move(name), parent, at, {}});
  return static_cast<std::uint32_t>(devices.size() - 1);
}
std::uint32_t Observed::add(DeviceKind kind, std::string name, std::uint32_t parent, Origin at) {
  std::uint32_t id = add(std::move(name), parent, at);
  devices[id].kind.say(kind, at);
  return id;
}

bool Observed::is(std::uint32_t device, DeviceKind kind) const {
  const DeviceKind* one = device < devices.size() ? devices[device].kind.one() : nullptr;
  return one && *one == kind;
}
std::vector<std::uint32_t> Observed::of_kind(DeviceKind kind) const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t d = 0; d < devices.size(); ++d)
    if (is(d, kind)) out.push_back(d);
  return out;
}
std::size_t Observed::count(DeviceKind kind) const { return of_kind(kind).size(); }

std::uint32_t Observed::node_of(std::uint32_t device) const {
  while (device < devices.size() && !is(device, DeviceKind::kNode)) device = devices[device].parent;
  return device;
}

std::string Observed::fact(std::uint32_t device, std::string_view name) const {
  const auto& facts = devices[device].facts;
  auto at = facts.find(name);
  const std::string* one = at == facts.end() ? nullptr : at->second.one();
  return one ? *one : "";
}

std::string Observed::place(Origin at) const {
  const std::string& file = at.file < files.size() ? files[at.file] : "";
  return at.line > 0 ? fmt::format("{}:{}", file, at.line) : file;
}

int Observed::link_total(std::uint32_t device, Network network) const {
  int sum = 0;
  for (const ObservedLink& l : links) {
    if (l.network != network || (l.a != device && l.b != device)) continue;
    const int* count = l.count.one();
    if (!count) return -1;
    sum += *count;
  }
  return sum;
}

void find_hbds(Observed& o) {
  std::vector<std::uint32_t> root(o.devices.size());
  std::iota(root.begin(), root.end(), 0u);
  auto find = [&](std::uint32_t d) {
    while (root[d] != d) d = root[d] = root[root[d]];
    return d;
  };
  for (const ObservedLink& l : o.links)
    if (l.network == Network::kScaleUp && l.a != kNoDevice && l.b != kNoDevice)
      root[std::max(find(l.a), find(l.b))] = std::min(find(l.a), find(l.b));
  std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
  for (std::uint32_t card : o.of_kind(DeviceKind::kCard)) groups[find(card)].push_back(card);
  for (auto& [first, cards] : groups)
    if (cards.size() > 1) {
      Origin at = o.devices[cards[0]].at;
      o.domains.push_back({DomainKind::kHbd,
                           fmt::format("hbd{}", std::count_if(o.domains.begin(), o.domains.end(),
                                                              [](const auto& d) { return d.kind == DomainKind::kHbd; })),
                           std::move(cards), at});
    }
}

namespace {

template <class T, class Text>
void contradiction(Observed& o, const std::string& what, const Said<T>& said, Text text) {
  if (!said.contradicted()) return;
  std::vector<std::string> parts;
  for (const auto& [value, at] : said.all) parts.push_back(fmt::format("{} ({})", text(value), o.place(at)));
  o.contradictions.push_back({what + ": " + fmt::format("{}", fmt::join(parts, " and ")), said.all[1].second});
}

std::string end_name(const Observed& o, std::uint32_t d) { return d == kNoDevice ? "an unnamed fabric" : o.devices[d].name; }

}  // namespace

void collect_contradictions(Observed& o) {
  auto same = [](const std::string& s) { return s; };
  for (const ObservedDevice& d : o.devices) {
    contradiction(o, d.name + " is", d.kind, [](DeviceKind k) { return std::string(kind_name(k)); });
    for (const auto& [name, said] : d.facts) contradiction(o, d.name + " " + name, said, same);
  }
  for (const ObservedLink& l : o.links) {
    std::string what = fmt::format("{} links between {} and {}", l.technology, end_name(o, l.a), end_name(o, l.b));
    contradiction(o, what, l.count, [](int n) { return std::to_string(n); });
    contradiction(o, what + ", rate", l.rate, [](BitsPerSecond r) { return human(r); });
  }
  for (const ObservedPath& p : o.paths)
    contradiction(o, fmt::format("path {} to {}", end_name(o, p.a), end_name(o, p.b)), p.relation, same);
}

namespace {

template <class T, class Value>
Json said_json(const Observed& o, const Said<T>& said, Value value) {
  if (said.unknown()) return "unknown";
  Json list = Json::array();
  for (const auto& [v, at] : said.all) list.push_back({{"value", value(v)}, {"at", o.place(at)}});
  return said.known() ? list[0] : Json{{"contradiction", list}};
}

Json remarks_json(const Observed& o, const std::vector<Remark>& remarks) {
  Json list = Json::array();
  for (const Remark& r : remarks) list.push_back({{"text", r.text}, {"at", o.place(r.at)}});
  return list;
}

}  // namespace

Json to_json(const Observed& o) {
  Json devices = Json::array(), links = Json::array(), paths = Json::array(), domains = Json::array();
  auto name = [&](std::uint32_t d) -> Json { return d == kNoDevice ? Json(nullptr) : Json(o.devices[d].name); };
  auto text = [](const std::string& s) { return Json(s); };
  for (const ObservedDevice& d : o.devices) {
    Json facts = Json::object();
    for (const auto& [key, said] : d.facts) facts[key] = said_json(o, said, text);
    devices.push_back({{"name", d.name},
                       {"kind", said_json(o, d.kind, [](DeviceKind k) { return Json(kind_name(k)); })},
                       {"in", name(d.parent)},
                       {"at", o.place(d.at)},
                       {"facts", facts}});
  }
  for (const ObservedLink& l : o.links)
    links.push_back({{"a", name(l.a)},
                     {"b", name(l.b)},
                     {"network", network_name(l.network)},
                     {"technology", l.technology},
                     {"count", said_json(o, l.count, [](int n) { return Json(n); })},
                     {"rate_bits_per_second", said_json(o, l.rate, [](BitsPerSecond r) { return Json(r.value()); })},
                     {"at", o.place(l.at)}});
  for (std::size_t l = 0; l < o.links.size(); ++l)
    if (!o.links[l].port_a.empty()) links[l]["port_a"] = o.links[l].port_a, links[l]["port_b"] = o.links[l].port_b;
  for (const ObservedPath& p : o.paths) paths.push_back({{"a", name(p.a)}, {"b", name(p.b)}, {"relation", said_json(o, p.relation, text)}});
  for (const ObservedDomain& d : o.domains) {
    Json members = Json::array();
    for (std::uint32_t m : d.members) members.push_back(o.devices[m].name);
    domains.push_back({{"kind", domain_kind_name(d.kind)}, {"name", d.name}, {"members", members}, {"at", o.place(d.at)}});
  }
  return {{"format", o.format},
          {"files", o.files},
          {"devices", devices},
          {"links", links},
          {"paths", paths},
          {"domains", domains},
          {"understood", remarks_json(o, o.understood)},
          {"unknown", remarks_json(o, o.unknown)},
          {"contradictions", remarks_json(o, o.contradictions)},
          {"irregular", remarks_json(o, o.irregular)}};
}

namespace {

std::string count_text(const Observed& o) {
  std::map<DeviceKind, std::size_t> kinds;
  std::size_t unknown = 0;
  for (const ObservedDevice& d : o.devices) {
    if (const DeviceKind* k = d.kind.one()) ++kinds[*k];
    else ++unknown;
  }
  std::vector<std::string> parts;
  for (auto [kind, n] : kinds)
    parts.push_back(fmt::format("{} {}{}", n, kind_name(kind), n == 1 ? "" : kind == DeviceKind::kSwitch ? "es" : "s"));
  if (unknown) parts.push_back(fmt::format("{} of unknown kind", unknown));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

// "8 cards x 18 NVLink (26.6 GB/s each)", "12 x PCIe 504 Gb/s": links that say the same are counted together.
std::vector<std::string> link_lines(const Observed& o) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> lines;  // pairs, links
  for (const ObservedLink& l : o.links) {
    const int* count = l.count.one();
    std::string rate = l.rate.contradicted() ? "contradictory rate" : l.rate.known() ? human(*l.rate.one()) : "rate unknown";
    std::string key = fmt::format("{} {}{}, {}", network_name(l.network), l.technology,
                                  l.count.contradicted() ? ", contradictory count"
                                  : count                ? ""
                                                         : ", count unknown",
                                  rate);
    auto& [pairs, links] = lines[key];
    ++pairs, links += count ? static_cast<std::size_t>(*count) : 0;
  }
  std::vector<std::string> out;
  for (const auto& [key, n] : lines)
    out.push_back(n.second > n.first ? fmt::format("{} in {} bundles: {}", n.second, n.first, key) : fmt::format("{}: {}", n.first, key));
  return out;
}

void add_remarks(Report& report, const Observed& o, const std::string& heading, const std::vector<Remark>& remarks, std::size_t limit) {
  if (remarks.empty()) return;
  Section& section = report.sections.emplace_back();
  section.heading = fmt::format("{} ({})", heading, remarks.size());
  for (std::size_t i = 0; i < std::min(limit, remarks.size()); ++i)
    section.paragraphs.push_back(fmt::format("{}: {}", o.place(remarks[i].at), remarks[i].text));
  if (remarks.size() > limit) section.paragraphs.push_back(fmt::format("… and {} more (all of them with --json)", remarks.size() - limit));
}

}  // namespace

Report report(const Observed& o, std::size_t limit) {
  Report out;
  out.title = fmt::format("Read {} as {}", fmt::join(o.files, ", "), o.format);
  Section& understood = out.sections.emplace_back();
  understood.heading = "Understood";
  understood.facts.emplace_back("devices", count_text(o));
  auto lines = link_lines(o);
  understood.facts.emplace_back("links", lines.empty() ? "none described" : fmt::format("{}", fmt::join(lines, "; ")));
  std::vector<std::string> domains;
  for (std::size_t i = 0; i < o.domains.size() && i < 8; ++i)
    domains.push_back(fmt::format("{} {} of {}", domain_kind_name(o.domains[i].kind), o.domains[i].name, o.domains[i].members.size()));
  if (o.domains.size() > 8) domains.push_back(fmt::format("{} more", o.domains.size() - 8));
  understood.facts.emplace_back("domains", domains.empty() ? "none described" : fmt::format("{}", fmt::join(domains, ", ")));
  for (std::size_t i = 0; i < std::min(limit, o.understood.size()); ++i)
    understood.paragraphs.push_back(fmt::format("{}: {}", o.place(o.understood[i].at), o.understood[i].text));
  if (o.understood.size() > limit) understood.paragraphs.push_back(fmt::format("… and {} more", o.understood.size() - limit));
  add_remarks(out, o, "Not known", o.unknown, limit);
  add_remarks(out, o, "Contradictions", o.contradictions, limit);
  add_remarks(out, o, "Irregular: breaks the pattern of the rest", o.irregular, limit);
  return out;
}

}  // namespace weft::fabric
