#include "sim/share.h"

#include <algorithm>
#include <limits>

namespace weft::sim {

Sharing::Sharing(std::vector<double> capacity, std::vector<FlowSpec> flows) : flows_(std::move(flows)), state_(flows_.size()) {
  links_.reserve(capacity.size());
  for (double c : capacity) links_.push_back({c});
}

void Sharing::touch(std::uint32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_.push_back(link);
}

void Sharing::begin(std::uint32_t f) {
  state_[f].running = state_[f].fresh = true;
  state_[f].rate = flows_[f].solo;
  began_.push_back(f);
  for (auto [l, w] : *flows_[f].links) {
    links_[l].running.push_back(f);
    links_[l].demand += w * flows_[f].solo;
    if (full(links_[l])) touch(l);
  }
}

void Sharing::end(std::uint32_t f) {
  state_[f].running = false;
  for (auto [l, w] : *flows_[f].links) {
    Link& link = links_[l];
    if (full(link)) touch(l);
    link.running.erase(std::find(link.running.begin(), link.running.end(), f));
    link.demand = link.running.empty() ? 0 : link.demand - w * flows_[f].solo;
  }
}

void Sharing::fill() {
  for (std::uint32_t l : part_links_) {
    links_[l].left = links_[l].capacity;
    links_[l].weight = 0;
  }
  for (std::uint32_t f : part_flows_) {
    state_[f].frozen = false;
    for (auto [l, w] : *flows_[f].links)
      if (links_[l].marked) links_[l].weight += w;
  }
  std::size_t open = part_flows_.size();
  while (open > 0) {
    double level = std::numeric_limits<double>::infinity();
    for (std::uint32_t l : part_links_)
      if (links_[l].weight > 0) level = std::min(level, links_[l].left / links_[l].weight);
    for (std::uint32_t f : part_flows_)
      if (!state_[f].frozen) level = std::min(level, flows_[f].solo);
    double bound = level * (1 + 1e-12);
    std::size_t before = open;
    for (std::uint32_t f : part_flows_) {
      State& s = state_[f];
      if (s.frozen) continue;
      bool stays = flows_[f].solo <= bound;
      for (auto [l, w] : *flows_[f].links)
        if (!stays && links_[l].marked && links_[l].left <= bound * links_[l].weight) stays = true;
      if (stays) s.next = level, s.frozen = true, --open, s.marked = true;
    }
    if (open == before) break;  // cannot happen with finite rates; never loop
    // Take out what froze in this round.
    for (std::uint32_t f : part_flows_) {
      State& s = state_[f];
      if (!s.frozen || !s.marked) continue;
      s.marked = false;
      for (auto [l, w] : *flows_[f].links)
        if (links_[l].marked) links_[l].left = std::max(0.0, links_[l].left - w * level), links_[l].weight -= w;
    }
    for (std::uint32_t l : part_links_)
      if (links_[l].weight < 1e-9) links_[l].weight = 0;
  }
}

const std::vector<std::uint32_t>& Sharing::update() {
  changed_.clear();
  part_flows_.clear();
  part_links_.clear();
  auto add_flow = [&](std::uint32_t f) {
    if (state_[f].marked) return;
    state_[f].marked = true;
    part_flows_.push_back(f);
  };
  for (std::uint32_t l : dirty_)
    for (std::uint32_t f : links_[l].running) add_flow(f);
  for (std::size_t i = 0; i < part_flows_.size(); ++i)
    for (auto [l, w] : *flows_[part_flows_[i]].links) {
      Link& link = links_[l];
      if (link.marked || !full(link)) continue;
      link.marked = true;
      part_links_.push_back(l);
      for (std::uint32_t f : link.running) add_flow(f);
    }
  std::sort(part_flows_.begin(), part_flows_.end());
  std::sort(part_links_.begin(), part_links_.end());
  for (std::uint32_t f : part_flows_) state_[f].marked = false, state_[f].next = flows_[f].solo;
  fill();
  for (std::uint32_t f : part_flows_)
    if (state_[f].fresh || state_[f].next != state_[f].rate) {
      state_[f].rate = state_[f].next;
      changed_.push_back(f);
      state_[f].fresh = false;
    }
  for (std::uint32_t f : began_)
    if (state_[f].fresh && state_[f].running) changed_.push_back(f);
  for (std::uint32_t f : began_) state_[f].fresh = false;
  std::sort(changed_.begin(), changed_.end());
  for (std::uint32_t l : part_links_) links_[l].marked = false;
  for (std::uint32_t l : dirty_) links_[l].dirty = false;
  dirty_.clear();
  began_.clear();
  return changed_;
}

}  // namespace weft::sim
