// Pieces of nvidia-smi output that several importers read: device lines and `nvlink --status` blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/observed.h"

namespace weft::fabric {

struct SmiLine {
  std::string text;  // without colour sequences, without a comment or quote mark in front, tabs kept
  int line;
};
std::vector<SmiLine> smi_lines(std::string_view text);

// "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)"; false when the line is not one.
struct SmiGpu {
  int index;
  std::string model, uuid;
};
bool parse_smi_gpu(std::string_view line, SmiGpu& out);

struct NvlinkGpu {
  SmiGpu gpu;
  int line;
  std::vector<std::pair<int, BitsPerSecond>> links;  // link number, one direction
  std::vector<int> inactive;                         // link numbers
  std::string remark;                                // "Device does not have or support Nvlink" …
};
// All blocks of `nvidia-smi nvlink --status`; GPU lines without any link line or remark under them (`nvidia-smi -L`) are not blocks.
std::vector<NvlinkGpu> nvlink_blocks(const std::vector<SmiLine>& lines);
// Adds what the blocks say about cards that exist under `node` ("node0/card3"), or adds the cards. Masked UUIDs (all zero) are left out.
void add_nvlink_blocks(Observed& observed, std::uint32_t node, const std::vector<NvlinkGpu>& blocks, bool matrix_has_links);

}  // namespace weft::fabric
