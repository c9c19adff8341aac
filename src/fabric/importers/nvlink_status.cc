// `nvidia-smi nvlink --status` (-s): per GPU one line per link with its rate in GB/s, or the reason why there is none.
#include <fmt/format.h>

#include "fabric/importers/importer.h"
#include "fabric/smi_text.h"

namespace weft::fabric {
namespace {

bool has_matrix(std::string_view text) { return text.find("CPU Affinity") != std::string_view::npos; }

bool recognises(std::string_view text) {
  if (text.find("(UUID:") == std::string_view::npos || has_matrix(text)) return false;  // with a matrix, nvidia-smi-topo reads both
  return !nvlink_blocks(smi_lines(text)).empty();
}

Result<Observed> read(std::string_view text, const std::string& file) {
  auto blocks = nvlink_blocks(smi_lines(text));
  if (blocks.empty())
    return fail(ErrorKind::kInvalid, "no GPU with link lines: run nvidia-smi nvlink --status and give its whole output", file);
  Observed o;
  o.files = {file};
  add_nvlink_blocks(o, o.add(DeviceKind::kNode, "node0", kNoDevice, {0, blocks[0].line}), blocks, false);
  o.unknown.push_back({"NICs, PCI addresses, NUMA and PCIe speeds", {0, 0}});
  return o;
}

WEFT_REGISTER(importers(), {"nvlink-status", "nvidia-smi nvlink --status: links and rates per GPU", recognises, read});

}  // namespace
}  // namespace weft::fabric
