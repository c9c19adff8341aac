#include "sim/packet/fec.h"

#include <cmath>

namespace weft::sim::packet {
namespace {

double binomial(int n, int i, double s) {
  if (s <= 0) return i == 0 ? 1 : 0;
  return std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0) + i * std::log(s) + (n - i) * std::log1p(-s));
}

}  // namespace

double symbol_error(double b) { return -std::expm1(10 * std::log1p(-b)); }

double codeword_error(const Fec& code, double b) {
  double s = symbol_error(b), sum = 0;
  for (int i = code.t + 1; i <= code.n; ++i) {
    double term = binomial(code.n, i, s);
    sum += term;
    if (term < sum * 1e-17 && i > code.n * s) break;
  }
  return sum;
}

double frame_loss(const Fec& code, double b, int interleave) {
  constexpr double kFrames = 8;  // minimum frames in a codeword
  return codeword_error(code, b) * (1 + interleave * kFrames) / kFrames;
}

std::vector<double> symbol_bins(const Fec& code, double b, int most) {
  std::vector<double> out;
  for (int i = 0; i <= most; ++i) out.push_back(binomial(code.n, i, symbol_error(b)));
  return out;
}

Seconds fill_time(const Fec& code, BitsPerSecond line) { return Seconds(code.n * 10 / line.value()); }

double frame_loss_of(const Fec& code, double b, std::int64_t bytes) {
  double words = 1 + static_cast<double>(bytes) * 8 / (code.k * 10.0);  // a frame begins anywhere in a codeword
  return -std::expm1(words * std::log1p(-codeword_error(code, b)));
}

}  // namespace weft::sim::packet
