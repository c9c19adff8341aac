// Forward error correction of Ethernet links: from bit errors to lost frames, and what the codes cost in time (IEEE 802.3 clauses 91, 119, 134;
// 25/50G Consortium's LL-FEC).
#pragma once

#include <vector>

#include "base/units.h"

namespace weft::sim::packet {

// Reed-Solomon over 10-bit symbols.
struct Fec {
  const char* name;
  int n, k, t;  // symbols of a codeword, of data, correctable
};
constexpr Fec kKr4{"RS(528,514)", 528, 514, 7};
constexpr Fec kKp4{"RS(544,514)", 544, 514, 15};
constexpr Fec kLowLatency{"RS(272,258)", 272, 258, 7};

double symbol_error(double bit_error_rate);                     // random bit errors
double codeword_error(const Fec& code, double bit_error_rate);  // more than t symbols wrong
// Share of minimum-size frames lost when 8 of them share a codeword and `interleave` codewords are interleaved.
double frame_loss(const Fec& code, double bit_error_rate, int interleave);
// Share of codewords with 0, 1, … `most` wrong symbols.
std::vector<double> symbol_bins(const Fec& code, double bit_error_rate, int most);
Seconds fill_time(const Fec& code, BitsPerSecond line_rate);  // before a codeword can be decoded
// Chance that a frame of `bytes` is lost: any of the codewords it touches fails.
double frame_loss_of(const Fec& code, double bit_error_rate, std::int64_t bytes);

}  // namespace weft::sim::packet
