// What is compiled in equals what lies on disk, byte for byte (also under sanitizers and clang: the table is assembly).
#include "base/embedded.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/text.h"
#include "tests/paths.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

TEST(Embedded, EqualsTheDisk) {
  fs::path root = testing_paths::source_dir();
  std::set<std::string> on_disk;
  for (const char* folder : {"data", "scenarios", "web/dist"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& e : fs::recursive_directory_iterator(root / folder))
      if (e.is_regular_file()) on_disk.insert(fs::relative(e.path(), root).generic_string());
  }
  auto paths = embedded_paths("");
  EXPECT_EQ(std::set<std::string>(paths.begin(), paths.end()), on_disk);
  EXPECT_FALSE(embedded_paths("data/").empty());
  for (const std::string& path : paths) EXPECT_EQ(embedded_file(path).value(), read_file((root / path).string()).value()) << path;
  EXPECT_EQ(embedded_file("data/none.yaml").error().text(), "no built-in file 'data/none.yaml'");
}

TEST(Embedded, WeftDataOverrides) {
  char pattern[] = "/tmp/weft-data-XXXXXX";
  fs::path directory = ::mkdtemp(pattern);
  std::string path = embedded_paths("data/").at(0), own = path.substr(5);
  fs::create_directories((directory / own).parent_path());
  std::ofstream(directory / own) << "mine";
  ::setenv("WEFT_DATA", directory.c_str(), 1);
  auto text = embedded_file(path);
  ::unsetenv("WEFT_DATA");
  fs::remove_all(directory);
  EXPECT_EQ(text.value(), "mine");
  EXPECT_NE(embedded_file(path).value(), "mine");
}

}  // namespace
}  // namespace weft
