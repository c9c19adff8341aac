#include <algorithm>

#include "diagnose/types.h"

namespace weft::diagnose {
namespace {

using enum Layer;
constexpr FaultClass kClasses[] = {
    {"card_off_bus", "card fell off the bus", kCard, "card", "card", "card"},
    {"card_slow_silent", "slow card without any flag", kCard, "card", "card", "card"},
    {"card_thermal", "one card throttles thermally", kCard, "card", "card", "card"},
    {"checkpoint_storm", "checkpoints of several jobs written together", kStorage, "storage", "software", "report"},
    {"cold_plate_blocked", "blocked or trapped-air cold plate of one card", kWater, "card", "cooling and power", "card"},
    {"connector_dirty", "dirty connector, receiving side", kNetwork, "link", "scale-out network", "link"},
    {"coolant_flow_loss", "coolant flow lost, whole rack throttles", kWater, "cdu", "cooling and power", "cooling"},
    {"cpu_governor", "host CPU governor or power profile wrong", kHost, "node", "software", "config"},
    {"driver_mismatch", "driver or library differs, algorithm changes", kSoftware, "node", "software", "config"},
    {"ecc_storm", "correctable memory errors rising", kCard, "card", "card", "report"},
    {"ecmp_collision", "flows collide on few uplinks", kNetwork, "switch", "scale-out network", "report"},
    {"ecn_one_end", "ECN configured at one end only", kNetwork, "nic", "scale-out network", "config"},
    {"expert_imbalance", "mixture-of-experts load unbalanced", kJob, "job", "software", "report"},
    {"fan_failed", "node fan failed", kWater, "node", "cooling and power", "node"},
    {"gc_pauses", "unsynchronised garbage collection", kSoftware, "job", "software", "report"},
    {"hbm_uncorrectable", "uncorrectable memory error", kCard, "card", "card", "card"},
    {"inlet_temp_rise", "room or inlet temperature rises", kWater, "rack", "cooling and power", "cooling"},
    {"leak", "coolant leak", kWater, "rack", "cooling and power", "cooling"},
    {"link_bad_lock", "link up but badly locked after a restart", kNetwork, "link", "scale-out network", "link"},
    {"link_down", "link down", kNetwork, "link", "scale-out network", "link"},
    {"link_flap", "link flaps", kNetwork, "link", "scale-out network", "link"},
    {"link_half_rate", "link negotiated half its rate", kNetwork, "link", "scale-out network", "link"},
    {"link_one_sided", "link bad in one direction", kNetwork, "link", "scale-out network", "link"},
    {"mtu_black_hole", "MTU smaller on one hop", kNetwork, "nic", "scale-out network", "config"},
    {"neighbour_interference", "another job's traffic", kJob, "job", "scheduling", "report"},
    {"nic_failed", "NIC gone", kHost, "nic", "scale-out network", "node"},
    {"node_crash", "node down", kHost, "node", "card", "node"},
    {"optic_ageing", "optic ages, error rate drifts up", kNetwork, "link", "scale-out network", "link"},
    {"pcie_downgrade", "PCIe width or generation fell", kHost, "card", "card", "card"},
    {"pfc_storm", "NIC sends pause without end", kNetwork, "nic", "scale-out network", "node"},
    {"placement_across_tiers", "a group is placed across the wrong tier", kPlacement, "job", "scheduling", "report"},
    {"power_cap_wrong", "power limit or clock lock left wrong", kPower, "card", "software", "config"},
    {"psu_failed", "power supply lost, power brake", kPower, "node", "cooling and power", "node"},
    {"qos_trust_lost", "DSCP trust lost after a reboot", kNetwork, "nic", "scale-out network", "config"},
    {"rack_power_cap", "rack power capped", kPower, "rack", "cooling and power", "power"},
    {"rank_hung", "one rank hangs silently", kSoftware, "card", "software", "node"},
    {"scale_up_link_degraded", "scale-up link replays", kNetwork, "link", "scale-up link", "link"},
    {"scale_up_link_down", "scale-up link down", kNetwork, "link", "scale-up link", "link"},
    {"scale_up_switch_failed", "scale-up switch failed", kNetwork, "switch", "switch", "node"},
    {"silent_drop", "switch drops silently", kNetwork, "switch", "switch", "report"},
    {"slow_data_loading", "data loading slow", kStorage, "storage", "software", "report"},
    {"slow_receiver", "receiver's host path slower than the wire", kHost, "nic", "scale-out network", "node"},
    {"stray_process", "stray process on a node's cards", kSoftware, "node", "software", "config"},
    {"switch_crash", "switch crashed or rebooted", kNetwork, "switch", "switch", "link"},
};

}  // namespace

std::span<const FaultClass> fault_classes() { return kClasses; }

const FaultClass* find_fault_class(std::string_view id) {
  auto at =
      std::lower_bound(std::begin(kClasses), std::end(kClasses), id, [](const FaultClass& c, std::string_view v) { return c.id < v; });
  return at != std::end(kClasses) && at->id == id ? at : nullptr;
}

std::string_view layer_name(Layer layer) {
  switch (layer) {
    case kWater: return "water";
    case kPower: return "power";
    case kNetwork: return "network";
    case kCard: return "card";
    case kHost: return "host";
    case kSoftware: return "software";
    case kStorage: return "storage";
    case kPlacement: return "placement";
    case kJob: return "job";
  }
  return "job";
}

}  // namespace weft::diagnose
