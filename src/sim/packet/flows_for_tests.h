// Flows, and runs that must come out.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "sim/packet/engine.h"

namespace weft::sim::packet::testing {

inline Flow flow(std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
  Flow f;
  f.from = from, f.to = to, f.bytes = bytes;
  return f;
}

inline Outcome must(const Network& net, const Config& c, const std::vector<Flow>& flows, const RunControl& control = {}) {
  auto out = simulate(net, c, flows, control);
  EXPECT_TRUE(out.has_value()) << out.error().text();
  return out ? *out : Outcome{};
}

inline Picos us(double t) { return to_picos(Seconds(t * 1e-6)); }

}  // namespace weft::sim::packet::testing
