// What breaks the pattern of a discovered network. No intended machine is needed: most of a fabric is built alike, and what differs from the
// rest is either a fault or a decision that somebody should be able to name.
#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/text.h"
#include "fabric/observed.h"

namespace weft::fabric {
namespace {

constexpr double kClear = 2.0 / 3;  // a value kept by this share of the members is a pattern

// The commonest value, the larger of equals; nothing when it is not clear.
template <class T>
const T* pattern(const std::map<T, std::size_t>& votes) {
  const T* best = nullptr;
  std::size_t most = 0, all = 0;
  for (const auto& [value, n] : votes) {
    all += n;
    if (n >= most) best = &value, most = n;
  }
  return static_cast<double>(most) >= kClear * static_cast<double>(all) ? best : nullptr;
}

struct Group {
  std::vector<std::uint32_t> low, high;
};

}  // namespace

void find_irregular(Observed& o) {
  std::map<std::uint32_t, int> tier;
  for (std::uint32_t s : o.of_kind(DeviceKind::kSwitch))
    if (auto t = parse_int(o.fact(s, "tier"))) tier[s] = static_cast<int>(*t);

  // Cables between switches of neighbouring tiers, in groups that such cables join (the pods of a fat-tree).
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> cables;
  std::map<int, std::map<std::uint32_t, std::uint32_t>> roots;  // lower tier → union-find
  auto find = [](std::map<std::uint32_t, std::uint32_t>& root, std::uint32_t d) {
    root.try_emplace(d, d);
    while (root[d] != d) d = root[d] = root[root[d]];
    return d;
  };
  for (const ObservedLink& l : o.links) {
    auto a = tier.find(l.a), b = tier.find(l.b);
    if (l.network != Network::kScaleOut || a == tier.end() || b == tier.end()) continue;
    auto low = l.a, high = l.b;
    if (a->second > b->second) std::swap(low, high);
    if (tier[high] != tier[low] + 1) continue;
    cables[{low, high}] += l.count.one() ? *l.count.one() : 1;
    auto& root = roots[tier[low]];
    auto x = find(root, low), y = find(root, high);
    root[std::max(x, y)] = std::min(x, y);
  }
  for (auto& [t, root] : roots) {
    std::map<std::uint32_t, Group> groups;
    std::vector<std::uint32_t> members;
    for (const auto& [d, r] : root) members.push_back(d);
    for (std::uint32_t d : members) {
      Group& g = groups[find(root, d)];
      (tier[d] == t ? g.low : g.high).push_back(d);
    }
    for (const auto& [first, g] : groups) {
      if (g.low.size() * g.high.size() < 3) continue;
      std::map<int, std::size_t> votes;
      auto between = [&](std::uint32_t low, std::uint32_t high) {
        auto at = cables.find({low, high});
        return at == cables.end() ? 0 : at->second;
      };
      for (auto low : g.low)
        for (auto high : g.high) ++votes[between(low, high)];
      const int* usual = pattern(votes);
      if (!usual || *usual == 0) continue;
      int missing = 0, extra = 0;
      std::size_t full = 0;
      std::vector<std::pair<std::uint32_t, int>> short_of;  // lower switch, cables
      std::vector<Remark> pairs;
      for (auto low : g.low) {
        int have = 0;
        for (auto high : g.high) {
          int n = between(low, high);
          have += n;
          missing += std::max(0, *usual - n), extra += std::max(0, n - *usual);
          if (n != *usual)
            pairs.push_back({fmt::format("{} and {} have {} cable{}, the others of their group {}", o.devices[low].name,
                                         o.devices[high].name, n, n == 1 ? "" : "s", *usual),
                             o.devices[low].at});
        }
        int want = *usual * static_cast<int>(g.high.size());
        if (have < want) short_of.push_back({low, have});
        full += have == want;
      }
      if (pairs.empty()) continue;
      std::string text = fmt::format("{} of {} cables between {} lower and {} upper switches are missing: {} pairs should have {} each",
                                     missing, *usual * static_cast<int>(g.low.size() * g.high.size()), g.low.size(), g.high.size(),
                                     g.low.size() * g.high.size(), *usual);
      for (const auto& [n, count] : votes)
        if (n < *usual) text += fmt::format(", {} have {}", count, n == 0 ? "none" : std::to_string(n));
      if (extra) text += fmt::format("; {} more than the pattern elsewhere", extra);
      if (!short_of.empty()) {
        auto worst = *std::min_element(short_of.begin(), short_of.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
        text += fmt::format("; {} of {} lower switches are complete, the worst is {} with {} of {}", full, g.low.size(),
                            o.devices[worst.first].name, worst.second, *usual * static_cast<int>(g.high.size()));
      }
      o.irregular.push_back({text, o.devices[g.low[0]].at});
      o.irregular.insert(o.irregular.end(), pairs.begin(), pairs.end());
    }
  }

  // Adapters per host. Hosts of the same number stand for a group; a host below the commonest number misses a rail.
  std::map<std::uint32_t, int> adapters;
  for (std::uint32_t n : o.of_kind(DeviceKind::kNode))
    if (!o.fact(n, "host").empty()) adapters[n] = 0;
  for (std::uint32_t d = 0; d < o.devices.size(); ++d)
    if (o.is(d, DeviceKind::kNic))
      if (auto at = adapters.find(o.devices[d].parent); at != adapters.end()) ++at->second;
  std::map<int, std::size_t> votes;
  for (const auto& [n, count] : adapters)
    if (count) ++votes[count];
  if (const int* usual = pattern(votes)) {
    std::map<int, std::vector<std::string>> fewer;
    for (const auto& [n, count] : adapters)
      if (count && count < *usual) fewer[count].push_back(o.devices[n].name);
    for (const auto& [count, names] : fewer) {
      std::vector<std::string> shown(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 12)));
      o.irregular.push_back(
          {fmt::format("{} host{} show{} {} adapter{}, {} others {}: missing rails at {}{}", names.size(), names.size() == 1 ? "" : "s",
                       names.size() == 1 ? "s" : "", count, count == 1 ? "" : "s", votes[*usual], *usual,
                       fmt::format("{}", fmt::join(shown, ", ")), names.size() > shown.size() ? ", …" : ""),
           {0, 0}});
    }
  }

  // Rates: host cables and trunks are each of one kind.
  for (bool trunk : {false, true}) {
    std::map<double, std::size_t> rates;
    auto of_kind = [&](const ObservedLink& l) {
      return l.network == Network::kScaleOut && l.b != kNoDevice && l.rate.one() && (tier.contains(l.a) && tier.contains(l.b)) == trunk;
    };
    for (const ObservedLink& l : o.links)
      if (of_kind(l)) ++rates[l.rate.one()->value()];
    const double* usual = pattern(rates);
    if (!usual) continue;
    for (const ObservedLink& l : o.links)
      if (of_kind(l) && l.rate.one()->value() < *usual)
        o.irregular.push_back(
            {fmt::format("{}{} to {}{} runs at {}, its kind at {}", o.devices[l.a].name, l.port_a.empty() ? "" : ":" + l.port_a,
                         o.devices[l.b].name, l.port_b.empty() ? "" : ":" + l.port_b, human(*l.rate.one()), human(BitsPerSecond(*usual))),
             l.at});
  }
}

}  // namespace weft::fabric
