// A running world for commands that need one: the twin, its clock paced to real time if asked, an inspection before work, the loop, and the
// taps that feed the page. `up` and `inspect` share it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "inspect/inspect.h"
#include "telemetry/types.h"

namespace weft::cli {

// Passes a virtual clock on, but no faster than `speed` times real time (0 = as fast as possible). `between` runs after every advance, on the
// loop's thread; it may stop the run by setting `stop`.
class PacedClock : public Clock {
 public:
  PacedClock(Clock& inner, Clock& real, double speed);
  Instant now() const override { return inner_.now(); }
  void wait_until(Instant t) override;
  void after_advance(std::function<void()> between) { between_ = std::move(between); }
  std::atomic<bool>& stopping() { return stop_; }

 private:
  Clock& inner_;
  Clock& real_;
  double speed_;
  Instant inner_start_, real_start_;
  std::function<void()> between_;
  std::atomic<bool> stop_{false};
};

// Hands on what was polled before (during inspection) first, then the inner source; `tap` sees everything once.
class TapSource : public telemetry::Source {
 public:
  TapSource(telemetry::Source& inner, std::function<void(const telemetry::Batch&)> tap);
  // Polls now and keeps the batch for the next reader; the batch is also returned.
  Result<telemetry::Batch> look_ahead(Instant until);
  Status poll(Instant until, telemetry::Batch& into) override;
  std::string name() const override { return inner_.name(); }

 private:
  telemetry::Source& inner_;
  std::function<void(const telemetry::Batch&)> tap_;
  telemetry::Batch held_;
};

}  // namespace weft::cli
