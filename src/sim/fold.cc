#include "sim/fold.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "collective/usage.h"
#include "sim/refine.h"

namespace weft::sim {
namespace {

using workload::OpKind;

std::uint64_t join(std::uint64_t h, std::uint64_t x) { return mix(h * 0x9e3779b97f4a7c15ull + x); }
std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

// Classes of all elements: ranks, then channels, then links.
std::vector<std::uint32_t> classes(const System& sys, bool merge) {
  std::size_t r = sys.ranks.size(), c = sys.channels.size(), l = sys.links.size();
  std::vector<std::uint32_t> out(r + c + l);
  std::iota(out.begin(), out.end(), 0u);
  if (!merge) return out;
  std::vector<std::uint64_t> colour(r + c + l);
  std::vector<LabelledEdge> edges;
  std::size_t count = sys.role_channel.size();
  for (const Channel& ch : sys.channels)
    for (const Usage& u : ch.usages) count += u.links.size();
  edges.reserve(count);
  for (std::size_t i = 0; i < r; ++i) {
    const Rank& rank = sys.ranks[i];
    colour[i] = join(join(join(1, rank.job), rank.program), bits(rank.slowdown));
    const auto& roles = sys.programs[rank.program].roles;
    for (std::size_t k = 0; k < roles.size(); ++k) {
      std::uint64_t label = join(join(join(7, static_cast<std::uint64_t>(roles[k].kind)), static_cast<std::uint64_t>(roles[k].dim)),
                                 static_cast<std::uint64_t>(roles[k].peer));
      edges.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(r) + sys.role_channel[rank.first_role + k], label});
    }
  }
  for (std::size_t i = 0; i < c; ++i) {
    const Channel& ch = sys.channels[i];
    std::uint64_t h = join(join(join(2, ch.job), static_cast<std::uint64_t>(ch.kind)), static_cast<std::uint64_t>(ch.dim));
    h = join(join(h, ch.shape), static_cast<std::uint64_t>(ch.latency.value()));
    if (ch.kind == OpKind::kCollective) h = join(h, sys.group(ch).ranks.size());
    for (const Usage& u : ch.usages) {
      h = join(join(h, u.pattern), bits(u.scale));
      for (auto [link, weight] : u.links)
        edges.push_back(
            {static_cast<std::uint32_t>(r + i), static_cast<std::uint32_t>(r + c) + link, join(join(9, u.pattern), bits(weight))});
    }
    colour[r + i] = h;
  }
  for (std::size_t i = 0; i < l; ++i) colour[r + c + i] = join(3, bits(sys.capacity[i]));
  return refine(colour, edges);
}

}  // namespace

