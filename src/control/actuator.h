// The hands of the loop. Every action carries an id; starting an id twice is the same as once; "what became of id X?" has an answer
// after any crash of either side. An actuator may fail, or answer late.
#pragma once

#include <memory>
#include <string>

#include "base/registry.h"
#include "heal/types.h"

namespace weft::control {

enum class ActionState : std::uint8_t { kUnknown, kRunning, kDone, kFailed };
struct ActionStatus {
  ActionState state = ActionState::kUnknown;  // kUnknown: never heard of this id
  std::string message;
  JsonBox result;  // probes: measured values
};

class Actuator {
 public:
  virtual ~Actuator() = default;
  // Accepts the action and returns; the effect may take its time. Same id again: no second effect. Errors: unavailable (try again),
  // denied, invalid (never works).
  virtual Status start(const heal::Action& action) = 0;
  virtual Result<ActionStatus> query(const std::string& id) = 0;
  virtual std::string name() const = 0;
};

}  // namespace weft::control
