#include "serve/server.h"

#include <gtest/gtest.h>
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
  EXPECT_TRUE(parse_json(openapi(), "openapi")->at("paths").contains("/api/events"));
  // The port is taken now: a clear error, not a crash.
  auto second = Server::start(feed, {.port = (*server)->port()});
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().message.find("--port"), std::string::npos);
}

}  // namespace
}  // namespace weft::serve
