#include "fabric/snapshot.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "fabric/delta.h"

namespace weft::fabric {
namespace {

struct Small {
  Snapshot snapshot;
  DeviceId node, card0, card1, leaf;
  LinkId cable, spare;
};

Small small() {
  SnapshotBuilder b("tiny");
  DeviceId sn = b.add_device(DeviceKind::kSupernode, b.site(), "sn1");
  Small s;
  s.node = b.add_device(DeviceKind::kNode, sn, "node3");
  s.card0 = b.add_device(DeviceKind::kCard, s.node, "card0");
  s.card1 = b.add_device(DeviceKind::kCard, s.node, "card1");
  s.leaf = b.add_device(DeviceKind::kSwitch, b.site(), "leaf2", UINT32_MAX, 0, 0);
  PortId p0 = b.add_port(s.card0, bit(Network::kScaleOut)), p1 = b.add_port(s.card1, bit(Network::kScaleOut));
  PortId l17 = b.add_port(s.leaf, bit(Network::kScaleOut), 17), l18 = b.add_port(s.leaf, bit(Network::kScaleOut), 18);
  Link link{{}, {}, gbps(400), 500, 3, Medium::kDac, bit(Network::kScaleOut), 0, false, b.add_cable("C0417")};
  s.cable = *b.add_link(p0, l17, link);
  link.spare = true, link.cable = UINT32_MAX;
  s.spare = *b.add_link(p1, l18, link);
  b.add_domain(DomainKind::kHbd, "sn1", {s.card1, s.card0});
  b.add_alias("dgx07", s.node);
  EXPECT_FALSE(b.add_link(p0, l18, link).has_value());
  s.snapshot = *std::move(b).build();
  return s;
}

TEST(FabricSnapshot, NamesAndLookups) {
  Small s = small();
  EXPECT_EQ(s.snapshot.name(s.card1), "sn1/node3/card1");
  EXPECT_EQ(s.snapshot.name(s.snapshot.link(s.cable).b), "leaf2:17");
  EXPECT_EQ(s.snapshot.name(s.cable), "cable/C0417");
  EXPECT_EQ(s.snapshot.name(s.spare), "sn1/node3/card1:p0 ↔ leaf2:18");
  EXPECT_EQ(s.snapshot.find_link(s.snapshot.name(s.spare)).value(), s.spare);
  EXPECT_EQ(s.snapshot.find_device("sn1/node3/gpu1").value(), s.card1);
  EXPECT_EQ(s.snapshot.find_device("dgx07/npu0").value(), s.card0);
  EXPECT_EQ(s.snapshot.find_link("leaf2:17").value(), s.cable);
  EXPECT_EQ(s.snapshot.find_link("cable/C0417").value(), s.cable);
  EXPECT_EQ(s.snapshot.alias(s.node), "dgx07");
  EXPECT_EQ(s.snapshot.container(s.card0, DeviceKind::kSupernode), *s.snapshot.find_device("sn1"));
  EXPECT_EQ(s.snapshot.domain(s.snapshot.hbd_of(s.card0)).members.size(), 2u);
  auto missing = s.snapshot.find_device("sn1/node9");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().message, "no device 'sn1/node9': sn1 has no 'node9'; it has node3");
}

TEST(FabricSnapshot, RefusesTwoCablesInOnePortAndTwinNames) {
  SnapshotBuilder b("x");
  DeviceId n = b.add_device(DeviceKind::kNode, b.site(), "node0");
  PortId p = b.add_port(n, 1), q = b.add_port(n, 1), r = b.add_port(n, 1);
  Link link{};
  link.cable = b.add_cable("C1");
  ASSERT_TRUE(b.add_link(p, q, link).has_value());
  auto second = b.add_link(p, r, link);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().message, "two cables in port node0:p0: cable C1 is already there");
  b.add_device(DeviceKind::kNode, b.site(), "node0");
  auto built = std::move(b).build();
  ASSERT_FALSE(built.has_value());
  EXPECT_EQ(built.error().message, "two devices are named 'node0'");
}

TEST(FabricSnapshot, HealthOverlay) {
  Small s = small();
  EXPECT_EQ(s.snapshot.effective_rate(s.cable).value(), 400e9);
  EXPECT_EQ(s.snapshot.effective_rate(s.spare).value(), 0) << "a spare link carries nothing until taken into service";
  Delta half{{{s.cable, {LinkState::kDegraded, 0.5, 0, true}}}, {}, "half rate"};
  Snapshot next = *apply(s.snapshot, half);
  EXPECT_EQ(next.effective_rate(s.cable).value(), 200e9);
  EXPECT_EQ(next.version(), s.snapshot.version() + 1);
  EXPECT_EQ(s.snapshot.effective_rate(s.cable).value(), 400e9) << "the old version is untouched";
  Delta dead{{}, {{s.node, {DeviceState::kFailed, 1, false, "", ""}}}, "node died"};
  Snapshot later = *apply(next, dead);
  EXPECT_EQ(later.effective_rate(s.cable).value(), 0);
  EXPECT_FALSE(later.usable(s.card0));
  EXPECT_FALSE(apply(s.snapshot, Delta{{{LinkId{99}, {}}}, {}, ""}).has_value());
}

// apply(apply(s, d), inverse(d, s)) has the content of s; JSON keeps a delta; overlays never hold defaults.
TEST(FabricDelta, InverseAndReplayLaws) {
  Small s = small();
  EXPECT_TRUE(rc::check([&] {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    Snapshot at = s.snapshot;
    std::vector<Delta> history;
    for (int step = 0; step < 6; ++step) {
      Delta d;
      for (int i = 0; i < 3; ++i) {
        LinkId link{static_cast<std::uint32_t>(random.integer(0, 1))};
        d.links.push_back(
            {link, {static_cast<LinkState>(random.integer(0, 2)), random.chance(0.5) ? 1.0 : random.uniform(), 0, random.chance(0.7)}});
        DeviceId device{static_cast<std::uint32_t>(random.integer(0, static_cast<std::int64_t>(s.snapshot.device_count()) - 1))};
        d.devices.push_back(
            {device, {static_cast<DeviceState>(random.integer(0, 2)), 1, random.chance(0.5), random.chance(0.5) ? "weft" : "", ""}});
      }
      Snapshot next = *apply(at, d);
      RC_ASSERT(apply(next, inverse(d, at))->content_hash() == at.content_hash());
      RC_ASSERT(*delta_from_json(to_json(d, at), at) == d);
      history.push_back(d);
      at = next;
    }
    Snapshot replayed = s.snapshot;
    for (const Delta& d : history) replayed = *apply(replayed, d);
    RC_ASSERT(replayed.content_hash() == at.content_hash());
  }));
}

TEST(FabricSnapshot, ADeviceWithTooManyPortsIsRefused) {
  SnapshotBuilder b("x");
  DeviceId hub = b.add_device(DeviceKind::kSwitch, b.site(), "hub");
  for (int i = 0; i < 65535; ++i) b.add_port(hub, bit(Network::kScaleOut));
  b.add_port(hub, bit(Network::kScaleOut));
  auto built = std::move(b).build();
  ASSERT_FALSE(built.has_value());
  EXPECT_NE(built.error().text().find("hub has more than 65535 ports"), std::string::npos);
}

}  // namespace
}  // namespace weft::fabric
