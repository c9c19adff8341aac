// Test program. `--folder X` runs the tests whose source lies in src/X/ or tests/X_test.cc; `--slow` the *_slow_test.cc ones.
// A filter that matches nothing is a failure, never a silent pass.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string folder;
  bool slow = false;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--folder" && i + 1 < argc) folder = argv[++i];
    else if (word == "--slow") slow = true;
    else return std::fprintf(stderr, "unknown option %s\n", argv[i]), 2;
  }
  if (!folder.empty()) {
    std::string filter;
    testing::UnitTest* all = testing::UnitTest::GetInstance();
    for (int s = 0; s < all->total_test_suite_count(); ++s) {
      const testing::TestSuite* suite = all->GetTestSuite(s);
      for (int t = 0; t < suite->total_test_count(); ++t) {
        const testing::TestInfo* test = suite->GetTestInfo(t);
        std::string file = test->file();
        bool is_slow = file.ends_with("_slow_test.cc");
        bool here = file.find("src/" + folder + "/") != std::string::npos || file.ends_with("tests/" + folder + "_test.cc");
        if (here && is_slow == slow) filter += std::string(suite->name()) + "." + test->name() + ":";
      }
    }
    if (filter.empty()) return std::fprintf(stderr, "no tests in %s\n", folder.c_str()), 1;
    testing::GTEST_FLAG(filter) = filter;
  }
  return RUN_ALL_TESTS();
}
