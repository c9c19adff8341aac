// The world as a process of its own: `serve` keeps a World behind a unix socket, Remote is its Clock, Source and Actuator. The controller may
// be killed at any instant and come back; the world lives on, and its effects are on disk (append-only, fsync) before anybody hears of them.
// World time moves only by a client's wait_until.
//
// Protocol: one JSON object a line, one answer a line, in order. Requests:
//   {"op":"hello"}                         → {"now":NS, "site":NAME}
//   {"op":"wait","until":NS}               → {"now":NS}
//   {"op":"poll","until":NS,"series":N}    → {"now":NS, "series":[[metric,entity,labels,kind], … from N on], "samples":[index,ns,value, …],
//                                             "facts":[[ns,entity,key,value,origin]], "events":[[ns,entity,kind,code,severity,text,origin]],
//                                             "ops":[[job,group,kind,sequence,rank,state,start_ns,end_ns,bytes]]}
//   {"op":"start","action":{"id","kind","target","parameters"}}  → {"ok":true}
//   {"op":"query","id":ID}                 → {"state":0-3, "message", "result"}
//   {"op":"shutdown"}                      → {"ok":true}, and serve returns
// Errors: {"error":{"kind":NAME,"message","place"}}.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "twin/world.h"

namespace weft::twin {

// Serves until shutdown is asked for or `stop` becomes true (looked at five times a second). `effects`: path of the log, "" for none. Each
// line: {"at":NS,"id","kind","target","succeeded"}. Errors: the socket or the file cannot be made.
Status serve(World& world, const telemetry::SeriesTable& series, const std::string& site, const std::string& socket_path,
             const std::string& effects, const std::atomic<bool>* stop = nullptr);

class Remote : public Clock, public telemetry::Source, public control::Actuator {
 public:
  // Errors: unavailable when nobody listens there. `series` receives the world's series under ids of its own.
  static Result<std::unique_ptr<Remote>> connect(const std::string& socket_path, telemetry::SeriesTable& series);
  ~Remote() override;

  // When the world is gone, time goes on without it (wait_until returns at once) and every other call says unavailable.
  Instant now() const override;
  void wait_until(Instant t) override;
  Status poll(Instant until, telemetry::Batch& into) override;
  std::string name() const override { return "twin"; }
  Status start(const heal::Action& action) override;
  Result<control::ActionStatus> query(const std::string& id) override;
  Status shutdown();
  const std::string& site() const;

 private:
  struct Impl;
  explicit Remote(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::twin
