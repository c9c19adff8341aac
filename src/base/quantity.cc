#include "base/quantity.h"

#include <cassert>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "base/text.h"

namespace weft {
namespace {

enum class Dimension {
  kBitRate,
  kByteRate,
  kBytes,
  kCompute,
  kTime,
  kLength,
  kPower,
  kTemperature,
  kMass,
  kFlow,
  kFrequency,
  kVoltage,
  kCurrent,
  kPressure,
  kRatio
};

struct Unit {
  Dimension dimension;
  double factor;
};

constexpr struct {
  const char* name;
  double factor;
} kDecimal[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};
constexpr struct {
  const char* name;
  double factor;
} kBinary[] = {{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50}};

// Every spelled-out unit. Bare prefixes ("G") depend on what is asked for and are handled apart.
const std::map<std::string, Unit, std::less<>>& units() {
  static const auto table = [] {
    std::map<std::string, Unit, std::less<>> t;
    for (auto [p, f] : kDecimal) {
      std::string prefix = p;
      for (const char* b : {"b/s", "bps", "bit/s"}) t[prefix + b] = {Dimension::kBitRate, f};
      for (const char* b : {"B/s", "Bps"}) t[prefix + b] = {Dimension::kByteRate, f};
      t[prefix + "B"] = {Dimension::kBytes, f};
      for (const char* b : {"FLOP/s", "FLOPS", "FLOPs", "flops"}) t[prefix + b] = {Dimension::kCompute, f};
      t[prefix + "Hz"] = {Dimension::kFrequency, f};
    }
    for (auto [p, f] : kBinary) {
      t[std::string(p) + "B"] = {Dimension::kBytes, f};
      t[std::string(p) + "B/s"] = {Dimension::kByteRate, f};
    }
    for (auto [n, f] : std::initializer_list<std::pair<const char*, double>>{{"ns", 1e-9},
                                                                             {"us", 1e-6},
                                                                             {"µs", 1e-6},
                                                                             {"μs", 1e-6},
                                                                             {"ms", 1e-3},
                                                                             {"s", 1},
                                                                             {"sec", 1},
                                                                             {"min", 60},
                                                                             {"h", 3600},
                                                                             {"d", 86400}})
      t[n] = {Dimension::kTime, f};
    for (auto [n, f] : std::initializer_list<std::pair<const char*, double>>{{"mm", 1e-3}, {"cm", 1e-2}, {"m", 1}, {"km", 1e3}})
      t[n] = {Dimension::kLength, f};
    for (auto [n, f] : std::initializer_list<std::pair<const char*, double>>{{"mW", 1e-3}, {"W", 1}, {"kW", 1e3}, {"MW", 1e6}})
      t[n] = {Dimension::kPower, f};
    for (const char* n : {"C", "°C"}) t[n] = {Dimension::kTemperature, 1};
    for (auto [n, f] : std::initializer_list<std::pair<const char*, double>>{{"g", 1e-3}, {"kg", 1}, {"t", 1e3}})
      t[n] = {Dimension::kMass, f};
    for (const char* n : {"L/min", "l/min", "lpm", "LPM"}) t[n] = {Dimension::kFlow, 1};
    for (auto [n, f] : std::initializer_list<std::pair<const char*, double>>{{"mV", 1e-3}, {"V", 1}, {"kV", 1e3}})
      t[n] = {Dimension::kVoltage, f};
    for (auto [n, f] : std::initializer_list<std::pair<const char*, double>>{{"mA", 1e-3}, {"A", 1}}) t[n] = {Dimension::kCurrent, f};
    for (auto [n, f] : std::initializer_list<std::pair<const char*, double>>{{"Pa", 1}, {"kPa", 1e3}, {"MPa", 1e6}, {"bar", 1e5}})
      t[n] = {Dimension::kPressure, f};
    t["%"] = {Dimension::kRatio, 0.01};
    t["1"] = {Dimension::kRatio, 1};
    return t;
  }();
  return table;
}

const char* example(Dimension d) {
  switch (d) {
    case Dimension::kBitRate: return "400 Gb/s";
    case Dimension::kByteRate: return "50 GB/s";
    case Dimension::kBytes: return "80 GB";
    case Dimension::kCompute: return "989 TFLOP/s";
    case Dimension::kTime: return "30 s";
    case Dimension::kLength: return "2.5 m";
    case Dimension::kPower: return "700 W";
    case Dimension::kTemperature: return "40 C";
    case Dimension::kMass: return "1360 kg";
    case Dimension::kFlow: return "80 L/min";
    case Dimension::kFrequency: return "1.9 GHz";
    case Dimension::kVoltage: return "48 V";
    case Dimension::kCurrent: return "10 A";
    case Dimension::kPressure: return "50 kPa";
    case Dimension::kRatio: return "90 %";
  }
  return "";
}

std::optional<double> factor_of(std::string_view suffix, Dimension wanted) {
  for (auto [p, f] : kDecimal)
    if (suffix == p &&
        (wanted == Dimension::kBitRate || wanted == Dimension::kByteRate || wanted == Dimension::kBytes || wanted == Dimension::kCompute))
      return f;
  if (wanted == Dimension::kBytes)
    for (auto [p, f] : kBinary)
      if (suffix == p) return f;  // Kubernetes writes "80Gi"
  if (wanted == Dimension::kTime && suffix == "m") return 60.0;
  auto found = units().find(suffix);
  if (found == units().end()) return std::nullopt;
  auto [dimension, factor] = found->second;
  if (dimension == wanted) return factor;
  if (wanted == Dimension::kBitRate && dimension == Dimension::kByteRate) return factor * 8;
  if (wanted == Dimension::kByteRate && dimension == Dimension::kBitRate) return factor / 8;
  return std::nullopt;
}

}  // namespace

Result<double> parse_quantity(std::string_view text, std::string_view unit) {
  auto asked = units().find(unit);
  assert(asked != units().end());
  if (asked == units().end()) return fail(ErrorKind::kInternal, "no unit '" + std::string(unit) + "'");
  Dimension dimension = asked->second.dimension;
  auto bad = [&](const std::string& why) {
    return fail(ErrorKind::kInvalid, "expected a quantity such as '" + std::string(example(dimension)) + "', got '" +
                                         std::string(text.substr(0, 40)) + "'" + (why.empty() ? "" : ": " + why));
  };
  std::string_view t = trim(text);
  std::string_view digits = t.starts_with('+') ? t.substr(1) : t;
  double v = 0;
  auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
  if (problem != std::errc()) return bad("");
  std::string_view suffix = trim(digits.substr(static_cast<std::size_t>(end - digits.data())));
  double factor = asked->second.factor;
  if (!suffix.empty()) {
    auto f = factor_of(suffix, dimension);
    if (!f) return bad("'" + std::string(suffix.substr(0, 20)) + "' is no unit that fits here");
    factor = *f;
  } else if (factor == 1 && v != 0 && (dimension == Dimension::kBitRate || dimension == Dimension::kByteRate)) {
    return bad("say the unit; a bare number would be bits or bytes a second");
  }
  // 1e-6, 1e-9 … have no exact double; dividing by the exact inverse rounds once ("5 us" is 5e-6 to the last bit).
  v = factor < 1 ? v / std::round(1 / factor) : v * factor;
  if (!std::isfinite(v)) return bad("it is out of range");
  if (v < 0 && dimension != Dimension::kTemperature) return bad("it must not be negative");
  return v;
}

std::string quantity_example(std::string_view unit) {
  auto asked = units().find(unit);
  return asked == units().end() ? std::string(unit) : example(asked->second.dimension);
}

}  // namespace weft
