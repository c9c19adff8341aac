#include "twin/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <list>
#include <nlohmann/json.hpp>
#include <vector>

#include "twin/socket.h"

namespace weft::twin {
namespace {

Json error_json(const Error& e) {
  return Json{{"error", {{"kind", std::string(kind_name(e.kind))}, {"message", e.message}, {"place", e.place}}}};
}
Error error_of(const Json& j) {
  Error e{ErrorKind::kInternal, j.value("message", ""), j.value("place", "")};
  std::string kind = j.value("kind", "");
  for (auto k : {ErrorKind::kInvalid, ErrorKind::kNotFound, ErrorKind::kConflict, ErrorKind::kDenied, ErrorKind::kUnavailable,
                 ErrorKind::kCorrupt, ErrorKind::kInternal})
    if (kind_name(k) == kind) e.kind = k;
  return e;
}

Json batch_json(const telemetry::Batch& b, const telemetry::SeriesTable& series, std::size_t known) {
  Json out = Json::object(), names = Json::array(), samples = Json::array(), facts = Json::array(), events = Json::array(),
       ops = Json::array();
  for (std::size_t i = known; i < series.size(); ++i) {
    telemetry::SeriesId id{static_cast<std::uint32_t>(i)};
    names.push_back({std::string(series.metric(id)), std::string(series.entity(id)), std::string(series.labels(id)),
                     static_cast<int>(series.kind(id))});
  }
  for (const auto& s : b.samples) samples.push_back(s.series.v), samples.push_back(s.at.ns()), samples.push_back(s.value);
  for (const auto& f : b.facts) facts.push_back({f.at.ns(), f.entity, f.key, f.value, f.origin});
  for (const auto& e : b.events) events.push_back({e.at.ns(), e.entity, e.kind, e.code, static_cast<int>(e.severity), e.text, e.origin});
  for (const auto& o : b.ops)
    ops.push_back({o.job, o.group, o.kind, o.sequence, o.rank, static_cast<int>(o.state), o.start.ns(), o.end.ns(), o.bytes.value()});
  out["series"] = std::move(names), out["samples"] = std::move(samples), out["facts"] = std::move(facts), out["events"] = std::move(events),
  out["ops"] = std::move(ops);
  return out;
}

struct Server {
  World& world;
  const telemetry::SeriesTable& series;
  std::string site;
  bool over = false;

