#include "cli/session.h"

#include <algorithm>

namespace weft::cli {

PacedClock::PacedClock(Clock& inner, Clock& real, double speed)
    : inner_(inner), real_(real), speed_(speed), inner_start_(inner.now()), real_start_(real.now()) {}

void PacedClock::wait_until(Instant t) {
  inner_.wait_until(t);
  if (between_) between_();
  if (speed_ <= 0) return;
  Instant due = real_start_ + Duration(static_cast<std::int64_t>(static_cast<double>((t - inner_start_).value()) / speed_));
  // In short naps, so that Ctrl-C is answered at once.
  while (!stop_ && real_.now() < due) real_.wait_until(std::min(due, real_.now() + milliseconds(50)));
}

TapSource::TapSource(telemetry::Source& inner, std::function<void(const telemetry::Batch&)> tap) : inner_(inner), tap_(std::move(tap)) {}

namespace {
void append(telemetry::Batch& to, const telemetry::Batch& from) {
  to.samples.insert(to.samples.end(), from.samples.begin(), from.samples.end());
  to.facts.insert(to.facts.end(), from.facts.begin(), from.facts.end());
  to.events.insert(to.events.end(), from.events.begin(), from.events.end());
  to.ops.insert(to.ops.end(), from.ops.begin(), from.ops.end());
}
}  // namespace

Result<telemetry::Batch> TapSource::look_ahead(Instant until) {
  telemetry::Batch batch;
  WEFT_TRY(inner_.poll(until, batch));
  if (tap_) tap_(batch);
  append(held_, batch);
  return batch;
}

Status TapSource::poll(Instant until, telemetry::Batch& into) {
  append(into, held_);
  held_ = {};
  if (!tap_) return inner_.poll(until, into);
  telemetry::Batch batch;
  Status status = inner_.poll(until, batch);
  tap_(batch);
  append(into, batch);
  return status;
}

}  // namespace weft::cli
