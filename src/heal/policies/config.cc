// Settings and versions: back to what the fleet has, then measured. Nothing is isolated.
#include "base/embedded.h"
#include "base/yaml.h"
#include "heal/parts.h"

namespace weft::heal {
namespace {

bool applies(const diagnose::Cause& c, const Context&) {
  const diagnose::FaultClass* k = diagnose::find_fault_class(c.fault);
  return k && k->remedy == "config";
}

ActionPlan plan(const diagnose::Cause& cause, const Context& x) {
  ActionPlan p;
  Action a;
  a.target = cause.entity;
  auto text = embedded_file("data/heal/config.yaml");
  auto yaml = text ? Yaml::parse(*text, "data/heal/config.yaml") : Result<Yaml>(std::unexpected(text.error()));
  std::string key;
  if (yaml)
    if (auto v = yaml->get(cause.fault).get("key").text()) key = *v;
  if (cause.fault == "stray_process") {
    a.kind = action::kServiceRestart, a.parameters = Json{{"service", "job-epilogue"}}, a.why = "end the stray processes";
  } else if (key.empty()) {
    p.reason = "no setting is known for " + cause.fault, p.report = "Compare the configuration of " + cause.entity + " with its peers.";
    return p;
  } else {
    a.kind = action::kConfigApply, a.parameters = Json{{"key", key}, {"value", "baseline"}},
    a.why = "set " + key + " back to the fleet's baseline";
  }
  a.timeout = minutes(2);
  p.actions.push_back(a);
  auto device = x.snapshot->find_device(cause.entity);
  fabric::DeviceId node = device ? x.snapshot->container(*device, fabric::DeviceKind::kNode) : fabric::DeviceId{};
  // A NIC's setting is tested over its wire: large messages both ways. A node that computes well says nothing about it.
  std::vector<fabric::LinkId> wires;
  if (device && x.snapshot->device(*device).kind == fabric::DeviceKind::kNic)
    for (fabric::PortId q : x.snapshot->ports_of(*device))
      if (fabric::LinkId l = x.snapshot->port(q).link;
          l.ok() && x.snapshot->health(l).in_service && !x.snapshot->link(l).spare &&
          x.snapshot->link(l).networks & (fabric::bit(fabric::Network::kScaleOut) | fabric::bit(fabric::Network::kStorage)))
        wires.push_back(l);
  if (!wires.empty()) p.retest = probe(action::kProbeLink, x.snapshot->name(wires[0]), "bandwidth_ratio", 0.9);
  else if (node.ok()) p.retest = probe(action::kProbeNode, x.snapshot->name(node), "gemm_ratio", 0.9);
  p.reason = "a setting differs from the fleet's";
  p.release_when = "never";
  return p;
}

WEFT_REGISTER(policies(), {"config", "set back to the fleet's baseline, then measure", 40, applies, plan});

}  // namespace
}  // namespace weft::heal
