// A file in a box folder (src/<folder>/<box>/) that does not register, or is not linked, must not go unnoticed: every WEFT_REGISTER line
// on disk is compared with what the registries of the running program hold.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <set>

#include "base/registry.h"
#include "base/text.h"
#include "tests/paths.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Origin = std::pair<std::string, std::string>;  // file below the source root, registered name

// The build may know files by absolute or relative paths.
std::string from_src(const std::string& file) {
  std::size_t at = file.rfind("src/");
  return at == std::string::npos ? file : file.substr(at);
}

std::set<Origin> registered() {
  std::set<Origin> out;
  for (const RegistryBase* r : RegistryBase::all())
    for (const auto& [file, name] : r->origins()) out.emplace(from_src(file), name);
  return out;
}

// Names in WEFT_REGISTER(…, {"name", … lines; a registration written another way (a macro or a loop) gives no name.
std::vector<std::string> written_names(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = text.find("WEFT_REGISTER("); at != std::string_view::npos; at = text.find("WEFT_REGISTER(", at + 1)) {
    std::size_t line = text.rfind('\n', at);
    std::string_view before =
        trim(text.substr(line == std::string_view::npos ? 0 : line + 1, at - (line == std::string_view::npos ? 0 : line + 1)));
    if (!before.empty()) continue;  // comment or macro definition
    std::size_t brace = text.find('{', at), quote = brace == std::string_view::npos ? brace : text.find_first_not_of(" \n", brace + 1);
    if (quote == std::string_view::npos || text[quote] != '"') continue;
    out.emplace_back(text.substr(quote + 1, text.find('"', quote + 1) - quote - 1));
  }
  return out;
}

TEST(Registries, EqualTheFilesOnDisk) {
  fs::path root = testing_paths::source_dir();
  std::set<Origin> known = registered();
  std::set<std::string> registering;
  for (const auto& [file, name] : known) registering.insert(file);
  std::size_t boxes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "src")) {
    if (!entry.is_regular_file() || entry.path().extension() != ".cc" || entry.path().string().ends_with("_test.cc")) continue;
    std::string file = fs::relative(entry.path(), root).generic_string();
    auto text = read_file(entry.path().string());
    ASSERT_TRUE(text.has_value());
    for (const std::string& name : written_names(*text))
      EXPECT_TRUE(known.contains({file, name}))
          << file << " registers '" << name << "', but the program does not know it: is the file linked?";
    bool in_box = split(file, '/').size() > 3;
    // x.cc beside x.h is the home of the kind's contract, not an extension.
    if (!in_box || fs::exists(fs::path(entry.path()).replace_extension(".h"))) continue;
    ++boxes;
    EXPECT_TRUE(registering.contains(file)) << file
                                            << " lies in a box folder but registers nothing; end it with WEFT_REGISTER or move it up";
  }
  EXPECT_GT(boxes, 0u);
  for (const auto& [file, name] : known)
    EXPECT_TRUE(fs::exists(root / file)) << "'" << name << "' comes from " << file << ", which is not on disk";
}

TEST(Registries, NamesAreUniqueAndTypable) {
  for (const RegistryBase* r : RegistryBase::all()) {
    std::set<std::string> names;
    for (const auto& [file, name] : r->origins()) {
      EXPECT_TRUE(names.insert(name).second) << r->kind() << " '" << name << "' is registered twice";
      EXPECT_FALSE(name.empty());
      for (char c : name)
        EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '_')
            << r->kind() << " '" << name << "': lower-case letters, digits, '-' and '_' only";
    }
  }
}

TEST(Registries, TheReaderOfSourceLinesReads) {
  EXPECT_EQ(written_names(
                "// WEFT_REGISTER(x(), {\"no\"});\nWEFT_REGISTER(checks(), {\"coolant\", 1});\nWEFT_REGISTER(f::t(),\n  {\"torus2d\",\n"),
            (std::vector<std::string>{"coolant", "torus2d"}));
  EXPECT_EQ(from_src("../src/cli/commands/x.cc"), "src/cli/commands/x.cc");
}

}  // namespace
}  // namespace weft
