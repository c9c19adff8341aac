#include "serve/server.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include "base/httplib.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/embedded.h"
#include "base/text.h"

namespace weft::serve {
namespace {

struct Endpoint {
  const char* path;
  const char* summary;
  std::vector<std::pair<const char*, const char*>> query;  // name, meaning
};
const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> list = {
      {"/api/site", "structure of the machine: nodes, cards, switches, links", {}},
      {"/api/state", "clock, counts, health of cards and links, facility", {}},
      {"/api/jobs", "running jobs: placement, groups, step time split, MFU", {}},
      {"/api/incidents", "incidents with causes, evidence, plans and times", {}},
      {"/api/inspect", "the latest inspection, cell by cell", {}},
      {"/api/audit", "the journal, newest first", {}},
      {"/api/series", "recent points of a metric", {{"metric", "metric name"}, {"entity", "canonical name"}}},
      {"/api/entity", "latest value of every series of an entity", {{"name", "canonical name"}}},
      {"/api/paths",
       "links used between two devices",
       {{"from", "device"}, {"to", "device"}, {"network", "scale-up, scale-out, storage or management; empty chooses"}}},
      {"/api/events", "server-sent events: line, tick, finished", {}},
  };
  return list;
}

const char* content_type(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  if (path.ends_with(".svg")) return "image/svg+xml";
  if (path.ends_with(".json")) return "application/json";
  return "application/octet-stream";
}

void answer(httplib::Response& response, const Result<std::string>& body) {
  if (body) {
    response.set_content(*body, "application/json");
    return;
  }
  response.status = http_status(body.error().kind);
  response.set_content(dump_json({{"error", kind_name(body.error().kind)}, {"message", body.error().text()}}, -1), "application/json");
}

// A thread per connection in use, made when needed and at most `most`: connections that say nothing do not keep others waiting.
class ElasticQueue : public httplib::TaskQueue {
 public:
  explicit ElasticQueue(std::size_t most) : most_(most) {}
  void enqueue(std::function<void()> task) override {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (idle_ >= tasks_.size() || threads_.size() >= most_) return wake_.notify_one();
    threads_.emplace_back([this] { work(); });
  }
  void shutdown() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;  // stopping
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t most_, idle_ = 0;
  bool stopping_ = false;
};

bool loopback(std::string_view host) {
  if (host.starts_with('[')) host = host.substr(0, host.find(']') + 1);
  else host = host.substr(0, host.find(':'));
  std::string name = lower(host);
  return name.empty() || name == "localhost" || name.ends_with(".localhost") || name.starts_with("127.") || name == "[::1]";
}

}  // namespace

std::string openapi() {
  Json paths = Json::object();
  for (const Endpoint& e : endpoints()) {
    Json parameters = Json::array();
    for (const auto& [name, meaning] : e.query)
      parameters.push_back({{"name", name}, {"in", "query"}, {"description", meaning}, {"schema", {{"type", "string"}}}});
    const char* type = std::string_view(e.path) == "/api/events" ? "text/event-stream" : "application/json";
    Json content = Json::object();
    content[type] = Json::object();
    paths[e.path] = {
        {"get",
         {{"summary", e.summary}, {"parameters", parameters}, {"responses", {{"200", {{"description", "ok"}, {"content", content}}}}}}}};
  }
  return dump_json({{"openapi", "3.0.3"}, {"info", {{"title", "weft"}, {"version", WEFT_VERSION}}}, {"paths", paths}});
}

struct Server::Impl {
  httplib::Server http;
  std::thread thread;
  std::atomic<int> streams{0};
  std::atomic<bool> stopping{false};
  int port = 0;
  std::string address;
};

Server::Server() : impl_(std::make_unique<Impl>()) {}

