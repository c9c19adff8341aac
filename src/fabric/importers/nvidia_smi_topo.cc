// The matrix of `nvidia-smi topo -m`: alone, inside a capture of many commands, or pasted into a document (tabs or spaces, colours, comment
// marks). Cells: NV# bonded NVLinks; PIX, PXB, PHB, NODE, SYS (SOC in old drivers) how far over PCIe. Format: `nvidia-smi topo -h`.
#include <fmt/format.h>
#include <algorithm>

#include "base/text.h"
#include "fabric/importers/importer.h"
#include "fabric/smi_text.h"

namespace weft::fabric {
namespace {

// No NVLink generation gives a card more ports than this (NVLink 4 and 5: 18), so a card that shows more in sum shares them through switches.
constexpr int kMaxNvlinkPorts = 18;
constexpr std::size_t kMaxMatrices = 256, kMaxCells = 1'000'000;  // bounds on nonsense; a 72-card domain has 5,184 cells

bool gpu_name(std::string_view s) {
  return s.size() > 3 && s.starts_with("GPU") && parse_int(s.substr(3)).has_value() && s[3] != '-' && s[3] != '+';
}
bool relation(std::string_view s) {
  static constexpr std::string_view kWords[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC", "N/A", "DIS"};
  return std::find(std::begin(kWords), std::end(kWords), s) != std::end(kWords) ||
         (s.size() > 2 && s.starts_with("NV") && s[2] != '-' && s[2] != '+' && parse_int(s.substr(2)).has_value());
}
int nvlinks(std::string_view s) {
  return s.starts_with("NV") ? static_cast<int>(std::clamp<std::int64_t>(parse_int(s.substr(2)).value_or(0), 0, 4096)) : 0;
}

struct Head {
  std::vector<std::string> columns;  // devices
  std::vector<std::string> extra;    // "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"
};

// "  GPU0 GPU1 NIC0 CPU Affinity NUMA Affinity": device names, then affinity columns whose names hold blanks.
bool parse_head(std::string_view line, Head& out) {
  auto words = split_space(line);
  if (words.empty() || !gpu_name(words[0])) return false;
  std::size_t i = 0;
  for (; i < words.size(); ++i) {
    if (words[i] == "CPU" || words[i] == "NUMA" || (words[i] == "GPU" && i + 1 < words.size())) break;
    if (relation(words[i]) || words[i].find(':') != std::string_view::npos) return false;
    out.columns.emplace_back(words[i]);
  }
  std::string rest;
  for (; i < words.size(); ++i) rest += (rest.empty() ? "" : " ") + std::string(words[i]);
  for (std::string_view name : {"CPU Affinity", "GPU NUMA ID", "NUMA Affinity", "NUMA"})
    if (std::size_t at = rest.find(name); at != std::string::npos) {
      out.extra.emplace_back(name);
      rest.erase(at, name.size());
    }
  std::sort(out.extra.begin(), out.extra.end(), [](const std::string& a, const std::string& b) {
    auto rank = [](const std::string& s) { return s == "CPU Affinity" ? 0 : s == "GPU NUMA ID" ? 2 : 1; };
    return rank(a) < rank(b);
  });
  return trim(rest).empty();
}

struct Row {
  std::string name;
  int line;
  std::vector<std::string> cells, extra;
};

struct Matrix {
  Head head;
  int line;
  std::vector<Row> rows;
  std::map<std::string, std::string> legend;  // NIC0 → mlx5_0
};

// A row is the name of a column, then one relation per column. Returns false when the line is no row of this matrix.
bool parse_row(const SmiLine& l, const Head& head, Row& out) {
  bool tabs = l.text.find('\t') != std::string::npos;
  auto words = split_space(l.text);
  if (words.empty() || std::find(head.columns.begin(), head.columns.end(), words[0]) == head.columns.end()) return false;
  if (words.size() < 2 || !relation(words[1])) return false;
  out.name = words[0], out.line = l.line;
  std::size_t w = 1;
  for (; w < words.size() && out.cells.size() < head.columns.size() && relation(words[w]); ++w) out.cells.emplace_back(words[w]);
  if (!tabs) {
    for (; w < words.size(); ++w) out.extra.emplace_back(words[w]);
    return true;
  }
  // With tabs an empty field means "not known": keep positions after the last cell. nvidia-smi prints one tab too many before the last column.
  auto fields = split(l.text, '\t');
  std::size_t seen = 0, f = 0;
  for (; f < fields.size() && seen < out.cells.size() + 1; ++f)
    if (!trim(fields[f]).empty()) ++seen;
  for (; f < fields.size(); ++f) out.extra.emplace_back(trim(fields[f]));
  if (out.extra.size() > head.extra.size() && out.extra.size() >= 3 && out.extra[2].empty()) out.extra.erase(out.extra.begin() + 2);
  return true;
}

Result<std::vector<Matrix>> find_matrices(const std::vector<SmiLine>& lines, const std::string& file) {
  std::vector<Matrix> out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Matrix m;
    if (!parse_head(lines[i].text, m.head)) continue;
    m.line = lines[i].line;
    auto at = [&](int line) { return fmt::format("{}:{}", file, line); };
    std::size_t j = i + 1;
    for (; j < lines.size(); ++j) {
      Row row;
      if (!parse_row(lines[j], m.head, row)) break;
      if (row.cells.size() != m.head.columns.size())
        return fail(ErrorKind::kCorrupt,
                    fmt::format("row {} has {} cells where the head names {} devices: the matrix is cut or columns were lost; run "
                                "nvidia-smi topo -m again and keep whole lines",
                                row.name, row.cells.size(), m.head.columns.size()),
                    at(row.line));
      if (std::any_of(m.rows.begin(), m.rows.end(), [&](const Row& r) { return r.name == row.name; }))
        return fail(ErrorKind::kCorrupt,
                    fmt::format("a second row {} in one matrix; two outputs were mixed, give them one by one", row.name), at(row.line));
      m.rows.push_back(std::move(row));
      if (m.rows.size() * m.head.columns.size() > kMaxCells)
        return fail(ErrorKind::kInvalid, fmt::format("a matrix of more than {} cells", kMaxCells), at(m.line));
    }
    if (m.rows.empty()) continue;  // a sentence or a table that only looks like a head
    std::vector<std::string> sorted = m.head.columns;
    std::sort(sorted.begin(), sorted.end());
    if (auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      return fail(ErrorKind::kCorrupt, fmt::format("two columns named {}; the matrix was edited or wrapped", *twice), at(m.line));
    for (const std::string& c : m.head.columns)
      if (gpu_name(c) && std::none_of(m.rows.begin(), m.rows.end(), [&](const Row& r) { return r.name == c; }))
        return fail(
            ErrorKind::kCorrupt,
            fmt::format("the head names {} but its row is missing: the matrix is cut off; run nvidia-smi topo -m again and copy all of it",
                        c),
            at(lines[std::min(j, lines.size() - 1)].line));
    for (; j < lines.size(); ++j) {  // legend, until the next matrix
      Head next;
      std::string_view s = trim(lines[j].text);
      if (parse_head(s, next)) break;
      std::size_t colon = s.find(':');
      if (colon == std::string_view::npos || s.size() > 200) continue;
      std::string key(trim(s.substr(0, colon)));
      if (std::find(m.head.columns.begin(), m.head.columns.end(), key) != m.head.columns.end() && !gpu_name(key))
        m.legend.try_emplace(key, trim(s.substr(colon + 1)));
    }
    // The same matrix again (idle and loaded captures) says nothing new.
    auto same = [&](const Matrix& o) {
      return o.head.columns == m.head.columns &&
             std::equal(o.rows.begin(), o.rows.end(), m.rows.begin(), m.rows.end(),
                        [](const Row& a, const Row& b) { return a.name == b.name && a.cells == b.cells && a.extra == b.extra; });
    };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(m));
    if (out.size() > kMaxMatrices)
      return fail(ErrorKind::kInvalid,
                  fmt::format("more than {} different matrices in one text; give fewer machines at a time", kMaxMatrices),
                  at(out.back().line));
    i = j - 1;
  }
  return out;
}

std::string extra(const Row& row, const Head& head, std::string_view name) {
  for (std::size_t i = 0; i < head.extra.size() && i < row.extra.size(); ++i)
    if (std::string_view(head.extra[i]).starts_with(name)) return row.extra[i];
  return "";
}

void add_matrix(Observed& o, const Matrix& m, std::uint32_t node) {
  std::string prefix = o.devices[node].name;
  std::map<std::string, std::uint32_t> ids;
  for (const std::string& c : m.head.columns) {
    Origin at{0, m.line};
    bool gpu = gpu_name(c);
    std::string local = gpu ? "card" + c.substr(3) : c.starts_with("NIC") && c.size() > 3 ? "nic" + c.substr(3) : c;
    std::uint32_t d = ids[c] =
        gpu ? o.add(DeviceKind::kCard, prefix + "/" + local, node, at) : o.add(DeviceKind::kNic, prefix + "/" + local, node, at);
    if (auto it = m.legend.find(c); it != m.legend.end()) o.devices[d].facts["net"].say(it->second, at);
    else if (!gpu && !c.starts_with("NIC")) o.devices[d].facts["net"].say(c, at);
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> path_of;
  for (const Row& row : m.rows) {
    std::uint32_t a = ids[row.name];
    Origin at{0, row.line};
    o.devices[a].at = at;
    if (std::string cpus = extra(row, m.head, "CPU"); !cpus.empty() && cpus != "N/A") o.devices[a].facts["cpu_affinity"].say(cpus, at);
    if (std::string numa = extra(row, m.head, "NUMA"); !numa.empty() && numa != "N/A") o.devices[a].facts["numa"].say(numa, at);
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      std::uint32_t b = ids[m.head.columns[i]];
      const std::string& cell = row.cells[i];
      if (a == b) {
        if (cell != "X") o.contradictions.push_back({fmt::format("{} to itself is {} instead of X", row.name, cell), at});
        continue;
      }
      if (cell == "X") {
        o.contradictions.push_back({fmt::format("{} to {} is X (itself)", row.name, m.head.columns[i]), at});
        continue;
      }
      auto [it, fresh] = path_of.try_emplace({std::min(a, b), std::max(a, b)}, o.paths.size());
      if (fresh) o.paths.push_back({std::min(a, b), std::max(a, b), {}});
      if (cell == "N/A") continue;
      o.paths[it->second].relation.say(cell == "SOC" ? "SYS" : cell, at);
    }
  }
  // NVLinks out of the cells. Contradictory cells (one direction says NV18, the other NV12) stay paths with two values.
  std::map<std::uint32_t, int> sum, peers, widest;
  for (const auto& [pair, p] : path_of)
    for (const auto& [cell, at] : o.paths[p].relation.all)
      if (int n = nvlinks(cell); n && o.is(pair.first, DeviceKind::kCard) && o.is(pair.second, DeviceKind::kCard))
        for (std::uint32_t end : {pair.first, pair.second}) sum[end] += n, ++peers[end], widest[end] = std::max(widest[end], n);
  bool switched = std::any_of(sum.begin(), sum.end(), [](const auto& s) { return s.second > kMaxNvlinkPorts; });
  if (switched) {
    Origin at{0, m.line};
    std::uint32_t fabric = o.add(DeviceKind::kSwitch, prefix + "/nvswitch", node, at);
    o.devices[fabric].facts["count"];  // how many switches: not said
    std::map<std::uint32_t, Said<int>> counts;
    for (const auto& [pair, p] : path_of)
      for (const auto& [cell, where] : o.paths[p].relation.all)
        if (int n = nvlinks(cell); n && widest.contains(pair.first) && widest.contains(pair.second))
          for (std::uint32_t end : {pair.first, pair.second}) counts[end].say(n, where);
    for (auto& [card, count] : counts)
      o.links.push_back({card, fabric, Network::kScaleUp, "NVLink", std::move(count), {}, o.devices[card].at});
    int most = std::max_element(sum.begin(), sum.end(), [](const auto& x, const auto& y) { return x.second < y.second; })->second;
    o.understood.push_back({fmt::format("NVLink goes through switches: the cells of one card add up to {} links, and no card has more than "
                                        "{}; the matrix shows the same links towards every peer",
                                        most, kMaxNvlinkPorts),
                            at});
    o.unknown.push_back({"number of NVLink switches", at});
  } else {
    for (const auto& [pair, p] : path_of) {
      ObservedLink link{pair.first, pair.second, Network::kScaleUp, "NVLink", {}, {}, {0, m.line}};
      for (const auto& [cell, where] : o.paths[p].relation.all)
        if (int n = nvlinks(cell)) link.count.say(n, link.at = where);
      if (!link.count.unknown() && o.is(pair.first, DeviceKind::kCard) && o.is(pair.second, DeviceKind::kCard))
        o.links.push_back(std::move(link));
    }
    if (!sum.empty() && peers.size() <= 2)
      o.unknown.push_back({"whether the NVLinks are direct or go through a switch: with two cards the matrix looks the same", {0, m.line}});
  }
  if (sum.empty() && ids.size() > 1 && std::count_if(m.head.columns.begin(), m.head.columns.end(), gpu_name) > 1)
    o.understood.push_back({"no NVLink between the cards of the matrix", {0, m.line}});
  std::size_t missing_rows = m.head.columns.size() - m.rows.size();
  if (missing_rows)
    o.unknown.push_back({fmt::format("paths between the {} device(s) that have a column but no row", missing_rows), {0, m.line}});
  std::size_t unnamed = 0, nics = 0;
  for (const std::string& c : m.head.columns) nics += !gpu_name(c), unnamed += c.starts_with("NIC") && !m.legend.contains(c);
  if (unnamed) o.unknown.push_back({fmt::format("interface names of {} NIC(s): no NIC legend", unnamed), {0, m.line}});
  if (!nics) o.unknown.push_back({"network cards: the matrix lists none (nvidia-smi shows RDMA devices only)", {0, m.line}});
  // Nearest NICs, as measured by the cells: the answer to "which NIC serves which card".
  std::vector<std::string> nearest;
  for (const Row& row : m.rows) {
    if (!gpu_name(row.name) || !nics) continue;
    static constexpr std::string_view kOrder[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    for (std::string_view level : kOrder) {
      std::vector<std::string> near;
      for (std::size_t i = 0; i < row.cells.size(); ++i)
        if (!gpu_name(m.head.columns[i]) && row.cells[i] == level)
          near.push_back(o.devices[ids[m.head.columns[i]]].name.substr(prefix.size() + 1));
      if (near.empty()) continue;
      o.devices[ids[row.name]].facts["nearest_nics"].say(fmt::format("{}", fmt::join(near, ",")), {0, row.line});
      o.devices[ids[row.name]].facts["nearest_nic_path"].say(std::string(level), {0, row.line});
      nearest.push_back(fmt::format("{} {} ({})", o.devices[ids[row.name]].name.substr(prefix.size() + 1), fmt::join(near, "+"), level));
      break;
    }
  }
  if (!nearest.empty() && nearest.size() <= 64)
    o.understood.push_back({fmt::format("nearest NIC: {}", fmt::join(nearest, ", ")), {0, m.line}});
}

bool recognises(std::string_view text) {
  if (text.find("GPU0") == std::string_view::npos && text.find("GPU1") == std::string_view::npos) return false;
  Head head;
  auto lines = smi_lines(text);
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    Head h;
    Row row;
    if (parse_head(lines[i].text, h) && parse_row(lines[i + 1], h, row)) return true;
  }
  return false;
}

Result<Observed> read(std::string_view text, const std::string& file) {
  auto lines = smi_lines(text);
  WEFT_ASSIGN(auto matrices, find_matrices(lines, file));
  if (matrices.empty())
    return fail(ErrorKind::kInvalid,
                "no matrix of nvidia-smi topo -m in this text: no line names GPU0 … as columns with a row GPU0 under it", file);
  std::size_t cells = 0;
  for (const Matrix& m : matrices) cells += m.head.columns.size() * m.rows.size();
  if (cells > kMaxCells) return fail(ErrorKind::kInvalid, fmt::format("the matrices have {} cells; give one machine", cells), file);
  Observed o;
  o.files = {file};
  for (std::size_t i = 0; i < matrices.size(); ++i)
    add_matrix(o, matrices[i], o.add(DeviceKind::kNode, fmt::format("node{}", i), kNoDevice, {0, matrices[i].line}));
  bool nvlink = std::any_of(o.links.begin(), o.links.end(), [](const ObservedLink& l) { return l.network == Network::kScaleUp; });
  if (matrices.size() == 1) add_nvlink_blocks(o, 0, nvlink_blocks(lines), nvlink);
  else
    o.understood.push_back(
        {fmt::format("{} different matrices in this document: each is read as a machine of its own (choose one with --pick node0 …)",
                     matrices.size()),
         {0, 0}});
  o.unknown.push_back({"rates: the matrix gives no speeds of PCIe, NVLink or network", {0, 0}});
  o.unknown.push_back({"PCI addresses, and what the NICs are connected to", {0, 0}});
  find_hbds(o);
  return o;
}

WEFT_REGISTER(importers(), {"nvidia-smi-topo", "matrix of nvidia-smi topo -m, alone or inside captures and documents", recognises, read});

}  // namespace
}  // namespace weft::fabric
