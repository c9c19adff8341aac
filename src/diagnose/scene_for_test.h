// For tests: telemetry written by hand as text on the reference site lab-32, fed to a Diagnoser second by second.
//   series METRIC ENTITY [labels=a=b] [every=5] : 0 60 ~0.02 | 100 75 | 200 75>90@260 | 300 stop
// From each time on the value stands there, moves linearly to the value after '>' at the time after '@', or the series stops; "~0.02" adds noise of
// that relative size. '*' in ENTITY stands for every part whose name fits. Counters say "+RATE": increase per second.
//   event T KIND ENTITY [CODE [TEXT …]]      fact T KEY ENTITY VALUE
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "diagnose/diagnose.h"
#include "fabric/delta.h"
#include "fabric/site.h"
#include "telemetry/names.h"

namespace weft::diagnose {

class Scene {
 public:
  explicit Scene(const std::string& site = "lab-32") : diagnoser_(table_) {
    auto loaded = fabric::load_site(site);
    EXPECT_TRUE(loaded.has_value()) << loaded.error().text();
    snapshot_ = std::move(*loaded);
    diagnoser_.set_snapshot(snapshot_);
  }

  // A job on cards first … first + tp*pp*dp - 1 in id order, rank order as placed by make_groups.
  void job(const std::string& name, int first, workload::Strategy strategy, double since = 0) {
    RunningJob j;
    j.job.name = name;
    j.job.strategy = strategy;
    j.since = at(since);
    for (int r = 0; r < strategy.world(); ++r) j.placement.cards.push_back(snapshot_.cards()[static_cast<std::size_t>(first + r)]);
    auto groups = workload::make_groups(strategy);
    EXPECT_TRUE(groups.has_value());
    j.placement.groups = std::move(*groups);
    j.placement.job = name;
    jobs_.push_back(j);
    diagnoser_.set_jobs(jobs_);
  }

  void text(std::string_view lines) {
    for (std::string_view line : split(lines, '\n')) {
      auto w = split_space(line);
      if (w.empty() || w[0].starts_with('#')) continue;
      if (w[0] == "event") {
        std::string words;
        for (std::size_t i = 5; i < w.size(); ++i) words += (i > 5 ? " " : "") + std::string(w[i]);
        events_.push_back({at(number(w[1])), std::string(w[3]), std::string(w[2]), w.size() > 4 ? std::string(w[4]) : "",
                           telemetry::Severity::kError, words, "test"});
      } else if (w[0] == "fact") facts_.push_back({at(number(w[1])), std::string(w[3]), std::string(w[2]), std::string(w[4]), "test"});
      else if (w[0] == "series") add_series(w);
      else ADD_FAILURE() << "unknown line: " << line;
    }
  }

  // Runs on to `until` (seconds); diagnoses as of the end. `shuffle` reverses every batch: the order inside must not matter.
  const std::vector<Diagnosis>& run(double until, bool shuffle = false) {
    for (; now_ <= until; now_ += 1) {
      telemetry::Batch batch;
      for (Series& s : series_) feed(s, batch);
      for (const auto& e : events_)
        if (e.at > at(now_ - 1) && e.at <= at(now_)) batch.events.push_back(e);
      for (const auto& f : facts_)
        if (f.at > at(now_ - 1) && f.at <= at(now_)) batch.facts.push_back(f);
      if (shuffle)
        std::reverse(batch.samples.begin(), batch.samples.end()), std::reverse(batch.events.begin(), batch.events.end()),
            std::reverse(batch.facts.begin(), batch.facts.end());
      diagnoser_.ingest(batch);
      last_ = &diagnoser_.evaluate(at(now_));
      if (!first_seen_ && !last_->empty()) first_seen_ = now_;
      for (const Diagnosis& d : *last_)
        if (!settled_ && d.settled) settled_ = now_;
    }
    return *last_;
  }

  Diagnoser& diagnoser() { return diagnoser_; }
  fabric::Snapshot& snapshot() { return snapshot_; }
  std::vector<RunningJob>& jobs() { return jobs_; }
  std::optional<double> first_seen() const { return first_seen_; }
  std::optional<double> settled() const { return settled_; }
  static Instant at(double s) { return Instant(1'767'225'600'000'000'000) + seconds(s); }
  std::string link_name(std::string_view port) const { return snapshot_.name(*snapshot_.find_link(port)); }
  std::string signs() const {
    std::string out;
    for (const Finding& f : diagnoser_.findings()) out += f.sign + "@" + f.entity + " ";
    return out;
  }
  // "fault entity 0.93" per cause of every open diagnosis.
  std::string story() const {
    std::string out;
    for (const Diagnosis& d : *last_) {
      out += d.key + ":";
      for (const Cause& c : d.causes) out += " " + c.fault + " " + c.entity + " " + std::to_string(c.confidence).substr(0, 4) + ";";
      out += "\n";
    }
    return out + signs();
  }

