// Max-min fair sharing by progressive filling: the rates of all running flows rise together until a link is full; its flows stay there, the
// others go on (Bertsekas and Gallager, Data Networks, 6.5.2). A rate counts bytes on the flow's busiest link.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace weft::sim {

class Sharing {
 public:
  struct FlowSpec {
    double solo;                                                 // never faster than this
    const std::vector<std::pair<std::uint32_t, double>>* links;  // link, bytes there per byte on the busiest
  };
  Sharing(std::vector<double> capacity, std::vector<FlowSpec> flows);

  void begin(std::uint32_t flow);
  void end(std::uint32_t flow);
  // Rates after the begins and ends since the last call; returns the flows whose rate changed (or that began), ascending. Only what is
  // joined to a change by links in demand beyond their capacity is looked at.
  const std::vector<std::uint32_t>& update();
  double rate(std::uint32_t flow) const { return state_[flow].rate; }

 private:
  struct State {
    double rate = 0, next = 0;
    bool running = false, marked = false, frozen = false, fresh = false;
  };
  struct Link {
    double capacity, demand = 0;
    double left = 0, weight = 0;  // while filling
    std::vector<std::uint32_t> running;
    bool dirty = false, marked = false;
  };
  bool full(const Link& l) const { return l.demand > l.capacity * (1 + 1e-9); }
  void touch(std::uint32_t link);
  void fill();

  std::vector<FlowSpec> flows_;
  std::vector<State> state_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> dirty_, began_, changed_, part_flows_, part_links_;
};

}  // namespace weft::sim
