#include "plan/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/embedded.h"
#include "base/yaml.h"
#include "fabric/catalogue.h"
#include "fabric/routes.h"
#include "fabric/site.h"

namespace weft::plan {
namespace {

constexpr Seconds kInner{1.0e-6}, kOuter{2.0e-6};  // wire and switches, on top of the library's own (collective/cost.h)

}  // namespace

collective::GroupShape group_shape(const Machine& m, int members, int stride) {
  collective::GroupShape s;
  s.members = members;
  int per = std::clamp(m.domain / std::max(stride, 1), 1, members);
  while (members % per) --per;
  s.domains = members / per;
  s.min_per_domain = s.max_per_domain = per;
  if (per > 1) {
    s.inner = s.inner_pair = m.inner * m.inner_share;
    s.inner_latency = m.inner_latency;
    s.inner_reduction = m.inner_reduction;
  }
  if (s.domains > 1) {
    s.outer = m.outer * m.outer_share;
    s.outer_latency = m.outer_latency;
    s.outer_reduction = m.outer_reduction;
  }
  return s;
}

Seconds send_time(const Machine& m, int members, int stride, double bytes) {
  if (members < 2) return Seconds(0);
  bool inside = static_cast<double>(members) * stride <= m.domain;
  return inside ? Seconds(m.inner_latency.value() + bytes / (m.inner.value() * m.inner_share))
                : Seconds(m.outer_latency.value() + bytes / (m.outer.value() * m.outer_share));
}

Result<Machine> machine_of_card(const std::string& card) {
  Machine m;
  WEFT_ASSIGN(m.card, fabric::card_model(card));
  m.name = card;
  WEFT_ASSIGN(m.efficiency, workload::calibrated_efficiency_of(card));
  m.inner_latency = kInner + collective::kInnerOverhead, m.outer_latency = kOuter + collective::kOuterOverhead;
  std::string path = "data/cards/" + card + ".yaml";
  auto text = embedded_file(path);
  if (!text) {
    m.inner = gBps(450), m.outer = gBps(50);
    m.assumed.push_back(fmt::format(
        "no data/cards/{}.yaml: efficiencies of data/cards/default.yaml, domain of 8, 450 GB/s inside and 50 GB/s outside", card));
    return m;
  }
  WEFT_ASSIGN(auto yaml, Yaml::parse(*text, path));
  WEFT_TRY(yaml.only({"efficiency", "calibrated", "link", "fp4", "price", "source"}));
  Yaml link = yaml.get("link");
  WEFT_TRY(link.only({"domain", "inner", "inner_share", "outer", "source"}));
  WEFT_ASSIGN(auto domain, link.get("domain").integer(1, 1 << 20));
  WEFT_ASSIGN(double inner, link.get("inner").quantity("B/s"));
  WEFT_ASSIGN(double outer, link.get("outer").quantity("B/s"));
  WEFT_ASSIGN(m.inner_share, link.get("inner_share").number(0.05, 1));
  if (yaml.has("price")) {
    WEFT_ASSIGN(m.price_usd, yaml.get("price").get("usd").number(0, 1e9));
  }
  m.domain = static_cast<int>(domain), m.inner = BytesPerSecond(inner), m.outer = BytesPerSecond(outer);
  return m;
}

Result<Machine> machine_of_form(const std::string& form) {
  WEFT_ASSIGN(fabric::SiteSpec spec, fabric::read_site(form));
  WEFT_ASSIGN(fabric::Snapshot site, fabric::build(spec));
  if (site.cards().empty()) return fail(ErrorKind::kInvalid, "form '" + form + "' has no cards");
  const fabric::DeviceModel* card = site.model_of(site.cards()[0]);
  if (!card) return fail(ErrorKind::kInvalid, "form '" + form + "' does not say what its cards are");
  WEFT_ASSIGN(Machine m, machine_of_card(card->name));
  m.name = form;
  std::vector<fabric::DeviceId> first;
  for (fabric::DeviceId c : site.cards())
    if (site.hbd_of(c) == site.hbd_of(site.cards()[0])) first.push_back(c);
  fabric::Routes routes(site);
  collective::GroupShape shape = collective::shape_of(first, routes);
  int domain = shape.domains <= 1 ? static_cast<int>(first.size()) : 0;
  if (domain > 1 && shape.inner.value() > 0 && std::isfinite(shape.inner.value())) {
    m.domain = domain, m.inner = shape.inner, m.inner_latency = shape.inner_latency, m.inner_reduction = shape.inner_reduction;
  } else {
    m.assumed.push_back(fmt::format("form {} does not give the rate inside its domain: domain {}, {} as data/cards/{}.yaml", form, m.domain,
                                    human(m.inner), card->name));
    if (domain > 1) m.domain = domain;
  }
  double outer = 0;
  for (fabric::PortId p : site.ports_of(site.cards()[0]))
    if (fabric::LinkId l = site.port(p).link; l.ok() && (site.link(l).networks & fabric::bit(fabric::Network::kScaleOut)))
      outer += site.effective_rate(l).value() / 8;
  if (outer > 0) m.outer = BytesPerSecond(outer);
  else m.assumed.push_back(fmt::format("form {} does not give the scale-out rate: {} a card", form, human(m.outer)));
  return m;
}

}  // namespace weft::plan
