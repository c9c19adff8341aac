#include "telemetry/windows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "telemetry/stats.h"

namespace weft::telemetry {
namespace {

constexpr std::int64_t kTick = 10'000'000;  // ring times are in 10 ms: no two hosts agree on better
constexpr std::uint32_t kMinute = 6'000, kTen = 60'000;
constexpr std::uint16_t kFirstRing = 32, kFullRing = 640;  // ten minutes at 1 Hz
constexpr std::size_t kMinutes = 120, kTens = 576;

enum Flag : std::uint8_t { kCounterFlag = 1, kTrippedFlag = 2, kSaturatedFlag = 4, kSeenFlag = 8, kEightBit = 16, kBeyondFlag = 32 };

struct Cell {
  std::uint32_t at;  // ticks since base
  float value;       // gauge: value; counter: increment
};

template <std::size_t N>
struct Past {  // ring of closed intervals
  std::vector<Cell> cells;
  std::size_t head = 0;  // oldest once full
  void push(Cell c) {
    if (cells.size() < N) cells.push_back(c);
    else cells[head] = c, head = (head + 1) % N;
  }
  const Cell& operator[](std::size_t i) const { return cells[(head + i) % cells.size()]; }
  std::size_t size() const { return cells.size(); }
};

struct History {
  Past<kMinutes> minutes;
  Past<kTens> tens;
  double ten_sum = 0;
  std::uint32_t ten_count = 0, ten = 0;
};

// One cache line and a half; the ring itself is touched once per sample.
struct Row {
  double raw = NAN;
  std::uint32_t at = 0, first = 0;
  float low = NAN, high = NAN;
  Cell* ring = nullptr;
  std::uint16_t head = 0, count = 0, capacity = 0;  // head: next to write
  std::uint8_t flags = 0;
  std::uint32_t interval = 0;
  std::uint32_t minute = 0, minute_count = 0;
  double minute_sum = 0;
};

}  // namespace

bool is_blank(double v) {
  if (!std::isfinite(v)) return true;
  // DCGM: INT64 blanks 0x7ffffffffffffff0…f, FP64 blanks 2^47 … +15, INT32 blanks 0x7ffffff0…f (dcgm_structs.h).
  return v >= 9.2233720368547e18 || (v >= 140737488355328.0 && v < 140737488355344.0) || (v >= 2147483632.0 && v <= 2147483647.0);
}

struct Windows::Impl {
  const SeriesTable& table;
  std::vector<Row> rows;
  std::vector<std::unique_ptr<History>> history;
  std::vector<SeriesId> tripped, fresh;
  std::int64_t base = INT64_MIN, cached_ns = INT64_MIN;
  std::uint32_t cached_tick = 0;
  std::size_t live = 0;

  explicit Impl(const SeriesTable& t) : table(t) {}
  ~Impl() {
    for (Row& r : rows) delete[] r.ring;
  }

  const Row* row(SeriesId id) const { return id.v < rows.size() && rows[id.v].flags & kSeenFlag ? &rows[id.v] : nullptr; }
  Instant instant(std::uint32_t tick) const { return Instant(base + static_cast<std::int64_t>(tick) * kTick); }
  std::uint32_t tick(Instant t) const {
    std::int64_t k = (t.ns() - base) / kTick;
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(k, 0, UINT32_MAX - 1));
  }

  void meet(SeriesId id, Row& r) {  // first sample of a series
    r.flags = kSeenFlag;
    if (table.kind(id) == MetricKind::kCounter) r.flags |= kCounterFlag;
    // link_downed is 8 bits wide in the InfiniBand port counters (IBTA PortCounters).
    if (table.metric(id).find("link_downed") != std::string_view::npos) r.flags |= kEightBit;
    fresh.push_back(id);
    ++live;
  }

  void write(Row& r, std::uint32_t at, float value) {
    if (r.count == r.capacity && r.capacity < kFullRing) {
      std::uint16_t bigger = std::min<std::uint16_t>(kFullRing, r.capacity ? static_cast<std::uint16_t>(r.capacity * 4) : kFirstRing);
      Cell* ring = new Cell[bigger];
      for (std::uint16_t i = 0; i < r.count; ++i) ring[i] = cell(r, i);
      delete[] r.ring;
      r.ring = ring, r.capacity = bigger, r.head = r.count;
    }
    r.ring[r.head] = {at, value};
    r.head = r.head + 1 == r.capacity ? 0 : r.head + 1;
    if (r.count < r.capacity) ++r.count;
  }

  static const Cell& cell(const Row& r, std::size_t i) {  // 0 = oldest
    std::size_t start = r.count < r.capacity ? (r.head + r.capacity - r.count) % r.capacity : r.head;
    std::size_t k = start + i;
    return r.ring[k >= r.capacity ? k - r.capacity : k];
  }

