// What all importers share: is this text, whose is it, limits.
#include <gtest/gtest.h>

#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

std::string bad(std::string_view text, const std::string& format = {}) {
  auto o = import_text(text, "f", format);
  EXPECT_FALSE(o.has_value());
  return o ? "" : o.error().text();
}

TEST(Import, RefusesWhatIsNoText) {
  EXPECT_NE(bad(" \n\t").find("f: the file is empty"), std::string::npos);
  EXPECT_NE(bad(std::string_view("ab\n\0c", 5)).find("f:2: byte 4 is not text"), std::string::npos);
  EXPECT_NE(bad("\xff\xfeS\0").find("UTF-16"), std::string::npos);
  EXPECT_NE(bad("SwitchName=\xc3\x28").find("is not text (UTF-8)"), std::string::npos);
  EXPECT_NE(bad("hello world").find("no importer recognises this text; known formats: ibnetdiscover, lspci, nccl-xml"), std::string::npos);
  EXPECT_NE(bad(std::string((std::size_t{64} << 20) + 1, ' ')).find("more than the"), std::string::npos);
}

TEST(Import, FormatByName) {
  EXPECT_NE(bad("x", "nccl-xlm").find("did you mean 'nccl-xml'?"), std::string::npos);
  EXPECT_NE(bad("hello", "nccl-xml").find("cut off or damaged"), std::string::npos);
}

TEST(Import, CrlfReadsLikeLf) {
  auto a = import_text("SwitchName=s0 Nodes=n[1-2]\r\nSwitchName=s1 Nodes=n3\r\n", "f");
  ASSERT_TRUE(a.has_value()) << a.error().text();
  EXPECT_EQ(a->count(DeviceKind::kNode), 3u);
  EXPECT_EQ(a->devices[0].name, "s0");
}

}  // namespace
}  // namespace weft::fabric
