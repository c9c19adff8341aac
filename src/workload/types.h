// What runs on the machine: Model (layers and sizes), Strategy (how it is cut), Job, Policy (what to do on a fault) and
// Placement (rank → card). Plain values; makers live beside this file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "fabric/snapshot.h"

namespace weft::workload {

// Transformer dimensions as in a Hugging Face config.json. Counts, not bytes.
struct Model {
  std::string name;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int ffn = 0;            // dense FFN width
  bool gated_ffn = true;  // SwiGLU: three matrices instead of two
  int vocab = 0;
  bool tied_embeddings = false;
  // Mixture of experts; experts == 0 means dense.
  int experts = 0, top_k = 0, shared_experts = 0, expert_ffn = 0, dense_layers = 0;  // first dense_layers are dense
  // Multi-head latent attention; kv_lora_rank == 0 means none.
  int q_lora_rank = 0, kv_lora_rank = 0, rope_head_dim = 0, nope_head_dim = 0, v_head_dim = 0;
  int window = 0, windowed_layers = 0;  // this many layers attend to the last `window` tokens only
  std::string source;                   // file or catalogue entry

  bool moe() const { return experts > 0; }
  bool mla() const { return kv_lora_rank > 0; }
  std::int64_t parameters() const;         // total
  std::int64_t active_parameters() const;  // touched per token
};

enum class Dim : std::uint8_t { kTp, kPp, kDp, kEp, kCp };
std::string_view dim_name(Dim d);  // "tp" …

enum class Precision : std::uint8_t { kBf16, kFp8, kFp4 };
std::string_view precision_name(Precision p);  // "bf16" …

struct Strategy {
  int tp = 1, pp = 1, dp = 1, ep = 1, cp = 1;  // world = tp * pp * dp * cp; ep divides dp * cp * tp / etp (etp = 1)
  int virtual_stages = 1;                      // interleaving
  bool sequence_parallel = true;               // with tp > 1
  int zero = 1;                                // ZeRO stage 0..3 over dp * cp
  int micro_batch = 1;                         // sequences
  int global_batch = 0;                        // sequences; 0 = dp * micro_batch * pp
  int sequence = 4096;                         // tokens
  enum class Recompute : std::uint8_t { kNone, kSelective, kFull } recompute = Recompute::kSelective;
  Precision precision = Precision::kBf16;
  bool flash_attention = true;  // scores never written to memory; false: as before 2022
  // Order of a stage's passes; virtual_stages > 1 interleaves the first. The step's graph knows k1F1B only, the planner all.
  enum class Schedule : std::uint8_t { k1F1B, kZeroBubble, kDualPipe } schedule = Schedule::k1F1B;
  int world() const { return tp * pp * dp * cp; }
  int micro_batches() const;  // per replica and step
};

enum class JobKind : std::uint8_t { kTraining, kInference };

// Agreed beforehand per job (G2).
struct Policy {
  enum class OnFault : std::uint8_t { kCheckpointRestart, kContinueDegraded } on_fault = OnFault::kCheckpointRestart;
  Duration checkpoint_every = minutes(10);
  int spare_nodes = 0;           // keep this many in the domain
  bool allow_migration = true;   // to another supernode
  double degraded_limit = 0.10;  // slower than this share: act
  int max_restarts = 20;         // per day
};

struct Inference {
  int prompt_tokens = 2048, output_tokens = 256;
  int decode_batch = 32;
  int prefill_ranks = 0;    // 0 = prefill and decode on the same ranks
  double request_rate = 0;  // per second; 0 = saturated
};

struct Job {
  std::string name;  // entity "job/NAME"
  JobKind kind = JobKind::kTraining;
  Model model;
  Strategy strategy;
  Policy policy;
  Inference inference;
  int priority = 0;
  Bytes dataset_per_step{0};  // read from storage per step, whole job
};

// One communicator. Ranks are job-wide.
struct Group {
  Dim dim;
  int index;                 // "tp3" is {kTp, 3}
  std::vector<int> ranks;    // in ring order
  std::string name() const;  // "tp3"
};

struct Placement {
  std::string job;
  std::vector<fabric::DeviceId> cards;   // by rank; no card twice
  std::vector<Group> groups;             // all groups of all dims with more than one member
  std::vector<fabric::DeviceId> spares;  // kept free for this job
  double score = 0;                      // predicted step time in seconds, lower is better
  std::uint64_t snapshot_version = 0;
};

// Rank order: tp fastest, then cp, then dp, then pp (Megatron order "tp-cp-ep-dp-pp"). Errors: a degree that does not divide, with
// what would.
Result<std::vector<Group>> make_groups(const Strategy& strategy);
Status validate(const Model& model, const Strategy& strategy);

}  // namespace weft::workload