 private:
  struct Piece {
    double from, value, to = NAN, until = NAN;
    bool stop = false, rate = false;
    double noise = 0;
  };
  struct Series {
    telemetry::SeriesId id;
    std::vector<Piece> pieces;
    double every = 1, phase = 0, total = 1000;
  };

  static double number(std::string_view s) {
    auto v = parse_double(s);
    EXPECT_TRUE(v.has_value()) << s;
    return v.value_or(0);
  }

  static bool fits(std::string_view pattern, std::string_view name) {
    std::size_t star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == name;
    if (!name.starts_with(pattern.substr(0, star))) return false;
    for (std::size_t skip = star; skip <= name.size(); ++skip) {
      if (fits(pattern.substr(star + 1), name.substr(skip))) return true;
      if (skip < name.size() && name[skip] == '/') break;
    }
    return false;
  }

  void add_series(const std::vector<std::string_view>& w) {
    std::string labels;
    double every = 1;
    std::size_t i = 3;
    for (; i < w.size() && w[i] != ":"; ++i) {
      if (w[i].starts_with("labels=")) labels = w[i].substr(7);
      if (w[i].starts_with("every=")) every = number(w[i].substr(6));
    }
    std::vector<Piece> pieces;
    bool counter = false;
    for (++i; i < w.size(); ++i) {
      if (w[i] == "|") continue;
      Piece p{number(w[i++]), 0};
      std::string_view v = w[i];
      if (v == "stop") p.stop = true;
      else {
        if (v.starts_with('+')) p.rate = counter = true, v.remove_prefix(1);
        if (std::size_t gt = v.find('>'); gt != std::string_view::npos) {
          std::size_t a = v.find('@');
          p.to = number(v.substr(gt + 1, a - gt - 1)), p.until = number(v.substr(a + 1));
          v = v.substr(0, gt);
        }
        p.value = number(v);
      }
      if (i + 1 < w.size() && w[i + 1].starts_with('~')) p.noise = number(w[++i].substr(1));
      pieces.push_back(p);
    }
    const telemetry::MetricInfo* info = telemetry::find_metric(w[1]);
    counter |= info && info->kind == telemetry::MetricKind::kCounter;
    auto add = [&](const std::string& entity) {
      Series s;
      s.id = table_.intern(w[1], entity, labels, counter ? telemetry::MetricKind::kCounter : telemetry::MetricKind::kGauge);
      s.pieces = pieces, s.every = every;
      newest_[s.id] = series_.size();
      series_.push_back(s);
    };
    std::string pattern(w[2]);
    if (pattern.find('*') == std::string::npos) return add(pattern);
    int found = 0;
    bool port = pattern.find(':') != std::string::npos;
    for (std::uint32_t d = 0; d < snapshot_.device_count(); ++d) {
      if (!port && fits(pattern, snapshot_.name(fabric::DeviceId{d}))) add(snapshot_.name(fabric::DeviceId{d})), ++found;
      if (port)
        for (fabric::PortId p : snapshot_.ports_of(fabric::DeviceId{d}))
          if (fits(pattern, snapshot_.name(p))) add(snapshot_.name(p)), ++found;
    }
    EXPECT_GT(found, 0) << pattern;
  }

  // Later lines for the same series win: exceptions are written after the rule.
  void feed(Series& s, telemetry::Batch& batch) {
    if (newest_[s.id] != static_cast<std::size_t>(&s - series_.data())) return;
    if (std::fmod(now_, s.every) != 0) return;
    const Piece* piece = nullptr;
    for (const Piece& p : s.pieces)
      if (p.from <= now_) piece = &p;
    if (!piece || piece->stop) return;
    double v = piece->value;
    if (std::isfinite(piece->until)) v += (piece->to - v) * std::min(1.0, (now_ - piece->from) / (piece->until - piece->from));
    v *= 1 + piece->noise * gauss(s.id.v);
    if (piece->rate) v = s.total += v * s.every;
    batch.samples.push_back({s.id, at(now_), v});
  }

  double gauss(std::uint32_t id) const {  // deterministic, about normal: sum of four uniforms
    std::uint64_t x = (static_cast<std::uint64_t>(now_) << 24) ^ (id * 0x9e3779b97f4a7c15ull);
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      x ^= x >> 31, x *= 0xbf58476d1ce4e5b9ull, x ^= x >> 27, x *= 0x94d049bb133111ebull;
      sum += static_cast<double>(x >> 11) / 9007199254740992.0;
    }
    return (sum - 2) * 1.732;
  }

  telemetry::SeriesTable table_;
  Diagnoser diagnoser_;
  fabric::Snapshot snapshot_ = *fabric::SnapshotBuilder("none").build();
  std::vector<RunningJob> jobs_;
  std::vector<Series> series_;
  std::map<telemetry::SeriesId, std::size_t> newest_;
  std::vector<telemetry::Event> events_;
  std::vector<telemetry::Fact> facts_;
  const std::vector<Diagnosis>* last_ = nullptr;
  double now_ = 0;
  std::optional<double> first_seen_, settled_;
};

}  // namespace weft::diagnose