  void close_minute(std::size_t id, Row& r) {
    if (history.size() <= id) history.resize(rows.size());
    if (!history[id]) history[id] = std::make_unique<History>();
    History& h = *history[id];
    double value = r.flags & kCounterFlag ? r.minute_sum / 60 : r.minute_sum / r.minute_count;
    h.minutes.push({(r.minute + 1) * kMinute, static_cast<float>(value)});
    std::uint32_t ten = r.minute / 10;
    if (ten != h.ten && h.ten_count) {
      h.tens.push({(h.ten + 1) * kTen, static_cast<float>(h.ten_sum / h.ten_count)});
      h.ten_sum = 0, h.ten_count = 0;
    }
    h.ten = ten;
    h.ten_sum += value, ++h.ten_count;
  }

  // Index of the first cell later than `tick`.
  static std::size_t after(const Row& r, std::uint32_t tick) {
    std::size_t lo = 0, hi = r.count;
    while (lo < hi) {
      std::size_t mid = (lo + hi) / 2;
      if (cell(r, mid).at <= tick) lo = mid + 1;
      else hi = mid;
    }
    return lo;
  }

  template <class Past>
  std::vector<Point> past(const Past& p, Instant from, Instant to) const {
    std::vector<Point> out;
    std::uint32_t a = tick(from), b = tick(to);
    for (std::size_t i = 0; i < p.size(); ++i)
      if (p[i].at > a && p[i].at <= b) out.push_back({instant(p[i].at), p[i].value});
    return out;
  }

  double value(const Row& r, std::size_t i) const {  // NaN: a counter whose span is not known
    const Cell& c = cell(r, i);
    if (!(r.flags & kCounterFlag)) return c.value;
    std::uint32_t before = i ? cell(r, i - 1).at : r.count < kFullRing ? r.first : c.at;
    return c.at > before ? c.value * 100.0 / (c.at - before) : NAN;
  }
};

Windows::Windows(const SeriesTable& table) : impl_(std::make_unique<Impl>(table)) {}
Windows::~Windows() = default;

void Windows::append(std::span<const Sample> samples) {
  Impl& w = *impl_;
  if (samples.empty()) return;
  if (w.base == INT64_MIN) w.base = (samples[0].at.ns() / kTick - 8'640'000) * kTick;  // a day of room for clocks behind the first one
  for (const Sample& s : samples) {
    if (s.at.ns() != w.cached_ns) w.cached_ns = s.at.ns(), w.cached_tick = w.tick(s.at);
    std::uint32_t at = w.cached_tick;
    if (s.series.v >= w.rows.size()) w.rows.resize(std::max<std::size_t>(s.series.v + 1, w.table.size()));
    Row& r = w.rows[s.series.v];
    if (!(r.flags & kSeenFlag)) {
      if (is_blank(s.value)) continue;
      w.meet(s.series, r);
      r.first = at, r.minute = at / kMinute;
      if (r.flags & kCounterFlag) {
        r.raw = s.value, r.at = at;
        if (r.flags & kEightBit && s.value == 255) r.flags |= kSaturatedFlag;
        if (s.value == 4294967295.0) r.flags |= kSaturatedFlag;
        continue;
      }
    } else if (at <= r.at || is_blank(s.value)) {
      continue;
    }
    std::uint32_t dt = at - r.at;
    double v = s.value;
    if (r.flags & kCounterFlag) {
      // A smaller total means a reset: what stands there now was counted since.
      v = s.value >= r.raw ? s.value - r.raw : s.value;
      bool top = s.value == 4294967295.0 || (r.flags & kEightBit && s.value == 255);
      r.flags = static_cast<std::uint8_t>(top ? r.flags | kSaturatedFlag : r.flags & ~kSaturatedFlag);
    }
    double compared = r.flags & kCounterFlag ? (v != 0 ? v * 100.0 / dt : 0) : v;
    bool beyond = compared > r.high || compared < r.low;
    if (beyond || r.flags & kBeyondFlag) {
      if (!(r.flags & kTrippedFlag)) w.tripped.push_back(s.series);
      r.flags = static_cast<std::uint8_t>((r.flags & ~kBeyondFlag) | kTrippedFlag | (beyond ? kBeyondFlag : 0));
    }
    if (r.at && r.raw == r.raw) r.interval = r.interval ? r.interval + (static_cast<std::int32_t>(dt - r.interval) >> 3) : dt;
    r.raw = s.value, r.at = at;
    std::uint32_t minute = at / kMinute;
    if (minute != r.minute) {
      if (r.minute_count) w.close_minute(s.series.v, r);
      r.minute = minute, r.minute_sum = 0, r.minute_count = 0;
    }
    r.minute_sum += v, ++r.minute_count;
    w.write(r, at, static_cast<float>(v));
  }
}

void Windows::set_wire(SeriesId id, double low, double high) {
  if (id.v >= impl_->rows.size()) impl_->rows.resize(id.v + 1);
  impl_->rows[id.v].low = static_cast<float>(low);
  impl_->rows[id.v].high = static_cast<float>(high);
}

