#include "telemetry/sources/prometheus_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "fabric/site.h"
#include "telemetry/names.h"
#include "telemetry/sources/file.h"
#include "telemetry/windows.h"

namespace weft::telemetry {
namespace {

std::vector<PromSample> read(std::string_view text, PromSummary* summary = nullptr) {
  std::vector<PromSample> out;
  auto r = parse_prometheus(text, "t.prom", [&](const PromSample& s) { out.push_back(s); });
  EXPECT_TRUE(r.has_value()) << r.error().text();
  if (r && summary) *summary = *r;
  return out;
}

TEST(PrometheusText, LabelsEscapesAndNumbers) {
  auto s = read(
      "# TYPE m counter\nm{a=\"x\\\"y\\\\z\\n\",b=\"\",} 1e3\nplain NaN\nup{instance=\"h:9100\"} +Inf 1700000000123\n  spaced { k = \"v\" "
      "}   -4.5  \n");
  ASSERT_EQ(s.size(), 4u);
  EXPECT_EQ(s[0].labels[0].second, "x\"y\\z\n");
  EXPECT_TRUE(s[0].counter);
  EXPECT_DOUBLE_EQ(s[0].value, 1000);
  EXPECT_TRUE(std::isnan(s[1].value));
  EXPECT_EQ(s[2].at->ns(), 1700000000123000000);
  EXPECT_EQ(s[3].labels[0].second, "v");
  EXPECT_DOUBLE_EQ(s[3].value, -4.5);
}

TEST(PrometheusText, SecondsWhereMillisecondsBelong) {
  // The Ascend NPU exporter ends every line with seconds.
  auto s = read("npu_chip_info_temperature{id=\"3\",model_name=\"910\"} 45 1606402000\n");
  EXPECT_EQ(s[0].at->ns(), 1606402000000000000);
  EXPECT_EQ(prometheus_time(1606402000000).ns(), 1606402000000000000);
  EXPECT_EQ(canonical_metric(s[0].name), metric::kGpuTemp);
}

TEST(PrometheusText, OldAndNewSpellingOfDcgm) {
  EXPECT_EQ(canonical_metric("DCGM_FI_DEV_XID_ERROR"), metric::kXid);
  EXPECT_EQ(canonical_metric("DCGM_FI_DEV_XID_ERRORS"), metric::kXid);
  EXPECT_EQ(canonical_metric("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL"), metric::kNvlinkCrc);
}

TEST(PrometheusText, BadLinesAreCountedBadFilesRefused) {
  PromSummary summary;
  auto s = read("a 1\nb{x=} 2\nc 3\nd\n e 5 6 7\nf 6\ng 7\n", &summary);
  EXPECT_EQ(s.size(), 4u);
  EXPECT_EQ(summary.bad_lines, 3u);
  EXPECT_EQ(summary.first_bad, "t.prom:2: a quoted label value was expected");
  auto none = [](const PromSample&) {};
  auto html = parse_prometheus("<html>\n<body>no</body>\n", "x.html", none);
  ASSERT_FALSE(html.has_value());
  EXPECT_NE(html.error().text().find("x.html: is not Prometheus text"), std::string::npos) << html.error().text();
  EXPECT_FALSE(parse_prometheus(std::string_view("\x7f"
                                                 "ELF\0\0",
                                                 6),
                                "bin", none)
                   .has_value());
  EXPECT_TRUE(parse_prometheus("", "empty", none).has_value());
}

TEST(LabelMap, ExporterLabelsToParts) {
  auto site = fabric::load_site("lab-32");
  ASSERT_TRUE(site.has_value());
  LabelMap map(*site);
  map.add("host-a", "sn1/node2");
  auto entity = [&](std::string_view line) {
    auto s = read(line);
    return map.map(s[0]).entity;
  };
  EXPECT_EQ(entity("DCGM_FI_DEV_GPU_TEMP{gpu=\"3\",Hostname=\"host-a\",device=\"nvidia3\"} 60"), "sn1/node2/card3");
  EXPECT_EQ(entity("node_infiniband_state_id{device=\"mlx5_1\",port=\"1\",instance=\"host-a:9100\"} 4"), "sn1/node2/nic1");
  EXPECT_EQ(entity("SAI_PORT_OPER_STATUS{switch=\"leaf1\",port=\"Ethernet2\"} 1"), "leaf1:2");
  EXPECT_EQ(entity("up{instance=\"sn1/node1\"} 1"), "sn1/node1");
  EXPECT_EQ(entity("FEC_PRE_BER{entity=\"leaf1:2\"} 1e-9"), "leaf1:2");
  auto s = read("weft_job_comm_seconds{job=\"alpha\",dim=\"tp\"} 0.1");
  EXPECT_EQ(map.map(s[0]).entity, "job/alpha");
  EXPECT_EQ(map.map(s[0]).labels, "dim=tp");
  auto stranger = read("DCGM_FI_DEV_GPU_TEMP{gpu=\"3\",Hostname=\"elsewhere\"} 60");
  EXPECT_FALSE(map.map(stranger[0]).mapped);
  EXPECT_EQ(map.map(stranger[0]).entity, "elsewhere/3");
}

TEST(ReadPrometheus, CountersKeepTheirKindAndCeilings) {
  SeriesTable table;
  LabelMap labels;
  Batch batch;
  // Shaped like a node_exporter page: port_transmit_wait stands at its 32-bit ceiling.
  std::string page =
      "# TYPE node_infiniband_port_transmit_wait_total counter\nnode_infiniband_port_transmit_wait_total{device=\"mlx4_0\",port=\"1\"} "
      "4.294967295e+09\n";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(read_prometheus(page, "p", Instant() + seconds(1e9 + i), labels, table, batch).has_value());
  Windows windows(table);
  windows.append(batch.samples);
  SeriesId id = table.find(metric::kIbWait, "mlx4_0/1");
  ASSERT_NE(id.v, UINT32_MAX);
  EXPECT_EQ(table.kind(id), MetricKind::kCounter);
  EXPECT_TRUE(windows.saturated(id));
  EXPECT_DOUBLE_EQ(windows.increase(id, Instant(), Instant() + seconds(2e9)).value, 0);
}

TEST(ReadEvents, LinesOfJson) {
  Batch b;
  ASSERT_TRUE(
      read_events("{\"at\":\"2026-01-01T00:00:05Z\",\"entity\":\"sn1/node1/"
                  "card0\",\"kind\":\"xid\",\"code\":79}\n{\"at\":1767225600,\"entity\":\"leaf1:2\",\"key\":\"mtu\",\"value\":\"1500\"}\n",
                  "log", b)
          .has_value());
  EXPECT_EQ(b.events[0].at.ns(), 1767225605000000000);
  EXPECT_EQ(b.events[0].code, "79");
  EXPECT_EQ(b.facts[0].value, "1500");
  EXPECT_EQ(b.facts[0].at.ns(), 1767225600000000000);
  auto bad = read_events("\n{\"at\":1}\n", "log", b);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().text().substr(0, 6), "log:2:");
}

}  // namespace
}  // namespace weft::telemetry
