#include "base/clock.h"

#include <chrono>
#include <thread>

namespace weft {

Instant SystemClock::now() const {
  return Instant(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
}

void SystemClock::wait_until(Instant t) {
  while (now() < t) std::this_thread::sleep_for(std::chrono::nanoseconds((t - now()).value()));
}

}  // namespace weft
