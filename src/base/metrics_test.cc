#include "base/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace weft {
namespace {

TEST(BaseMetrics, ExpositionIsSortedAndEscaped) {
  Metrics m;
  m.gauge("weft_twin_speed_ratio", "virtual over real time").set(300.5);
  Counter& actions = m.counter("weft_control_actions_total", "actions begun\nby kind", {{"site", "a\"b\\c\n"}, {"kind", "isolate"}});
  actions.add();
  m.counter("weft_control_actions_total", "", {{"kind", "isolate"}, {"site", "a\"b\\c\n"}}).add(2);
  m.counter("weft_control_actions_total", "", {{"kind", "cordon"}});
  m.gauge("weft_store_age_seconds", "unknown yet").set(NAN);
  EXPECT_EQ(actions.value(), 3);
  EXPECT_EQ(m.exposition(),
            "# HELP weft_control_actions_total actions begun\\nby kind\n"
            "# TYPE weft_control_actions_total counter\n"
            "weft_control_actions_total{kind=\"cordon\"} 0\n"
            "weft_control_actions_total{kind=\"isolate\",site=\"a\\\"b\\\\c\\n\"} 3\n"
            "# HELP weft_store_age_seconds unknown yet\n"
            "# TYPE weft_store_age_seconds gauge\n"
            "weft_store_age_seconds NaN\n"
            "# HELP weft_twin_speed_ratio virtual over real time\n"
            "# TYPE weft_twin_speed_ratio gauge\n"
            "weft_twin_speed_ratio 300.5\n");
}

TEST(BaseMetrics, NamesFollowTheRule) {
  EXPECT_TRUE(good_metric_name("weft_control_actions_total", true));
  EXPECT_TRUE(good_metric_name("weft_sim_step_seconds", false));
  EXPECT_FALSE(good_metric_name("weft_control_actions", true));
  EXPECT_FALSE(good_metric_name("weft_control_actions_total", false));
  EXPECT_FALSE(good_metric_name("control_actions_total", true));
  EXPECT_FALSE(good_metric_name("weft_Control_x", false));
  EXPECT_FALSE(good_metric_name("weft__x", false));
}

TEST(BaseMetrics, NoCountIsLostBetweenThreads) {
  Metrics m;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) m.counter("weft_base_events_total", "events").add();
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(m.counter("weft_base_events_total", "events").value(), 40'000);
}

}  // namespace
}  // namespace weft
