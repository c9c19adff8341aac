// Units are types: no bare number crosses a module. A Quantity holds its value in the one unit its name says;
// .value() is the way out for arithmetic inside a module. Different quantities do not mix; products and quotients that
// the field uses (bytes over bandwidth = time …) are named functions below.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace weft {

template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : v_(v) {}
  constexpr Rep value() const { return v_; }
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity o) const { return Quantity(v_ + o.v_); }
  constexpr Quantity operator-(Quantity o) const { return Quantity(v_ - o.v_); }
  constexpr Quantity operator-() const { return Quantity(-v_); }
  constexpr Quantity& operator+=(Quantity o) {
    v_ += o.v_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    v_ -= o.v_;
    return *this;
  }
  template <class N>
  constexpr Quantity operator*(N n) const {
    return Quantity(static_cast<Rep>(v_ * n));
  }
  template <class N>
  requires std::is_arithmetic_v<N>
  constexpr Quantity operator/(N n) const { return Quantity(static_cast<Rep>(v_ / n)); }
  constexpr double operator/(Quantity o) const { return static_cast<double>(v_) / static_cast<double>(o.v_); }

 private:
  Rep v_{};
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using BitsPerSecond = Quantity<struct BitsPerSecondTag, double>;  // link rates as the field quotes them, one direction
using Flops = Quantity<struct FlopsTag, double>;                  // floating point operations
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using Seconds = Quantity<struct SecondsTag, double>;    // durations in models (not in the simulator's clock)
using Picos = Quantity<struct PicosTag, std::int64_t>;  // simulator time
using Watts = Quantity<struct WattsTag, double>;
using Celsius = Quantity<struct CelsiusTag, double>;
using Meters = Quantity<struct MetersTag, double>;
using Kilograms = Quantity<struct KilogramsTag, double>;
using LitersPerMinute = Quantity<struct LitersPerMinuteTag, double>;
using Ratio = Quantity<struct RatioTag, double>;              // 0 … 1 unless the name says otherwise
using Duration = Quantity<struct DurationTag, std::int64_t>;  // nanoseconds, outside sim

constexpr BytesPerSecond bytes_per_second(BitsPerSecond r) { return BytesPerSecond(r.value() / 8); }
constexpr BitsPerSecond bits_per_second(BytesPerSecond r) { return BitsPerSecond(r.value() * 8); }
constexpr BitsPerSecond gbps(double g) { return BitsPerSecond(g * 1e9); }
constexpr BytesPerSecond gBps(double g) { return BytesPerSecond(g * 1e9); }
constexpr Seconds time_of(Bytes b, BytesPerSecond r) { return Seconds(static_cast<double>(b.value()) / r.value()); }
constexpr Seconds time_of(Flops f, FlopsPerSecond r) { return Seconds(f.value() / r.value()); }

constexpr Duration nanoseconds(std::int64_t n) { return Duration(n); }
constexpr Duration milliseconds(std::int64_t n) { return Duration(n * 1'000'000); }
constexpr Duration seconds(double s) { return Duration(static_cast<std::int64_t>(s * 1e9)); }
constexpr Duration minutes(double m) { return seconds(m * 60); }
constexpr Duration hours(double h) { return seconds(h * 3600); }
constexpr double to_seconds(Duration d) { return static_cast<double>(d.value()) * 1e-9; }

// Nanoseconds since 1970-01-01 UTC, real or virtual alike.
class Instant {
 public:
  constexpr Instant() = default;
  constexpr explicit Instant(std::int64_t ns) : ns_(ns) {}
  constexpr std::int64_t ns() const { return ns_; }
  constexpr auto operator<=>(const Instant&) const = default;
  constexpr Instant operator+(Duration d) const { return Instant(ns_ + d.value()); }
  constexpr Instant operator-(Duration d) const { return Instant(ns_ - d.value()); }
  constexpr Duration operator-(Instant o) const { return Duration(ns_ - o.ns_); }

 private:
  std::int64_t ns_ = 0;
};

// The one conversion between the simulator's picoseconds and the rest. Rounds half away from zero.
constexpr Picos to_picos(Duration d) { return Picos(d.value() * 1000); }
constexpr Picos to_picos(Seconds s) { return Picos(static_cast<std::int64_t>(s.value() * 1e12 + (s.value() < 0 ? -0.5 : 0.5))); }
constexpr Duration to_duration(Picos p) { return Duration((p.value() + (p.value() < 0 ? -500 : 500)) / 1000); }
constexpr Seconds to_seconds(Picos p) { return Seconds(static_cast<double>(p.value()) * 1e-12); }

// For people: "64 MiB", "400 Gb/s", "2.31 s", "00:14:07". Locale-free.
std::string human(Bytes b);
std::string human(BytesPerSecond r);  // GB/s, decimal
std::string human(BitsPerSecond r);   // Gb/s, decimal
std::string human(Seconds s);
std::string human(Duration d);
std::string human(FlopsPerSecond f);
std::string human(Watts w);
std::string clock_text(Duration since_start);  // "00:14:07", days as "2d 03:00:00"
std::string iso8601(Instant t);                // "2026-11-30T00:14:07Z", fraction only when not zero

}  // namespace weft
