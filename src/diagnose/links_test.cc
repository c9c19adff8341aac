#include "diagnose/scene_for_test.h"

namespace weft::diagnose {
namespace {

std::string first(const Scene&, const std::vector<Diagnosis>& d) {
  return d.empty() || d[0].causes.empty() ? "nothing" : d[0].causes[0].fault + " " + d[0].causes[0].entity;
}

constexpr const char* kHealthyLinks = R"(
series node_infiniband_state_id sn1/node*/nic* : 0 4
series SAI_PORT_OPER_STATUS leaf*:* : 0 1
series up sn1/node* : 0 1
)";

// The far port of a NIC's link.
std::string far_port(Scene& s, const std::string& nic) {
  auto d = *s.snapshot().find_device(nic);
  for (fabric::PortId p : s.snapshot().ports_of(d))
    if (s.snapshot().link(s.snapshot().port(p).link).networks & fabric::bit(fabric::Network::kScaleOut))
      return s.snapshot().name(s.snapshot().peer(p));
  return "";
}
std::string near_link(Scene& s, const std::string& nic) { return s.link_name(far_port(s, nic)); }

TEST(DiagnoseLinks, LinkDownIsLocatedWithinSeconds) {
  Scene s;
  s.job("a", 0, {.tp = 8, .dp = 2});
  s.text(kHealthyLinks);
  std::string port = far_port(s, "sn1/node1/nic0");
  s.text("series node_infiniband_state_id sn1/node1/nic0 : 0 4 | 60 1\nseries SAI_PORT_OPER_STATUS " + port +
         " : 0 1 | 60 2\nevent 60 link_down " + port);
  EXPECT_TRUE(s.run(59).empty()) << s.story();
  auto d = s.run(70);
  EXPECT_EQ(first(s, d), "link_down " + near_link(s, "sn1/node1/nic0")) << s.story();
  ASSERT_TRUE(s.settled().has_value());
  EXPECT_LE(*s.settled(), 64);
  EXPECT_GT(d[0].causes[0].confidence, 0.8);
  double sum = d[0].unknown;
  for (const Cause& c : d[0].causes) sum += c.confidence;
  EXPECT_NEAR(sum, 1, 1e-9);
}

TEST(DiagnoseLinks, OutOfServiceIsNobodysProblem) {
  Scene s;
  s.text(kHealthyLinks);
  std::string port = far_port(s, "sn1/node1/nic0");
  auto link = *s.snapshot().find_link(port);
  fabric::LinkHealth out;
  out.in_service = false;
  auto changed = fabric::apply(s.snapshot(), fabric::Delta{.links = {{link, out}}, .devices = {}, .reason = "test"});
  ASSERT_TRUE(changed.has_value());
  s.diagnoser().set_snapshot(*changed);
  s.text("series SAI_PORT_OPER_STATUS " + port + " : 0 1 | 60 2\nevent 60 link_down " + port);
  EXPECT_TRUE(s.run(100).empty()) << s.story();
}

TEST(DiagnoseLinks, SameStoryInAnyOrder) {
  std::string stories[2];
  for (int k = 0; k < 2; ++k) {
    Scene s;
    s.job("a", 0, {.tp = 8, .dp = 2});
    s.text(kHealthyLinks);
    std::string port = far_port(s, "sn1/node2/nic1");
    s.text("series node_infiniband_state_id sn1/node2/nic1 : 0 4 | 30 1\nseries SAI_PORT_OPER_STATUS " + port +
           " : 0 1 | 30 2\nevent 30 link_down " + port + "\nevent 30 link_down sn1/node2/nic1");
    s.run(40, k == 1);
    stories[k] = s.story();
  }
  EXPECT_EQ(stories[0], stories[1]);
  EXPECT_NE(stories[0].find("link_down"), std::string::npos);
}

TEST(DiagnoseLinks, FlapIsNotDown) {
  Scene s;
  s.text(kHealthyLinks);
  std::string port = far_port(s, "sn1/node1/nic0");
  s.text("series SAI_PORT_OPER_STATUS " + port + " : 0 1 | 60 2 | 62 1 | 80 2 | 82 1 | 95 2 | 97 1");
  EXPECT_EQ(first(s, s.run(100)), "link_flap " + near_link(s, "sn1/node1/nic0")) << s.story();
}

// Five seconds down between two switches, then up: no verdict before it comes back; a second time names the flap.
TEST(DiagnoseLinks, LongFlapBetweenSwitchesIsNotDown) {
  Scene s("pod-144");
  s.text("series SAI_PORT_OPER_STATUS leaf*:* : 0 1\nseries SAI_PORT_OPER_STATUS spine*:* : 0 1");
  fabric::PortId port;
  for (fabric::PortId p : s.snapshot().ports_of(*s.snapshot().find_device("spine3")))
    if (s.snapshot().port(p).link.ok()) port = p;
  s.text("series SAI_PORT_OPER_STATUS " + s.snapshot().name(port) + " : 0 1 | 60 2 | 65 1 | 80 2 | 84 1\nseries SAI_PORT_OPER_STATUS " +
         s.snapshot().name(s.snapshot().peer(port)) + " : 0 1 | 60 2 | 65 1 | 80 2 | 84 1");
  for (double t = 61; t < 80; t += 1)
    for (const Diagnosis& d : s.run(t)) EXPECT_FALSE(d.settled && !d.over) << t << " " << s.story();
  EXPECT_EQ(first(s, s.run(82)), "link_flap " + s.snapshot().name(s.snapshot().port(port).link)) << s.story();
}

TEST(DiagnoseLinks, OneFlapIsHarmless) {
  Scene s;
  s.text(kHealthyLinks);
  std::string port = far_port(s, "sn1/node1/nic0");
  s.text("series SAI_PORT_OPER_STATUS " + port + " : 0 1 | 60 2 | 61 1");
  for (double t = 62; t < 200; t += 10) {
    for (const Diagnosis& d : s.run(t)) EXPECT_FALSE(d.settled && !d.over) << t << " " << s.story();
  }
}

TEST(DiagnoseLinks, HalfRate) {
  Scene s;
  s.text(kHealthyLinks);
  s.text(
      "series node_infiniband_rate_bytes_per_second sn1/node*/nic* : 0 5e10\nseries node_infiniband_rate_bytes_per_second sn1/node3/nic1 : "
      "0 5e10 | 50 2.5e10");
  EXPECT_TRUE(s.run(49).empty()) << s.story();
  EXPECT_EQ(first(s, s.run(60)), "link_half_rate " + near_link(s, "sn1/node3/nic1")) << s.story();
}

}  // namespace
}  // namespace weft::diagnose

namespace weft::diagnose {
namespace {

TEST(DiagnoseRoom, WarmsFromTheFourthMinuteAtTenSecondSampling) {
  Scene s;
  s.text(
      "series redfish_thermal_temperatures_reading_celsius sn1/node* every=10 : 0 23 ~0.01\nseries "
      "redfish_thermal_temperatures_reading_celsius sn1/node3 every=10 : 0 23 ~0.01 | 240 23>28.3@1000");
  auto d = s.run(1500);
  EXPECT_EQ(first(s, d), "inlet_temp_rise rack2") << s.story();
}

}  // namespace
}  // namespace weft::diagnose