std::vector<SeriesId> Windows::take_tripped() {
  std::vector<SeriesId> out = std::move(impl_->tripped);
  impl_->tripped.clear();
  for (SeriesId id : out) impl_->rows[id.v].flags &= static_cast<std::uint8_t>(~kTrippedFlag);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<SeriesId> Windows::take_new() {
  std::vector<SeriesId> out = std::move(impl_->fresh);
  impl_->fresh.clear();
  std::sort(out.begin(), out.end());
  return out;
}

std::size_t Windows::size() const { return impl_->live; }
bool Windows::has(SeriesId id) const { return impl_->row(id) != nullptr; }
double Windows::last(SeriesId id) const { return has(id) ? impl_->rows[id.v].raw : NAN; }
Instant Windows::last_at(SeriesId id) const { return has(id) ? impl_->instant(impl_->rows[id.v].at) : Instant(); }
Instant Windows::first_at(SeriesId id) const { return has(id) ? impl_->instant(impl_->rows[id.v].first) : Instant(); }
Duration Windows::interval(SeriesId id) const { return has(id) ? Duration(impl_->rows[id.v].interval * kTick) : Duration(0); }
bool Windows::saturated(SeriesId id) const { return has(id) && impl_->rows[id.v].flags & kSaturatedFlag; }

bool Windows::stale(SeriesId id, Instant now, Duration slack) const {
  if (!has(id)) return false;
  // One sample tells no interval yet: exporters scrape as slowly as once a minute.
  Duration usual = interval(id).value() > 0 ? interval(id) : seconds(60);
  return now - last_at(id) > std::max(usual * 3, slack);
}

std::vector<Point> Windows::points(SeriesId id, Instant from, Instant to) const {
  std::vector<Point> out;
  const Row* r = impl_->row(id);
  if (!r) return out;
  std::uint32_t end = impl_->tick(to);
  for (std::size_t i = Impl::after(*r, impl_->tick(from)); i < r->count && Impl::cell(*r, i).at <= end; ++i) {
    double v = impl_->value(*r, i);
    if (std::isfinite(v)) out.push_back({impl_->instant(Impl::cell(*r, i).at), v});
  }
  return out;
}

std::vector<Point> Windows::last_points(SeriesId id, std::size_t count) const {
  std::vector<Point> out;
  const Row* r = impl_->row(id);
  if (!r) return out;
  for (std::size_t i = r->count > count ? r->count - count : 0; i < r->count; ++i) {
    double v = impl_->value(*r, i);
    if (std::isfinite(v)) out.push_back({impl_->instant(Impl::cell(*r, i).at), v});
  }
  return out;
}

Increase Windows::increase(SeriesId id, Instant from, Instant to) const {
  Increase out;
  const Row* r = impl_->row(id);
  if (!r) return out;
  out.at_least = saturated(id);
  std::uint32_t end = impl_->tick(to);
  for (std::size_t i = Impl::after(*r, impl_->tick(from)); i < r->count && Impl::cell(*r, i).at <= end; ++i) {
    out.value += static_cast<double>(Impl::cell(*r, i).value);
    out.known = true;
  }
  return out;
}

double Windows::mean(SeriesId id, Instant from, Instant to) const {
  double sum = 0;
  std::vector<Point> p = points(id, from, to);
  for (const Point& q : p) sum += q.value;
  return p.empty() ? NAN : sum / static_cast<double>(p.size());
}

Baseline Windows::baseline(SeriesId id, Instant from, Instant to) const {
  const Row* r = impl_->row(id);
  if (!r) return {};
  std::size_t a = Impl::after(*r, impl_->tick(from)), b = Impl::after(*r, impl_->tick(to));
  std::size_t n = b > a ? b - a : 0, keep = std::min<std::size_t>(n, 64);
  std::array<double, 64> v;
  for (std::size_t i = 0; i < keep; ++i) v[i] = impl_->value(*r, a + i * n / keep);
  return robust(std::span(v.data(), keep));
}

std::vector<Point> Windows::minutes(SeriesId id, Instant from, Instant to) const {
  if (!has(id) || id.v >= impl_->history.size() || !impl_->history[id.v]) return {};
  return impl_->past(impl_->history[id.v]->minutes, from, to);
}
std::vector<Point> Windows::ten_minutes(SeriesId id, Instant from, Instant to) const {
  if (!has(id) || id.v >= impl_->history.size() || !impl_->history[id.v]) return {};
  return impl_->past(impl_->history[id.v]->tens, from, to);
}
Baseline Windows::minute_baseline(SeriesId id, Instant from, Instant to) const {
  std::vector<double> v;
  for (const Point& p : minutes(id, from, to)) v.push_back(p.value);
  return robust(v);
}

}  // namespace weft::telemetry
