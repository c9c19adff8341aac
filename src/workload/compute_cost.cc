#include "workload/compute_cost.h"

#include <map>
#include <mutex>

#include "base/embedded.h"
#include "base/yaml.h"

namespace weft::workload {
namespace {

Result<Efficiency> read_efficiency(const std::string& card, bool calibrated) {
  std::string path = "data/cards/" + card + ".yaml";
  auto text = embedded_file(path);
  if (!text) {
    path = "data/cards/default.yaml", text = embedded_file(path);
    if (!text) return std::unexpected(text.error());
  }
  WEFT_ASSIGN(auto yaml, Yaml::parse(*text, path));
  Yaml y = yaml.get(calibrated && yaml.has("calibrated") ? "calibrated" : "efficiency");
  WEFT_TRY(y.only({"matmul", "matmul_fp8", "matmul_fp4", "grouped", "attention", "memory", "launch", "ramp", "source"}));
  Efficiency e;
  WEFT_ASSIGN(e.matmul, y.get("matmul").number(0.01, 1));
  WEFT_ASSIGN(e.attention, y.get("attention").number(0.01, 1));
  WEFT_ASSIGN(e.memory, y.get("memory").number(0.01, 1));
  for (auto [key, into] : {std::pair{"matmul_fp8", &e.matmul_fp8}, {"matmul_fp4", &e.matmul_fp4}, {"grouped", &e.grouped}})
    if (y.has(key)) {
      WEFT_ASSIGN(*into, y.get(key).number(0.01, 1));
    }
  for (auto [key, into] : {std::pair{"launch", &e.launch}, {"ramp", &e.ramp}})
    if (y.has(key)) {
      WEFT_ASSIGN(double seconds, y.get(key).quantity("s"));
      *into = Seconds(seconds);
    }
  if (yaml.has("fp4")) {
    WEFT_ASSIGN(double peak, yaml.get("fp4").quantity("FLOP/s"));
    e.fp4 = FlopsPerSecond(peak);
  }
  return e;
}

}  // namespace

Result<Efficiency> efficiency_of(const std::string& card) {
  // Read once: the step's graph and placement ask for every operation.
  static std::mutex mutex;
  static std::map<std::string, Efficiency> known;
  std::lock_guard lock(mutex);
  if (auto at = known.find(card); at != known.end()) return at->second;
  WEFT_ASSIGN(Efficiency e, read_efficiency(card, false));
  known[card] = e;
  return e;
}

Result<Efficiency> calibrated_efficiency_of(const std::string& card) { return read_efficiency(card, true); }

Result<ComputeRate> compute_rate(const fabric::DeviceModel& card, Precision precision, const Efficiency& e) {
  bool fp4 = precision == Precision::kFp4 && e.fp4.value() > 0;
  bool fp8 = !fp4 && precision != Precision::kBf16 && card.fp8.has_value();
  fabric::Known<FlopsPerSecond> peak = fp4 ? e.fp4 : fp8 ? card.fp8 : card.bf16;
  if (!peak && card.fp8) peak = FlopsPerSecond(card.fp8->value() / 2);
  if (!peak)
    return fail(ErrorKind::kInvalid,
                "the peak of card '" + card.name + "' is not known; give it under 'models:' in the site file (bf16: 989T)");
  if (!card.memory_bandwidth)
    return fail(ErrorKind::kInvalid,
                "the memory bandwidth of card '" + card.name + "' is not known; give it under 'models:' in the site file");
  double share = fp4 && e.matmul_fp4 > 0 ? e.matmul_fp4 : fp8 && e.matmul_fp8 > 0 ? e.matmul_fp8 : e.matmul;
  double bf16 = card.bf16 ? card.bf16->value() : card.fp8 ? card.fp8->value() / 2 : peak->value();
  ComputeRate r;
  r.matmul = FlopsPerSecond(peak->value() * share);
  r.grouped = r.matmul * e.grouped;
  r.attention = FlopsPerSecond(bf16 * e.attention);
  r.memory = BytesPerSecond(card.memory_bandwidth->value() * e.memory);
  r.launch = e.launch, r.ramp = e.ramp;
  return r;
}

Result<ComputeRate> compute_rate(const fabric::DeviceModel& card, Precision precision) {
  WEFT_ASSIGN(Efficiency e, efficiency_of(card.name));
  return compute_rate(card, precision, e);
}

Result<Seconds> compute_cost(const Work& w, const fabric::DeviceModel& card, Precision precision) {
  WEFT_ASSIGN(ComputeRate r, compute_rate(card, precision));
  return compute_cost(w, r);
}

}  // namespace weft::workload