Server::~Server() {
  impl_->stopping = true;
  impl_->http.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

int Server::port() const { return impl_->port; }
std::string Server::url() const {
  return fmt::format("http://{}:{}", impl_->address == "127.0.0.1" ? "localhost" : impl_->address, impl_->port);
}

Result<std::unique_ptr<Server>> Server::start(const Feed& feed, const ServerOptions& options) {
  std::unique_ptr<Server> server(new Server);
  Impl* d = server->impl_.get();
  httplib::Server& http = d->http;
  int streams = options.max_event_streams;
  http.new_task_queue = [streams] { return new ElasticQueue(static_cast<std::size_t>(streams) + 480); };
  http.set_read_timeout(3);
  http.set_keep_alive_timeout(3);
  http.set_payload_max_length(1 << 20);
  http.set_default_headers({{"X-Content-Type-Options", "nosniff"}, {"Cache-Control", "no-store"}});
  // On loopback a foreign Host is a page of somebody else's site that had its name pointed here (DNS rebinding).
  bool local = loopback(options.address);
  http.set_pre_routing_handler([local](const httplib::Request& q, httplib::Response& r) {
    if (local && !loopback(q.get_header_value("Host"))) {
      answer(r, fail(ErrorKind::kDenied, "this server answers to localhost only; open http://localhost with its port"));
      r.status = 421;
    } else if (q.method != "GET" && q.method != "HEAD") {
      answer(r, fail(ErrorKind::kInvalid, "the API only answers GET"));
      r.status = 405;
      r.set_header("Allow", "GET, HEAD");
      r.set_header("Connection", "close");
    } else {
      return httplib::Server::HandlerResponse::Unhandled;
    }
    return httplib::Server::HandlerResponse::Handled;
  });
  http.set_error_handler([](const httplib::Request&, httplib::Response& r) {
    if (!r.body.empty()) return;
    std::string what = r.status == 400   ? "not a request this server understands"
                       : r.status == 413 ? "the request is too large"
                                         : "no answer";
    r.set_content(dump_json({{"error", "invalid"}, {"message", what}}, -1), "application/json");
  });
  auto document = [&](const char* path, std::string (Feed::*get)() const) {
    http.Get(path, [&feed, get](const httplib::Request&, httplib::Response& response) {
      response.set_content((feed.*get)(), "application/json");
    });
  };
  document("/api/site", &Feed::site);
  document("/api/state", &Feed::state);
  document("/api/jobs", &Feed::jobs);
  document("/api/incidents", &Feed::incidents);
  document("/api/inspect", &Feed::inspection);
  document("/api/audit", &Feed::audit);
  http.Get("/api/series", [&feed](const httplib::Request& q, httplib::Response& r) {
    answer(r, feed.series(q.get_param_value("metric"), q.get_param_value("entity")));
  });
  http.Get("/api/entity", [&feed](const httplib::Request& q, httplib::Response& r) { answer(r, feed.entity(q.get_param_value("name"))); });
  http.Get("/api/paths", [&feed](const httplib::Request& q, httplib::Response& r) {
    answer(r, feed.paths(q.get_param_value("from"), q.get_param_value("to"), q.get_param_value("network")));
  });
  http.Get("/api/openapi.json", [](const httplib::Request&, httplib::Response& r) { r.set_content(openapi(), "application/json"); });
  http.Get("/api/events", [&feed, d, streams](const httplib::Request& q, httplib::Response& r) {
    if (d->streams.fetch_add(1) >= streams) {
      --d->streams;
      answer(r, fail(ErrorKind::kUnavailable, "too many event streams are open; close a page"));
      r.set_header("Connection", "close");
      return;
    }
    std::uint64_t after = 0;
    std::string last = q.get_header_value("Last-Event-ID");
    if (last.empty()) last = q.get_param_value("after");
    for (char c : last) {
      if (c < '0' || c > '9' || after > UINT64_MAX / 10 - 10) {
        after = 0;
        break;
      }
      after = after * 10 + static_cast<std::uint64_t>(c - '0');
    }
    auto position = std::make_shared<std::uint64_t>(after);
    r.set_chunked_content_provider(
        "text/event-stream",
        [&feed, d, position](std::size_t, httplib::DataSink& sink) {
          std::vector<std::string> out;
          *position = feed.events(*position, milliseconds(500), out);
          if (d->stopping) return false;
          if (out.empty()) out.push_back(": still here\n\n");
          for (const std::string& text : out)
            if (!sink.write(text.data(), text.size())) return false;
          return true;
        },
        [d](bool) { --d->streams; });
  });
  http.Get(R"(/(.*))", [](const httplib::Request& q, httplib::Response& r) {
    std::string path = q.matches[1].str();
    if (path.empty()) path = "index.html";
    if (path.starts_with("api/")) return answer(r, fail(ErrorKind::kNotFound, "no such endpoint; /api/openapi.json lists them"));
    auto file = embedded_file("web/dist/" + path);
    if (!file && path == "index.html") {
      r.set_content(
          "<!doctype html><meta charset=utf-8><title>weft</title><p>The page was not built into this binary (run <code>make build</code> "
          "with nodejs installed). The API is at <a href=/api/openapi.json>/api/openapi.json</a>.",
          "text/html; charset=utf-8");
      return;
    }
    if (!file) return answer(r, fail(ErrorKind::kNotFound, "no such page"));
    r.set_content(*file, content_type(path));
  });
  // Not the library's default SO_REUSEPORT: a second server on the same port must fail, not share its visitors.
  http.set_socket_options([](socket_t socket) {
    int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  d->address = options.address;
  if (options.port == 0) d->port = http.bind_to_any_port(options.address.c_str());
  else d->port = http.bind_to_port(options.address.c_str(), options.port) ? options.port : -1;
  if (d->port <= 0)
    return fail(ErrorKind::kUnavailable, fmt::format("cannot listen on {}:{}: the port is taken or not allowed; choose another with --port",
                                                     options.address, options.port));
  d->thread = std::thread([d] { d->http.listen_after_bind(); });
  // stop() is lost on a server that does not listen yet, so start() returns only once it does.
  for (int i = 0; i < 5000 && !d->http.is_running(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return server;
}

}  // namespace weft::serve
