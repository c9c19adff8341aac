#include "base/http.h"

#include "base/httplib.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/display.h"
#include "base/text.h"

namespace weft {
namespace {

struct Url {
  std::string origin;  // scheme://host:port
  std::string path;    // with query
};

Result<Url> parse_url(const std::string& url) {
  auto bad = [&](const std::string& why) { return fail(ErrorKind::kInvalid, why, printable(url.substr(0, 200))); };
  for (unsigned char c : url)
    if (c <= ' ' || c == 0x7F) return bad("URL holds a blank or control character; write it percent-encoded");
  std::size_t scheme = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  if (!scheme) return bad("not an http:// or https:// URL");
  std::size_t slash = url.find_first_of("/?#", scheme);
  std::string host = url.substr(scheme, slash == std::string::npos ? slash : slash - scheme);
  if (host.empty()) return bad("URL names no host");
  if (host.find('@') != std::string::npos) return bad("URL holds a user name; give credentials as a header");
  std::size_t colon = host.rfind(':'), bracket = host.rfind(']');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    auto port = parse_int(std::string_view(host).substr(colon + 1));
    if (!port || *port < 1 || *port > 65535) return bad("URL has no valid port");
  }
  Url out{url.substr(0, scheme) + host, slash == std::string::npos ? "/" : url.substr(slash, url.find('#', slash) - slash)};
  if (!out.path.starts_with('/')) out.path.insert(0, "/");
  return out;
}

// A peer that closes early must not kill the process: SIGPIPE is held back in this thread for the time of the request.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_), sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    timespec none{};
    while (sigtimedwait(&pipe_, nullptr, &none) > 0) {}
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_, before_;
};

// Stops the client at the deadline: httplib's own timeouts start anew with every read.
class Watchdog {
 public:
  Watchdog(httplib::Client& client, Duration timeout)
      : thread_([this, &client, timeout] {
          std::unique_lock lock(mutex_);
          if (done_.wait_for(lock, std::chrono::nanoseconds(timeout.value()), [this] { return finished_; })) return;
          fired_ = true;
          client.stop();
        }) {}
  ~Watchdog() { finish(); }
  bool finish() {  // whether the deadline came first
    {
      std::lock_guard lock(mutex_);
      finished_ = true;
    }
    done_.notify_all();
    if (thread_.joinable()) thread_.join();
    return fired_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool finished_ = false, fired_ = false;
  std::thread thread_;  // last: starts when the rest is there
};

Result<HttpResponse> exchange(const std::string& url, httplib::Request request, const HttpOptions& options) {
  WEFT_ASSIGN(Url target, parse_url(url));
  for (const auto& [name, value] : options.headers)
    if ((name + value).find_first_of("\r\n") != std::string::npos)
      return fail(ErrorKind::kInvalid, "header '" + printable(name) + "' holds a line break", url);
  NoPipeSignal quiet;
  httplib::Client client(target.origin);
  if (!client.is_valid()) return fail(ErrorKind::kInvalid, "not a usable URL (or a certificate file that cannot be read)", url);
  auto micros = std::max<std::int64_t>(1000, options.timeout.value() / 1000);
  client.set_connection_timeout(std::chrono::microseconds(micros));
  client.set_read_timeout(std::chrono::microseconds(micros));
  client.set_write_timeout(std::chrono::microseconds(micros));
  client.set_follow_location(false);
  client.set_keep_alive(false);
  if (!options.ca_file.empty()) client.set_ca_cert_path(options.ca_file);

  HttpResponse out;
  bool too_large = false;
  request.path = target.path;
  for (const auto& [name, value] : options.headers) request.set_header(name, value);
  request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    too_large = out.body.size() + size > options.max_bytes;
    if (!too_large) out.body.append(data, size);
    return !too_large;
  };
  request.response_handler = [&](const httplib::Response& head) {
    out.status = head.status;
    out.content_type = head.get_header_value("Content-Type");
    return true;
  };
  Watchdog watchdog(client, options.timeout);
  httplib::Result result = client.send(request);
  bool late = watchdog.finish();
  if (result) return out;

  if (too_large) return fail(ErrorKind::kInvalid, "the answer is larger than " + std::to_string(options.max_bytes) + " bytes", url);
  if (late) return fail(ErrorKind::kUnavailable, "no full answer within " + human(options.timeout), url);
  switch (result.error()) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
      return fail(ErrorKind::kUnavailable, "cannot connect; is the service running and the address right?", url);
    case httplib::Error::SSLConnection: return fail(ErrorKind::kUnavailable, "no TLS connection; does the service speak https?", url);
    case httplib::Error::SSLServerVerification:
      return fail(ErrorKind::kDenied, "the server's certificate is not trusted; name its authority with a CA file", url);
    case httplib::Error::SSLLoadingCerts: return fail(ErrorKind::kInvalid, "cannot read the CA file " + options.ca_file, url);
    case httplib::Error::Read:
      return fail(ErrorKind::kUnavailable, "the connection ended before the answer was complete (or is not HTTP)", url);
    case httplib::Error::Write: return fail(ErrorKind::kUnavailable, "the connection ended before the request was sent", url);
    default: return fail(ErrorKind::kUnavailable, "request failed: " + httplib::to_string(result.error()), url);
  }
}

}  // namespace

Result<HttpResponse> http_get(const std::string& url, const HttpOptions& options) {
  httplib::Request request;
  request.method = "GET";
  return exchange(url, std::move(request), options);
}

Result<HttpResponse> http_post(const std::string& url, std::string body, std::string_view content_type, const HttpOptions& options) {
  httplib::Request request;
  request.method = "POST";
  request.body = std::move(body);
  request.set_header("Content-Type", std::string(content_type));
  return exchange(url, std::move(request), options);
}

Result<HttpResponse> http_ok(Result<HttpResponse> response, const std::string& url) {
  if (!response || (response->status >= 200 && response->status < 300)) return response;
  int s = response->status;
  ErrorKind kind = s == 401 || s == 403  ? ErrorKind::kDenied
                   : s == 404            ? ErrorKind::kNotFound
                   : s == 409            ? ErrorKind::kConflict
                   : s == 422            ? ErrorKind::kCorrupt
                   : s >= 400 && s < 500 ? ErrorKind::kInvalid
                                         : ErrorKind::kUnavailable;
  std::string said(trim(printable(response->body.substr(0, 200))));
  return fail(kind, "answered " + std::to_string(s) + (said.empty() ? "" : ": " + said), url);
}

}  // namespace weft
