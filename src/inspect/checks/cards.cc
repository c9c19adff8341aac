// Cards: present, model, temperature, memory errors, throttling, PCIe.
#include "inspect/checks/support.h"

namespace weft::inspect {
namespace {

using fabric::DeviceKind;
namespace metric = telemetry::metric;

void present(const Context& x, std::vector<Cell>& out) {
  static const Threshold kAll{0, "answers", "Azure NHC: a card count mismatch is critical"};
  for (fabric::DeviceId d : x.snapshot.cards()) {
    std::string name = x.snapshot.name(d);
    const std::string* model = x.seen.fact(name, telemetry::fact::kModelName);
    bool seen = model || x.seen.value(metric::kGpuTemp, name);
    const fabric::DeviceModel* intended = x.snapshot.model_of(d);
    if (!seen)
      out.push_back(unknown(name, "nothing heard of this card", "check the driver and the bus (lspci); a lost card needs a cold reboot"));
    else if (!model || !intended) out.push_back(judged(name, true, model ? *model : "answers", kAll, ""));
    else
      out.push_back(judged(name, *model == intended->name, *model, Threshold{0, intended->name, "site file"},
                           "the card is not what the site file says: correct one of them"));
  }
}

void temperature(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("card_temperature_max");
  each_device(x, DeviceKind::kCard, metric::kGpuTemp, t, "C", "look at coolant or fans of this node before starting work", out,
              [&](const auto& v) { return v.last < t.value; });
}

void memory_errors(const Context& x, std::vector<Cell>& out) {
  const Threshold& dbe = x.rules.get("ecc_double_bit_max");
  each_device(x, DeviceKind::kCard, metric::kEccDbe, dbe, "", "reset the card; repeated means replace it", out,
              [&](const auto& v) { return v.last <= dbe.value; });
}

void row_remap(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("row_remap_pending_max");
  each_device(x, DeviceKind::kCard, metric::kRowRemapPending, t, "", "reset the card before the next job", out,
              [&](const auto& v) { return v.last <= t.value; });
}

void throttle(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("throttle_bad_bits");
  auto bad = static_cast<std::uint64_t>(t.value);
  each_device(x, DeviceKind::kCard, metric::kThrottle, t, "", "hardware slowdown: temperature says cooling, cool says power brake", out,
              [&](const auto& v) { return v.last >= 0 && (static_cast<std::uint64_t>(v.last) & bad) == 0; });
}

void pcie_width(const Context& x, std::vector<Cell>& out) {
  const Threshold& t = x.rules.get("pcie_width_min");
  each_device(x, DeviceKind::kCard, metric::kPcieWidth, t, "lanes", "reseat the card or riser", out,
              [&](const auto& v) { return v.last >= t.value; });
}

// Against the rated power where the site knows it, else against the cards of the same model: a lone cap still shows.
void power_limit(const Context& x, std::vector<Cell>& out) {
  std::map<const fabric::DeviceModel*, std::map<double, int>> limits;
  for (fabric::DeviceId d : x.snapshot.cards())
    if (const Observation::Value* v = x.seen.value(metric::kPowerLimit, x.snapshot.name(d))) ++limits[x.snapshot.model_of(d)][v->last];
  for (fabric::DeviceId d : x.snapshot.cards()) {
    std::string name = x.snapshot.name(d);
    const Observation::Value* v = x.seen.value(metric::kPowerLimit, name);
    const fabric::DeviceModel* m = x.snapshot.model_of(d);
    if (!v) {
      out.push_back(unknown(name, "no power limit exported", "check the exporter"));
      continue;
    }
    std::string remedy = "a leftover power cap slows every job: reset it (nvidia-smi -pl)";
    if (m && m->power) {
      out.push_back(judged(name, v->last >= 0.99 * m->power->value(), fmt::format("{:.0f} W", v->last),
                           Threshold{0, fmt::format("{:.0f} W", m->power->value()), "rated power of the card model"}, remedy));
      continue;
    }
    const auto& alike = limits[m];
    auto most = std::max_element(alike.begin(), alike.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    int all = 0;
    for (const auto& [limit, n] : alike) all += n;
    if (all < 2 || 2 * most->second <= all)
      out.push_back(unknown(name, "card's rated power not in the site file, and no majority of cards to compare with",
                            "give the card's power in the site file"));
    else
      out.push_back(judged(
          name, v->last >= 0.99 * most->first, fmt::format("{:.0f} W", v->last),
          Threshold{0, fmt::format("{:.0f} W", most->first), "most cards of this model (rated power not in the site file)"}, remedy));
  }
}

WEFT_REGISTER(checks(), {"card_present", "every card of the site answers and is the right model", Item::kCards, present});
WEFT_REGISTER(checks(), {"card_temperature", "card temperature below the throttle range", Item::kCards, temperature});
WEFT_REGISTER(checks(), {"card_memory_errors", "no uncorrectable memory error", Item::kCards, memory_errors});
WEFT_REGISTER(checks(), {"card_row_remap", "no row remap pending", Item::kCards, row_remap});
WEFT_REGISTER(checks(), {"card_throttle", "no hardware slowdown, thermal or brake flag", Item::kCards, throttle});
WEFT_REGISTER(checks(), {"card_pcie_width", "PCIe link at full width", Item::kCards, pcie_width});
WEFT_REGISTER(checks(), {"card_power_limit", "power limit at the rated power", Item::kCards, power_limit});

}  // namespace
}  // namespace weft::inspect
