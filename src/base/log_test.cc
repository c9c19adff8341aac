#include "base/log.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>
#include <vector>

#include "base/text.h"

namespace weft {
namespace {

struct FixedClock : Clock {
  Instant now() const override { return Instant(1'000'000'000); }
  void wait_until(Instant) override {}
};

TEST(BaseLog, OneLogfmtLineEach) {
  std::ostringstream out;
  Log log(out);
  log.warning("control", "plan declined", {{"plan", "P12"}, {"why", "two \"racks\"\nat once"}, {"empty", ""}, {"cable", "cable/C0417"}});
  log.debug("control", "not shown");
  EXPECT_EQ(
      out.str(),
      "level=warning folder=control msg=\"plan declined\" plan=P12 why=\"two \\\"racks\\\"\\nat once\" empty=\"\" cable=cable/C0417\n");
}

TEST(BaseLog, TimeComesFromTheClockAndNothingEscapes) {
  std::ostringstream out;
  FixedClock clock;
  Log log(out, LogLevel::kDebug, &clock);
  log.debug("twin", "x\x1b[2Jy");
  EXPECT_EQ(out.str(), "time=1970-01-01T00:00:01Z level=debug folder=twin msg=xy\n");
  Log silent;
  silent.error("twin", "nobody hears");
}

TEST(BaseLog, ThreadsDoNotMixLines) {
  std::ostringstream out;
  Log log(out);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) log.info("sim", "tick");
    });
  for (auto& t : threads) t.join();
  std::string text = out.str();
  auto lines = split(text, '\n');
  EXPECT_EQ(lines.size(), 801u);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) EXPECT_EQ(lines[i], "level=info folder=sim msg=tick");
}

}  // namespace
}  // namespace weft
