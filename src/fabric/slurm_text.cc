#include "fabric/slurm_text.h"

#include <fmt/format.h>
#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "fabric/importers/importer.h"

namespace weft::fabric {
namespace {

std::string strip_comment(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '#') out += line[++i];
    else if (line[i] == '#') break;
    else out += line[i];
  }
  return out;
}

}  // namespace

Result<std::vector<SlurmLine>> slurm_lines(std::string_view text, const std::string& file) {
  std::vector<SlurmLine> out;
  auto lines = split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    int number = static_cast<int>(i) + 1;
    auto at = [&] { return fmt::format("{}:{}", file, number); };
    std::string line = strip_comment(lines[i]);
    while (std::string_view(line).find_last_not_of(" \t") != std::string_view::npos && line[line.find_last_not_of(" \t")] == '\\' &&
           i + 1 < lines.size()) {
      line.erase(line.find_last_not_of(" \t"));
      line += " " + strip_comment(lines[++i]);
    }
    if (trim(line).empty()) continue;
    if (line.find("{{") != std::string::npos || line.find("{%") != std::string::npos)
      return fail(ErrorKind::kInvalid, "this is a template ('{{' or '{%'), not a Slurm file; render it first and give the result", at());
    SlurmLine parsed{{}, number};
    std::string_view rest = trim(line);
    if (starts_with_word(lower(rest), "include")) {
      parsed.pairs.emplace_back("include", trim(rest.substr(7)));
      out.push_back(std::move(parsed));
      continue;
    }
    while (!rest.empty()) {
      std::size_t equal = rest.find('=');
      if (equal == std::string_view::npos) return fail(ErrorKind::kInvalid, fmt::format("'{}' is not Key=Value", rest.substr(0, 60)), at());
      std::string key = lower(trim(rest.substr(0, equal)));
      if (key.empty() || key.find_first_of(" \t") != std::string::npos)
        return fail(ErrorKind::kInvalid, fmt::format("'{}' is not Key=Value", rest.substr(0, std::min<std::size_t>(equal, 60))), at());
      rest = rest.substr(equal + 1);
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
      std::string value;
      if (rest.starts_with('"')) {
        std::size_t close = rest.find('"', 1);
        if (close == std::string_view::npos) return fail(ErrorKind::kInvalid, fmt::format("the quote of {} is not closed", key), at());
        value = rest.substr(1, close - 1);
        rest = trim(rest.substr(close + 1));
      } else {
        // A list may have blanks after its commas ("Nodes=a[1-2], b"): the value ends at a blank that no comma precedes.
        std::size_t end = 0;
        while (end < rest.size() && (rest[end] != ' ' && rest[end] != '\t')) {
          ++end;
          if (rest[end - 1] == ',')
            while (end < rest.size() && (rest[end] == ' ' || rest[end] == '\t')) ++end;
        }
        for (char c : rest.substr(0, end))
          if (c != ' ' && c != '\t') value += c;
        rest = trim(rest.substr(end));
      }
      parsed.pairs.emplace_back(std::move(key), std::move(value));
    }
    out.push_back(std::move(parsed));
  }
  return out;
}

namespace {

struct Names {
  std::unordered_map<std::string, int> line_of;  // node → first line
  std::vector<std::string> order;
  void add(const std::string& name, int line) {
    if (line_of.try_emplace(name, line).second) order.push_back(name);
  }
};

std::string some(const std::vector<std::string>& names) {
  std::vector<std::string> head(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(names.size(), 2000)));
  std::string out = compress_hostlist(head);
  if (out.size() > 300) out = out.substr(0, out.rfind(',', 300));
  return out + (names.size() > head.size() || out.size() > 300 ? " …" : "");
}

// Which nodes of the topology the other file does not know, and the reverse. `placed` counts nodes in the tree.
void compare(Observed& o, const Names& known, std::uint32_t file_index, const std::string& what, bool complete) {
  std::vector<std::string> unknown, unplaced;
  std::unordered_map<std::string, std::uint32_t> placed;
  std::size_t names = 0, mentions = 0;
  int first_unknown = 0;
  for (std::uint32_t d : o.of_kind(DeviceKind::kNode)) {
    placed.emplace(o.devices[d].name, d);
    auto leafs = o.devices[d].facts.find("leaf");
    std::size_t times = leafs == o.devices[d].facts.end() ? 1 : leafs->second.all.size();
    if (known.line_of.contains(o.devices[d].name)) {
      ++names, mentions += times;
      continue;
    }
    if (unknown.empty()) first_unknown = o.devices[d].at.line;
    unknown.push_back(o.devices[d].name);
  }
  int first_unplaced = 0;
  for (const std::string& n : known.order)
    if (!placed.contains(n)) {
      if (unplaced.empty()) first_unplaced = known.line_of.at(n);
      unplaced.push_back(n);
    }
  if (!unknown.empty() && complete)
    o.contradictions.push_back(
        {fmt::format("{} node(s) of the topology are not in {}: {}; Slurm would refuse or ignore them (a prefix dropped in a host list?)",
                     unknown.size(), what, some(unknown)),
         {0, first_unknown}});
  if (!unplaced.empty())
    o.contradictions.push_back(
        {fmt::format("{} of {} nodes of {} are not placed under any switch: {}", unplaced.size(), known.order.size(), what, some(unplaced)),
         {file_index, first_unplaced}});
  o.understood.push_back({fmt::format("{} names {} nodes; {} of them stand in the topology{}", what, known.order.size(), names,
                                      mentions != names ? fmt::format(" ({} times in all)", mentions) : ""),
                          {file_index, 0}});
}

