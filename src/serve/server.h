// HTTP on loopback: the API, server-sent events and the built-in page. No logic: everything comes from the Feed.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "serve/feed.h"

namespace weft::serve {

struct ServerOptions {
  std::string address = "127.0.0.1";
  int port = 7717;             // 0 = any free port
  int max_event_streams = 32;  // more are refused with 503
};

class Server {
 public:
  // Starts listening in a thread. Errors: the port is taken (says what to do).
  static Result<std::unique_ptr<Server>> start(const Feed& feed, const ServerOptions& options);
  ~Server();
  int port() const;
  std::string url() const;

 private:
  Server();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The machine-readable description of the API, as served at /api/openapi.json.
std::string openapi();

}  // namespace weft::serve
