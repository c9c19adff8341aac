#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace weft {
namespace {

// Four significant digits at most, no trailing zeros: "2.31", "400", "12.5".
int decimals(double v) { return std::abs(v) >= 1000 ? 0 : std::abs(v) >= 100 ? 1 : std::abs(v) >= 10 ? 2 : 3; }

std::string short_number(double v) {
  std::string s = fmt::format("{:.{}f}", v, decimals(v));
  if (s.find('.') != std::string::npos) {
    while (s.back() == '0') s.pop_back();
    if (s.back() == '.') s.pop_back();
  }
  return s;
}

std::string scaled(double v, double step, const std::array<const char*, 6>& units) {
  std::size_t i = 0;
  // As it will be shown: 1023.9 KiB is "1 MiB", not "1024 KiB".
  auto shown = [](double x) {
    double scale = std::pow(10, decimals(x));
    return std::round(std::abs(x) * scale) / scale;
  };
  while (i + 1 < units.size() && shown(v) >= step) v /= step, ++i;
  return short_number(v) + " " + units[i];
}

}  // namespace

std::string human(Bytes b) { return scaled(static_cast<double>(b.value()), 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}); }
std::string human(BytesPerSecond r) { return scaled(r.value(), 1000, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"}); }
std::string human(BitsPerSecond r) { return scaled(r.value(), 1000, {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s"}); }
std::string human(FlopsPerSecond f) {
  return scaled(f.value() / 1e6, 1000, {"MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "EFLOP/s", "ZFLOP/s"});
}
std::string human(Watts w) { return scaled(w.value(), 1000, {"W", "kW", "MW", "GW", "TW", "PW"}); }

std::string human(Seconds s) {
  double v = std::abs(s.value());
  const char* sign = s.value() < 0 ? "-" : "";
  if (v == 0) return "0 s";
  if (v < 999.95e-9) return sign + short_number(v * 1e9) + " ns";
  if (v < 999.95e-6) return sign + short_number(v * 1e6) + " us";
  if (v < 999.95e-3) return sign + short_number(v * 1e3) + " ms";
  if (v < 120) return sign + short_number(v) + " s";
  if (v < 7200) return sign + short_number(v / 60) + " min";
  if (v < 172800) return sign + short_number(v / 3600) + " h";
  return sign + short_number(v / 86400) + " d";
}

std::string human(Duration d) { return human(Seconds(to_seconds(d))); }

std::string clock_text(Duration since_start) {
  std::int64_t s = since_start.value() / 1'000'000'000;
  std::int64_t days = s / 86400;
  std::string t = fmt::format("{:02}:{:02}:{:02}", s / 3600 % 24, s / 60 % 60, s % 60);
  return days ? fmt::format("{}d {}", days, t) : t;
}

std::string iso8601(Instant t) {
  std::int64_t s = t.ns() / 1'000'000'000, frac = t.ns() % 1'000'000'000;
  if (frac < 0) frac += 1'000'000'000, --s;
  std::int64_t days = s / 86400, rest = s % 86400;
  if (rest < 0) rest += 86400, --days;
  // Civil date from days since 1970-01-01 (H. Hinnant, "chrono-compatible low-level date algorithms").
  std::int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
  std::int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  std::int64_t mp = (5 * doy + 2) / 153, d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
  std::int64_t y = yoe + era * 400 + (m <= 2);
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", y, m, d, rest / 3600, rest / 60 % 60, rest % 60);
  if (frac) {
    std::string f = fmt::format("{:09}", frac);
    while (f.back() == '0') f.pop_back();
    out += "." + f;
  }
  return out + "Z";
}

}  // namespace weft
