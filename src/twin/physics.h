// Heat, power and clocks. Exact solutions over a tick of any length, so that 1 s and 10 s ticks agree:
//   T(t+dt) = T_end + (T - T_end) e^(-dt/tau), T_end = T_in + R P;  P = idle + (max - idle) load f^alpha;  speed = f / slow.
#pragma once

#include "twin/noise.h"
#include "twin/state.h"

namespace weft::twin {

// Clock share that holds `watts` at the given load: inverse of the power curve.
double clock_for_power(double watts, double idle, double max, double load, double alpha);
// One tick of all racks, coolant loops, nodes and cards. Cards' busy, wait and used are set by the caller beforehand.
void step_physics(State& state, Noise& noise, double dt, double day_share);

}  // namespace weft::twin
