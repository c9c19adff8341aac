#include "fabric/smi_text.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>

#include "base/text.h"

namespace weft::fabric {

std::vector<SmiLine> smi_lines(std::string_view text) {
  std::vector<SmiLine> out;
  int number = 0;
  for (std::string_view raw : split(text, '\n')) {
    std::string line = raw.find('\x1b') == std::string_view::npos ? std::string(raw) : strip_ansi(raw);
    // A matrix pasted into a script comment or a quotation: "# GPU0 …", "> GPU0 …". Never the mark of a capture's own section head.
    std::size_t at = line.find_first_not_of(' ');
    if (at != std::string::npos && (line[at] == '#' || line[at] == '>') && at + 1 < line.size() &&
        (line[at + 1] == ' ' || line[at + 1] == '\t'))
      line = line.substr(at + 1);
    out.push_back({std::move(line), ++number});
  }
  return out;
}

bool parse_smi_gpu(std::string_view line, SmiGpu& out) {
  line = trim(line);
  if (!line.starts_with("GPU ")) return false;
  std::size_t colon = line.find(':'), open = line.find("(UUID:");
  if (colon == std::string_view::npos || open == std::string_view::npos || open < colon || line.back() != ')') return false;
  auto index = parse_int(line.substr(4, colon - 4));
  if (!index || *index < 0 || *index > 65535) return false;
  out = {static_cast<int>(*index), std::string(trim(line.substr(colon + 1, open - colon - 1))),
         std::string(trim(line.substr(open + 6, line.size() - open - 7)))};
  return true;
}

std::vector<NvlinkGpu> nvlink_blocks(const std::vector<SmiLine>& lines) {
  std::vector<NvlinkGpu> out;
  NvlinkGpu open;
  bool has = false;
  auto close = [&] {
    if (has && (!open.links.empty() || !open.inactive.empty() || !open.remark.empty())) out.push_back(std::move(open));
    open = {}, has = false;
  };
  for (const SmiLine& l : lines) {
    std::string_view s = trim(l.text);
    if (SmiGpu gpu; parse_smi_gpu(s, gpu)) {
      close();
      open.gpu = gpu, open.line = l.line, has = true;
      continue;
    }
    if (!has) continue;
    if (s.starts_with("Link ")) {
      std::size_t colon = s.find(':');
      if (colon == std::string_view::npos) continue;
      auto number = parse_int(trim(s.substr(5, colon - 5)));
      auto words = split_space(s.substr(colon + 1));
      if (!number || *number < 0 || *number > 1023 || words.empty()) continue;
      auto rate = parse_double(words[0]);
      if (rate && *rate > 0 && words.size() > 1 && words[1] == "GB/s")
        open.links.emplace_back(static_cast<int>(*number), bits_per_second(gBps(*rate)));
      else open.inactive.push_back(static_cast<int>(*number));
      continue;
    }
    std::string low = lower(s);
    if (low.find("nvlink") != std::string::npos && open.links.empty() && open.inactive.empty()) open.remark = s;
    close();
  }
  close();
  return out;
}

void add_nvlink_blocks(Observed& o, std::uint32_t node, const std::vector<NvlinkGpu>& blocks, bool matrix_has_links) {
  std::map<std::string, std::uint32_t> cards;
  for (std::uint32_t c : o.of_kind(DeviceKind::kCard)) cards[o.devices[c].name] = c;
  std::map<std::size_t, std::size_t> active;
  bool counted = false;
  for (const NvlinkGpu& b : blocks) {
    Origin at{0, b.line};
    std::string name = fmt::format("{}/card{}", o.devices[node].name, b.gpu.index);
    auto it = cards.find(name);
    if (it == cards.end()) it = cards.emplace(name, o.add(DeviceKind::kCard, name, node, at)).first;
    auto& facts = o.devices[it->second].facts;
    if (!b.gpu.model.empty()) facts["model"].say(b.gpu.model, at);
    if (b.gpu.uuid.find_first_not_of("GPU-0") != std::string::npos) facts["uuid"].say(b.gpu.uuid, at);
    if (!b.remark.empty()) {
      facts["nvlink_status"].say(b.remark, at);
      continue;
    }
    counted = true;
    facts["nvlink_active"].say(std::to_string(b.links.size()), at);
    ++active[b.links.size()];
    if (!b.inactive.empty()) {
      facts["nvlink_inactive"].say(fmt::format("{}", fmt::join(b.inactive, ",")), at);
      o.understood.push_back({fmt::format("{}: NVLink {} inactive, {} active", name, fmt::join(b.inactive, ", "), b.links.size()), at});
    }
    if (matrix_has_links || b.links.empty()) continue;
    ObservedLink link{it->second, kNoDevice, Network::kScaleUp, "NVLink", {}, {}, at};
    link.count.say(static_cast<int>(b.links.size()), at);
    for (const auto& [number, rate] : b.links) link.rate.say(rate, at);
    o.links.push_back(std::move(link));
  }
  for (auto [links, n] : active) o.understood.push_back({fmt::format("{} card(s) with {} active NVLinks", n, links), {0, 0}});
  if (counted && !matrix_has_links)
    o.unknown.push_back({"which devices the NVLinks lead to (peer card or switch): nvlink --status gives rates only", {0, 0}});
  if (blocks.empty()) return;
  if (!counted) o.unknown.push_back({fmt::format("NVLink: {}", blocks[0].remark), {0, blocks[0].line}});
}

}  // namespace weft::fabric