  Json answer(const std::string& line) {
    auto parsed = parse_json(line, "request");
    if (!parsed || !parsed->is_object())
      return error_json(parsed ? Error{ErrorKind::kInvalid, "a request is a JSON object", ""} : parsed.error());
    const Json& q = *parsed;
    std::string op = q.contains("op") && q["op"].is_string() ? q["op"].get<std::string>() : "";
    auto whole = [&](const char* key) -> std::int64_t {
      return q.contains(key) && q[key].is_number_integer() ? q[key].get<std::int64_t>() : 0;
    };
    if (op == "hello") return {{"now", world.now().ns()}, {"site", site}};
    if (op == "wait") {
      world.wait_until(Instant(whole("until")));
      return {{"now", world.now().ns()}};
    }
    if (op == "poll") {
      telemetry::Batch batch;
      if (auto s = world.poll(Instant(whole("until")), batch); !s) return error_json(s.error());
      Json out = batch_json(batch, series, static_cast<std::size_t>(std::max<std::int64_t>(0, whole("series"))));
      out["now"] = world.now().ns();
      return out;
    }
    if (op == "start" && q.contains("action") && q["action"].is_object()) {
      const Json& a = q["action"];
      heal::Action action;
      auto text = [&](const char* key) { return a.contains(key) && a[key].is_string() ? a[key].get<std::string>() : std::string(); };
      action.id = text("id"), action.kind = text("kind"), action.target = text("target");
      if (a.contains("parameters")) action.parameters = a["parameters"];
      if (auto s = world.start(action); !s) return error_json(s.error());
      return {{"ok", true}};
    }
    if (op == "query") {
      auto s = world.query(q.contains("id") && q["id"].is_string() ? q["id"].get<std::string>() : "");
      if (!s) return error_json(s.error());
      return {{"state", static_cast<int>(s->state)}, {"message", s->message}, {"result", s->result.get()}};
    }
    if (op == "shutdown") {
      over = true;
      return {{"ok", true}};
    }
    return error_json({ErrorKind::kInvalid, "unknown request '" + op + "'; known: hello, wait, poll, start, query, shutdown", ""});
  }
};

}  // namespace

Status serve(World& world, const telemetry::SeriesTable& series, const std::string& site, const std::string& path,
             const std::string& effects, const std::atomic<bool>* stop) {
  WEFT_ASSIGN(Socket listener, Socket::listen(path));
  int log = -1;
  bool log_failed = false;
  if (!effects.empty()) {
    log = ::open(effects.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (log < 0) return fail(ErrorKind::kUnavailable, fmt::format("cannot write the log of effects: {}", std::strerror(errno)), effects);
    world.on_effect([log, &log_failed](const Effect& e) {
      std::string line =
          Json{{"at", e.at.ns()}, {"id", e.action_id}, {"kind", e.kind}, {"target", e.target}, {"succeeded", e.succeeded}}.dump() + "\n";
      for (std::size_t done = 0; done < line.size();) {
        ssize_t n = ::write(log, line.data() + done, line.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
          log_failed = true;
          return;
        }
        done += static_cast<std::size_t>(n);
      }
      log_failed = ::fsync(log) != 0 || log_failed;
    });
  }
  Server server{world, series, site};
  std::list<Socket> clients;
  while (!server.over && !(stop && stop->load()) && !log_failed) {
    std::vector<pollfd> wanted{{listener.fd(), POLLIN, 0}};
    for (const Socket& c : clients) wanted.push_back({c.fd(), POLLIN, 0});
    int ready = ::poll(wanted.data(), wanted.size(), 200);
    if (ready <= 0) continue;
    std::size_t i = 1;
    for (auto c = clients.begin(); c != clients.end(); ++i) {
      bool alive = true;
      if (wanted[i].revents) {
        alive = c->fill();
        std::string line;
        // A half-written request of a killed client dies with its connection.
        while (alive && !server.over && c->take_line(line)) alive = c->write_line(dump_json(server.answer(line), -1)).has_value();
      }
      c = alive ? std::next(c) : clients.erase(c);
    }
    if (wanted[0].revents & POLLIN)
      if (auto fresh = listener.accept()) clients.push_back(std::move(*fresh));
  }
  world.on_effect(nullptr);
  if (log >= 0) ::close(log);
  ::unlink(path.c_str());
  if (log_failed) return fail(ErrorKind::kUnavailable, "the log of effects cannot be written any more", effects);
  return {};
}

struct Remote::Impl {
  Socket socket;
  telemetry::SeriesTable& series;
  std::string path, site;
  Instant now;
  std::vector<telemetry::SeriesId> ids;  // of the world's series, here
  bool gone = false;

  Result<Json> ask(const Json& request) {
    if (gone) return fail(ErrorKind::kUnavailable, "the twin is gone", path);
    auto lost = [&](Error e) -> Result<Json> {
      gone = true;
      e.place = path;
      return std::unexpected(std::move(e));
    };
    if (auto s = socket.write_line(dump_json(request, -1)); !s) return lost(s.error());
    auto line = socket.read_line();
    if (!line) return lost(line.error());
    WEFT_ASSIGN(Json answer, parse_json(*line, path));
    if (!answer.is_object()) return fail(ErrorKind::kCorrupt, "the twin's answer is no object", path);
    if (answer.contains("error")) return std::unexpected(error_of(answer["error"]));
    return answer;
  }
};

Remote::Remote(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Remote::~Remote() = default;

Result<std::unique_ptr<Remote>> Remote::connect(const std::string& path, telemetry::SeriesTable& series) {
  WEFT_ASSIGN(Socket socket, Socket::connect(path));
  auto impl = std::unique_ptr<Impl>(new Impl{std::move(socket), series, path, {}, {}, {}});
  WEFT_ASSIGN(Json hello, impl->ask({{"op", "hello"}}));
  impl->now = Instant(hello.value("now", std::int64_t{0}));
  impl->site = hello.value("site", "");
  return std::unique_ptr<Remote>(new Remote(std::move(impl)));
}

Instant Remote::now() const { return impl_->now; }
void Remote::wait_until(Instant t) {
  if (t <= impl_->now) return;
  auto answer = impl_->ask({{"op", "wait"}, {"until", t.ns()}});
  impl_->now = answer ? Instant(answer->value("now", t.ns())) : t;
}

Status Remote::poll(Instant until, telemetry::Batch& into) {
  WEFT_ASSIGN(Json answer, impl_->ask({{"op", "poll"}, {"until", until.ns()}, {"series", impl_->ids.size()}}));
  try {
    for (const Json& s : answer.at("series"))
      impl_->ids.push_back(impl_->series.intern(s.at(0).get_ref<const std::string&>(), s.at(1).get_ref<const std::string&>(),
                                                s.at(2).get_ref<const std::string&>(),
                                                static_cast<telemetry::MetricKind>(s.at(3).get<int>())));
    const Json& samples = answer.at("samples");
    for (std::size_t i = 0; i + 2 < samples.size(); i += 3)
      into.samples.push_back({impl_->ids.at(samples[i].get<std::size_t>()), Instant(samples[i + 1].get<std::int64_t>()),
                              samples[i + 2].is_null() ? std::nan("") : samples[i + 2].get<double>()});
    for (const Json& f : answer.at("facts"))
      into.facts.push_back({Instant(f.at(0).get<std::int64_t>()), f.at(1), f.at(2), f.at(3), f.at(4)});
    for (const Json& e : answer.at("events"))
      into.events.push_back({Instant(e.at(0).get<std::int64_t>()), e.at(1), e.at(2), e.at(3),
                             static_cast<telemetry::Severity>(e.at(4).get<int>()), e.at(5), e.at(6)});
    for (const Json& o : answer.at("ops"))
      into.ops.push_back({o.at(0), o.at(1), o.at(2), o.at(3), o.at(4), static_cast<telemetry::OpState>(o.at(5).get<int>()),
                          Instant(o.at(6).get<std::int64_t>()), Instant(o.at(7).get<std::int64_t>()), Bytes(o.at(8).get<std::int64_t>())});
  } catch (const std::exception& e) {
    return fail(ErrorKind::kCorrupt, std::string("the twin's answer makes no sense: ") + e.what(), impl_->path);
  }
  return {};
}

Status Remote::start(const heal::Action& a) {
  auto answer =
      impl_->ask({{"op", "start"}, {"action", {{"id", a.id}, {"kind", a.kind}, {"target", a.target}, {"parameters", a.parameters.get()}}}});
  if (!answer) return std::unexpected(answer.error());
  return {};
}

Result<control::ActionStatus> Remote::query(const std::string& id) {
  WEFT_ASSIGN(Json answer, impl_->ask({{"op", "query"}, {"id", id}}));
  control::ActionStatus out;
  out.state = static_cast<control::ActionState>(std::clamp<int>(answer.value("state", 0), 0, 3));
  out.message = answer.value("message", "");
  if (answer.contains("result")) out.result = answer["result"];
  return out;
}

Status Remote::shutdown() {
  auto answer = impl_->ask({{"op", "shutdown"}});
  if (!answer) return std::unexpected(answer.error());
  return {};
}
const std::string& Remote::site() const { return impl_->site; }

}  // namespace weft::twin
