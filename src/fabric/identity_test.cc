#include <gtest/gtest.h>

#include "fabric/identity.h"
#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

TEST(Identity, OneSpelling) {
  EXPECT_EQ(normal_form(NameSpace::kPci, "00000000:0F:00.0"), "0000:0f:00.0");
  EXPECT_EQ(normal_form(NameSpace::kPci, "0f:00.0"), "0000:0f:00.0");
  EXPECT_EQ(normal_form(NameSpace::kPci, "ffff:ff:1.0"), "ffff:ff:01.0");
  EXPECT_EQ(normal_form(NameSpace::kGuid, "9a70:5000:03ae:6d94"), "0x9a70500003ae6d94");
  EXPECT_EQ(normal_form(NameSpace::kGuid, "0xAD9C300039F59B8"), "0x0ad9c300039f59b8");
  EXPECT_EQ(normal_form(NameSpace::kHost, "Node1.Example.com."), "node1.example.com");
}

TEST(Identity, CollisionsAreReportedAndRefused) {
  Identity id;
  id.add(NameSpace::kHost, "", "localhost", "sn1/node2");
  id.add(NameSpace::kHost, "", "localhost", "sn1/node1");
  id.add(NameSpace::kHost, "", "h3", "sn1/node3");
  ASSERT_EQ(id.collisions().size(), 1u);
  EXPECT_EQ(id.collisions()[0].canonical, (std::vector<std::string>{"sn1/node1", "sn1/node2"}));
  EXPECT_EQ(id.canonical(NameSpace::kHost, "", "H3").value(), "sn1/node3");
  EXPECT_EQ(id.canonical(NameSpace::kHost, "", "localhost").error().text(),
            "the host name 'localhost' stands for sn1/node1 and for sn1/node2; use a canonical name");
  EXPECT_EQ(id.canonical(NameSpace::kHost, "", "h9").error().kind, ErrorKind::kNotFound);
}

TEST(Identity, OfAnObservation) {
  auto o = import_text(R"(<system version="1">
<cpu host_hash="0xa" numaid="0"><pci busid="0000:01:00.0" class="0x030200"><gpu dev="0" rank="0"/></pci><pci busid="0000:02:00.0" class="0x020700"><nic><net name="m0" guid="0xbeefbeef" speed="1"/><net name="m1" guid="0xbeefbeef" speed="1"/></nic></pci></cpu>
<cpu host_hash="0xb" numaid="0"><pci busid="0000:01:00.0" class="0x030200"><gpu dev="0" rank="0"/></pci></cpu></system>)",
                       "t.xml");
  ASSERT_TRUE(o.has_value());
  Identity id = identify(*o);
  EXPECT_EQ(id.canonical(NameSpace::kPci, "node1", "01:00.0").value(), "node1/card0");
  EXPECT_EQ(id.canonical(NameSpace::kGuid, "", "0xbeefbeef").value(), "node0/nic0");
  ASSERT_EQ(id.collisions().size(), 1u);  // rank 0 on two hosts
  EXPECT_EQ(id.collisions()[0].space, NameSpace::kRank);
}

}  // namespace
}  // namespace weft::fabric
