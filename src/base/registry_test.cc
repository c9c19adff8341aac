#include "base/registry.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Thing {
  std::string name;
  int size;
};

TEST(BaseRegistry, SortedWhateverTheOrderAndKnownByKind) {
  Registry<Thing> things("test thing");
  things.add({"b", 2});
  things.add_from("src/x/boxes/a.cc", {"a", 1});
  things.add({"c", 3});
  EXPECT_EQ(things.names(), "a, b, c");
  ASSERT_NE(things.find("b"), nullptr);
  EXPECT_EQ(things.find("b")->size, 2);
  EXPECT_EQ(things.find("d"), nullptr);
  EXPECT_EQ(things.origins(), (std::vector<std::pair<std::string, std::string>>{{"src/x/boxes/a.cc", "a"}}));
  auto listed = [] {
    for (const RegistryBase* r : RegistryBase::all())
      if (r->kind() == "test thing") return true;
    return false;
  };
  EXPECT_TRUE(listed());
  { Registry<Thing> gone("gone"); }
  for (const RegistryBase* r : RegistryBase::all()) EXPECT_NE(r->kind(), "gone");
}

}  // namespace
}  // namespace weft
