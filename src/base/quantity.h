// Quantities as people write them: "400G", "400 Gb/s", "2.5 m", "64 MiB", "30s". One table for site files, scenarios and
// command-line options.
//
//   dimension    base    also
//   bit rate     b/s     kb/s Mb/s Gb/s Tb/s, Gbps, Gbit/s, bare G (400G); byte rates ×8
//   byte rate    B/s     kB/s MB/s GB/s TB/s, GBps, GiB/s, bare G; bit rates ÷8
//   bytes        B       kB MB GB TB PB (decimal), KiB MiB GiB TiB (binary), bare k M G T (decimal)
//   compute      FLOP/s  GFLOP/s TFLOP/s PFLOP/s EFLOP/s, TFLOPS …
//   time         s       ns us µs ms min h d; m means minutes here
//   length       m       mm cm km
//   power        W       mW kW MW
//   others       C (°C), kg (g, t), L/min (lpm), Hz (kHz MHz GHz), V (mV, kV), A (mA), Pa (kPa, bar), % (of 1)
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

// `unit` fixes the dimension and is what a bare number is taken in ("Gb/s": "400" is 400e9); a bare rate in b/s or B/s is
// refused, because nobody means it. Result in the base unit.
// Finite and not negative (temperatures may be). An unknown `unit` is our own mistake (assert).
Result<double> parse_quantity(std::string_view text, std::string_view unit);
// "400 Gb/s" for any bit rate … : for messages.
std::string quantity_example(std::string_view unit);

}  // namespace weft
