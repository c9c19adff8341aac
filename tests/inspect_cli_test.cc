// weft inspect as a gate: the reference sites, healthy, open it; nothing there is unknown.
#include "tests/weft_command.h"

namespace weft::cli {
namespace {

TEST(InspectCommand, HealthyReferenceSitesOpenTheGate) {
  for (const char* site : {"lab-32", "pod-144"}) {
    Ran r = weft("inspect", {site, "--json"});
    EXPECT_EQ(r.code, 0) << site << r.err;
    Json seen = r.json();
    EXPECT_GT(seen["pass"].get<int>(), 600) << site;
    EXPECT_EQ(seen["fail"], 0) << site;
    for (const Json& cell : seen["cells"]) EXPECT_EQ(cell["verdict"], "pass") << cell.dump();
  }
}

}  // namespace
}  // namespace weft::cli
