#include "base/http.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/httplib.h"

#include <chrono>
#include <thread>

namespace weft {
namespace {

// A real server on a free loopback port.
class BaseHttp : public testing::Test {
 protected:
  void SetUp() override {
    server_.Get("/metrics", [](const httplib::Request& q, httplib::Response& r) {
      r.set_content("up 1\n" + q.get_header_value("X-Site") + q.get_param_value("q"), "text/plain; version=0.0.4");
    });
    server_.Post("/echo",
                 [](const httplib::Request& q, httplib::Response& r) { r.set_content(q.body, q.get_header_value("Content-Type")); });
    server_.Get("/big", [](const httplib::Request&, httplib::Response& r) { r.set_content(std::string(100'000, 'x'), "text/plain"); });
    server_.Get("/denied",
                [](const httplib::Request&, httplib::Response& r) { r.status = 403, r.set_content("no\x1b[31m token\n", "text/plain"); });
    server_.Get("/moved", [](const httplib::Request&, httplib::Response& r) { r.set_redirect("/metrics"); });
    // Never ends, but sends a byte every 20 ms: only a deadline over the whole exchange stops it.
    server_.Get("/drip", [](const httplib::Request&, httplib::Response& r) {
      r.set_chunked_content_provider("text/plain", [](std::size_t, httplib::DataSink& sink) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return sink.write(".", 1);
      });
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    ASSERT_GT(port_, 0);
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  void TearDown() override {
    server_.stop();
    thread_.join();
  }
  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }

  httplib::Server server_;
  std::thread thread_;
  int port_ = 0;
};

TEST_F(BaseHttp, GetAndPost) {
  HttpOptions options;
  options.headers = {{"X-Site", "lab"}};
  auto r = http_get(url("/metrics?q=%20x#part"), options);
  ASSERT_TRUE(r.has_value()) << r.error().text();
  EXPECT_EQ(r->status, 200);
  EXPECT_EQ(r->body, "up 1\nlab x");
  EXPECT_EQ(r->content_type, "text/plain; version=0.0.4");
  auto posted = http_post(url("/echo"), "{\"a\": 1}", "application/json");
  ASSERT_TRUE(posted.has_value()) << posted.error().text();
  EXPECT_EQ(posted->body, "{\"a\": 1}");
  EXPECT_EQ(posted->content_type, "application/json");
}

TEST_F(BaseHttp, StatusIsAnAnswerUntilAskedToBeGood) {
  auto r = http_get(url("/denied"));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->status, 403);
  auto ok = http_ok(r, "here");
  EXPECT_EQ(ok.error().kind, ErrorKind::kDenied);
  EXPECT_EQ(ok.error().text(), "here: answered 403: no token");
  EXPECT_EQ(http_ok(http_get(url("/nothing")), "here").error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(http_get(url("/moved"))->status, 302);  // not followed
}

TEST_F(BaseHttp, SizeIsBounded) {
  HttpOptions options;
  options.max_bytes = 100'000;
  EXPECT_EQ(http_get(url("/big"), options)->body.size(), 100'000u);
  options.max_bytes = 99'999;
  EXPECT_EQ(http_get(url("/big"), options).error().message, "the answer is larger than 99999 bytes");
}

TEST_F(BaseHttp, TimeIsBoundedForTheWholeExchange) {
  HttpOptions options;
  options.timeout = milliseconds(300);
  auto start = std::chrono::steady_clock::now();
  auto r = http_get(url("/drip"), options);
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().text(), url("/drip") + ": no full answer within 300 ms");
  EXPECT_EQ(r.error().kind, ErrorKind::kUnavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(BaseHttp, NobodyThere) {
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);  // a port that was free a moment ago
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(fd);
  int port = ntohs(address.sin_port);
  auto r = http_get("http://127.0.0.1:" + std::to_string(port) + "/");
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(r.error().message, "cannot connect; is the service running and the address right?");
}

TEST(BaseHttpUrl, WrongOnesAreRefusedBeforeAnythingIsSent) {
  for (const char* u : {"", "ftp://x/", "host:80/x", "http://", "http://a b/", "http://x/\r\nHost: y", "http://user:pw@x/",
                        "http://x:99999/", "http://x:/"}) {
    auto r = http_get(u);
    ASSERT_FALSE(r.has_value()) << u;
    EXPECT_EQ(r.error().kind, ErrorKind::kInvalid) << u << ": " << r.error().text();
  }
}

}  // namespace
}  // namespace weft
