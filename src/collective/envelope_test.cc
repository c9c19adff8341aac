#include "collective/envelope.h"

#include <gtest/gtest.h>

namespace weft::collective {
namespace {

using workload::Collective;

GroupShape shape(int members, int per, bool reduces) {
  GroupShape s;
  s.members = members, s.domains = members / per, s.min_per_domain = s.max_per_domain = per;
  s.inner = s.inner_pair = gBps(450), s.inner_latency = Seconds(2.9e-6);
  s.outer = gBps(50), s.outer_latency = Seconds(6e-6);
  s.inner_reduction = reduces && per == members;
  return s;
}

TEST(Envelope, IsTheFastestAlgorithmAtEverySize) {
  for (auto kind : {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll})
    for (auto [members, per] : {std::pair{2, 2}, {8, 8}, {7, 7}, {16, 8}, {24, 8}, {12, 1}, {64, 8}, {72, 72}})
      for (bool reduces : {false, true}) {
        GroupShape s = shape(members, per, reduces);
        Envelope e(kind, s);
        for (std::int64_t bytes = 256; bytes <= std::int64_t{1} << 32; bytes *= 4) {
          double best = choose(kind, s, Bytes(bytes)).cost.time.value();
          EXPECT_NEAR(e.seconds(static_cast<double>(bytes)), best, best * 1e-6) << members << "/" << per << " " << bytes;
        }
      }
}

TEST(Envelope, AGroupOfOneCostsNothing) {
  EXPECT_EQ(Envelope().seconds(1e9), 0);
  EXPECT_EQ(Envelope(Collective::kAllReduce, GroupShape{}).seconds(1e9), 0);
  EXPECT_EQ(Envelope(Collective::kAllReduce, shape(8, 8, false)).seconds(0), 0);
}

}  // namespace
}  // namespace weft::collective
