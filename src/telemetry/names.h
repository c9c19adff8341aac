// The catalogue of metrics, facts and events that flow from sources (twin or live) to detectors. Names follow the ecosystem
// (DCGM exporter, node exporter, SONiC counters, Redfish); ours are weft_<folder>_<what>_<unit>. Each line: name, kind, entity kind, unit,
// what is normal. A detector may read only what stands here; a source may send more.
#pragma once

#include <span>
#include <string_view>

#include "telemetry/types.h"

namespace weft::telemetry {

struct MetricInfo {
  std::string_view name;
  MetricKind kind;
  std::string_view entity;  // "card", "nic", "switch_port", "node", "rack", "cdu", "job", "storage"
  std::string_view unit;
  std::string_view help;
  std::string_view source;  // who exports it
};
std::span<const MetricInfo> metric_catalogue();  // sorted by name
const MetricInfo* find_metric(std::string_view name);

namespace metric {
using N = std::string_view;
// card (entity sn/node/card)
inline constexpr N kSmClock = "DCGM_FI_DEV_SM_CLOCK";                  // MHz
inline constexpr N kGpuTemp = "DCGM_FI_DEV_GPU_TEMP";                  // C
inline constexpr N kMemTemp = "DCGM_FI_DEV_MEMORY_TEMP";               // C
inline constexpr N kPower = "DCGM_FI_DEV_POWER_USAGE";                 // W
inline constexpr N kPowerLimit = "DCGM_FI_DEV_POWER_MGMT_LIMIT";       // W
inline constexpr N kGpuUtil = "DCGM_FI_DEV_GPU_UTIL";                  // % (a waiting rank reads about 100)
inline constexpr N kTensorActive = "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE";  // ratio
inline constexpr N kThrottle =
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS";                      // bit mask: 0x1 idle 0x4 sw cap 0x8 hw slowdown 0x40 hw thermal 0x80 brake
inline constexpr N kXid = "DCGM_FI_DEV_XID_ERRORS";            // last code, never clears
inline constexpr N kEccSbe = "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL";  // counter
inline constexpr N kEccDbe = "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL";  // counter
inline constexpr N kRowRemapPending = "DCGM_FI_DEV_ROW_REMAP_PENDING";             // 0/1
inline constexpr N kPcieReplay = "DCGM_FI_DEV_PCIE_REPLAY_COUNTER";                // counter
inline constexpr N kPcieWidth = "DCGM_FI_DEV_PCIE_LINK_WIDTH";                     // lanes
inline constexpr N kNvlinkCrc = "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL";   // counter
inline constexpr N kNvlinkReplay = "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL";  // counter
inline constexpr N kNvlinkBandwidth = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL";        // MB/s
inline constexpr N kScaleUpLinks = "weft_telemetry_scale_up_links_active";         // links in use, of the expected
inline constexpr N kFbUsed = "DCGM_FI_DEV_FB_USED";                                // MiB
// NIC port (entity node/nic) and any fabric port
inline constexpr N kIbState = "node_infiniband_state_id";  // 4 active, 1 down
inline constexpr N kIbRate = "node_infiniband_rate_bytes_per_second";
inline constexpr N kIbDowned = "node_infiniband_link_downed_total";
inline constexpr N kIbTx = "node_infiniband_port_data_transmitted_bytes_total";
inline constexpr N kIbRx = "node_infiniband_port_data_received_bytes_total";
inline constexpr N kIbRxErrors = "node_infiniband_port_errors_received_total";
inline constexpr N kIbDiscards = "node_infiniband_port_discards_transmitted_total";
inline constexpr N kIbWait = "node_infiniband_port_transmit_wait_total";
inline constexpr N kOutOfSequence = "node_infiniband_out_of_sequence_total";     // hw_counters
inline constexpr N kAckTimeout = "node_infiniband_local_ack_timeout_err_total";  // hw_counters
inline constexpr N kCnpSent = "node_infiniband_np_cnp_sent_total";               // hw_counters, receiver
inline constexpr N kCnpHandled = "node_infiniband_rp_cnp_handled_total";         // hw_counters, sender
inline constexpr N kEcnMarkedRx = "node_infiniband_np_ecn_marked_roce_packets_total";
inline constexpr N kTxPauseSeconds = "node_ethtool_tx_prio3_pause_duration_seconds_total";  // NIC sends pause: slow receiver
inline constexpr N kRxPauseSeconds = "node_ethtool_rx_prio3_pause_duration_seconds_total";
inline constexpr N kPrio0Tx = "node_ethtool_tx_prio0_bytes_total";
inline constexpr N kPrio3Tx = "node_ethtool_tx_prio3_bytes_total";
// either end of an optical or copper link (entity = port: node/nic0:p0, leaf1:17, node/card3:p5)
inline constexpr N kPreFecBer = "FEC_PRE_BER";                         // of the receiver on that port
inline constexpr N kFecUncorrectable = "FEC_UNCORR";                   // counter, code words
inline constexpr N kLlrRetries = "weft_telemetry_link_retries_total";  // link-layer retries, counter
inline constexpr N kRxPower = "sfp_rx_power_dbm";                      // optics only (DOM)
inline constexpr N kTxPower = "sfp_tx_power_dbm";
inline constexpr N kTxBias = "sfp_tx_bias_ma";
inline constexpr N kModuleTemp = "sfp_temperature_celsius";
// switch port (entity leaf1:17)
inline constexpr N kSwState = "SAI_PORT_OPER_STATUS";  // 1 up 2 down
inline constexpr N kSwSpeed = "SAI_PORT_SPEED";        // Mb/s
inline constexpr N kSwTx = "SAI_PORT_STAT_IF_OUT_OCTETS";
inline constexpr N kSwRx = "SAI_PORT_STAT_IF_IN_OCTETS";
inline constexpr N kSwRxErrors = "SAI_PORT_STAT_IF_IN_ERRORS";  // CRC
inline constexpr N kSwDiscards = "SAI_PORT_STAT_IF_OUT_DISCARDS";
inline constexpr N kSwPfcRx = "SAI_PORT_STAT_PFC_3_RX_PKTS";  // pause frames received (peer is slow)
inline constexpr N kSwPfcTx = "SAI_PORT_STAT_PFC_3_TX_PKTS";
inline constexpr N kSwEcnMarked = "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS";
inline constexpr N kSwQueue = "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES";
inline constexpr N kPathProbeLoss = "weft_telemetry_path_probe_loss_ratio";  // share of the path probes over this port that got lost
// node (entity sn/node)
inline constexpr N kNodeUp = "up";  // Prometheus: 0 when the scrape fails
inline constexpr N kCpuBusy = "weft_telemetry_cpu_busy_ratio";
inline constexpr N kCpuClock = "node_cpu_scaling_frequency_hertz";
inline constexpr N kIoWait = "weft_telemetry_io_wait_ratio";
inline constexpr N kMemAvailable = "node_memory_MemAvailable_bytes";
inline constexpr N kInletTemp = "redfish_thermal_temperatures_reading_celsius";
inline constexpr N kFanRpm = "redfish_thermal_fans_reading_rpm";
inline constexpr N kNodePower = "redfish_power_powercontrol_power_consumed_watts";
inline constexpr N kPsuHealthy = "redfish_power_powersupplies_healthy";  // count of healthy supplies
// rack and facility (entity rack1, cdu1)
inline constexpr N kRackPower = "weft_telemetry_rack_power_watts";
inline constexpr N kRackPowerCap = "weft_telemetry_rack_power_cap_watts";
inline constexpr N kCoolantFlow = "weft_telemetry_coolant_flow_lpm";
inline constexpr N kCoolantSupply = "weft_telemetry_coolant_supply_celsius";
inline constexpr N kCoolantReturn = "weft_telemetry_coolant_return_celsius";
inline constexpr N kCoolantPressure = "weft_telemetry_coolant_pressure_kpa";
inline constexpr N kLeak = "weft_telemetry_leak_detected";  // 0/1
inline constexpr N kPumpRpm = "weft_telemetry_pump_rpm";
// storage (entity storage1)
inline constexpr N kStorageReadLatency = "weft_telemetry_storage_read_latency_seconds";
inline constexpr N kStorageWrite = "weft_telemetry_storage_write_bytes_total";
inline constexpr N kStorageRead = "weft_telemetry_storage_read_bytes_total";
// job (entity job/NAME), from the framework; one value per finished step, time of its end
inline constexpr N kStepSeconds = "weft_job_step_seconds";
inline constexpr N kStepNumber = "weft_job_step_number";
inline constexpr N kMfu = "weft_job_mfu_ratio";
inline constexpr N kComputeSeconds = "weft_job_compute_seconds";        // mean over ranks
inline constexpr N kCommSeconds = "weft_job_comm_seconds";              // labels dim=tp|pp|dp|ep|cp: mean exposed transfer time per step
inline constexpr N kCommP99Seconds = "weft_job_comm_p99_seconds";       // labels dim, per step, over the groups
inline constexpr N kGroupSeconds = "weft_job_group_comm_seconds";       // labels group=ep3: that group's time per step
inline constexpr N kWaitSeconds = "weft_job_wait_seconds";              // waiting for late ranks, mean
inline constexpr N kDataSeconds = "weft_job_data_seconds";              // data loading, exposed
inline constexpr N kCheckpointSeconds = "weft_job_checkpoint_seconds";  // of the last checkpoint
inline constexpr N kExpertImbalance = "weft_job_expert_tokens_max_over_mean";
inline constexpr N kRankCompute = "weft_job_rank_compute_seconds";  // labels rank=12: that rank's own busy time per step
inline constexpr N kRankWait = "weft_job_rank_wait_seconds";        // labels rank=12: time it waits in collectives
inline constexpr N kTtft = "weft_job_ttft_seconds";
inline constexpr N kTpot = "weft_job_tpot_seconds";
inline constexpr N kCollectivesLaunched = "weft_job_rank_collectives_total";  // labels rank: counter (R8: hung rank is low)
}  // namespace metric

// Keys of facts (settings and versions), by entity.
namespace fact {
inline constexpr std::string_view kDriver = "driver_version";      // node
inline constexpr std::string_view kFirmware = "firmware_version";  // card, nic, switch
inline constexpr std::string_view kCommLibrary = "nccl_version";   // node
inline constexpr std::string_view kKernel = "kernel_version";      // node
inline constexpr std::string_view kMtu = "mtu";                    // nic, switch port
inline constexpr std::string_view kEcn = "ecn_enabled";            // nic, switch port: "true"/"false"
inline constexpr std::string_view kPfc = "pfc_priorities";         // nic, switch port: "3"
inline constexpr std::string_view kTrust = "qos_trust";            // nic: "dscp"/"pcp"
inline constexpr std::string_view kGovernor = "cpu_governor";      // node
inline constexpr std::string_view kModelName = "model";            // card
inline constexpr std::string_view kSerial = "serial";
inline constexpr std::string_view kAlgorithm = "collective_algorithm";  // job: "all-reduce tp=ring …" as the library logs it
inline constexpr std::string_view kNeighbor = "lldp_neighbor";          // nic port, switch port: canonical name of the far port
}  // namespace fact

namespace event {
inline constexpr std::string_view kXid = "xid";                       // card, code
inline constexpr std::string_view kSxid = "sxid";                     // node switch
inline constexpr std::string_view kLinkDown = "link_down";            // port
inline constexpr std::string_view kLinkUp = "link_up";                // port
inline constexpr std::string_view kWatchdog = "nccl_watchdog";        // job rank's card: collective timeout printed by waiting ranks
inline constexpr std::string_view kStepAborted = "step_aborted";      // job
inline constexpr std::string_view kJobStarted = "job_started";        // job
inline constexpr std::string_view kJobResumed = "job_resumed";        // job
inline constexpr std::string_view kCheckpoint = "checkpoint_saved";   // job; code = step
inline constexpr std::string_view kPsu = "psu_failed";                // node
inline constexpr std::string_view kLeak = "leak_detected";            // rack, cdu
inline constexpr std::string_view kPump = "pump_failed";              // cdu
inline constexpr std::string_view kNodeReboot = "node_reboot";        // node
inline constexpr std::string_view kSwitchRestart = "switch_restart";  // switch
inline constexpr std::string_view kPfcStorm = "pfc_watchdog";         // switch port
inline constexpr std::string_view kConfigChanged = "config_changed";  // any: change log
inline constexpr std::string_view kActionResult = "action_result";    // entity acted on; code = action id; text = JSON of measured values
}  // namespace event

}  // namespace weft::telemetry