int gpus_of(std::string_view gres) {  // "gpu:volta:2,nvme:1" → 2; -1 when it says none
  int sum = -1;
  for (std::string_view part : split(gres, ',')) {
    part = part.substr(0, part.find('('));
    auto words = split(part, ':');
    if (words[0] != "gpu") continue;
    auto n = words.size() > 1 ? parse_int(words.back()) : Result<std::int64_t>(1);
    int count = n && *n >= 0 && *n <= 1024 ? static_cast<int>(*n) : 1;
    sum = std::max(sum, 0) + count;
  }
  return sum;
}

// Cards per node; two files that differ are a contradiction.
void say_gpus(Observed& o, const std::unordered_map<std::string, std::pair<int, int>>& gpus, std::uint32_t file) {
  for (std::uint32_t d : o.of_kind(DeviceKind::kNode)) {
    auto it = gpus.find(o.devices[d].name);
    if (it == gpus.end()) continue;
    auto& said = o.devices[d].facts["gpus"];
    said.say(std::to_string(it->second.first), {file, it->second.second});
    if (said.contradicted())
      o.contradictions.push_back({fmt::format("{} has {} GPUs by {} and {} here", o.devices[d].name, said.all[0].first,
                                              o.place(said.all[0].second), it->second.first),
                                  {file, it->second.second}});
  }
}

}  // namespace

Status add_slurm_conf(Observed& o, std::string_view text, const std::string& file) {
  if (text.size() > kMaxImportBytes || invalid_text_at(text) != std::string_view::npos)
    return fail(ErrorKind::kInvalid, "not a text file of at most 64 MiB; give slurm.conf", file);
  WEFT_ASSIGN(auto lines, slurm_lines(text, file));
  auto index = static_cast<std::uint32_t>(o.files.size());
  o.files.push_back(file);
  Names known;
  std::unordered_map<std::string, std::pair<int, int>> gpus;  // node → (cards, line)
  std::string plugin;
  int plugin_line = 0, included = 0;
  bool slurm_like = false;
  for (const SlurmLine& l : lines) {
    const auto& [key, value] = l.pairs[0];
    slurm_like |= key == "clustername" || key == "nodename" || key == "partitionname" || key == "slurmctldhost";
    if (key == "include") included = included ? included : l.line;
    if (key == "topologyplugin") plugin = lower(value), plugin_line = l.line;
    if (key != "nodename" || lower(value) == "default") continue;
    auto names = expand_hostlist(value, kMaxImportDevices - std::min(kMaxImportDevices, known.order.size()));
    if (!names) return fail(ErrorKind::kInvalid, names.error().message, fmt::format("{}:{}", file, l.line));
    int cards = -1;
    for (const auto& [k, v] : l.pairs)
      if (k == "gres") cards = gpus_of(v);
    for (const std::string& n : *names) {
      known.add(n, l.line);
      if (cards >= 0) gpus[n] = {cards, l.line};
    }
  }
  if (!slurm_like && known.order.empty())
    return fail(ErrorKind::kInvalid, "this is no slurm.conf: it names no node, partition or cluster", file);
  say_gpus(o, gpus, index);
  std::erase_if(o.unknown, [](const Remark& r) { return r.text.starts_with("whether Slurm uses this file"); });
  if (plugin.empty())
    o.contradictions.push_back(
        {"slurm.conf sets no TopologyPlugin, so Slurm ignores topology.conf (its default is flat); set TopologyPlugin=topology/tree",
         {index, 0}});
  else if (plugin != "topology/tree")
    o.contradictions.push_back(
        {fmt::format("TopologyPlugin={} does not read a tree of switches; this file needs topology/tree", plugin), {index, plugin_line}});
  else o.understood.push_back({"TopologyPlugin=topology/tree: Slurm uses this file", {index, plugin_line}});
  if (included) o.unknown.push_back({"nodes of included files (Include is not followed)", {index, included}});
  if (known.order.empty()) o.unknown.push_back({"which nodes exist: slurm.conf itself names none", {index, 0}});
  else compare(o, known, index, "slurm.conf", !included);
  return {};
}

Status add_gres_conf(Observed& o, std::string_view text, const std::string& file) {
  if (text.size() > kMaxImportBytes || invalid_text_at(text) != std::string_view::npos)
    return fail(ErrorKind::kInvalid, "not a text file of at most 64 MiB; give gres.conf", file);
  WEFT_ASSIGN(auto lines, slurm_lines(text, file));
  auto index = static_cast<std::uint32_t>(o.files.size());
  o.files.push_back(file);
  Names known;
  std::unordered_map<std::string, std::pair<int, int>> gpus;
  for (const SlurmLine& l : lines) {
    std::string nodes, name, files, count;
    for (const auto& [k, v] : l.pairs) {
      if (k == "nodename") nodes = v;
      if (k == "name") name = lower(v);
      if (k == "file") files = v;
      if (k == "count") count = v;
    }
    if (nodes.empty()) continue;
    auto names = expand_hostlist(nodes, kMaxImportDevices - std::min(kMaxImportDevices, known.order.size()));
    if (!names) return fail(ErrorKind::kInvalid, names.error().message, fmt::format("{}:{}", file, l.line));
    int cards = 0;
    if (name == "gpu") {
      if (auto n = parse_int(count); n && *n >= 0 && *n <= 1024) cards = static_cast<int>(*n);
      else if (auto devices = expand_hostlist(files, 1024); devices) cards = static_cast<int>(devices->size());
    }
    for (const std::string& n : *names) {
      known.add(n, l.line);
      if (cards) gpus[n].first += cards, gpus[n].second = l.line;
    }
  }
  if (known.order.empty())
    return fail(ErrorKind::kInvalid, "no NodeName= in this gres.conf; a file that holds for every node says nothing about the topology",
                file);
  say_gpus(o, gpus, index);
  compare(o, known, index, "gres.conf", false);
  return {};
}

}  // namespace weft::fabric
