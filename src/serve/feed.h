// What the page and the API see of a running loop: the loop's thread publishes, HTTP threads read. Documents are rendered when published, so
// a reader never touches the loop. Samples of the last minutes are kept per series for charts and evidence.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/json.h"
#include "control/loop.h"
#include "fabric/snapshot.h"
#include "inspect/inspect.h"
#include "telemetry/types.h"

namespace weft::serve {

struct FeedOptions {
  std::size_t points_per_series = 900;
  std::size_t lines = 5000;
};

class Feed {
 public:
  Feed(const fabric::Snapshot& site, const telemetry::SeriesTable& series, const FeedOptions& options = {});
  ~Feed();

  // Loop's thread.
  void add(const telemetry::Batch& batch);
  void add(const control::Line& line);
  void set_inspection(const inspect::Inspection& inspection);
  // The state of the loop now; `speed` 0 = as fast as possible.
  void publish(const control::Loop& loop, Instant now, Instant start, double speed, bool virtual_clock);
  void set_audit(const std::vector<store::JournalEntry>& entries);
  void finish(const std::string& verdict);

  // Any thread. Documents as JSON text.
  std::string site() const;   // racks, nodes, cards, links: structure, never changes
  std::string state() const;  // clock, counts, health, cards' temperature and load
  std::string jobs() const;
  std::string incidents() const;
  std::string inspection() const;
  std::string audit() const;
  Result<std::string> series(const std::string& metric, const std::string& entity) const;  // all label sets
  Result<std::string> paths(const std::string& from, const std::string& to, const std::string& network) const;
  Result<std::string> entity(const std::string& name) const;  // latest value of every series of it; errors: nobody has that name

  // Events for server-sent events: everything after `after`; waits up to `timeout` for the first. Returns the last id.
  std::uint64_t events(std::uint64_t after, Duration timeout, std::vector<std::string>& out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::serve
