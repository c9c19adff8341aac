// Folder dependencies are law: src/LAYERS names for every folder what it may include, and every include obeys, tests too.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/text.h"
#include "tests/paths.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Layers = std::map<std::string, std::set<std::string>>;

// Also checks that the file lists lower folders first, so that no cycle can be written down.
Layers parse_layers(std::string_view text, std::vector<std::string>& problems) {
  Layers out;
  for (std::string_view raw : split(text, '\n')) {
    std::string_view line = trim(raw.substr(0, raw.find('#')));
    if (line.empty()) continue;
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      problems.push_back("LAYERS: no ':' in '" + std::string(line) + "'");
      continue;
    }
    std::string folder(trim(line.substr(0, colon)));
    auto& allowed = out[folder];
    for (std::string_view below : split_space(line.substr(colon + 1))) {
      if (below == folder || !out.contains(std::string(below)))
        problems.push_back("LAYERS: " + folder + " names '" + std::string(below) + "', which is not listed above it");
      allowed.insert(std::string(below));
    }
  }
  return out;
}

// Problems of one file of `folder`. `known` folders are those of src/.
std::vector<std::string> check_file(const Layers& layers, const std::string& folder, const std::string& path, std::string_view text) {
  std::vector<std::string> problems;
  auto own = layers.find(folder);
  if (own == layers.end()) return {path + ": folder '" + folder + "' is not in src/LAYERS"};
  int number = 0;
  for (std::string_view raw : split(text, '\n')) {
    ++number;
    std::string_view line = trim(raw);
    if (!line.starts_with('#')) continue;
    line = trim(line.substr(1));
    if (!line.starts_with("include")) continue;
    line = trim(line.substr(7));
    if (!line.starts_with('"')) continue;
    std::string_view target = line.substr(1, line.find('"', 1) - 1);
    std::string where = path + ":" + std::to_string(number) + ": ";
    std::size_t slash = target.find('/');
    std::string first(target.substr(0, slash));
    if (slash == std::string_view::npos || target.starts_with('.'))
      problems.push_back(where + "include \"" + std::string(target) + "\" by its path from src/");
    else if (first != folder && !own->second.contains(first))
      problems.push_back(where + folder + " must not include \"" + std::string(target) + "\" (src/LAYERS)");
  }
  return problems;
}

TEST(Layers, EveryIncludeObeys) {
  fs::path root = fs::path(testing_paths::source_dir()) / "src";
  std::vector<std::string> problems;
  Layers layers = parse_layers(read_file((root / "LAYERS").string()).value(), problems);
  ASSERT_GE(layers.size(), 19u);
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!entry.is_regular_file()) continue;
    std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cc") continue;
    fs::path relative = fs::relative(entry.path(), root);
    auto text = read_file(entry.path().string());
    ASSERT_TRUE(text.has_value());
    for (std::string& p : check_file(layers, relative.begin()->string(), "src/" + relative.generic_string(), *text))
      problems.push_back(std::move(p));
    ++files;
  }
  EXPECT_GT(files, 30u);
  for (const std::string& p : problems) ADD_FAILURE() << p;
}

TEST(Layers, TheCheckItselfFindsWhatIsWrong) {
  std::vector<std::string> problems;
  Layers layers = parse_layers("base :\nfabric : base   # comment\nsim : base fabric\n", problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(check_file(layers, "sim", "src/sim/x.cc", "#include <vector>\n#include \"fabric/a.h\"\n#include \"sim/b.h\"\n").empty());
  EXPECT_EQ(check_file(layers, "fabric", "src/fabric/x_test.cc", "\n# include \"sim/flow.h\"\n"),
            (std::vector<std::string>{"src/fabric/x_test.cc:2: fabric must not include \"sim/flow.h\" (src/LAYERS)"}));
  EXPECT_EQ(check_file(layers, "fabric", "f", "#include \"../sim/flow.h\"\n").size(), 1u);
  EXPECT_EQ(check_file(layers, "base", "f", "#include \"tests/paths.h\"\n").size(), 1u);
  EXPECT_EQ(check_file(layers, "new", "f", "").size(), 1u);
  parse_layers("a : b\nb : a\n", problems);
  EXPECT_EQ(problems, (std::vector<std::string>{"LAYERS: a names 'b', which is not listed above it"}));
}

}  // namespace
}  // namespace weft
