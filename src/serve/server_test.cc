#include "serve/server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/http.h"
#include "fabric/site.h"

namespace weft::serve {
namespace {

std::string get(const std::string& url, int* status = nullptr) {
  auto r = http_get(url);
  if (!r) return "error: " + r.error().text();
  if (status) *status = r->status;
  return r->body;
}

TEST(ServeApi, DocumentsSeriesPathsAndErrors) {
  auto site = fabric::load_site("lab-32");
  ASSERT_TRUE(site.has_value());
  telemetry::SeriesTable series;
  Feed feed(*site, series);
  telemetry::Batch batch;
  auto id = series.intern("DCGM_FI_DEV_GPU_TEMP", "sn1/node1/card0");
  for (int i = 0; i < 5; ++i) batch.samples.push_back({id, Instant(1'000'000'000LL * i), 40.0 + i});
  feed.add(batch);
  feed.add(control::Line{Instant(5), "detect", "I0001", "something", 0.5});
  auto server = Server::start(feed, {.port = 0});
  ASSERT_TRUE(server.has_value()) << server.error().text();
  std::string base = "http://127.0.0.1:" + std::to_string((*server)->port());
  auto doc = parse_json(get(base + "/api/site"), "site");
  ASSERT_TRUE(doc.has_value());
  EXPECT_EQ(doc->at("nodes").size(), 4u);
  EXPECT_EQ(doc->at("nodes")[0].at("cards").size(), 8u);
  auto points = parse_json(get(base + "/api/series?metric=DCGM_FI_DEV_GPU_TEMP&entity=sn1/node1/card0"), "series");
  ASSERT_TRUE(points.has_value());
  EXPECT_EQ(points->at("series")[0].at("points").size(), 5u);
  EXPECT_EQ(points->at("series")[0].at("points")[4][1].get<double>(), 44);
  auto path = parse_json(get(base + "/api/paths?from=sn1/node1/card0&to=sn1/node4/card7"), "paths");
  ASSERT_TRUE(path.has_value());
  EXPECT_EQ(path->at("length").get<int>(), 4);
  int status = 0;
  get(base + "/api/paths?from=nobody&to=sn1/node4/card7", &status);
  EXPECT_EQ(status, 404);
  get(base + "/api/series?metric=x", &status);
  EXPECT_EQ(status, 400);
  get(base + "/api/nothing", &status);
  EXPECT_EQ(status, 404);
  get(base + "/api/entity?name=sn1/node1/card0", &status);
  EXPECT_EQ(status, 200);
  get(base + "/api/entity?name=nobody", &status);
  EXPECT_EQ(status, 404);
  get(base + "/api/entity", &status);
  EXPECT_EQ(status, 400);
  EXPECT_TRUE(parse_json(openapi(), "openapi")->at("paths").contains("/api/events"));
  // The port is taken now: a clear error, not a crash.
  auto second = Server::start(feed, {.port = (*server)->port()});
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find("--port"), std::string::npos);
}

// One raw request; the status line comes back, "" when nothing does within five seconds.
std::string raw(int port, const std::string& request, int* kept = nullptr) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET, to.sin_port = htons(static_cast<std::uint16_t>(port)), to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  timeval wait{5, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return ::close(fd), "no connection";
  if (kept) {
    *kept = fd;
    return "";
  }
  EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
  char buffer[4096];
  ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
  ::close(fd);
  std::string text(buffer, n > 0 ? static_cast<std::size_t>(n) : 0);
  return text.substr(0, text.find('\r'));
}

TEST(ServeApi, StrangersAndIdlersGetNothingAndStopNobody) {
  auto site = fabric::load_site("lab-32");
  ASSERT_TRUE(site.has_value());
  telemetry::SeriesTable series;
  Feed feed(*site, series);
  auto server = Server::start(feed, {.port = 0});
  ASSERT_TRUE(server.has_value()) << server.error().text();
  int port = (*server)->port();
  // A name of somebody else's that resolves here: a page there must not read the site.
  EXPECT_NE(raw(port, "GET /api/state HTTP/1.1\r\nHost: evil.example\r\n\r\n").find(" 421 "), std::string::npos);
  for (const char* host : {"localhost", "localhost:7717", "127.0.0.1:1", "[::1]:7717", "weft.localhost"})
    EXPECT_NE(raw(port, fmt::format("GET /api/state HTTP/1.1\r\nHost: {}\r\n\r\n", host)).find(" 200 "), std::string::npos) << host;
  EXPECT_NE(raw(port, "POST /api/site HTTP/1.1\r\nHost: localhost\r\n\r\n").find(" 405 "), std::string::npos);
  EXPECT_NE(raw(port, "DELETE /api/site HTTP/1.1\r\nHost: localhost\r\n\r\n").find(" 405 "), std::string::npos);
  // Two hundred connections that say nothing.
  std::vector<int> idle(200, -1);
  for (int& fd : idle) raw(port, "", &fd);
  EXPECT_NE(raw(port, "GET /api/site HTTP/1.1\r\nHost: localhost\r\n\r\n").find(" 200 "), std::string::npos);
  for (int fd : idle) ::close(fd);
}

}  // namespace
}  // namespace weft::serve
