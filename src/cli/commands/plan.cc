// `weft plan VERB …`: hands on to the verb.
#include <fmt/format.h>

#include "cli/plan_verbs.h"

namespace weft::cli {

Registry<PlanVerbEntry>& plan_verbs() {
  static Registry<PlanVerbEntry> registry("plan verb");
  return registry;
}

namespace {

int run(const std::vector<std::string>& words, Io& io) {
  auto usage = [&](std::ostream& to) {
    to << "usage: weft plan VERB … (weft plan VERB --help says more)\n\n";
    for (const PlanVerbEntry& v : plan_verbs().entries()) to << fmt::format("  {:<10} {}\n", v.name, v.help);
  };
  if (words.empty()) return usage(io.err), 2;
  if (words[0] == "--help") return usage(io.out), 0;
  if (const PlanVerbEntry* v = plan_verbs().find(words[0])) return v->run({words.begin() + 1, words.end()}, io);
  std::vector<std::string> known;
  for (const PlanVerbEntry& v : plan_verbs().entries()) known.push_back(v.name);
  std::string near = nearest(words[0], known);
  return report_error(Error{ErrorKind::kInvalid,
                            fmt::format("unknown verb '{}'{}; known: {}", words[0], near.empty() ? "" : ", did you mean '" + near + "'?",
                                        plan_verbs().names()),
                            ""},
                      io);
}

WEFT_REGISTER(commands(), {"plan", "from a model to the machine it needs: strategy, domain size, time, memory, cost", run});

}  // namespace
}  // namespace weft::cli
