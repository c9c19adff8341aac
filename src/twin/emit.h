// From the state to what exporters show: series named once, values pushed at each exporter's own rate, with the quirks of real counters
// (since-boot totals, 8-bit and 32-bit ceilings, gauges that never clear) and silence, not zero, where an exporter is gone.
#pragma once

#include <array>
#include <vector>

#include "telemetry/types.h"
#include "twin/noise.h"
#include "twin/state.h"
#include "twin/traffic.h"

namespace weft::twin {

class Emit {
 public:
  Emit(const State& state, telemetry::SeriesTable& series);
  // Everything due at tick number `tick`; `host_every` and `exporter_every` in ticks.
  void samples(const State& state, const Traffic& traffic, const fabric::Snapshot& real, Noise& noise, std::uint64_t tick,
               std::uint64_t exporter_every, telemetry::Batch& out) const;
  std::size_t count() const { return count_; }

 private:
  struct CardIds {
    std::array<telemetry::SeriesId, 19> id;
  };
  struct NicIds {
    std::array<telemetry::SeriesId, 17> id;
  };
  struct PortIds {
    std::array<telemetry::SeriesId, 7> line;
    std::array<telemetry::SeriesId, 11> sw;
  };
  struct NodeIds {
    std::array<telemetry::SeriesId, 9> id;
  };
  std::vector<CardIds> cards_;
  std::vector<NicIds> nics_;
  std::vector<PortIds> ports_;
  std::vector<NodeIds> nodes_;
  std::vector<std::array<telemetry::SeriesId, 3>> racks_;
  std::vector<std::array<telemetry::SeriesId, 6>> cdus_;
  std::vector<std::array<telemetry::SeriesId, 3>> storages_;
  std::size_t count_ = 0;
};

}  // namespace weft::twin
