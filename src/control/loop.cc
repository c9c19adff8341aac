#include "control/loop.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "control/impl.h"

namespace weft::control {

Status Loop::Impl::tick() {
  Instant now = clock.now();
  batch.clear();
  for (telemetry::Source* s : sources)
    if (Status polled = s->poll(now, batch); !polled) {
      // A source that is away is told once; what it would have said stays unknown.
      say("note", nullptr, "source " + s->name() + ": " + polled.error().text());
    }
  for (const auto& e : batch.events)
    if (e.kind == "step_aborted" && e.entity.starts_with("job/")) {
      if (auto at = jobs.find(e.entity.substr(4)); at != jobs.end() && e.at >= at->second.since)
        at->second.view.aborted = true, at->second.aborted_at = e.at;
    } else if (e.kind == "checkpoint_saved" && e.entity.starts_with("job/"))
      if (auto at = jobs.find(e.entity.substr(4)); at != jobs.end())
        if (auto step = std::strtoll(e.code.c_str(), nullptr, 10); step > at->second.view.last_checkpoint_step)
          at->second.view.last_checkpoint_step = step;
  hear_steps();
  diagnoser.ingest(batch);
  tell_jobs();
  for (const diagnose::Diagnosis& d : diagnoser.evaluate(now)) WEFT_TRY(see(d));
  WEFT_TRY(watch_jobs());
  for (const std::string& id : std::exchange(wanted, {}))
    if (Incident* i = find_incident(id); i && !busy(id)) WEFT_TRY(plan_for(*i));
  for (Incident& i : incidents) WEFT_TRY(retry(i));
  for (std::size_t r = 0; r < runs.size(); ++r) {
    if (under_way(runs[r])) WEFT_TRY(advance(runs[r]));
    if (runs[r].stage == Run::Stage::kDone || runs[r].stage == Run::Stage::kFailed) WEFT_TRY(release(runs[r]));
  }
  tell_jobs();
  return {};
}

Loop::Loop(fabric::Snapshot snapshot, Clock& clock, std::vector<telemetry::Source*> sources, std::vector<Actuator*> actuators,
           telemetry::SeriesTable& series, store::Store& store, const LoopOptions& options)
    : impl_(std::make_unique<Impl>(std::move(snapshot), clock, std::move(sources), std::move(actuators), series, store, options)) {}
Loop::~Loop() = default;

Status Loop::recover() {
  WEFT_TRY(impl_->recover());
  return impl_->complete_effects();
}
Status Loop::submit(const workload::Job& job) { return impl_->submit(job); }
Status Loop::tick() { return impl_->tick(); }
Status Loop::run(Instant until) {
  while (!impl_->stopping && impl_->clock.now() < until) {
    impl_->clock.wait_until(std::min(until, impl_->clock.now() + impl_->options.tick));
    WEFT_TRY(impl_->tick());
  }
  return {};
}
void Loop::stop() { impl_->stopping = true; }
std::shared_ptr<const fabric::Snapshot> Loop::snapshot() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->snapshot;
}
std::vector<Incident> Loop::incidents() const { return impl_->incidents; }
Status begin_run(store::Store& store, const fabric::Snapshot& snapshot, const std::string& site, std::uint64_t seed, Instant at) {
  std::string hash = fmt::format("{:016x}", snapshot.content_hash());
  std::int64_t after = 0;
  std::string last_site, last_hash;
  for (;;) {
    WEFT_ASSIGN(auto entries, store.read(after, 1000));
    if (entries.empty()) break;
    for (const store::JournalEntry& e : entries) {
      after = e.sequence;
      if (e.kind == "run" && e.after->is_object())
        last_site = e.after->value("site", std::string()), last_hash = e.after->value("content", std::string());
    }
  }
  if (after > 0 && last_hash != hash)
    return fail(ErrorKind::kConflict, last_hash.empty() ? "the journal does not say of which site it is: name another file"
                                      : last_site == site
                                          ? "the journal is of an earlier form of site '" + site + "': name another file"
                                          : "the journal is of site '" + last_site + "', this is '" + site + "': name another file");
  store::JournalEntry e;
  e.at = at, e.kind = "run", e.subject = site, e.who = "weft", e.why = fmt::format("twin with seed {}", seed);
  e.before = Json::object(), e.after = Json{{"site", site}, {"content", hash}, {"seed", seed}};
  auto done = store.append(e);
  if (!done) return std::unexpected(done.error().in("journal"));
  return {};
}

Duration silent_limit(Duration usual_step) { return std::max(minutes(3), seconds(20 * to_seconds(usual_step))); }
std::vector<JobHealth> Loop::job_health() const {
  std::vector<JobHealth> out;
  for (const auto& [name, j] : impl_->jobs)
    out.push_back({name, !j.view.placement.cards.empty(), j.view.running && j.started, j.last_step, j.usual(), j.why});
  return out;
}
std::vector<heal::JobView> Loop::jobs() const { return impl_->views(); }
void Loop::on_line(std::function<void(const Line&)> listener) { impl_->listener = std::move(listener); }

}  // namespace weft::control
