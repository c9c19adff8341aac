// Time comes in through this interface; no stage reads a wall clock. Virtual clocks live in twin and in tests.
#pragma once

#include "base/units.h"

namespace weft {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
  // Returns once now() >= t. A virtual clock moves its world forward instead of sleeping.
  virtual void wait_until(Instant t) = 0;
};

// The machine's own clock; constructed only in cli.
class SystemClock : public Clock {
 public:
  Instant now() const override;
  void wait_until(Instant t) override;
};

}  // namespace weft
