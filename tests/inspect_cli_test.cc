// weft inspect as a gate: the reference sites, healthy, open it; nothing there is unknown.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"

namespace weft::cli {
namespace {

TEST(InspectCommand, HealthyReferenceSitesOpenTheGate) {
  for (const char* site : {"lab-32", "pod-144"}) {
    std::ostringstream out, err;
    Io io{out, err};
    EXPECT_EQ(commands().find("inspect")->run({site, "--json"}, io), 0) << site;
    nlohmann::json seen = nlohmann::json::parse(out.str());
    EXPECT_GT(seen["pass"].get<int>(), 600) << site;
    EXPECT_EQ(seen["fail"], 0) << site;
    for (const nlohmann::json& cell : seen["cells"]) EXPECT_EQ(cell["verdict"], "pass") << cell.dump();
  }
}

}  // namespace
}  // namespace weft::cli