Folded fold(const System& sys, bool merge) {
  std::size_t r = sys.ranks.size(), c = sys.channels.size(), l = sys.links.size();
  std::vector<std::uint32_t> cls = classes(sys, merge);
  Folded out;
  out.rank_class.resize(r);
  out.channel_class.resize(c);
  std::vector<std::uint32_t> link_class(l);
  // Class numbers rise with the lowest member, and kinds never mix, so each kind's classes are numbered on from its first.
  std::vector<std::uint32_t> index(cls.size(), UINT32_MAX);
  for (std::size_t i = 0; i < r; ++i) {
    std::uint32_t& k = index[cls[i]];
    if (k == UINT32_MAX) {
      k = static_cast<std::uint32_t>(out.ranks.size());
      out.ranks.push_back({static_cast<std::uint32_t>(i), 0, {}});
    }
    ++out.ranks[k].members;
    out.rank_class[i] = k;
  }
  for (std::size_t i = 0; i < c; ++i) {
    std::uint32_t& k = index[cls[r + i]];
    if (k == UINT32_MAX) {
      k = static_cast<std::uint32_t>(out.channels.size());
      out.channels.push_back({static_cast<std::uint32_t>(i), 0, sys.channels[i].group});
    }
    ++out.channels[k].members;
    out.channels[k].lowest_group = std::min(out.channels[k].lowest_group, sys.channels[i].group);
    out.channel_class[i] = k;
  }
  std::vector<std::uint32_t> link_first;  // dense id of each class's first link
  for (std::size_t i = 0; i < l; ++i) {
    std::uint32_t& k = index[cls[r + c + i]];
    if (k == UINT32_MAX) {
      k = static_cast<std::uint32_t>(out.links.size());
      out.links.push_back({sys.links[i], 0, sys.capacity[i]});
      link_first.push_back(static_cast<std::uint32_t>(i));
    }
    ++out.links[k].members;
    out.links[k].first = std::min(out.links[k].first, sys.links[i]);
    link_class[i] = k;
  }
  for (RankClass& rc : out.ranks) {
    const Rank& rank = sys.ranks[rc.first];
    for (std::size_t k = 0; k < sys.programs[rank.program].roles.size(); ++k)
      rc.channel.push_back(out.channel_class[sys.role_channel[rank.first_role + k]]);
  }
  for (std::size_t k = 0; k < out.channels.size(); ++k) {
    ChannelClass& cc = out.channels[k];
    const Channel& ch = sys.channels[cc.first];
    if (ch.kind == OpKind::kCollective) {
      std::vector<std::uint32_t> parties;
      for (int rank : sys.group(ch).ranks) parties.push_back(out.rank_class[sys.first_rank[ch.job] + static_cast<std::uint32_t>(rank)]);
      std::sort(parties.begin(), parties.end());
      cc.parties = static_cast<std::uint32_t>(std::unique(parties.begin(), parties.end()) - parties.begin());
    }
    cc.first_flow = static_cast<std::uint32_t>(out.flows.size());
    cc.flows = static_cast<std::uint32_t>(ch.usages.size());
    for (const Usage& u : ch.usages) out.flows.push_back({static_cast<std::uint32_t>(k), u.pattern, u.scale, 0, {}, {}});
  }
  // What the channels of a class put on one link of a class: seen from the class's first link, whose likes see the same.
  std::vector<bool> is_first(l, false);
  for (std::uint32_t i : link_first) is_first[i] = true;
  for (std::size_t i = 0; i < c; ++i) {
    const ChannelClass& cc = out.channels[out.channel_class[i]];
    const Channel& ch = sys.channels[i];
    for (std::size_t u = 0; u < ch.usages.size(); ++u)
      for (auto [link, weight] : ch.usages[u].links)
        if (is_first[link]) out.flows[cc.first_flow + u].links.emplace_back(link_class[link], weight);
  }
  std::vector<double> demand(out.links.size(), 0);  // if all channels ran at once, each at its best
  std::vector<std::pair<std::uint32_t, double>> of_channel;
  auto merge_links = [](auto& list, auto combine) {
    std::stable_sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (kept && list[kept - 1].first == list[i].first) list[kept - 1].second = combine(list[kept - 1].second, list[i].second);
      else list[kept++] = list[i];
    list.resize(kept);
  };
  for (const ChannelClass& cc : out.channels) {
    of_channel.clear();
    for (std::uint32_t f = cc.first_flow; f < cc.first_flow + cc.flows; ++f) {
      Flow& flow = out.flows[f];
      merge_links(flow.links, [](double x, double y) { return x + y; });
      flow.solo = std::numeric_limits<double>::infinity();
      for (auto& [link, weight] : flow.links)
        weight = collective::rounded(weight), flow.solo = std::min(flow.solo, out.links[link].capacity / weight);
      for (auto [link, weight] : flow.links) of_channel.emplace_back(link, weight * flow.solo);
    }
    // A channel carries one operation at a time.
    merge_links(of_channel, [](double x, double y) { return std::max(x, y); });
    for (auto [link, rate] : of_channel) demand[link] += rate;
  }
  for (Flow& flow : out.flows)
    for (auto use : flow.links)
      if (demand[use.first] > out.links[use.first].capacity * (1 + 1e-9)) flow.shared.push_back(use);
  return out;
}

}  // namespace weft::sim
