#include "plan/software.h"

#include <array>

#include "base/embedded.h"
#include "base/text.h"
#include "base/yaml.h"

namespace weft::plan {
namespace {

constexpr std::array<std::string_view, 18> kKnobs = {
    "matmul",        "attention",    "traffic",    "kernels", "tp_hidden", "cp_hidden",      "ep_hidden",   "pp_hidden",     "dp_hidden",
    "gather_hidden", "zero3_hidden", "contention", "network", "per_step",  "gradient_bytes", "memory_base", "fragmentation", "scatter"};

Result<std::map<std::string, Software>> read_all() {
  WEFT_ASSIGN(auto text, embedded_file("data/plan/software.yaml"));
  WEFT_ASSIGN(auto yaml, Yaml::parse(text, "data/plan/software.yaml"));
  std::map<std::string, Software> out;
  for (auto& [name, y] : yaml.entries()) {
    std::vector<std::string_view> keys{"about", "source", "flash"};
    keys.insert(keys.end(), kKnobs.begin(), kKnobs.end());
    WEFT_TRY(y.only(keys));
    Software s;
    s.name = name;
    WEFT_ASSIGN(s.about, y.get("about").text());
    WEFT_ASSIGN(s.source, y.get("source").text());
    if (y.has("flash")) {
      WEFT_ASSIGN(s.flash, y.get("flash").boolean());
    }
    for (std::string_view k : kKnobs)
      if (y.has(k)) {
        WEFT_ASSIGN(*knob(s, std::string(k)), y.get(k).number(0, 1e11));
      }
    out[name] = s;
  }
  return out;
}

}  // namespace

double* knob(Software& s, const std::string& name) {
  double* at[] = {&s.matmul,    &s.attention, &s.traffic,        &s.kernels,       &s.tp_hidden,     &s.cp_hidden,
                  &s.ep_hidden, &s.pp_hidden, &s.dp_hidden,      &s.gather_hidden, &s.zero3_hidden,  &s.contention,
                  &s.network,   &s.per_step,  &s.gradient_bytes, &s.memory_base,   &s.fragmentation, &s.scatter};
  for (std::size_t i = 0; i < kKnobs.size(); ++i)
    if (kKnobs[i] == name) return at[i];
  return nullptr;
}

std::map<std::string, Software> all_software() {
  auto all = read_all();
  return all ? *all : std::map<std::string, Software>{};
}

Result<Software> software(const std::string& name) {
  WEFT_ASSIGN(auto all, read_all());
  if (auto at = all.find(name); at != all.end()) return at->second;
  std::vector<std::string> known;
  for (auto& [n, s] : all) known.push_back(n);
  std::string near = nearest_word(name, known);
  return fail(ErrorKind::kNotFound, "no software profile '" + name + "'" + (near.empty() ? "" : ", did you mean '" + near + "'?") +
                                        "; known: " + join(known, ", "));
}

}  // namespace weft::plan
