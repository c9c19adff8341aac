#include "telemetry/sources/label_map.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "telemetry/names.h"

namespace weft::telemetry {
namespace {

using fabric::DeviceId;
using fabric::DeviceKind;

// "mlx5_3" → 3, "Ethernet17" → 17, "0" → 0.
std::optional<std::size_t> trailing_number(std::string_view s) {
  std::size_t i = s.size();
  while (i > 0 && s[i - 1] >= '0' && s[i - 1] <= '9') --i;
  if (i == s.size() || s.size() - i > 6) return std::nullopt;
  auto n = parse_int(s.substr(i));
  return n ? std::optional(static_cast<std::size_t>(*n)) : std::nullopt;
}

// Labels that tell series of one part apart; the rest names the part or is decoration.
bool kept(std::string_view key) {
  return key == "dim" || key == "group" || key == "rank" || key == "lane" || key == "sensor" || key == "name" || key == "fan" ||
         key == "psu";
}

}  // namespace

bool LabelMap::knows(const std::string& host) const { return names_.contains(host) || (site_ && site_->find_device(host).has_value()); }

std::optional<DeviceKind> LabelMap::kind_of(const std::string& entity) const {
  if (!site_) return std::nullopt;
  auto d = site_->find_device(entity);
  return d ? std::optional(site_->device(*d).kind) : std::nullopt;
}

std::string LabelMap::node_of(const std::string& entity) const {
  if (!site_) return "";
  auto d = site_->find_device(entity);
  DeviceId node = d ? site_->container(*d, DeviceKind::kNode) : DeviceId{};
  return node.ok() ? site_->name(node) : "";
}

LabelMap::Target LabelMap::map(const PromSample& sample) const {
  Target out;
  auto label = [&](std::initializer_list<std::string_view> keys) -> std::string {
    for (std::string_view key : keys)
      for (const auto& [k, v] : sample.labels)
        if (k == key && !v.empty()) return v;
    return "";
  };
  std::vector<std::pair<std::string, std::string>> rest;
  for (const auto& [k, v] : sample.labels)
    if (kept(k)) rest.emplace_back(k, v);
  std::sort(rest.begin(), rest.end());
  for (const auto& [k, v] : rest) out.labels += (out.labels.empty() ? "" : ",") + k + "=" + v;

  auto known = [&](const std::string& name) {
    if (!site_) return false;
    return site_->find_device(name).has_value() || site_->find_port(name).has_value();
  };
  auto settle = [&](std::string name) {
    if (auto at = names_.find(name); at != names_.end()) name = at->second;
    out.mapped = known(name);
    if (out.mapped && site_)
      if (auto d = site_->find_device(name)) name = site_->name(*d);
    out.entity = std::move(name);
    return out;
  };
  if (std::string entity = label({"entity"}); !entity.empty()) {
    Target t = settle(entity);
    t.mapped |= entity.starts_with("job/");
    return t;
  }
  std::string_view name = canonical_metric(sample.name);
  if (name.starts_with("weft_job_")) {
    out.entity = "job/" + label({"job", "job_name", "exported_job"});
    out.mapped = true;
    return out;
  }
  std::string host = label({"Hostname", "hostname", "host", "node", "nodename", "switch", "instance"});
  if (std::size_t colon = host.rfind(':'); colon != std::string::npos && host.find(':') == colon) host.resize(colon);
  if (host.empty()) host = default_host_;
  if (auto at = names_.find(host); at != names_.end()) host = at->second;

  const MetricInfo* info = find_metric(name);
  std::string_view kind = info ? info->entity : "";
  bool card_labels = !label({"gpu", "npu", "id", "UUID"}).empty() && (name.starts_with("DCGM_") || sample.name.starts_with("npu_"));
  std::string card = label({"gpu", "npu", "id", "card"}), device = label({"device", "ifname", "interface"}), port = label({"port"});
  auto foreign = names_.find(host + "/" + (card_labels ? card : device));
  if (foreign != names_.end() && !host.empty()) return settle(foreign->second);

  DeviceId h;
  if (site_ && !host.empty())
    if (auto d = site_->find_device(host)) h = *d;
  auto nth = [&](DeviceKind k, std::size_t n) -> std::string {
    std::vector<DeviceId> of_kind;
    for (DeviceId c : site_->children(h))
      if (site_->device(c).kind == k) of_kind.push_back(c);
    return n < of_kind.size() ? site_->name(of_kind[n]) : "";
  };
  std::string found;
  if (h.ok()) {
    bool is_switch = site_->device(h).kind == DeviceKind::kSwitch;
    if (kind == "card" || card_labels) {
      if (auto n = trailing_number(card)) found = nth(DeviceKind::kCard, *n);
    } else if (is_switch && (!port.empty() || !device.empty())) {
      if (auto n = trailing_number(port.empty() ? device : port)) {
        std::string p = site_->name(h) + ":" + std::to_string(*n);
        if (site_->find_port(p)) found = p;
      }
    } else if (kind == "nic" || kind == "port" || sample.name.starts_with("node_infiniband_")) {
      if (auto n = trailing_number(device)) found = nth(DeviceKind::kNic, *n);
    } else {
      found = site_->name(h);
    }
  }
  if (!found.empty()) return settle(found);
  // Not a part we know: a stable name, so that its series are kept apart.
  out.entity = host;
  for (const std::string& part : {card_labels ? card : std::string(), device, port})
    if (!part.empty()) out.entity += (out.entity.empty() ? "" : "/") + part;
  if (out.entity.empty()) out.entity = "site";
  return out;
}

}  // namespace weft::telemetry
