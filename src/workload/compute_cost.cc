#include "workload/compute_cost.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/embedded.h"
#include "base/yaml.h"

namespace weft::workload {

Result<Efficiency> efficiency_of(const std::string& card) {
  static std::mutex mutex;
  static std::map<std::string, Efficiency> known;
  std::lock_guard lock(mutex);
  if (auto at = known.find(card); at != known.end()) return at->second;
  WEFT_ASSIGN(auto text, embedded_file("data/efficiency.yaml"));
  WEFT_ASSIGN(auto yaml, Yaml::parse(text, "data/efficiency.yaml"));
  Yaml y = yaml.has(card) ? yaml.get(card) : yaml.get("default");
  WEFT_TRY(y.only({"matmul", "attention", "memory"}));
  Efficiency e;
  WEFT_ASSIGN(e.matmul, y.get("matmul").number(0.01, 1));
  WEFT_ASSIGN(e.attention, y.get("attention").number(0.01, 1));
  WEFT_ASSIGN(e.memory, y.get("memory").number(0.01, 1));
  known[card] = e;
  return e;
}

Result<Seconds> compute_cost(const Work& w, const fabric::DeviceModel& card, Precision precision) {
  fabric::Known<FlopsPerSecond> peak = precision == Precision::kFp8 && card.fp8 ? card.fp8 : card.bf16;
  if (!peak && card.fp8) peak = FlopsPerSecond(card.fp8->value() / 2);
  if (!peak)
    return fail(ErrorKind::kInvalid,
                "the peak of card '" + card.name + "' is not known; give it under 'models:' in the site file (bf16: 989T)");
  if (!card.memory_bandwidth)
    return fail(ErrorKind::kInvalid,
                "the memory bandwidth of card '" + card.name + "' is not known; give it under 'models:' in the site file");
  WEFT_ASSIGN(Efficiency e, efficiency_of(card.name));
  double bf16 = card.bf16 ? card.bf16->value() : peak->value();
  double bandwidth = card.memory_bandwidth->value() * e.memory, kernels = w.kernels;
  double matmul = std::max(w.matmul.value() / (peak->value() * e.matmul), static_cast<double>(w.weights.value()) / bandwidth);
  double busy = matmul + w.attention.value() / (bf16 * e.attention) + static_cast<double>(w.traffic.value()) / bandwidth;
  return Seconds(std::max(busy + kernels * e.ramp.value(), kernels * e.launch.value()));
}

}  // namespace weft::workload
